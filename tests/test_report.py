"""The report of results and the loss explorer: their numbers, their errors, and a look at both in a browser."""

import html
import json
import random
import re
from pathlib import Path

import numpy as np
import pytest
import torch

import symloss as sl
from symloss.paper.compare import Cell, compare, summarize
from symloss.paper.results import Run as Results
from symloss.paper.results import read_run, tidy, write_run
from symloss.paper.tables import SCORES
from symloss.report import report_html, write_explorer, write_report
from symloss.report.explorer import curves_figure, parameters_figure
from symloss.report.results import SYMMETRIC, Run, findings, noise_words

RUNS = ["uci-matched", "uci-printed", "uci-further", "cifar10", "mnist-matched", "mnist-printed"]


@pytest.fixture(scope="module")
def results():
    """The committed results."""
    folder = Path(__file__).parents[1] / "results"
    if not folder.is_dir():
        pytest.skip("the results are only in the repository")
    return folder


@pytest.fixture(scope="module")
def report(results, tmp_path_factory):
    """The report of all committed results."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report([results / name for name in RUNS], path)
    return path.read_text(encoding="utf-8")


def tables_of(page):
    """The cells of the tables of scores: ``(title, row): HTML of each cell``, for every run in the page's order."""
    found = []
    for run in page.split('<details class="run"')[1:]:
        found.append({})
        for title, body in re.findall(r"<h5>(.*?)</h5>.*?<tbody>(.*?)</tbody>", run, re.S):
            for row, cells in re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', body, re.S):
                found[-1].setdefault((html.unescape(title), html.unescape(row)), []).append(cells.split("</td>")[:-1])
    return found


def test_the_report_holds_what_the_comparison_says(report, results):
    for name, tables in zip(RUNS, tables_of(report), strict=True):
        cells = compare([read_run(results / name)])
        for cell in random.Random(0).sample(cells, 50):
            noise = noise_words(cell.pi, cell.pi_prime)
            row = noise if cell.family == "mnist" else cell.dataset
            losses = [of.loss for of in cells if of.row == cell.row]
            (found,) = (
                of[0][losses.index(cell.loss)]
                for (title, label), of in tables.items()
                if label == row and SCORES[cell.risk] in title and (cell.family == "mnist" or noise in title)
            )
            texts = [f"{cell.mean:.1f} ({cell.se:.1f})"]
            if cell.paper_mean is not None:
                difference = f"{cell.difference:+.1f}".replace("-", "−")
                texts += [f"{cell.paper_mean:.1f} ({cell.paper_se:.1f})", difference]
                texts[2] = "0.0" if difference[1:] == "0.0" else difference
            assert re.sub(r"<.*?>", " ", found).split() == " ".join(texts).split()
            assert found.count("<b>") == cell.bold + bool(cell.paper_bold)
            side = "above" if (cell.difference or 0) > 0 else "below"
            assert (f'class="{side}' in found) == (abs(cell.difference or 0) > 0.5)


def test_the_summary_is_that_of_the_comparison(report, results):
    summary = summarize(compare([read_run(results / "uci-matched")]))
    line = re.search(r'<tr><th scope="row">uci-matched</th>(.*?)</tr>', report)[1]
    texts = re.findall(r"<td[^>]*>(.*?)</td>", line)
    assert texts[:3] == ["504", "504", f"{summary['rms_difference']:.2f}"]
    assert texts[3:5] == [f"{summary['share_within_1_5']:.1%}", f"{summary['share_within_3']:.1%}"]
    assert texts[-2:] == [f"{summary['boldface_agree']} of 504", f"{summary['best_loss_agree']} of 72"]


def test_the_claim_is_counted_row_by_row(report, results):
    verdicts = re.search(r'<ul class="held">(.*?)</ul>', report, re.S)[1]
    shown = [" ".join(re.sub(r"<.*?>", "", item).split()) for item in re.findall(r"<li>(.*?)</li>", verdicts, re.S)]
    tested = [name for name in RUNS if name != "uci-further"]  # which has no loss that the paper has
    assert [text.split(":")[0] for text in shown] == tested
    for name, text in zip(tested, shown, strict=True):
        cells = compare([read_run(results / name)])
        for noise in ((1.0, 0.0), (0.65, 0.45)):
            rows = {}
            for cell in cells:
                if (cell.pi, cell.pi_prime) == noise:
                    rows.setdefault((cell.dataset, cell.risk), {})[cell.loss] = cell.mean
            ahead = [
                max(row[loss] for loss in row if loss in SYMMETRIC)
                > max(row[loss] for loss in row if loss not in SYMMETRIC)
                for row in rows.values()
            ]
            assert f"{sum(ahead)} of {len(rows)}" in text
        assert "it held." in text


def test_a_claim_that_did_not_hold_is_not_said_to_hold():
    scores = {"sigmoid": 70.0, "barrier_hinge": 60.0, "hinge": 80.0}
    row = [Cell("uci", "susy", "auc", 0.65, 0.45, loss, mean, 0.1, 2, False, 90.0, 0.1, False)
           for loss, mean in scores.items()]  # fmt: skip
    assert findings(row)[0].lead == -10
    page = " ".join(report_html([Run("mine", {}, {"as published": row})]).split())
    assert "it did not hold" in page
    assert "10.0 points behind the best other one" in page


def test_the_report_is_one_file_without_scripts(report):
    assert len(report) < 3.5e6
    assert "<script" not in report
    assert not re.search(r'(src|href)="(?!#|data:)', report)


def write_own(folder, loss="my.module:Own", dataset="own", **further):
    scores = {("auc", loss): {"score": [90.0, 91.0]}, ("auc", "sigmoid"): {"score": [80.0, 82.0]}}
    table = tidy(scores, "trial", dataset, 0.9, 0.2)
    write_run(folder, Results(family="mine", trials=2, scores=table, **further))


def page_of(folders, tmp_path):
    runs = write_report(folders, tmp_path / "report.html")
    return runs, (tmp_path / "report.html").read_text(encoding="utf-8")


def test_results_that_the_paper_does_not_have(tmp_path):
    write_own(tmp_path / "results")
    (run,), page = page_of([tmp_path / "results"], tmp_path)
    ((title, row), (cells,)) = next(iter(tables_of(page)[0].items()))
    assert (title, row) == ("mine own: AUC", "10% and 20% wrong")
    assert ["81.0 (1.0)" in cells[0], "<b>90.5 (0.5)</b>" in cells[1]] == [True, True]
    assert "<title>Results</title>" in page
    assert "2 trials: 90.0 91.0" in page
    assert "ours minus" not in page
    assert run.provenance["settings"] == run.provenance["computing time"] == ["not recorded"]


def test_names_are_text_not_html(tmp_path):
    loss, dataset = "<script>1", "<img src=x>"
    made = {"data": "", "device": "<i>cpu</i>", "seconds": 1.0, "finished": "", "versions": {}}
    write_own(tmp_path / "a<b>&", loss, dataset, made=[{"dataset": dataset} | made], protocol="'\"><u>")
    _, page = page_of([tmp_path / "a<b>&"], tmp_path)
    for part in ("<script>", "<img", "<i>cpu", "<u>", "a<b>"):
        assert part not in page
    assert "&lt;script&gt;1</th>" in page


def test_runs_are_told_apart(tmp_path):
    for parent in ("old", "new"):
        write_own(tmp_path / parent / "uci")
    runs, page = page_of([tmp_path / "old/uci", tmp_path / "new/uci", tmp_path / "old/uci"], tmp_path)
    assert [run.name for run in runs] == ["old/uci", "new/uci"]
    assert len(tables_of(page)) == 2


def test_nothing_to_report(tmp_path):
    (tmp_path / "empty").mkdir()
    for folders, error, message in [
        ([tmp_path / "nowhere"], FileNotFoundError, "there is no folder .*nowhere"),
        ([tmp_path / "empty"], FileNotFoundError, "empty holds no results"),
        ([], ValueError, "at least one folder"),
    ]:
        with pytest.raises(error, match=message):
            write_report(folders, tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


DRAWN = (sl.BarrierHinge(b=10, r=1), sl.Sigmoid(), sl.Logistic())


@pytest.fixture(scope="module")
def figure():
    return curves_figure([sl.theory.analyze(loss) for loss in DRAWN])


def choice_of(figure, title):
    (found,) = (choice for choice in figure["choices"] if choice["title"].startswith(title))
    return found


def test_the_curves_are_those_of_the_library(figure):
    loss = DRAWN[0]
    drawn = choice_of(figure, "Sum")["data"]
    z = torch.tensor(drawn["x"][0], dtype=torch.float64)
    np.testing.assert_allclose(drawn["y"][0], loss(z) + loss(-z), rtol=1e-3)
    steps = choice_of(figure, "Expected loss")["layout"]["sliders"][0]["steps"]
    (step,) = (step for step in steps if step["label"] == "η = 0.80")
    expected = [sl.theory.conditional_risk(loss, 0.8, score) for score in z.tolist()]
    np.testing.assert_allclose(step["args"][0]["y"][0], expected, rtol=1e-3, atol=1e-3)
    best = choice_of(figure, "Best score")["data"]
    eta = best["x"][2][20]
    assert best["y"][2][20] == pytest.approx(np.log(eta / (1 - eta)), rel=1e-3)


@pytest.mark.parametrize(("name", "decompose"), [("balanced error", "ber"), ("AUC", "auc")])
def test_what_noise_adds_is_that_of_the_theorems(figure, name, decompose):
    decomposition = {"ber": sl.theory.ber_decomposition, "auc": sl.theory.auc_decomposition}[decompose]
    choice = choice_of(figure, f"What noise adds: {name}")
    (step,) = (step for step in choice["layout"]["sliders"][0]["steps"] if step["label"] == "35% and 45% wrong")
    quantiles = torch.special.ndtri((torch.arange(60, dtype=torch.float64) + 0.5) / 60)
    for k, loss in enumerate(DRAWN):
        factor = choice["data"]["x"][0][20]
        terms = decomposition(loss, factor * (quantiles + 1), factor * (quantiles - 1), 0.65, 0.45)
        assert step["args"][0]["y"][k][20] == pytest.approx(terms.excess, rel=2e-3)
    flat = step["args"][0]["y"][1]  # of the sigmoid loss
    assert max(flat) == pytest.approx(min(flat), rel=1e-3)


def test_a_parameter_moves_its_loss():
    choice = choice_of(parameters_figure([sl.BarrierHinge(b=10, r=1), sl.Sigmoid()]), "Barrier hinge: r")
    step = choice["layout"]["sliders"][0]["steps"][-1]
    z = torch.tensor(choice["data"]["x"][0], dtype=torch.float64)
    assert step["label"] == "r = 5"
    np.testing.assert_allclose(step["args"][0]["y"][0], sl.BarrierHinge(b=10, r=5)(z), rtol=1e-3)


def test_the_explorer_takes_your_own_loss_and_says_what_analyze_says(tmp_path):
    def steep(z):
        return (-3 * z).exp()

    path = write_explorer(tmp_path / "explorer.html", ["barrier_hinge", sl.CallableLoss(steep)])
    page = path.read_text(encoding="utf-8")
    data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', page, re.S)[1])
    assert [curve["name"] for curve in data["curves"]] == ["Barrier hinge", "Callable loss"]
    answers = re.findall(r'data-verdict="(\w+)" data-answer="(\w+)"', page)
    report = sl.theory.analyze("barrier_hinge")
    assert answers[: len(report.verdicts)] == [(name, verdict.answer) for name, verdict in report.verdicts.items()]
    with pytest.raises(ValueError, match="of different names, got ramp, ramp"):
        write_explorer(tmp_path / "two.html", ["ramp", "ramp"])


def test_both_pages_in_a_browser(visit, report, tmp_path):
    (tmp_path / "report.html").write_text(report, encoding="utf-8")
    page = visit(tmp_path / "report.html", viewport={"width": 390, "height": 844}, color_scheme="dark")
    assert page.locator("h2").first.inner_text() == "Did the paper's claim hold?"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("#claim svg").first.bounding_box()["height"] > 100
    page = visit(write_explorer(tmp_path / "explorer.html", ["hinge", "sigmoid", "focal"]))
    lines = page.locator("#curves .scatterlayer .trace")
    assert lines.count() == 2  # focal is not shown at first
    before = lines.first.locator("path").first.get_attribute("d")
    page.locator("#curves select").select_option("Sum l(z) + l(−z)")
    assert lines.first.locator("path").first.get_attribute("d") != before
    page.get_by_label("Focal").check()
    assert lines.count() == 3
    page.locator("#curves select").select_option("What noise adds: AUC")
    assert page.locator("#curves .slider-group").count() == 1
