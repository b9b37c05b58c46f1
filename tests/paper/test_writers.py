import io
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from symloss.cli import app
from symloss.paper.compare import Cell, compare
from symloss.paper.latex import write_latex
from symloss.paper.markdown import comparison_markdown
from symloss.paper.published import published_cells
from symloss.paper.results import Result
from symloss.paper.terminal import print_comparison, print_summary

AWKWARD = Result(
    family="my_own 50%",
    dataset="a_b & c|d [red]x[/red] #1",
    pi=0.9,
    pi_prime=0.1,
    trials=2,
    scores={"ber": {"my.module:Tan_gent": [70.0, 71.0], "ramp": [60.0, 60.5], "sigmoid": [100.0, 100.0]}},
)


@pytest.mark.parametrize(
    ("page", "run", "options"),
    [
        ("mnist", "mnist-matched", []),
        ("mnist_dropout_off", "mnist-matched", ["--scores", "dropout_off"]),
        ("mnist_chosen_epoch", "mnist-matched", ["--scores", "chosen_epoch"]),
        ("mnist_printed", "mnist-printed", []),
    ],
)
def test_the_pages_of_mnist_are_those_of_the_committed_results(tmp_path, page, run, options):
    root = Path(__file__).parents[2]
    if not (root / "results").is_dir():
        pytest.skip("the results are only in the repository")
    tables = tmp_path / "tables.md"
    result = CliRunner().invoke(app, ["compare", str(root / "results" / run), "--markdown", str(tables), *options])
    assert result.exit_code == 0
    assert (root / "docs" / "reproduction" / f"{page}.md").read_text(encoding="utf-8") == tables.read_text("utf-8")


def papers_own():
    """The comparison of somebody whose results are the published ones, in the order that compare gives."""
    cells = [
        Cell(c.family, c.dataset, c.risk, c.pi, c.pi_prime, c.loss, c.mean, c.se, 20, c.bold, c.mean, c.se, c.bold)
        for c in published_cells()
    ]
    return sorted(cells, key=lambda c: (["uci", "mnist", "cifar10"].index(c.family), c.risk == "auc", -c.pi))


def printed(cells, width):
    stream = io.StringIO()
    console = Console(file=stream, width=width)
    print_comparison(cells, console)
    print_summary(cells, console)
    return stream.getvalue()


def scores(latex):
    """The rows of a tabular as lists of numbers, standard errors and boldface."""
    rows = [re.findall(r"(\\textbf\{)?(\d+\.\d) \((\d+\.\d)\)", line) for line in latex.splitlines()]
    return [row for row in rows if row]


def test_latex_tables_are_the_papers_tables(tmp_path):
    source = Path(os.environ.get("SYMLOSS_PAPER", Path(__file__).parents[3] / "shared" / "paper" / "paper.tex"))
    if not source.exists():
        pytest.skip("the paper's source is not at hand (SYMLOSS_PAPER=FILE)")
    paths = write_latex(tmp_path, papers_own())
    assert [path.name for path in paths[:3]] == ["main_text.tex", "uci_ber_pi1.00_0.00.tex", "uci_ber_pi0.80_0.30.tex"]
    assert len(paths) == 1 + 8 + 2 + 8 + 1
    ours = [scores(path.read_text()) for path in paths[:-1]]
    tables = [scores(text.split(r"\end{tabular}")[0]) for text in source.read_text().split(r"\begin{tabular}")]
    assert ours == [table for table in tables if table]


def test_latex_is_well_formed(tmp_path, made_up):
    paths = write_latex(tmp_path, compare([*made_up("uci", "mnist"), AWKWARD]))
    for path in paths[:-1]:
        text = path.read_text()
        assert [text.count(rf"\{rule}rule") for rule in ("top", "bottom")] == [1, 1]
        columns = re.search(r"\\begin\{tabular\}\{([lr]+)\}", text)[1]
        lines = [line for line in text.splitlines() if line.endswith(r"\\")]
        assert {len(re.findall(r"(?<!\\)&", line)) for line in lines} == {len(columns) - 1}
        plain = text.replace(r"\{", "").replace(r"\}", "")
        assert plain.count("{") == plain.count("}")
        assert not re.search(r"(?<!\\)[#%]", text)
        assert text.count(r"\begin{table") == text.count(r"\end{table") == 1
        assert f"\\input{{{path.name}}}" in paths[-1].read_text()
    own = (tmp_path / "my-own-50-_ber_pi0.90_0.10.tex").read_text()
    assert r"a\_b \& c|d [red]x[/red] \#1 & " in own
    assert r"Dataset & Sigmoid & Ramp & Tan\_gent \\" in own


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex")
def test_latex_compiles_and_no_table_is_too_wide(tmp_path, made_up):
    write_latex(tmp_path, compare([*made_up("uci", "mnist", datasets=["twonorm", "mnist"]), AWKWARD]))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout
    assert "Overfull" not in found.stdout
    assert (tmp_path / "tables.pdf").stat().st_size > 0


def test_latex_of_part_of_the_results(tmp_path, made_up):
    part = [cell for cell in made_up("uci", datasets=["susy", "twonorm"]) if cell.pi == 0.65]
    names = [path.name for path in write_latex(tmp_path, compare(part))]
    assert names == ["main_text.tex", "uci_ber_pi0.65_0.45.tex", "uci_auc_pi0.65_0.45.tex", "tables.tex"]
    lines = (tmp_path / "main_text.tex").read_text().splitlines()
    assert [line.split("&")[0].strip() for line in lines if "& BAC &" in line or "& AUC &" in line] == ["twonorm", ""]
    susy = [cell for cell in part if cell.dataset == "susy"]
    assert "main_text.tex" not in [path.name for path in write_latex(tmp_path, compare(susy))]


def test_markdown(made_up):
    cells = compare([*made_up("uci", "mnist"), AWKWARD])
    text = comparison_markdown(cells)
    tables = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    assert len(tables) == 1 + 8 + 2 + 1
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table}) == 1
    assert text.count("| ours |") == 72 + 8 + 1
    assert text.count("| paper |") == text.count("| difference, z |") == 72 + 8
    spambase = next(cell for cell in cells if cell.dataset == "spambase" and cell.loss == "squared" and cell.pi == 1)
    assert f"**{spambase.mean:.1f} ({spambase.se:.1f})**" in text
    assert r"a\_b & c\|d \[red]x\[/red] #1" in text
    assert "nothing to compare" not in text
    assert "The paper has none of these scores, so there is nothing" in comparison_markdown(compare([AWKWARD]))


@pytest.mark.parametrize("width", [40, 80, 120])
def test_terminal_fits(made_up, width):
    cells = compare(
        made_up("uci", "mnist", "cifar10", datasets=["spambase", "mushroom", "mnist", "automobile", "bird"])
    )
    text = printed(cells, width)
    tables, summary = text[: text.index(" cells")], text[text.index(" cells") :]
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    assert tables.count("spambase") == 8 * (1 if width >= 80 else 3)
    assert tables.count("±") == 2 * 5 * 56
    assert "all " in summary


def test_terminal_fits_where_results_are_far_off(made_up):
    cells = [
        replace(cell, mean=cell.mean - 14) for cell in compare(made_up("cifar10", datasets=["automobile", "bird"]))
    ]
    assert printed(cells, 80).count("automobile") == 8


def test_losses_that_the_paper_lacks_continue_without_empty_lines(made_up):
    own = {f"mine:Loss{number}": [70.0 + number] * 20 for number in range(3)}
    results = [
        replace(cell, scores={name: {**losses, **own} for name, losses in cell.scores.items()})
        for cell in made_up("uci", datasets=["susy", "adult"])
    ]
    pieces = printed(compare(results), 80).split("\n\n")[:16]
    assert [("continued" in piece, piece.count("paper"), piece.count("Loss2")) for piece in pieces[:2]] == [
        (False, 2, 0),
        (True, 0, 1),
    ]


def test_terminal_shows_names_as_they_are():
    text = printed(compare([AWKWARD]), 100)
    assert "a_b & c|d [red]x[/red] #1" in text
    assert "Tan_gent" in text
    assert "100±0.0*" in text
    assert "paper " not in text.split("cells")[0]


def test_terminal_colors(made_up):
    cells = compare(made_up("mnist"))
    stream = io.StringIO()
    print_comparison(cells, Console(file=stream, width=80, force_terminal=True, color_system="standard"))
    assert "\x1b[1m" in stream.getvalue()  # bold
    assert "\x1b[32m" in stream.getvalue()  # green
    moved = [Cell("uci", "susy", "ber", 1, 0, "hinge", 80.5, 0.4, 20, True, 77.5, 0.4, True)]
    stream = io.StringIO()
    print_comparison(moved, Console(file=stream, width=80, force_terminal=True, color_system="standard"))
    assert "\x1b[31m+3.0 " in stream.getvalue()
