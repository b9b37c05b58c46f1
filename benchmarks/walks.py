"""Files and functions of symloss that a call runs through, imports left out: python benchmarks/walks.py."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import symloss as sl
from symloss.cli import app

ROOT = str(Path(sl.__file__).parent)


def walked(action: Callable[[], Any]) -> tuple[int, int]:
    """Return how many files and functions run; the first of two runs imports what is needed."""
    codes = set()

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(ROOT):
            codes.add(frame.f_code)

    action()
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return len({code.co_filename for code in codes}), len({(code.co_filename, code.co_qualname) for code in codes})


def command(*arguments: object) -> None:
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()), suppress(SystemExit):
        app(list(map(str, arguments)))


def main() -> None:
    torch.set_num_threads(1)
    generator = np.random.default_rng(0)
    X = generator.normal(size=(200, 4))
    y = X[:, 0] + generator.normal(size=200) > 0
    scores = torch.randn(200, requires_grad=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pd.DataFrame(X).add_prefix("x").assign(label=y).to_csv(folder / "data.csv", index=False)

        def reproduce() -> None:
            again = Path(tempfile.mkdtemp(dir=folder))  # a finished run would not be run again
            command("reproduce", "uci", "--datasets", "twonorm", "--trials", 2, "--no-download", "--jobs", 1,
                    "--noise", "0.8,0.3", "--losses", "sigmoid,logistic", "--out", again / "results")  # fmt: skip
            command("report", again / "results", "--out", again / "page.html")

        fit = ["fit", folder / "data.csv", "--label", "label", "--out", folder / "model"]
        walks = {
            "`AUCLoss()(s, y).backward()`": lambda: sl.AUCLoss("hinge")(scores, torch.from_numpy(y)).backward(),
            "`AUCClassifierCV().fit(X, y)`": lambda: sl.AUCClassifierCV(random_state=0).fit(X, y),
            "`symloss fit`": lambda: command(*fit),
            "`symloss reproduce uci` to its page": reproduce,
        }
        print("| walk | files | functions |\n|---|--:|--:|")
        for title, action in walks.items():
            print("| {} | {} | {} |".format(title, *walked(action)), flush=True)


if __name__ == "__main__":
    main()
