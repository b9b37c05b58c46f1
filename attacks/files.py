"""Commands that read damaged files: tables, folders of models, results of sweeps, and losses that raise.

``python -m attacks.files --cases 1000`` runs so many cases, ``--seed`` others, and ``--only`` repeats one.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import json
import random
import shutil
import tempfile
import warnings
from pathlib import Path

from attacks.commands import fault_of, new_folder, quick_fits
from attacks.mutations import changed_json, damaged
from attacks.odd_tables import plain_frame, write_table
from attacks.tally import attack

import symloss as sl
from symloss.estimators.model_files import signed
from symloss.paper.results import Result, write_result

LOSS = """
import sys
import torch
import symloss as sl

class Mine(sl.Loss):
    {body}
"""
BODIES = [
    "def value(self, z): raise RuntimeError('a\\nb')",
    "def value(self, z): raise SystemExit(3)",
    "value = None",
    "def value(self, z): raise KeyError(z)",
    "def value(self, z): return None",
    "def value(self, z): return 'x'",
    "def value(self, z): return z.sum()",
    "def value(self, z): return z[:1]",
    "def value(self, z): return z * torch.nan",
    "def value(self, z): return (z > 0).long()",
    "def value(self, z): return torch.exp(z * 1e300)",
    "def value(self, z): return z.detach().numpy()",
    "def value(self, z): return self.value(z)",
    "formula = 3",
    "def __init__(self): raise TypeError('boom')",
    "def __repr__(self): raise ValueError",
    "title = '<script>alert(1)</script>'",
    "def value(self, z): return 1 - z\n    formula = '</script><script>alert(1)</script>'",
    "structure = 'x'",
    "def value(self, z): return 1 - z\n    structure = sl.Hinge().structure",
    "def __init__(self, b): self.b = b",
    "def value(self, z): return -z\n    properties = None",
    "def value(self, z): return 1 - z\n    latex = '<b>'",
    "x = 1 / 0",
    "def value(self, z): raise MemoryError",
    "def value(self, z): return torch.ones(10**15)",
    "import nowhere",
    "(",
    "def value(self, z): return z\n    def slope(self, z): raise OSError('no disk')",
]


@functools.cache
def saved_model() -> Path:
    """Return the folder of a model of a plain table."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    trees = sl.AUCClassifier(model="trees", n_estimators=3, min_samples_leaf=5)
    candidates = [("linear", sl.AUCClassifier()), ("trees", trees)]
    with warnings.catch_warnings(action="ignore"):  # few rows
        sl.tabular.fit(plain_frame(), label="y", candidates=candidates).save(folder / "model")
    return folder / "model"


def _old_output(out: Path, generator: random.Random) -> None:
    """Sometimes put something where a command is to write."""
    if generator.random() < 0.3 and out.suffix:
        out.write_text("old\n")
    elif generator.random() < 0.3 and not out.suffix:
        shutil.copytree(saved_model(), out)


def table(folder: Path, generator: random.Random) -> str | None:
    """Fit, audit or predict an odd table."""
    path = write_table(folder, generator)
    command = generator.choice(["fit", "audit", "predict"])
    if command == "predict":
        out = Path(generator.choice(["out.csv", "out.parquet"]))
        arguments = ["predict", str(saved_model()), path.name, "--out", str(out)]
        arguments += generator.choice([[], ["--top-k", "3"], ["--id", "age"], ["--share", "0.5"], ["--id", "note,y"]])
    else:
        out = Path("out")
        arguments = [command, path.name, "--label", "y", "--out", str(out)]
        arguments += generator.choice(
            [
                [],
                ["--id", "note"],
                ["--weight", "age"],
                ["--drop", "day"],
                ["--positive", "yes"],
                ["--unlabeled", "positive-unlabeled"],
                ["--json"],
                ["--pi", "0.9", "--pi-prime", "0.2"],
            ]
        )
    if command != "audit":
        _old_output(out, generator)
    through = path.read_bytes() if generator.random() < 0.1 else None
    if through is not None:
        arguments = ["-" if argument == path.name else argument for argument in arguments]
    return fault_of(arguments, [out], through)


def model(folder: Path, generator: random.Random) -> str | None:
    """Predict with the folder of a model that is damaged or forged."""
    shutil.copytree(saved_model(), "model")
    plain_frame().to_csv("data.csv", index=False)
    name = generator.choice(["model.json", "model.json", "table.json", "any"])
    contents = json.loads(Path("model/model.json").read_text())
    if name == "any":
        path = generator.choice(sorted(Path("model").iterdir()))
        path.write_bytes(damaged(path.read_bytes(), generator))
    elif name == "table.json":
        text = json.dumps(changed_json(json.loads(Path("model/table.json").read_text()), generator)).encode()
        Path("model/table.json").write_bytes(text)
        contents["files"]["table.json"] = hashlib.sha256(text).hexdigest()
        Path("model/model.json").write_text(signed(contents))
    else:
        part = generator.choice(["estimator", "estimator", "all"])
        changed = contents | {"estimator": changed_json(contents["estimator"], generator)}
        changed = changed if part == "estimator" else changed_json(contents, generator)
        Path("model/model.json").write_text(signed(changed) if isinstance(changed, dict) else json.dumps(changed))
    out = Path("out.csv")
    _old_output(out, generator)
    return fault_of(["predict", "model", "data.csv", "--out", str(out)], [out])


def results(folder: Path, generator: random.Random) -> str | None:
    """Compare or report result files of which one is damaged or edited."""
    for pi in generator.sample([1.0, 0.8, 0.655], generator.choice([1, 2, 3])):
        scores = {
            risk: {name: [generator.uniform(50, 99) for _ in "ab"] for name in ("sigmoid", "hinge")}
            for risk in ("auc", "ber")
        }
        further = {"dropout_off": {"scores": scores}} if generator.random() < 0.3 else {}
        family, dataset = generator.choice(
            [("uci", "spambase"), ("cifar10", "horse"), ("my", "<b>own"), ("mnist", "mnist")]
        )
        cell = Result(
            family=family,
            dataset=dataset,
            pi=pi,
            pi_prime=0.0,
            trials=2,
            scores=scores,
            curves=scores if further else {},
        )
        write_result(Path("results"), cell)
    path = generator.choice(sorted(Path("results").iterdir()))
    if generator.random() < 0.3:
        path.write_bytes(damaged(path.read_bytes(), generator))
    else:
        path.write_text(json.dumps(changed_json(json.loads(path.read_text()), generator)))
    written = [
        Path(name) for name in generator.choice([["out.csv"], ["out.md"], ["latex"], ["figures"], [], ["report.html"]])
    ]
    if written == [Path("report.html")]:
        arguments = ["report", "results", "--out", "report.html"]
    else:
        option = {"out.csv": "--csv", "out.md": "--markdown", "latex": "--latex", "figures": "--figures"}
        arguments = ["compare", "results", *(word for out in written for word in (option[str(out)], str(out)))]
        arguments += generator.choice([[], ["--json"], ["--worst", "3"], ["--scores", "dropout_off"]])
    for out in written:
        if out.suffix:
            _old_output(out, generator)
    return fault_of(arguments, written)


def loss(folder: Path, generator: random.Random) -> str | None:
    """Analyze or explore a loss of a user that does something wrong."""
    name = f"mine_{generator.getrandbits(64):x}"  # a module is imported once
    Path(f"{name}.py").write_text(LOSS.format(body=generator.choice(BODIES)))
    command = generator.choice([["analyze"], ["analyze", "--json"], ["explore", "--out", "out.html", "--losses"]])
    written = [Path("out.html")] if "explore" in command else []
    for out in written:
        _old_output(out, generator)
    prefix = "hinge," if written and generator.random() < 0.5 else ""
    return fault_of([*command, f"{prefix}{name}:Mine"], [*written, Path("__pycache__")])


KINDS = [table] * 11 + [model] * 4 + [results] * 4 + [loss]


def case(generator: random.Random) -> tuple[str, str | None]:
    """Do one case in a folder of its own."""
    kind = generator.choice(KINDS)
    with new_folder() as folder:
        return kind.__name__, kind(folder, generator)


if __name__ == "__main__":
    quick_fits()
    attack("commands on damaged files", case, 1000)
