"""Folders of models that were damaged or forged at random: each is refused in one line, or predicts; nothing else.

A process of its own loads them, so that a crash is seen. SYMLOSS_FUZZ says how many cases there are, and
SYMLOSS_FUZZ_SEED which.
"""

import hashlib
import importlib
import json
import os
import random
import select
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import safetensors.torch
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.naive_bayes import GaussianNB

import symloss as sl
from symloss.estimators.model_files import signed

ROOT = Path(sl.__file__).parents[2]
if not (ROOT / "attacks").exists():
    pytest.skip("installed from a wheel", allow_module_level=True)
sys.path.insert(0, str(ROOT))
changed_json, damaged = map(vars(importlib.import_module("attacks.mutations")).get, ["changed_json", "damaged"])

CASES, SEED = int(os.environ.get("SYMLOSS_FUZZ", "200")), int(os.environ.get("SYMLOSS_FUZZ_SEED", "0"))
SECONDS, BYTES = 60, 2**30  # that a folder may take

# Loads each folder that it is told of, and predicts; answers what came of it, and how much memory was asked for.
WORKER = """
import json, os, re, sys, warnings
from pathlib import Path

import numpy as np, pandas as pd
import symloss as sl

warnings.simplefilter("ignore")
answers = open(os.dup(1), "w")
os.dup2(2, 1)  # an estimator that was forged to be verbose prints
rows = pd.read_pickle(sys.argv[1])


def peak():
    return int(re.search(r"VmPeak:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024


def outcome(folder):
    try:
        if (folder / "table.json").exists():
            model = sl.tabular.load(folder)
        else:
            model = sl.estimators.load(folder)
    except ValueError as error:
        text = str(error)
        named = str(folder) in text or text.startswith("the network is your own")
        fine = "\\n" not in text and named and len(text) < 2000
        return ["refused" if fine else "unclear", text]
    except BaseException as error:
        return ["raised", repr(error)]
    try:
        with np.errstate(all="ignore"):
            if isinstance(model, sl.tabular.TableModel):
                model.predict(rows).table, repr(model)
            else:
                frame = rows[["a", "b", "c"]]
                names = getattr(model, "feature_names_in_", None)  # forged ones are as good as others
                frame = frame.to_numpy() if names is None else frame.set_axis(names, axis=1)
                model.decision_function(frame), model.predict(frame), repr(model), model._repr_html_()
    except BaseException as error:
        return ["cannot predict", repr(error)]
    return ["loaded", ""]


sl.estimators.BERClassifier().fit(rows[["a"]], rows["y"]).predict(rows[["a"]])  # what is imported late
print(json.dumps(["ready"]), flush=True, file=answers)
for line in sys.stdin:
    before = peak()
    print(json.dumps([*outcome(Path(line.strip())), peak() - before]), flush=True, file=answers)
"""


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(generator.normal(size=(120, 3)), columns=["a", "b", "c"])
    frame["y"] = np.where(frame["a"] + generator.normal(size=120) > 0, "yes", "no")
    frame["city"] = generator.choice(["Oslo", "Rome"], 120)
    frame["day"] = pd.date_range("2020-01-01", periods=120).strftime("%Y-%m-%d")
    return frame


@pytest.fixture(scope="module")
def models(rows, tmp_path_factory):
    """One folder of every family, of the CV forms, and of a table."""
    folder = tmp_path_factory.mktemp("models")
    small = {"n_estimators": 4, "n_landmarks": 8, "hidden_units": 4, "epochs": 1, "n_seeds": 2, "threshold": 0.0,
             "min_samples_leaf": 2, "random_state": 0}  # fmt: skip
    X, y = rows[["a", "b", "c"]], rows["y"]
    families = {
        "linear": sl.BERClassifier("logistic", **small),
        "kernel": sl.AUCClassifier(sl.BarrierHinge(b=10, r=1), "kernel", **small),
        "process": sl.BERClassifier("squared", "gaussian_process", **small),
        "trees": sl.AUCClassifier(model="trees", **small),
        "mlp": sl.AUCClassifier("sigmoid", "mlp", **small).set_params(random_state=np.random.RandomState(0)),
    }
    for name, estimator in families.items():
        sl.estimators.save(estimator.fit(X.mask(X > 1), y), folder / name)
    pool = [*families.items(), ("boosting", HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=4))]
    common = {"cv": 2, "temperature": 10.0, "random_state": 0}
    sl.estimators.save(sl.AUCClassifierCV(pool, pi=0.9, pi_prime=0.1, **common).fit(X.to_numpy(), y), folder / "cv")
    sl.estimators.save(sl.BERClassifierCV([("other", GaussianNB()), pool[0]], **common).fit(X, y), folder / "other")
    sl.tabular.fit(rows, label="y", candidates=pool[-2:]).save(folder / "table")
    return sorted(folder.iterdir())


def damage(folder, generator):
    """Change bytes of a file, and no checksum."""
    path = generator.choice(sorted(folder.iterdir()))
    kind = generator.choice(["bytes"] * 6 + ["folder", "remove", "swap"])
    content = path.read_bytes()
    if kind == "swap":
        content = generator.choice(sorted(folder.iterdir())).read_bytes()
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind != "remove":
        path.write_bytes(content if kind == "swap" else damaged(content, generator))


def changed_tensors(content, generator):
    """Return a safetensors file in which one array is another one, or has another number at one place."""
    tensors = safetensors.torch.load(content)
    key = generator.choice(sorted(tensors))
    tensor = tensors[key].clone()
    kind = generator.choice(["number"] * 5 + ["type", "shape", "shorter", "longer", "other", "none", "header"])
    if kind == "header":
        flipped = bytearray(content)
        flipped[generator.randrange(min(len(content), 2000))] ^= 1 << generator.randrange(8)
        return bytes(flipped)
    if kind == "number" and tensor.numel():
        limits = torch.finfo(tensor.dtype) if tensor.is_floating_point() else None
        pool = [np.nan, np.inf, -1.0, 0.0, limits.max] if limits else [-1, 0, 1, 3, 100, 127, 2**31 - 1, -(2**31)]
        number = generator.choice(pool)
        if limits is None and tensor.dtype != torch.bool:
            number = min(max(number, torch.iinfo(tensor.dtype).min), torch.iinfo(tensor.dtype).max)
        tensor.view(-1)[generator.randrange(tensor.numel())] = number
    elif kind == "type":
        tensor = tensor.to(generator.choice([torch.float32, torch.float64, torch.int64, torch.bool, torch.bfloat16]))
    elif kind == "shape":
        tensor = tensor[None] if generator.random() < 0.5 else tensor.reshape(-1, 1)
    elif kind == "shorter":
        tensor = tensor[:-1] if tensor.ndim and len(tensor) else tensor
    elif kind == "longer":
        tensor = torch.cat([tensor, tensor]) if tensor.ndim else tensor
    elif kind == "other":
        tensor = tensors[generator.choice(sorted(tensors))].clone()
    else:
        tensor = tensor.new_zeros(generator.choice([(0,), (), (0, 3), (0, 2**40)]))
    return safetensors.torch.save(tensors | {key: tensor.contiguous()})


def forge(folder, generator):
    """Change what a file holds, and write the checksums that belong to it."""
    contents = json.loads((folder / "model.json").read_text())
    name = generator.choice(["model.json", "model.json", "tensors.safetensors", "tensors.safetensors", "table.json"])
    if name == "table.json" and not (folder / name).exists():
        name = "model.json"
    if name == "model.json":
        whole = generator.random() < 0.1
        contents = (
            changed_json(contents, generator)
            if whole
            else contents | {"estimator": changed_json(contents["estimator"], generator)}
        )
    else:
        content = (folder / name).read_bytes()
        if name == "table.json":
            content = json.dumps(changed_json(json.loads(content), generator)).encode()
        else:
            content = changed_tensors(content, generator)
        (folder / name).write_bytes(content)
        contents["files"][name] = hashlib.sha256(content).hexdigest()
    (folder / "model.json").write_text(signed(contents) if isinstance(contents, dict) else json.dumps(contents))


class Loader:
    """A process that loads folders, and is started again where one of them has ended it."""

    def __init__(self, rows):
        self.rows, self.process = rows, None

    def load(self, folder):
        if self.process is None:
            arguments = [sys.executable, "-c", WORKER, self.rows]
            self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            assert self._answer() == ["ready"]
        self.process.stdin.write(f"{folder}\n")
        self.process.stdin.flush()
        answer = self._answer()
        if answer is not None and answer[2] > BYTES:
            return ["memory", f"{answer[2]} bytes"]
        return answer[:2] if answer else self.end()

    def _answer(self):
        ready, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        line = self.process.stdout.readline() if ready else ""
        return json.loads(line) if line else None

    def end(self):
        code = self.process.poll()
        self.process.kill()
        self.process.communicate()
        self.process = None
        return ["hung" if code is None else "crashed", str(code)]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is told by /proc")
def test_a_damaged_or_forged_folder_is_refused_or_predicts(models, rows, tmp_path):
    rows.to_pickle(tmp_path / "rows.pkl")
    loader, counts, faults = Loader(str(tmp_path / "rows.pkl")), Counter(), []
    for case in range(CASES):
        generator = random.Random(1_000_003 * SEED + case)
        source, change = generator.choice(models), generator.choice([damage, forge, forge, forge])
        folder = tmp_path / source.name
        shutil.copytree(source, folder)
        change(folder, generator)
        outcome, text = loader.load(folder)
        counts[f"{change.__name__}, {outcome}"] += 1
        if outcome not in ("refused", "loaded"):
            faults.append(f"case {case} ({source.name}): {outcome}: {text[:300]}")
        shutil.rmtree(folder)
    for source in models:
        refused = source.name == "other"  # it holds an estimator that is not ours, and nothing is trusted
        assert loader.load(source)[0] == ("refused" if refused else "loaded"), source
    loader.end()
    print(CASES, dict(sorted(counts.items())))
    assert not faults, "\n".join([f"{len(faults)} of {CASES}", *faults])
