"""What holds for the package as a whole: names, imports and the order of its rooms."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from operator import attrgetter
from pathlib import Path

import pytest

import symloss as sl

ROOT = Path(sl.__file__).parent
REFERENCE = ROOT.parents[1] / "docs" / "reference.rst"


def listed_names():
    """What the reference lists, without the name of the package."""
    if not REFERENCE.exists():
        pytest.skip("installed from a wheel")
    return re.findall(r"^   ([\w.]+)$", REFERENCE.read_text(), re.M)


def test_the_reference_has_every_public_name_with_a_docstring():
    names = listed_names()
    modules = {name for name in sl.__all__ if inspect.ismodule(getattr(sl, name))}
    assert set(sl.__all__) - modules <= set(names)
    for name in names:
        module, _, key = f"symloss.{name}".rpartition(".")
        assert inspect.getdoc(getattr(importlib.import_module(module), key)), name


def test_names_that_other_programs_rely_on():
    names = """BarrierHinge get_loss list_losses pairwise_risk BERLoss AUCLoss PartialAUCLoss StratifiedBatchSampler
        contaminate contaminated_split flip_labels BERClassifier AUCClassifier BERClassifierCV AUCClassifierCV
        functional.ber_risk functional.auc_risk theory.analyze theory.ber_decomposition theory.auc_decomposition
        metrics.clean_auc metrics.clean_balanced_accuracy metrics.estimate_clean_auc metrics.clean_roc
        metrics.clean_rates audit.Noise audit.estimate_noise audit.label_quality boosting.lightgbm_objective
        boosting.xgboost_objective corruption.from_annotators datasets.load datasets.list_datasets tabular.fit
        tabular.load"""
    for name in names.split():
        assert callable(attrgetter(name)(sl))


def test_importing_needs_only_numpy_and_torch():
    code = (
        "import sys, torch, numpy; before = set(sys.modules); import symloss;"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before};"
        "heavy = {'scipy', 'sklearn', 'pandas', 'matplotlib', 'typer', 'rich', 'click'};"
        "print(sorted(new & heavy), 'torch._dynamo' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[] False"  # the compiler alone would double the time of import torch


def test_data_sets_boosting_and_estimators_are_imported_on_first_use():
    code = (
        "import sys, symloss as sl; print('symloss.datasets' in sys.modules, hasattr(sl, 'nonsense'));"
        "print(sl.datasets.list_datasets()[0], 'symloss.datasets' in sys.modules);"
        "sl.boosting.lightgbm_objective(); print({'lightgbm', 'xgboost'} & set(sys.modules));"
        "print('sklearn' in sys.modules, sl.BERClassifier.__name__, 'sklearn' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "False", "spambase", "True", "set()", "False", "BERClassifier", "True"]


ORDER = ["messages", "files", "machines", "checking", "losses", "pairwise", "risks", "functional", "theory",
         "corruption", "columns", "metrics", "audit", "boosting", "models", "estimators", "datasets",
         "drawing", "pages", "tabular", "paper", "report", "cli", "__main__"]  # fmt: skip


def imports(path):
    """The modules of symloss that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} has a relative import, which this test would not see"
            names = [node.module] if node.module != "symloss" else [f"symloss.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("symloss."))


def test_a_room_imports_only_from_rooms_above_it():
    for path in ROOT.rglob("*.py"):
        room = path.relative_to(ROOT).with_suffix("").parts[0]
        for name in imports(path) if room != "__init__" else ():
            assert name.startswith("__version") or ORDER.index(name) <= ORDER.index(room), f"{path} imports {name}"


def test_versions_agree():
    root = Path(sl.__file__).parents[2]
    if not (root / "pyproject.toml").exists():
        pytest.skip("installed from a wheel")
    assert f'version = "{sl.__version__}"' in (root / "pyproject.toml").read_text()
    assert re.search(rf"^version: {sl.__version__}$", (root / "CITATION.cff").read_text(), re.M)
    assert f"## {sl.__version__}" in (root / "CHANGELOG.md").read_text()
