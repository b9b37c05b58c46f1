"""Every part works with its own extra alone, and where that is missing says how to install it.

A process of its own does not see the packages that pip would not have installed.
"""

import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import symloss as sl
from symloss.extras import require

ROOT = Path(sl.__file__).parents[2]
if not (ROOT / "pyproject.toml").exists():
    pytest.skip("installed from a wheel", allow_module_level=True)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = {
    "cli": {"typer", "rich"},
    "tables": {"pandas", "pyarrow"},
    "excel": {"openpyxl"},
    "report": {"plotly", "matplotlib"},
    "save": {"safetensors", "skops"},
    "data": {"pooch"},
}  # fmt: skip - torch requires jinja2, which is there always

HIDE = """
import json, sys
from importlib.machinery import PathFinder

HIDDEN = set(json.loads(sys.argv.pop(1)))
assert not HIDDEN & set(sys.modules)

class Installed(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in HIDDEN else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Installed

def error(function, *arguments):
    try:
        function(*arguments)
    except ImportError as error:
        return str(error)

def run(*arguments):
    from symloss.__main__ import main

    sys.argv = ["symloss", *map(str, arguments)]
    try:
        main()
    except SystemExit as end:
        return end.code

import numpy as np
"""


def installed_by(lines):
    """The distributions that pip would install for these requirements."""
    seen, left = set(), [Requirement(line) for line in lines]
    while left:
        wanted = left.pop()
        name, extras = canonicalize_name(wanted.name), {"", *wanted.extras}
        if (name, *sorted(extras)) in seen:
            continue
        seen.add((name, *sorted(extras)))
        try:
            further = [Requirement(line) for line in requires(name) or ()]
        except PackageNotFoundError:  # nor would it be seen
            continue
        left += [each for each in further if not each.marker or any(each.marker.evaluate({"extra": e}) for e in extras)]
    return {name for name, *_ in seen}


@cache
def hidden(*extras):
    """The packages in this environment that symloss with these extras would not have brought."""
    lines = [*PROJECT["dependencies"], *(line for each in extras for line in PROJECT["optional-dependencies"][each])]
    visible = installed_by(lines)
    found = {
        package
        for package, distributions in packages_distributions().items()
        if package != "symloss" and not visible & set(map(canonicalize_name, distributions))
    }
    for extra, packages in EXTRAS.items():
        assert (packages - {"rich"}) & found == (set() if extra in extras else packages - {"rich"})
    return sorted(found)


def run_with(extras, code, folder, check=True):
    command = [sys.executable, "-c", HIDE + code, json.dumps(hidden(*extras))]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert not check or done.returncode == 0, done.stderr
    return done


def test_the_extras_are_these():
    declared = PROJECT["optional-dependencies"]
    for extra, packages in EXTRAS.items():
        assert {Requirement(line).name for line in declared[extra]} - {"jinja2"} == packages
    assert declared["all"] == [f"symloss[{','.join(EXTRAS)}]"]
    hard = {Requirement(line).name for line in PROJECT["dependencies"]}
    assert hard == {"torch", "numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "filelock"}


def test_every_extra_that_an_error_names_exists():
    named = set()
    for text in (path.read_text() for path in Path(sl.__file__).parent.rglob("*.py")):
        if "from symloss.extras import require" in text:
            named.update(re.findall(r'"(\w+)", f?"[^"]* needs? ', text))
    assert named <= set(PROJECT["optional-dependencies"])
    assert named > set(EXTRAS)


def test_a_package_that_is_installed_but_broken_says_why(tmp_path, monkeypatch):
    (tmp_path / "half_installed.py").write_text("raise ImportError('no libarrow.so')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r'need it: pip install "symloss\[tables\]" \(no libarrow.so\)'):
        require("tables", "tables need it", "half_installed")


LIBRARY = """
import warnings
from pathlib import Path

import torch

import symloss as sl

for name in dir(sl):
    getattr(sl, name)
scores = torch.linspace(-1, 1, 8, requires_grad=True)
sl.AUCLoss()(scores, torch.arange(8) % 2).backward()
assert scores.grad.abs().sum() > 0
assert sl.theory.analyze("ramp").symmetric.answer == "yes"
drawn = sl.datasets.make_twonorm(200, random_state=0)
pool = [("linear", sl.AUCClassifier()), ("trees", sl.AUCClassifier(model="trees", n_estimators=5))]
with sl.machines.cluster("loky", jobs=1):
    ranker = sl.AUCClassifierCV(pool, random_state=0).fit(drawn.data, drawn.target)
assert (ranker.predict(drawn.data) == drawn.target).mean() > 0.8
sl.BERClassifier(model="mlp", epochs=1, random_state=0).fit(drawn.data, drawn.target).predict(drawn.data)
objective = sl.boosting.lightgbm_objective()

from symloss.paper.figures import figure_1
from symloss.paper.tables import table_1
from symloss.report import write_explorer
from symloss.tabular import read_table

assert len(table_1()) == 8
Path("data.csv").write_text("x\\n1\\n")
for function, arguments, needs in [
    (sl.estimators.save, (ranker, "model"), 'saving a model needs safetensors: pip install "symloss[save]"'),
    (read_table, ("data.csv",), 'tables need pandas and pyarrow: pip install "symloss[tables]"'),
    (figure_1, (), 'figures need matplotlib: pip install "symloss[report]"'),
    (write_explorer, ("page.html",), 'the explorer needs plotly: pip install "symloss[report]"'),
    (sl.machines.cluster("dask").__enter__, (), 'the dask backend needs Dask: pip install "symloss[dask]"'),
    (sl.machines.cluster("ray").__enter__, (), 'the ray backend needs Ray: pip install "symloss[ray]"'),
]:
    assert error(function, *arguments) == needs, error(function, *arguments)
assert not Path("model").exists()
"""


def test_the_library_needs_no_extra(tmp_path):
    run_with([], LIBRARY, tmp_path)


def test_the_command_without_its_extra_is_one_line(tmp_path):
    done = run_with([], "sys.exit(run('losses'))", tmp_path, check=False)
    assert done.returncode == 2
    assert done.stderr == 'symloss: error: the symloss command needs typer and rich: pip install "symloss[cli]"\n'
    assert not done.stdout


COMMANDS = """
from pathlib import Path

assert run("losses") == 0
assert run("analyze", "ramp", "--json") == 0
assert run("datasets") == 0
few = "--datasets twonorm --noise 1,0 --losses unhinged --objectives auc --trials 1 --jobs 1 --no-download".split()
assert run("reproduce", "uci", *few, "--out", "results") == 0
assert run("compare", "results", "--csv", "cells.csv", "--latex", "tables") == 0
Path("data.csv").write_text("x,y\\n1,0\\n2,1\\n")
print("---", file=sys.stderr)
assert run("figures") == 2
assert run("compare", "results", "--figures", "figures") == 2
assert run("report", "results") == 2
assert run("explore") == 2
assert run("predict", "model", "data.csv") == 2
assert run("fit", "data.csv", "--label", "y", "--out", "model") == 2
"""


@pytest.mark.slow
def test_commands_with_their_extra_alone(tmp_path):
    done = run_with(["cli"], COMMANDS, tmp_path)
    assert "Sigmoid" in done.stdout
    assert "spambase" in done.stdout
    assert (tmp_path / "cells.csv").exists()
    assert done.stderr.partition("---\n")[2].splitlines() == [
        'symloss: error: figures need matplotlib: pip install "symloss[report]"',
        'symloss: error: figures need matplotlib: pip install "symloss[report]"',
        'symloss: error: figures need matplotlib: pip install "symloss[report]"',
        'symloss: error: the explorer needs plotly: pip install "symloss[report]"',
        "symloss: error: no model in model: there is no model.safetensors",
        "symloss: error: symloss fit needs pandas, Jinja2, skops and safetensors: pip install "
        '"symloss[all]"',
    ]  # fmt: skip


SAVED = """
import symloss as sl

drawn = sl.datasets.make_twonorm(100, random_state=0)
pool = [("trees", sl.AUCClassifier(model="trees", n_estimators=5))]
ranker = sl.AUCClassifierCV(pool, random_state=0).fit(drawn.data, drawn.target)
sl.estimators.save(ranker, "model")
again = sl.estimators.load("model")
assert (again.decision_function(drawn.data) == ranker.decision_function(drawn.data)).all()
"""


@pytest.mark.slow
def test_saved_models_with_their_extra_alone(tmp_path):
    run_with(["save"], SAVED, tmp_path)
    needs = 'loading a model needs safetensors: pip install "symloss[save]"'
    run_with([], f"import symloss as sl; assert error(sl.estimators.load, 'model') == {needs!r}", tmp_path)


TABLES = """
import pandas as pd

import symloss as sl

frame = pd.DataFrame({"x": np.arange(40.0), "city": ["Oslo", "Rome"] * 20, "y": ["no"] * 20 + ["yes"] * 20})
for name in ("data.csv", "data.parquet"):
    sl.tabular.write_table(frame, name)
    read = sl.tabular.read_table(name)
    assert read.equals(frame.astype(read.dtypes)), read
fitted = sl.tabular.fit_table(read, "y", candidates=[("linear", sl.AUCClassifier())])
assert fitted.model.predict(frame).labels[::39] == ["no", "yes"]
A, B = frame[["x"]][20:], frame[["x"]][:20]
assert sl.from_two_sets(A, B)[0].shape == (40, 1)

from pathlib import Path

needs = 'saving a model needs safetensors: pip install "symloss[save]"'
assert error(fitted.model.save, Path("model")) == needs
"""


def test_tables_with_their_extra_alone(tmp_path):
    run_with(["tables"], TABLES, tmp_path)


REPORT = """
from pathlib import Path

import symloss as sl
from symloss.paper.figures import save_figures, save_result_figures
from symloss.paper.compare import compare
from symloss.paper.results import Result, write_result

result = Result(family="my", dataset="own", pi=1, pi_prime=0, trials=2, scores={"auc": {"sigmoid": [90, 91]}})
write_result(Path("results"), result)
assert len(save_figures(Path("figures"))) == 6
assert save_result_figures(Path("figures"), compare([result]))
sl.report.write_report([Path("results")], Path("report.html"))
sl.report.write_explorer(Path("explorer.html"), [sl.get_loss("ramp")])
"""


@pytest.mark.slow
def test_figures_and_pages_with_their_extra_alone(tmp_path):
    run_with(["report"], REPORT, tmp_path)
    assert "90.5 (0.5)" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Ramp" in (tmp_path / "explorer.html").read_text(encoding="utf-8")
    assert (tmp_path / "figures" / "figure1.png").stat().st_size > 1000


FIT = """
from pathlib import Path

lines = ["x,city,y"] + [f"{k},{'Oslo' if k % 2 else 'Rome'},{'yes' if k >= 20 else 'no'}" for k in range(40)]
Path("data.csv").write_text("\\n".join(lines))
assert run("fit", "data.csv", "--label", "y", "--out", "model") == 0
"""


@pytest.mark.slow
def test_fit_and_predict_with_three_extras(tmp_path):
    run_with(["cli", "tables", "save"], FIT, tmp_path)  # Jinja2, for the page, comes with PyTorch
    assert (tmp_path / "model" / "report.html").stat().st_size > 1000
    done = run_with(["cli", "tables", "save"], "assert run('predict', 'model', 'data.csv') == 0", tmp_path)
    assert done.stdout.startswith("score,prediction,given_probability\n")
    refused = run_with(["cli", "tables"], FIT.replace("== 0", "== 2").replace('"model"', '"new"'), tmp_path)
    assert 'and safetensors: pip install "symloss[all]"' in refused.stderr
    assert not (tmp_path / "new").exists()
