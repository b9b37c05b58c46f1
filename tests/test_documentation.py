"""Every code block of the documentation runs, and prints what the page says that it prints.

The blocks of a page run in order, in one namespace and in a folder of their own. A ``text`` block right after a block
is its output. A ``python`` block whose first line is ``# name.py`` is that file, too. Of ``sh`` blocks the commands of
symloss run; of those that take long, the command line is parsed.
"""

import contextlib
import doctest
import io
import re
import shlex
import shutil
from pathlib import Path

import pandas as pd
import pytest
import torch
import typer.main
from sklearn.datasets import make_classification
from typer.testing import CliRunner

import symloss as sl
from symloss.cli import app

ROOT = Path(sl.__file__).parents[2]
if not (ROOT / "docs").exists():
    pytest.skip("installed from a wheel", allow_module_level=True)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if not {"_build", "api", "gallery"} & set(page.relative_to(ROOT).parts)]
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$(?:\s*^```text\n(.*?)^```$)?", re.M | re.S)
EXEMPT = "# not run in the tests: "
LONG = ("reproduce", "--fetch", "--figures", "--latex", "review")  # the last needs what people write


def agrees(said, printed):
    """Whether two texts are the same up to white space, '...', and one unit of the last digit of a decimal number."""
    number = re.compile(r"\d*\.\d+")
    found = number.findall(said)
    if len(found) == len(number.findall(printed)):
        wanted = iter(found)

        def nearest(match):
            want = next(wanted)
            unit = 10.0 ** -len(want.partition(".")[2])
            return want if abs(float(match[0]) - float(want)) < 1.01 * unit else match[0]

        printed = number.sub(nearest, printed)
    return doctest.OutputChecker().check_output(said, printed, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)


def run_python(code, namespace):
    name = re.match(r"# (\w+\.py)\n", code)
    if name:
        Path(name[1]).write_text(code)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "page", "exec"), namespace)
    return printed.getvalue()


def run_shell(code):
    printed = []
    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["symloss"] and set(LONG) & set(words):
            command = typer.main.get_command(app).commands[words[1]]
            while hasattr(command, "commands"):
                command = command.commands[words.pop(2)]
            command.make_context(command.name, words[2:])
        elif words[:1] == ["symloss"]:
            result = CliRunner().invoke(app, words[1:])
            assert result.exit_code == 0, result.output
            printed.append(result.stdout)
        elif words[:1] == ["python"]:
            script = Path(words[2].replace(".", "/") + ".py" if words[1] == "-m" else words[1])
            assert (ROOT / script).exists() or (ROOT / script.with_suffix("")).is_dir(), words
        elif words[:1] == ["make"]:
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.M), words
    return "".join(printed)


def your_data():
    """Write the files, and return the arrays, that pages call yours."""
    X, y = make_classification(120, 4, flip_y=0.2, random_state=0)
    table = pd.DataFrame(X).add_prefix("x").assign(customer=range(120), churn=y)
    table.to_csv("data.csv", index=False)
    table.drop(columns="churn").to_csv("new.csv", index=False)
    questions = pd.DataFrame({"question": range(60)})
    questions.to_csv("questions.csv", index=False)
    answers = questions.merge(pd.DataFrame({"worker": [*"abc"]}), how="cross")
    answers.assign(answer=(answers["question"] + answers.index // 17) % 2).to_csv("answers.csv", index=False)
    batch = {"network": torch.nn.Linear(4, 1), "X_batch": torch.from_numpy(X).float(), "y_batch": torch.from_numpy(y)}
    return {"X_train": X, "y_train": y, "X_new": X[:5], **batch}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_run_and_print_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    shutil.copytree(ROOT / "results", tmp_path / "results")
    torch.manual_seed(0)
    namespace = {"__name__": "__main__"} | your_data()
    for language, code, output in BLOCK.findall(page.read_text()):
        if code.startswith(EXEMPT):
            continue
        printed = run_python(code, namespace) if language == "python" else run_shell(code)
        if output or language == "python":
            assert agrees(output, printed), f"{code}\nprints\n{printed}"


def test_links_and_pictures_lead_somewhere():
    for page in PAGES:
        text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
            made = target.startswith("gallery/") or "/gallery/" in target
            assert made or (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_makefile_names_files_that_exist():
    words = re.findall(r"\b(?:tests|examples|benchmarks)/\w+\.py\b", (ROOT / "Makefile").read_text())
    assert words
    assert not [word for word in words if not (ROOT / word).exists()]
