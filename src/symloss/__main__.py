"""``python -m symloss`` is the ``symloss`` command."""

import sys

from symloss.extras import require


def main() -> None:
    """Run the command, or say in one line how to install what it needs."""
    try:
        require("cli", "the symloss command needs typer and rich", "typer", "rich")
    except ImportError as error:
        print("symloss: error:", error, file=sys.stderr)
        sys.exit(2)
    from symloss.cli import app

    app()


if __name__ == "__main__":
    main()
