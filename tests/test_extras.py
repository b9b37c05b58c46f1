"""Optional packages: what each part says if one is missing. A process of its own does not see the hidden ones."""

import subprocess
import sys

HIDE = """
import sys

class Hidden:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden)
"""


def run(hidden, code):
    return subprocess.run([sys.executable, "-c", HIDE.format(hidden=hidden) + code], capture_output=True, text=True)


def test_the_library_needs_no_extra(tmp_path):
    code = """
import numpy as np, torch, symloss as sl
sl.AUCLoss()(torch.linspace(-1, 1, 8, requires_grad=True), torch.arange(8) % 2).backward()
X = np.linspace(-1, 1, 60)[:, None]
sl.AUCClassifierCV([("linear", sl.AUCClassifier())], random_state=0).fit(X, X[:, 0] > 0).predict(X)
try:
    sl.tabular.fit("data.csv", "y")
except ImportError as error:
    print(error)
"""
    (tmp_path / "data.csv").write_text("x,y\n1,2\n")
    hidden = ["pandas", "typer", "rich", "matplotlib", "plotly", "jinja2", "skops", "safetensors", "openpyxl", "pooch"]
    done = run(hidden, f"import os; os.chdir({str(tmp_path)!r})\n" + code)
    assert (done.stderr, done.stdout) == ("", 'tables need pandas and pyarrow: pip install "symloss[tables]"\n')


def test_the_command_without_its_extra_is_one_line():
    done = run(["typer"], "from symloss.__main__ import main\nmain()")
    assert done.returncode == 2
    assert done.stderr == 'symloss: error: the symloss command needs typer and rich: pip install "symloss[cli]"\n'
