"""Every code block of the documentation runs, and prints what the page says that it prints.

The blocks of a page run in order, in one namespace and in a folder of their own. A ``text`` block right after a block
is its output. A ``python`` block whose first line is ``# name.py`` is that file, too. Of ``sh`` blocks the commands of
symloss run; those that take long are parsed: the command and its options exist.
"""

import contextlib
import doctest
import io
import re
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
import typer.main
from typer.testing import CliRunner

import symloss as sl
from symloss.cli import app

ROOT = Path(sl.__file__).parents[2]
if not (ROOT / "docs").exists():
    pytest.skip("installed from a wheel", allow_module_level=True)
MADE = {"_build", "api", "gallery"}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if not MADE & set(page.relative_to(ROOT).parts)]
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$(?:\s*^```text\n(.*?)^```$)?", re.M | re.S)
EXEMPT = re.compile(r"# not run in the tests: \w+")
LONG = (["reproduce"], ["datasets", "--fetch"], ["compare", "--figures"], ["compare", "--latex"])


class Block(NamedTuple):
    """A block of a page: its language, what it says, what it is said to print, and where it is."""

    language: str
    code: str
    output: str | None
    where: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    name = page.relative_to(ROOT)
    return [
        Block(*found.groups(), f"{name}:{text[: found.start()].count(chr(10)) + 1}") for found in BLOCK.finditer(text)
    ]


def agrees(said: str, printed: str) -> bool:
    """Whether two texts are the same up to white space, '...', and one unit of the last digit of a decimal number."""
    number = re.compile(r"\d+\.\d+")
    found = number.findall(said)
    if len(found) == len(number.findall(printed)):
        wanted = iter(found)

        def nearest(match: re.Match[str]) -> str:
            want = next(wanted)
            unit = 10.0 ** -len(want.partition(".")[2])
            return want if abs(float(match[0]) - float(want)) < 1.01 * unit else match[0]

        printed = number.sub(nearest, printed)
    return doctest.OutputChecker().check_output(said, printed, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)


def run_python(block: Block, namespace: dict[str, object]) -> str:
    name = re.match(r"# (\w+\.py)\n", block.code)
    if name:
        Path(name[1]).write_text(block.code)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block.code, block.where, "exec"), namespace)
    return printed.getvalue()


def run_symloss(arguments: list[str]) -> str:
    if any(set(long) <= set(arguments) for long in LONG):
        command = typer.main.get_command(app)
        while hasattr(command, "commands"):
            command = command.commands[arguments.pop(0)]
        command.make_context(command.name, arguments)
        return ""
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def check_other(words: list[str]) -> None:
    """Check that a script and its options, or a target of the Makefile, exist."""
    if words[:1] == ["torchrun"]:
        assert (ROOT / words[-1]).exists(), words
    elif words[:1] == ["python"]:
        script = (ROOT / words[1]).read_text()
        assert all(f'"{word}"' in script for word in words[2:] if word.startswith("--")), words
    elif words[:1] == ["make"]:
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.M), words
    else:
        known = ([], ["pip", "install"], ["git", "clone"], ["dask", "scheduler"], ["dask", "worker"], ["ray", "start"])
        assert words[:2] in known, f"the tests do not know {words}"


def run_shell(block: Block) -> str:
    printed = []
    for line in block.code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["symloss"]:
            printed.append(run_symloss(words[1:]))
        else:
            check_other(words)
    return "".join(printed)


LONG_PAGES = ("command_line.md", "estimators.md", "explorer.md", "many_machines.md", "report.md")  # take many seconds


def slow_if_long(page):
    return pytest.param(page, marks=[pytest.mark.slow] if page.name in LONG_PAGES else [])


@pytest.mark.parametrize(
    "page", [slow_if_long(page) for page in PAGES if blocks(page)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_blocks_run_and_print_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    shutil.copytree(ROOT / "results", tmp_path / "results")
    torch.manual_seed(0)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        if EXEMPT.match(block.code):
            continue
        printed = run_python(block, namespace) if block.language == "python" else run_shell(block)
        if block.output is not None:
            assert agrees(block.output, printed), f"{block.where} prints\n{printed}"
        elif block.language == "python":
            assert not printed, f"{block.where} prints what the page does not show:\n{printed}"


def test_no_code_hides_behind_another_name():
    for page in PAGES:
        fences = re.findall(r"^([ \t]*)```(.*)$", page.read_text(), re.M)
        for indent, name in fences[::2]:  # each second one closes
            assert name in ("python", "sh", "text") or name.startswith("{"), f"{page}: {name!r}"
            assert not indent, f"{page}: an indented block is not run"


def test_few_blocks_are_exempt_and_each_says_why():
    exempt = [block.where for page in PAGES for block in blocks(page) if EXEMPT.match(block.code)]
    assert len(exempt) <= 3, exempt


@pytest.mark.parametrize(("said", "printed", "same"), [
    ("0.93 of 7", "0.94  of 7\n", True), ("0.93", "0.95", False), ("0.93", "0.93 0.93", False),
    ("a ... d", "a b c d", True), ("7", "8", False),
])  # fmt: skip
def test_outputs_agree_up_to_one_unit_of_the_last_digit(said, printed, same):
    assert agrees(said, printed) is same


def test_options_that_do_not_exist_are_found():
    with pytest.raises(Exception, match="--epocs"):
        run_symloss(["reproduce", "mnist", "--epocs", "3"])
    with pytest.raises(AssertionError):
        check_other(["make", "nonsense"])


def test_links_of_pages_outside_the_site_lead_somewhere():
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (ROOT / target).exists(), f"{page.name}: {target}"


def test_every_example_has_a_picture():
    examples = sorted((ROOT / "examples").glob("*.py"))
    assert examples
    for example in examples:
        named = re.findall(r'^# sphinx_gallery_thumbnail_path = "(.+)"$', example.read_text(), re.M)
        drawn = re.search(r"^from matplotlib|^import matplotlib", example.read_text(), re.M)
        assert bool(named) != bool(drawn), example.name  # the gallery draws, or takes a picture from the documentation
        assert all((ROOT / "docs" / path).exists() for path in named), example.name


def test_pages_show_pictures_that_exist():
    for page in PAGES:
        for path in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text()):
            assert (page.parent / path).exists(), f"{page.name}: {path}"
