"""The reproduction on UCI and LIBSVM: published cells, comparison, tables, figures, training, running and resuming."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex
from rich.console import Console
from typer.testing import CliRunner

import symloss as sl
from symloss.cli import app
from symloss.datasets import info
from symloss.functional import auc_risk, ber_risk
from symloss.models import Perceptron
from symloss.paper import figures
from symloss.paper.compare import (
    LOSSES,
    boldface,
    compare,
    comparison_csv,
    published_cells,
    summarize,
    summarize_parts,
)  # fmt: skip
from symloss.paper.perceptrons import Classes, Risk, train
from symloss.paper.results import MATCHED, PRINTED, TRIALS, Run, Settings, label, read_run, tidy, write_run
from symloss.paper.run import Part, plan, run, run_part, run_trials
from symloss.paper.tables import comparison_latex, comparison_markdown, print_comparison, print_summary

ROOT = Path(sl.__file__).parents[2]
SOURCE = Path(os.environ.get("SYMLOSS_PAPER", ROOT.parent / "shared" / "paper" / "paper.tex"))
QUICK = Settings(n_positive=40, n_negative=40, n_test=40, hidden_units=8, epochs=3, batch_size=40)
PLAN = replace(plan("uci", trials=2), settings=vars(QUICK))
PARTS = [("twonorm", 0.8, 0.3), ("waveform", 0.8, 0.3)]
BOTH = [Risk(risk, sl.get_loss(name)) for risk in ("ber", "auc") for name in LOSSES]


class Tangent(sl.Loss):
    def value(self, z):
        return (2 * torch.atan(z) - 1) ** 2


class Exploding(sl.Loss):
    def value(self, z):
        return torch.full_like(z, torch.nan)

    def slope(self, z):
        return torch.full_like(z, torch.nan)


def blobs():
    y = np.repeat([1, -1], 200)
    return y[:, None] + np.random.default_rng(0).normal(size=(400, 3)), y


def command(*arguments, columns=100):
    return CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": str(columns), "NO_COLOR": "1"})


def one(scores, dataset="twonorm", pi=0.65, pi_prime=0.45, **changes):
    """A run of one data set at one noise rate, from scores by risk and loss."""
    by_loss = {(risk, loss): {"score": of} for risk, losses in scores.items() for loss, of in losses.items()}
    table = tidy(by_loss, "trial", dataset, pi, pi_prime)
    return Run(**{"family": "uci", "trials": int(table["trial"].max()), "scores": table} | changes)


@pytest.fixture(scope="module")
def made_up():
    """Runs whose means are the published ones, moved by ``shift`` standard errors times a standard normal number."""

    def make(family, shift=1.0, datasets=None):
        rng, scores = np.random.default_rng(0), defaultdict(lambda: defaultdict(dict))
        for cell in published_cells().values():
            if cell.family == family and (datasets is None or cell.dataset in datasets):
                se, trials = max(cell.se, 0.02), TRIALS[family]
                drawn = rng.normal(size=trials)
                drawn = (drawn - drawn.mean()) / drawn.std(ddof=1) * se * trials**0.5
                values = np.clip(cell.mean + shift * se * rng.normal() + drawn, 0, 100).tolist()
                scores[cell.dataset, cell.pi, cell.pi_prime][cell.risk][cell.loss] = values
        first, *others = (one(of, *place, family=family) for place, of in scores.items())
        for other in others:
            first = first.joined(other)
        return first

    return make


# Published cells and boldface


def test_every_published_cell_is_there_once_with_our_names():
    cells = published_cells().values()
    assert Counter(cell.family for cell in cells) == {"uci": 504, "mnist": 56, "cifar10": 504}
    assert len({(c.family, c.dataset, c.risk, c.pi, c.pi_prime, c.loss) for c in cells}) == 1064
    assert {cell.loss for cell in cells} == set(LOSSES) < set(sl.list_losses())
    for cell in cells:
        if cell.family == "cifar10":
            assert cell.dataset in info("cifar10").label_names[1:]
        else:
            assert info(cell.dataset)
    assert published_cells()["uci", "spambase", "ber", 0.65, 0.45, "hinge"].mean == 74.7


@pytest.mark.skipif(not SOURCE.exists(), reason="the paper's source is not at hand (SYMLOSS_PAPER=FILE)")
def test_published_cells_equal_the_papers_source():
    appendix = SOURCE.read_text().split(r"\section{Additional Experimental Results}")[1]
    score = re.compile(r"(\\textbf\{)?(\d+\.\d) \((\d+\.\d)\)")
    printed = [(float(mean), float(se), bool(bold)) for bold, mean, se in score.findall(appendix)]
    ours = [(cell.mean, cell.se, cell.bold) for cell in published_cells().values()]
    assert Counter(ours) == Counter(printed)
    without = [of for of, cell in zip(ours, published_cells().values(), strict=True) if cell.family != "mnist"]
    assert without == printed[:504] + printed[560:]


def published_rows():
    key = lambda cell: (cell.family, cell.dataset, cell.risk, cell.pi)  # noqa: E731
    return [list(row) for _, row in groupby(published_cells().values(), key)]


def test_boldface_is_the_published_one_wherever_rounding_leaves_no_choice():
    decided = agree = 0
    for row in published_rows():
        trials = TRIALS[row[0].family]
        bold = boldface([cell.mean for cell in row], [cell.se for cell in row], trials)
        agree += sum(ours == cell.bold for ours, cell in zip(bold, row, strict=True))
        for index, cell in enumerate(row):
            possible = set()
            for sign in (1, -1):  # rounding has hidden as much as it can in its favor, or against it
                means = [of.mean + sign * (0.05 if k == index else -0.05) for k, of in enumerate(row)]
                possible.add(boldface(means, [max(of.se + sign * 0.05, 1e-6) for of in row], trials)[index])
            assert cell.bold in possible, cell
            decided += len(possible) == 1
    assert decided > 850
    assert agree >= 1040


# Comparison


def test_mean_standard_error_difference_and_z():
    (cell,) = compare([one({"auc": {"sigmoid": [97.0, 98.0, 99.6, 97.4]}})])
    scores = np.array([97.0, 98.0, 99.6, 97.4])
    assert (cell.mean, cell.se) == pytest.approx((scores.mean(), scores.std(ddof=1) / 2))
    assert cell.difference == pytest.approx(scores.mean() - 98.0)
    assert cell.z == pytest.approx(cell.difference / np.sqrt(cell.se**2 + 0.2**2 + 0.1**2 / 6))


def papers_own():
    """The comparison of somebody whose results are the published ones, in the order that compare gives."""
    cells = [replace(c, paper_mean=c.mean, paper_se=c.se, paper_bold=c.bold) for c in published_cells().values()]
    return sorted(cells, key=lambda c: (["uci", "mnist", "cifar10"].index(c.family), c.risk == "auc", -c.pi))


def test_the_papers_own_numbers_agree_fully():
    summary = summarize(papers_own())
    assert (summary["cells"], summary["compared"], summary["rms_difference"]) == (1064, 1064, 0)
    assert summary["share_z_below_1"] == summary["share_z_below_3"] == 1
    assert (summary["best_loss_of"], summary["best_loss_agree"], summary["boldface_of"]) == (152, 152, 1064)
    assert summary["boldface_agree"] > 1040  # what their rounding hides


def test_summary_csv_and_json_of_results_that_differ_by_chance(made_up):
    cells = compare([made_up("uci"), made_up("mnist")])
    summary, differences = summarize(cells), [cell.mean - cell.paper_mean for cell in cells]
    assert summary["rms_difference"] == pytest.approx(np.sqrt(np.mean(np.square(differences))))
    assert summary["share_within_1_5"] == np.mean(np.abs(differences) <= 1.5)
    assert summary["share_z_below_2"] == np.mean([abs(cell.z) < 2 for cell in cells])
    assert 0.7 < summary["share_z_below_1"] < 0.95  # moved by one standard error, where z counts two
    parts = summarize_parts(cells)
    assert list(parts["noise"]) == ["(1.0, 0.0)", "(0.8, 0.3)", "(0.7, 0.4)", "(0.65, 0.45)"]
    assert sum(part["compared"] for part in parts["family"].values()) == 560
    header, *lines = comparison_csv(cells).splitlines()
    assert header.startswith("family,dataset,objective,pi,pi_prime,loss,mean,se,trials,bold,paper_mean")
    for line, cell in zip(lines, cells, strict=True):
        assert line.split(",")[9] == str(int(cell.bold))
        assert float(line.split(",")[-1]) == pytest.approx(cell.z, abs=5.1e-5)


def test_what_the_paper_lacks(made_up):
    own = one({"auc": {"mine:Loss": [99.9, 99.8], "sigmoid": [97.0, 97.2]}})
    cells = compare([own])
    assert [(cell.loss, cell.bold, cell.paper_mean, cell.z is None) for cell in cells] == [
        ("sigmoid", False, 98.0, False),
        ("mine:Loss", True, None, True),
    ]
    assert (summarize(cells)["compared"], summarize(cells)["boldface_of"]) == (
        1,
        0,
    )  # the row lacks some of the paper's
    cells = compare([one({"ber": {"hinge": [70, 71]}}, dataset="mine", family="own")])
    assert comparison_csv(cells).splitlines()[1] == "own,mine,ber,0.65,0.45,hinge,70.5,0.5,2,1,,,,,"
    assert (summarize(cells)["compared"], summarize(cells)["rms_difference"]) == (0, None)
    cells = compare([one({"auc": {"sigmoid": [97.0], "hinge": [96.9]}})])  # a single trial
    assert [(cell.se, cell.z, cell.bold) for cell in cells] == [(None, None, True), (None, None, False)]
    with pytest.raises(ValueError, match="no scores 'dropout_off'"):
        compare([own], "dropout_off")


@pytest.mark.skipif(not (ROOT / "results").is_dir(), reason="the results are only in the repository")
@pytest.mark.parametrize(("name", "rms"), [("uci-matched", 0.72), ("mnist-matched", 2.77), ("cifar10", 0.62)])
def test_the_committed_results(name, rms):
    folder = ROOT / "results" / name
    cells = compare([read_run(folder)])
    assert summarize(cells)["rms_difference"] < rms
    assert summarize(cells)["boldface_agree"] / len(cells) > 0.91
    assert (folder / "tables.md").read_text(encoding="utf-8") == comparison_markdown(cells)
    assert (folder / "compared.csv").read_text(encoding="utf-8") == comparison_csv(cells)


# Tables

AWKWARD = one(
    {"ber": {"my.module:Tan_gent": [70.0, 71.0], "ramp": [60.0, 60.5], "sigmoid": [100.0, 100.0]}},
    family="my_own 50%", dataset="a_b & c|d [red]x[/red] #1", pi=0.9, pi_prime=0.1,
)  # fmt: skip


def scores_of(latex):
    """The rows of a tabular as lists of numbers, standard errors and boldface."""
    rows = [re.findall(r"(\\textbf\{)?(\d+\.\d) \((\d+\.\d)\)", line) for line in latex.splitlines()]
    return [row for row in rows if row]


@pytest.mark.skipif(not SOURCE.exists(), reason="the paper's source is not at hand (SYMLOSS_PAPER=FILE)")
def test_latex_tables_are_the_papers_tables():
    ours, tables = (
        [table for part in text.split(r"\begin{tabular}") if (table := scores_of(part.split(r"\end{tabular}")[0]))]
        for text in (comparison_latex(papers_own()), SOURCE.read_text())
    )
    assert ours == tables[1:]  # the first one, of the main text, holds rows of others


def test_latex_is_well_formed(tmp_path, made_up):
    text = comparison_latex(compare([made_up("uci"), made_up("mnist"), AWKWARD]))
    for table in text.split(r"\begin{tabular}")[1:]:
        columns = re.match(r"\{([lr]+)\}", table)[1]
        lines = [line for line in table.splitlines() if line.endswith(r"\\")]
        assert {len(re.findall(r"(?<!\\)&", line)) for line in lines} == {len(columns) - 1}
    assert r"(0.9, 0.1) & " in text
    assert r"a\_b \& c|d [red]x[/red] \#1" in text
    assert r"& Sigmoid & Ramp & Tan\_gent \\" in text
    if shutil.which("pdflatex"):
        (tmp_path / "tables.tex").write_text(text, encoding="utf-8")
        compiled = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"]
        found = subprocess.run(compiled, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert found.returncode == 0, found.stdout
        assert "Overfull" not in found.stdout


def test_markdown(made_up):
    text = comparison_markdown(compare([made_up("uci"), made_up("mnist"), AWKWARD]))
    tables = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    assert len(tables) == 1 + 8 + 2 + 1
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table}) == 1
    assert (text.count("| ours |"), text.count("| paper |")) == (72 + 8 + 1, 72 + 8)
    assert r"a\_b & c\|d \[red]x\[/red] #1" in text
    assert "The paper has none of these scores, so there is nothing" in comparison_markdown(compare([AWKWARD]))


def test_terminal(made_up):
    cells, stream = compare([made_up("uci", datasets=["susy", "mushroom"]), AWKWARD]), io.StringIO()
    for show in (print_comparison, print_summary):
        show(cells, Console(file=stream, width=80))
    text = stream.getvalue()
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    assert "a_b & c|d [red]x[/red] #1" in text
    assert text.count("±") == 2 * 2 * 56 + 3
    assert re.search(r"^paper +71.3±0.4 ", text, re.M)


# Figures


def curve(figure, name):
    (line,) = (line for line in figure.axes[0].lines if line.get_label().endswith(name))
    return np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float)


def test_figures_of_losses(tmp_path):
    z, sigmoid = curve(figures.figure_1(), "Sigmoid")
    np.testing.assert_allclose(sigmoid, 1 / (1 + np.exp(z)))
    assert len(figures.figure_1().axes[0].lines) == 8
    z, barrier = curve(figures.figure_2(), "½ Barrier hinge (b=10, r=1)")
    np.testing.assert_allclose(barrier, 0.5 * np.maximum(-10 * (1 + z) + 1, np.maximum(10 * (z - 1), 1 - z)))
    np.testing.assert_allclose(curve(figures.figure_3(), "Sigmoid")[1], 1)
    for name in ("½ Barrier hinge (b=10, r=1)", "½ Hinge"):
        z, total = curve(figures.figure_3(), name)
        np.testing.assert_allclose(total[np.abs(z) <= 1], 1)
        assert (total[np.abs(z) > 1.001] > 1).all()
    paths = figures.save_figures(tmp_path / "new" / "folder")
    assert [path.name for path in paths] == [f"figure{n}.{kind}" for n in (1, 2, 3) for kind in ("png", "pdf")]
    for path in paths:
        assert path.read_bytes().startswith(b"\x89PNG" if path.suffix == ".png" else b"%PDF")


def test_figure_4_draws_means_against_noise(made_up):
    cells = compare([made_up("uci", datasets=["spambase", "twonorm"])])
    figure = figures.figure_4(cells)
    assert [axes.get_title() for axes in figure.axes] == ["spambase", "", "twonorm", ""]
    (barrier,) = (bars for bars in figure.axes[1].containers if to_hex(bars[0].get_color()) == "#c40f2e")
    chosen = [c for c in cells if (c.dataset, c.risk, c.loss) == ("spambase", "auc", "barrier_hinge")]
    np.testing.assert_allclose(barrier[0].get_xydata(), [(place, cell.mean) for place, cell in enumerate(chosen)])
    ends = [np.asarray(segment, dtype=float)[:, 1] for segment in barrier[2][0].get_segments()]
    np.testing.assert_allclose(ends, [[cell.mean - cell.se, cell.mean + cell.se] for cell in chosen])
    crosses = [line for line in figure.axes[1].lines if line.get_marker() == "x"]
    np.testing.assert_allclose(crosses[0].get_ydata(), [cell.paper_mean for cell in chosen])
    assert [text.get_text() for text in figure.legends[0].get_texts()][:2] == ["Barrier", "Unhinged"]


# Training


def problem(trials=1, n=60, d=4):
    generator = torch.Generator().manual_seed(0)
    y = torch.where(torch.rand(trials, n, generator=generator) < 0.5, 1, -1)
    return y[..., None] + 2 * torch.randn(trials, n, d, generator=generator), y


def fitted(X, y, risks, seeds, together=None, **changes):
    settings = replace(MATCHED, **{"hidden_units": 20, "epochs": 5, "batch_size": 25} | changes)
    return train(X, y, risks, [np.random.default_rng(seed) for seed in seeds], settings, together)


def risk_of(risk, scores, y):
    """The risk by its definition."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sl.functional.MissingClassWarning)
        # R_pos + R_neg: no factor 1/2
        return 2 * ber_risk(scores, y, risk.loss) if risk.name == "ber" else auc_risk(scores, y, risk.loss)


@pytest.mark.parametrize("risk", ["ber", "auc"])
@pytest.mark.parametrize("loss", [*map(sl.get_loss, sl.list_losses()), Tangent()], ids=repr)
def test_gradient_by_the_scores_against_autograd(risk, loss):
    risk, scores, positives = Risk(risk, loss), torch.randn(5, 40), torch.tensor([20, 13, 30, 40, 0])
    scores[0, :8] = scores[0, 25:33]  # pairs at z = 0 exactly
    scores[1] = scores[1].round()  # and at corners
    sign = torch.where(torch.arange(40) < positives[:, None], 1.0, -1.0)
    for classes in (Classes.of(sign), Classes.of(sign).cut()):
        found = risk.gradient(scores, classes)
        for row in range(5):
            leaf = scores[row].clone().requires_grad_()
            risk_of(risk, leaf, sign[row]).backward()
            torch.testing.assert_close(found[row], leaf.grad, rtol=1e-5, atol=1e-6 * float(leaf.grad.abs().max()))


@pytest.mark.parametrize("loss", ["sigmoid", "hinge", "squared"])
def test_gradient_of_pairs_one_by_one_against_autograd(loss):
    sign = torch.tensor([1.0, -1.0]).repeat_interleave(6).repeat(3, 1)
    sign[1, [4, 5, 10, 11]] = 0.0  # empty places of a last batch
    sign[2, 6:] = 0.0  # a class is missing
    scores = torch.randn(3, 12, dtype=torch.float64, requires_grad=True)
    margins = scores[:, :6] - scores[:, 6:]
    means = [sl.get_loss(loss)(margins[0]).mean(), sl.get_loss(loss)(margins[1, :4]).mean()]
    (expected,) = torch.autograd.grad(sum(means), scores)
    found = Risk("auc", sl.get_loss(loss), one_by_one=True).gradient(scores.detach(), Classes.of(sign.double()))
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("risk", [*BOTH, Risk("auc", Tangent())], ids=str)
def test_training_equals_autograd_and_adam(risk):
    X, y = problem()
    found = fitted(X, y, [risk], [3], hidden_units=30, epochs=20, weight_decay=0.05)
    generator = np.random.default_rng(3)
    model = Perceptron(4, 30, generator)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, amsgrad=True, weight_decay=0.05)
    for _ in range(20):
        for rows in torch.from_numpy(generator.permutation(60)).split(25):
            optimizer.zero_grad()
            risk_of(risk, model(X[0, rows]), y[0, rows]).backward()
            optimizer.step()
    torch.testing.assert_close(found.scores(X[0])[0], model(X[0]), rtol=1e-3, atol=1e-3)


def test_each_perceptron_comes_out_as_if_trained_alone_one_by_one_or_together():
    X, y = problem(trials=3)
    apart, together = (fitted(X, y, BOTH, [0, 1, 2], of) for of in (False, True))
    for part, other in zip(together[:2], apart[:2], strict=True):
        torch.testing.assert_close(part, other, rtol=1e-3, atol=1e-4)
    for j, t in ((0, 0), (5, 1), (13, 2)):
        alone = fitted(X[t : t + 1], y[t : t + 1], [BOTH[j]], [t])
        torch.testing.assert_close(apart.hidden[j * 3 + t], alone.hidden[0])
    other = fitted(X, y, BOTH[:1], [0, 1, 3])
    assert torch.equal(other.hidden[1], apart.hidden[1])
    assert not torch.equal(other.hidden[2], apart.hidden[2])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_agrees_with_the_cpu():
    X, y = problem(trials=3)
    cpu, cuda = (fitted(X.to(device), y.to(device), BOTH, [0, 1, 2]) for device in ("cpu", "cuda"))
    # Adam makes whole steps of the rounding of gradients that are zero, so parameters may differ where scores do not.
    found, expected = (of.scores(X.repeat(len(BOTH), 1, 1).to(of.bias.device)).cpu() for of in (cuda, cpu))
    found, expected = (scores - scores.mean(1, keepdim=True) for scores in (found, expected))
    torch.testing.assert_close(found, expected, rtol=0, atol=0.02)


# Running and resuming


def test_settings_are_the_papers():
    assert replace(MATCHED, weight_decay=0.0) == PRINTED
    assert (plan("uci").trials, plan("cifar10").trials, plan("mnist").settings["n_positive"]) == (20, 10, 15_000)
    assert sl.datasets.info("mushroom").label_names[sl.datasets.info("mushroom").positive[0]] == "edible"
    with pytest.raises(ValueError, match="protocol must be one of matched, got 'printed'"):
        plan("cifar10", "printed")


def test_every_part_is_kept_and_not_run_twice_and_what_it_lacks_is_added(tmp_path):
    losses = [sl.Sigmoid(), sl.Hinge()]
    first = list(run(tmp_path, PLAN, PARTS, losses, ["auc"]))
    assert {outcome.part[0] for outcome in first} == {"twonorm", "waveform"}
    assert all(outcome.seconds > 0 and outcome.error is None for outcome in first)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert [outcome.seconds for outcome in run(tmp_path, PLAN, PARTS, losses, ["auc"])] == [None] * 2
    assert before == {path: path.read_bytes() for path in tmp_path.iterdir()}
    list(run(tmp_path, PLAN, PARTS[:1], [*losses, sl.BarrierHinge(b=10, r=1)]))
    found = read_run(tmp_path)
    old = before[tmp_path / "scores.csv"].decode().splitlines()
    new = (tmp_path / "scores.csv").read_text().splitlines()
    assert {line for line in old if "waveform" in line} < set(new)
    here = found.scores[found.scores["dataset"] == "twonorm"]
    assert set(here["loss"]) == {"sigmoid", "hinge", "BarrierHinge(b=10, r=1)"}
    assert len(here) == len(here.drop_duplicates(["risk", "loss", "trial"])) == 2 * 3 * 2
    assert found.made[0]["versions"]["torch"] == torch.__version__


def test_results_depend_on_neither_workers_nor_order_nor_neighbors(tmp_path):
    list(run(tmp_path / "a", PLAN, PARTS, [sl.Sigmoid(), sl.Hinge()]))
    list(run(tmp_path / "b", PLAN, PARTS[::-1], [sl.Hinge(), sl.Ramp(), sl.Sigmoid()], jobs=2))
    names = ["dataset", "risk", "loss", "trial"]
    a, b = (read_run(tmp_path / of).scores.set_index(names)["score"] for of in "ab")
    np.testing.assert_allclose(b.loc[a.index], a, atol=0.3)  # a rank of 20 x 20 pairs


def test_a_damaged_file_is_named_and_kept(tmp_path):
    write_run(tmp_path, one({"auc": {"sigmoid": [90, 91]}}))
    for name, damage in (("scores.csv", lambda text: text.replace("91.0", "910")), ("run.json", lambda text: text[:50]),
                         ("scores.csv", lambda text: text.replace("risk", "danger"))):  # fmt: skip
        whole = (tmp_path / name).read_text()
        (tmp_path / name).write_text(damage(whole))
        result = command("compare", tmp_path)
        assert result.exit_code == 2
        assert result.stderr.startswith(f"symloss: error: {tmp_path / name} is damaged: ")
        with pytest.raises(ValueError, match="is damaged"):
            write_run(tmp_path, one({"auc": {"hinge": [90, 91]}}))
        assert (tmp_path / name).read_text() == damage(whole)
        (tmp_path / name).write_text(whole)


def test_results_of_other_settings_or_other_data_are_not_mixed(tmp_path):
    list(run(tmp_path, PLAN, PARTS[:1], [sl.Sigmoid()]))
    with pytest.raises(ValueError, match=r"another configuration \(seed\); choose another folder"):
        list(run(tmp_path, replace(PLAN, seed=1), PARTS[:1], [sl.Sigmoid()]))
    path = tmp_path / "run.json"
    source = json.loads(path.read_text())["made"][0]["data"]
    path.write_text(path.read_text().replace(source, "elsewhere"))
    (outcome,) = run(tmp_path, PLAN, PARTS[:1], [sl.Hinge()])
    assert outcome.error == f"{tmp_path} has scores on data from elsewhere, and the data is now from {source}"


def test_own_losses_and_data_sets(tmp_path):
    planned = replace(PLAN, settings=vars(replace(QUICK, hidden_units=100, epochs=100)))
    outcomes = list(run(tmp_path, planned, [(f"{__name__}:blobs", 1.0, 0.0), ("nowhere:load", 1.0, 0.0)], [Tangent()]))
    assert sorted(outcome.error is None for outcome in outcomes) == [False, True]  # one that fails stops no other
    scores = read_run(tmp_path).scores
    assert scores.loc[scores["loss"] == f"{__name__}:Tangent", "score"].min() > 80
    assert run_part(PLAN, Part("time:time_ns", 1, 0), [Tangent()]) == "time:time_ns must return X and y, got int"
    X, y = blobs()
    for wrong, message in ((X[:, 0], "of shape (400,)"), (np.where(X > 2, np.nan, X), "with NaN or infinity")):
        with pytest.raises(ValueError, match=re.escape(f"finite numbers, got one {message}")):
            run_trials(wrong, y, 1.0, 0.0, settings=QUICK)


def test_what_diverges_scores_as_chance_and_losses_of_the_same_name_are_told_apart(tmp_path):
    with pytest.warns(UserWarning, match="Exploding diverged in 2 of 2 trials, which score 50"):
        found = run_part(PLAN, Part(*PARTS[1]), [Exploding()], ["auc"])
    assert found.scores["score"].tolist() == [50.0, 50.0]
    own = type("Sigmoid", (Tangent,), {})
    assert label(own()) != label(sl.Sigmoid())
    with pytest.raises(ValueError, match="losses must be different, got sigmoid, sigmoid"):
        list(run(tmp_path, PLAN, PARTS, [sl.Sigmoid(), sl.Sigmoid()]))


SHORT = ["--trials", "1", "--losses", "unhinged", "--jobs", "1", "--no-download", "--out"]


def test_a_killed_run_loses_nothing_that_was_finished(tmp_path):
    arguments = ["reproduce", "uci", "--datasets", "twonorm,waveform", *SHORT, str(tmp_path)]
    process = subprocess.Popen([sys.executable, "-m", "symloss", *arguments], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (tmp_path / "scores.csv").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = (tmp_path / "scores.csv").read_text().splitlines()
    assert 2 < len(kept) < 17
    result = command(*arguments)
    assert result.exit_code == 0, result.output
    assert result.output.count("done before") == (len(kept) - 1) // 2
    assert f"all tables: symloss compare {tmp_path}" in result.output.replace("\n", " ")
    assert set(kept) < set((tmp_path / "scores.csv").read_text().splitlines())
    assert len(read_run(tmp_path).scores) == 2 * 4 * 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--datasets", "iris"], "unknown data set 'iris'"),
        (["--datasets", "mnist"], "mnist holds images"),
        (["--noise", "0.5"], "--noise must be two rates such as 0.65,0.45, got '0.5'"),
        (["--risks", "f1"], "--risks must be of ber, auc, got 'f1'"),
        (["--losses", "nothing"], "unknown loss 'nothing'"),
        (["--jobs", "0"], "jobs must be a number of processes"),
        (["--device", "abacus"], "--device abacus cannot be used"),
        (["--protocol", "guessed"], "protocol must be one of matched, printed, got 'guessed'"),
    ],
)
def test_bad_options(options, message, tmp_path):
    result = command("reproduce", "uci", "--out", tmp_path, *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_compare_writes_every_file_and_no_result(tmp_path, made_up):
    folder = tmp_path / "results"
    write_run(folder, made_up("uci", datasets=["spambase", "susy"]))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    places = {
        "--csv": "new/cells.csv",
        "--markdown": "new/tables.md",
        "--latex": "new/tables.tex",
        "--figures": "figures",
    }
    result = command("compare", folder, *(text for of in places.items() for text in (of[0], tmp_path / of[1])))
    assert result.exit_code == 0
    written = [line.removeprefix("wrote ") for line in result.output.splitlines() if line.startswith("wrote ")]
    assert len(written) == 3 + 4
    assert "protocol unnamed, 20 trials, seed 0" in result.output
    assert len((tmp_path / "new" / "cells.csv").read_text().splitlines()) == 113
    assert (tmp_path / "figures" / "figure4.png").read_bytes().startswith(b"\x89PNG")
    (tmp_path / "link").symlink_to(folder / "scores.csv")
    for option, target in (("--csv", folder / "scores.csv"), ("--markdown", tmp_path / "link")):
        refused = command("compare", folder, option, target)
        assert refused.exit_code == 2
        assert refused.stderr.endswith(" is a result; it is not overwritten\n")
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
