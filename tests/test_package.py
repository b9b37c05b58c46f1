"""What holds for the package as a whole: names, documentation, imports and layers."""

import ast
import importlib
import importlib.util
import inspect
import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import symloss as sl

MODULES = ["symloss", *sorted(info.name for info in pkgutil.walk_packages(sl.__path__, "symloss."))]
if not importlib.util.find_spec("triton"):  # comes with PyTorch for GPUs only
    KERNELS = [
        "paper.convolutional.kernels",
        *(f"pairwise.fused.{name}" for name in ("kinks", "pairs", "problems", "separable", "smooth", "split")),
    ]
    MODULES = [name for name in MODULES if name.removeprefix("symloss.") not in KERNELS]


REFERENCE = Path(sl.__file__).parents[2] / "docs" / "reference.rst"


# What the reference promises.
LIBRARY = ["symloss", "symloss.losses", "symloss.pairwise", "symloss.functional", "symloss.risks", "symloss.epochs",
           "symloss.theory", "symloss.corruption", "symloss.metrics", "symloss.audit", "symloss.boosting",
           "symloss.sampling", "symloss.models", "symloss.machines", "symloss.estimators", "symloss.datasets",
           "symloss.datasets.classes", "symloss.tabular"]  # fmt: skip


# What the command line is made of.
APPLICATION = ["symloss.files", "symloss.drawing", "symloss.tabular.files", "symloss.tabular.writing",
               "symloss.tabular.frames", "symloss.tabular.fitting", "symloss.tabular.predicting",
               "symloss.tabular.exporting", "symloss.tabular.summary",
               "symloss.paper.training",
               "symloss.paper.convolutional", "symloss.paper.tables", "symloss.paper.figures",
               "symloss.paper.published", "symloss.paper.results", "symloss.paper.boldface",
               "symloss.paper.compare", "symloss.paper.score_tables", "symloss.paper.markdown",
               "symloss.paper.latex", "symloss.paper.terminal", "symloss.paper.protocol", "symloss.paper.experiment",
               "symloss.paper.images", "symloss.paper.image_figures", "symloss.paper.worker", "symloss.paper.runner",
               "symloss.report"]  # fmt: skip


def public_objects(modules=(*LIBRARY, *APPLICATION)):
    """Classes and functions that a public module offers, and the public methods that they define."""
    seen = {}
    for name in modules:
        module = importlib.import_module(name)
        for key in getattr(module, "__all__", [key for key in vars(module) if not key.startswith("_")]):
            value = getattr(module, key)
            here = getattr(value, "__module__", "").startswith("symloss")
            if here and (inspect.isclass(value) or inspect.isfunction(value)):
                seen[f"{value.__module__}.{value.__qualname__}"] = value
    return seen


@pytest.mark.parametrize("name", sorted(public_objects()))
def test_public_names_have_a_docstring_with_an_example(name):
    assert ">>>" in inspect.getdoc(public_objects()[name])


def listed_names():
    """What the reference lists, without the name of the package."""
    if not REFERENCE.exists():
        pytest.skip("installed from a wheel")
    return re.findall(r"^   ([\w.]+)$", REFERENCE.read_text(), re.M)


def test_the_reference_is_every_name_of_the_library_and_no_other():
    found = set()
    for name in listed_names():
        module, _, key = f"symloss.{name}".rpartition(".")
        value = getattr(importlib.import_module(module), key)
        found.add(f"{value.__module__}.{value.__qualname__}")
    assert sorted(found) == sorted(public_objects(LIBRARY))


def test_dir_shows_what_is_documented_before_and_after_its_use():
    names = {name.partition(".")[0] for name in listed_names()}
    modules = re.findall(r"``symloss\.(\w+)``", REFERENCE.read_text())
    documented = sorted({*names, *modules, "__version__"})
    code = "import symloss as sl; print(*dir(sl)); [getattr(sl, name) for name in dir(sl)]; print(*dir(sl))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [line.split() for line in result.stdout.splitlines()] == [documented, documented]
    assert {"AUCClassifierCV", "tabular", "report", "machines", "paper", "models", "sampling"} <= set(documented)
    assert not {"TYPE_CHECKING", "threads", "extras"} & set(documented)


def test_everything_else_has_a_docstring():
    for name in MODULES:
        module = importlib.import_module(name)
        assert module.__doc__
        for key, value in vars(module).items():
            if inspect.isfunction(value) and value.__module__ == name and not key.startswith("_"):
                assert value.__doc__, f"{name}.{key}"


def test_names_that_other_programs_rely_on():
    for name in [
        "BarrierHinge",
        "get_loss",
        "list_losses",
        "pairwise_risk",
        "BERLoss",
        "AUCLoss",
        "StratifiedBatchSampler",
        "contaminate",
        "contaminated_split",
        "flip_labels",
        "BERClassifier",
        "AUCClassifier",
        "BERClassifierCV",
        "AUCClassifierCV",
    ]:
        assert hasattr(sl, name)
    for name in ("functional.ber_risk", "functional.auc_risk", "theory.analyze", "theory.ber_decomposition",
                 "theory.auc_decomposition", "metrics.clean_auc", "metrics.clean_balanced_accuracy",
                 "metrics.estimate_clean_auc", "metrics.clean_roc", "metrics.clean_rates", "audit.estimate_noise",
                 "audit.label_quality", "boosting.lightgbm_objective",
                 "boosting.xgboost_objective", "datasets.load", "datasets.list_datasets", "tabular.fit",
                 "tabular.load"):  # fmt: skip
        module, function = name.split(".")
        assert callable(getattr(getattr(sl, module), function))


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


IMPORT_ALL = """
import importlib, json, logging, os, random, signal, sys, threading, warnings
import distributed, joblib.parallel, numpy, rich.style, scipy, sklearn, torch  # what these change is not our doing

def state():
    return {
        "joblib": dict(joblib.parallel.BACKENDS) | joblib.parallel.EXTERNAL_BACKENDS,
        "joblib by default": joblib.parallel.get_active_backend()[0].__class__,
        "environment": dict(os.environ),
        "warnings": list(warnings.filters),
        "torch": (torch.get_num_threads(), torch.get_num_interop_threads(), torch.get_default_dtype(),
                  torch.get_float32_matmul_precision(), torch.are_deterministic_algorithms_enabled(),
                  torch.backends.cudnn.benchmark, torch.is_grad_enabled(), torch.initial_seed()),
        "numpy": (numpy.geterr(), numpy.get_printoptions()),
        "scikit-learn": sklearn.get_config(),
        "logging": (logging.root.level, list(logging.root.handlers)),
        "signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)],
        "python": (list(sys.path), sys.excepthook, random.getstate(), threading.active_count()),
    }

before = state()
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
for name, value in state().items():
    assert value == before[name], (name, before[name], value)
"""


def test_importing_everything_changes_nothing_else():
    subprocess.run([sys.executable, "-c", IMPORT_ALL, json.dumps(MODULES)], check=True)


ORDER = [
    "extras",
    "files",
    "naming",
    "threads",
    "tracing",
    "checking",
    "losses",
    "pairwise",
    "functional",
    "distributed",
    "risks",
    "epochs",
    "theory",
    "corruption",
    "metrics",
    "audit",
    "boosting",
    "sampling",
    "models",
    "machines",
    "estimators",
    "datasets",
    "drawing",
    "pages",
    "tabular",
    "paper",
    "report",
    "cli",
    "__main__",
]


def imports(path):
    """The modules of symloss that a file imports, in either spelling; a name of the package itself counts as none."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "symloss" else [f"symloss.{alias.name}" for alias in node.names]
            assert not node.level, f"{path} has a relative import, which this test would not see"
        yield from (name for name in names if name.split(".")[0] == "symloss" and name in MODULES)


def test_one_direction_of_dependency():
    root = Path(sl.__file__).parent
    for path in root.rglob("*.py"):
        layer = path.relative_to(root).with_suffix("").parts[0]
        if layer == "__init__":
            continue
        for name in imports(path):
            assert name != "symloss", f"{path} imports the whole package, and so every layer"
            assert ORDER.index(name.split(".")[1]) <= ORDER.index(layer), f"{path} imports {name}"


def test_the_layers_are_all_of_the_package():
    found = {name.split(".")[1] for name in MODULES if name != "symloss"}
    assert found == set(ORDER)


def test_versions_agree():
    root = Path(sl.__file__).parents[2]
    if not (root / "pyproject.toml").exists():
        pytest.skip("installed from a wheel")
    assert f'version = "{sl.__version__}"' in (root / "pyproject.toml").read_text()
    assert re.search(rf"^version: {sl.__version__}$", (root / "CITATION.cff").read_text(), re.M)
    assert f"## {sl.__version__}" in (root / "CHANGELOG.md").read_text()
