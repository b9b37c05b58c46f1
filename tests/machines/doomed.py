"""What the first worker to call it is killed in; PYTHONPATH leads workers here."""

import os
import time
from pathlib import Path

from sklearn.linear_model import LogisticRegression

from symloss.datasets import make_twonorm


def wait_to_be_killed_once():
    """Note the call; the first also notes its process, and waits."""
    folder = Path(os.environ["DOOMED"])
    with (folder / "calls").open("a") as file:
        file.write(f"{os.getpid()}\n")
    try:
        (folder / "pid").symlink_to(str(os.getpid()))  # in one step, unlike a file and what is in it
    except FileExistsError:
        return
    time.sleep(300)


def load():
    """A data set."""
    wait_to_be_killed_once()
    drawn = make_twonorm(2000, random_state=0)
    return drawn.data, drawn.target


class Doomed(LogisticRegression):
    """A candidate."""

    def fit(self, X, y):
        if "DOOMED" in os.environ:
            wait_to_be_killed_once()
        return super().fit(X, y)
