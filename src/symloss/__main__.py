"""``python -m symloss`` is the ``symloss`` command."""

from symloss.cli import app

if __name__ == "__main__":
    app()
