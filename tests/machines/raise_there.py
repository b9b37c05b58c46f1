"""Raise an exception on a cluster that cannot be made again from its message: ``raise_there.py BACKEND WHERE``."""

import sys

from symloss.machines import cluster, completed


class TwoWordsError(Exception):
    """Pickled with its message alone, and so refused by its own constructor."""

    def __init__(self, first, second):
        super().__init__(f"{first} {second}")


def fail(_):
    raise TwoWordsError("not", "found")


if __name__ == "__main__":
    backend, where = sys.argv[1:]
    with cluster(backend, jobs=int(where)) if where.isdecimal() else cluster(backend, where):
        list(completed(fail, [(1,), (2,)]))
