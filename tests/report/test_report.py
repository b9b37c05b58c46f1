"""The report as a file: its numbers, its size, its errors, and results that the paper does not have."""

import json
import random
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from symloss.losses import list_losses
from symloss.paper.compare import Cell, compare, noise_text, summarize
from symloss.paper.images import FURTHER_WAYS
from symloss.paper.results import PUBLISHED, Result, read_results, write_result
from symloss.paper.score_tables import SCORES, loss_heading
from symloss.report.claim import SYMMETRIC, claim_section
from symloss.report.content import Run, distinct_names
from symloss.report.report import write_report


class Tables(HTMLParser):
    """All cells of the tables of scores: ``cells[run, scores, title, row, loss]`` holds number, class and texts."""

    def __init__(self, page):
        super().__init__()
        self.cells, self.path, self.place, self.headings, self.cell = {}, [], {}, [], None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.path.append(tag)
        for key in ("data-run", "data-scores"):
            if key in attributes:
                self.place[key] = int(attributes[key])
        if tag == "table":
            self.headings = []
        elif tag == "tr":
            self.column = 0
        elif tag == "td":
            self.cell = (attributes.get("data-cell"), attributes.get("class", ""), [])

    def handle_endtag(self, tag):
        while self.path and self.path.pop() != tag:
            pass  # elements without an end tag
        if tag == "td":
            if self.cell[0] is not None:
                key = (self.place["data-run"], self.place["data-scores"], self.place["title"], self.place["row"])
                self.cells[(*key, self.headings[self.column])] = self.cell
            self.column += 1
            self.cell = None

    def handle_data(self, text):
        if self.cell is not None and text.strip():
            self.cell[2].append((text.strip(), "b" in self.path))
        elif self.path[-1:] == ["h5"]:
            self.place["title"] = text
        elif self.path[-1:] == ["th"] and "thead" in self.path:
            self.headings += [text] if self.headings or text not in ("data set", "π, π'") else []
        elif self.path[-1:] == ["th"]:
            self.place["row"] = text


def page_data(page):
    return json.loads(re.search(r'<script type="application/json" id="report-data">(.*?)</script>', page, re.S)[1])


def test_the_page_holds_what_the_comparison_says(report, results):
    page = report.read_text(encoding="utf-8")
    tables, data = Tables(page).cells, page_data(page)
    expected = []
    for run, name in enumerate(data["names"]["run"]):
        of_run = read_results(results / name).whole
        for scores, way in enumerate([PUBLISHED, *FURTHER_WAYS]):
            if all(way in result.ways for result in of_run):
                expected += [(run, scores, cell) for cell in compare(of_run, way)]
    assert len(expected) == len(tables) == len(data["cells"]["mean"]) == 1912 + 2 * (504 + 2 * 56)

    for run, scores, cell in random.Random(0).sample(expected, 300):
        noise = noise_text(cell.pi, cell.pi_prime)
        row = noise.strip("()") if cell.family == "mnist" else cell.dataset
        (found,) = (
            value
            for (of, way, title, label, heading), value in tables.items()
            if (of, way, label, heading) == (run, scores, row, loss_heading(cell.loss))
            and SCORES[cell.risk] in title
            and (cell.family == "mnist" or title.endswith(noise))
        )
        texts = [(f"{cell.mean:.1f} ({cell.se:.1f})", cell.bold)]
        if cell.paper_mean is not None:
            texts.append((f"{cell.paper_mean:.1f} ({cell.paper_se:.1f})", cell.paper_bold))
            difference = f"{cell.difference:+.1f}".replace("-", "−")
            texts.append(("0.0" if difference[1:] == "0.0" else difference, False))
        assert found[2] == texts
        side = {True: "above", False: "below"}[(cell.difference or 0) > 0]
        assert found[1] == (f"{side}{found[1][-1]}" if abs(cell.difference or 0) > 0.5 else "")

        columns, number = data["cells"], int(found[0])
        assert data["names"]["loss"][columns["loss"][number]] == cell.loss
        assert data["names"]["dataset"][columns["dataset"][number]] == cell.dataset
        assert data["noises"][columns["noise"][number]] == noise
        assert columns["mean"][number] == pytest.approx(cell.mean, abs=5.1e-5)
        assert columns["paper_mean"][number] == cell.paper_mean
        assert columns["difference"][number] == pytest.approx(cell.difference, abs=5.1e-5)
        assert columns["z"][number] == pytest.approx(cell.z, abs=5.1e-5)


def test_the_summary_is_that_of_the_comparison(report, results):
    page = report.read_text(encoding="utf-8")
    summary = summarize(compare(read_results(results / "uci-matched").whole))
    line = re.search(r'<tr><th scope="row">uci-matched</th>(.*?)</tr>', page)[1]
    texts = re.findall(r"<td[^>]*>(.*?)</td>", line)
    assert texts[:3] == ["504", "504", f"{summary.rms_difference:.2f}"]
    assert texts[3:5] == [f"{summary.share_within_1_5:.1%}", f"{summary.share_within_3:.1%}"]
    assert texts[-2:] == [f"{summary.boldface_agree} of 504", f"{summary.best_loss_agree} of 72"]


def test_one_file_below_8_mb_that_names_no_address(report):
    assert report.stat().st_size < 8e6
    assert [path.name for path in report.parent.iterdir()] == ["report.html"]
    own = re.sub(r"<script>.*?</script>", "", report.read_text(encoding="utf-8"), flags=re.S)  # Plotly names some
    assert not re.search(r'(src|href)="(?!#|data:)', own)


def write_own(folder, loss="my.module:Own", dataset="own", **further):
    scores = {"auc": {loss: [90.0, 91.0], "sigmoid": [80.0, 82.0]}}
    cell = Result(family="mine", dataset=dataset, pi=0.9, pi_prime=0.2, trials=2, scores=scores, **further)
    return write_result(folder, cell)


def test_results_that_the_paper_does_not_have(tmp_path):
    write_own(tmp_path / "results")
    (run,) = write_report([tmp_path / "results"], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    (title,) = {key[2] for key in Tables(page).cells}
    assert title == "mine own: AUC"
    assert [value[2] for value in Tables(page).cells.values()] == [[("81.0 (1.0)", False)], [("90.5 (0.5)", True)]]
    assert "<title>Results</title>" in page
    assert re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page)[0] == ("cells", "2")
    assert (
        page.count("Agreement with the paper")
        == page.count("beside the paper")
        == page.count("cells of ours")
        == page.count('id="scatter"')
        == page.count('id="epochs')
        == 0
    )
    assert run.provenance["settings"] == run.provenance["computing time"] == ["not recorded"]


def test_names_are_text_not_html(tmp_path):
    loss, dataset = "</script><script>alert('loss')</script>", "<img src=x onerror=alert('data')>"
    write_own(
        tmp_path / "a<b>&", loss, dataset, device="<i>cpu</i>", protocol="'\"><u>", curves={"auc": {loss: [50.0]}}
    )
    write_report([tmp_path / "a<b>&"], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for part in ("<script>alert", "<img", "<i>cpu", "<u>", "a<b>"):
        assert part not in page
    assert "&lt;script&gt;alert(&#39;loss&#39;)&lt;/script&gt;" in page
    assert page_data(page)["names"]["loss"] == ["sigmoid", loss]


def test_runs_are_told_apart(tmp_path):
    for parent in ("old", "new"):
        write_own(tmp_path / parent / "uci")
    runs = write_report([tmp_path / "old/uci", tmp_path / "new/uci", tmp_path / "old/uci"], tmp_path / "report.html")
    assert [run.name for run in runs] == ["old/uci", "new/uci"]
    assert len(Tables((tmp_path / "report.html").read_text(encoding="utf-8")).cells) == 4
    assert distinct_names([Path("/a/x"), Path("/b/x"), Path("/x")]) == ["a/x", "b/x", "//x"]


def test_the_claim_is_counted_row_by_row(report, results):
    page = report.read_text(encoding="utf-8")
    verdicts = re.search(r'<ul class="held">(.*?)</ul>', page, re.S)[1]
    shown = [" ".join(re.sub(r"<.*?>", "", item).split()) for item in re.findall(r"<li>(.*?)</li>", verdicts, re.S)]
    # uci-further has no loss that the paper has
    tested = ["uci-matched", "uci-printed", "cifar10", "mnist-matched", "mnist-printed"]
    assert [text.split(":")[0] for text in shown] == tested
    for name, text in zip(tested, shown, strict=True):
        cells = compare(read_results(results / name).whole)
        for noise in ((1.0, 0.0), (0.65, 0.45)):
            rows = {}
            for cell in cells:
                if (cell.pi, cell.pi_prime) == noise:
                    rows.setdefault((cell.dataset, cell.risk), {})[cell.loss in SYMMETRIC, cell.loss] = cell
            ahead = []
            for row in rows.values():
                best, *others = sorted(row, key=lambda key: -row[key].mean)
                ahead.append(best[0] and row[best].mean > max(row[key].mean for key in others if not key[0]))
            assert f"{sum(ahead)} of {len(rows)}" in text
        assert "it held." in text


def test_a_claim_that_did_not_hold_is_not_said_to_hold():
    scores = {"sigmoid": 70.0, "barrier_hinge": 60.0, "hinge": 80.0}
    row = [Cell("uci", "susy", "auc", 0.65, 0.45, loss, mean, 0.1, 2, False, 90.0, 0.1, False)
           for loss, mean in scores.items()]  # fmt: skip
    section = claim_section([Run("mine", {}, {PUBLISHED: row}, ())])
    assert "it did not hold" in section.html
    assert "10.0 points behind the best other one" in " ".join(section.html.split())
    assert "in 0 of 1 rows (paper: 0)" in " ".join(section.html.split())


def test_key_figures_are_those_of_each_run(report, results):
    page = report.read_text(encoding="utf-8")
    found = re.findall(r'<h3>([^<]*)</h3>\s*<dl class="key-figures">(.*?)</dl>', page, re.S)
    assert [name for name, _ in found] == page_data(page)["names"]["run"]
    for name, tiles in found:
        summary = summarize(compare(read_results(results / name).whole))
        shown = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", tiles))
        assert shown["cells of ours" if summary.compared else "cells"] == f"{summary.cells:,}"
        if summary.compared:
            assert shown["of them published"] == f"{summary.compared:,}"
            assert shown["points rms difference"] == f"{summary.rms_difference:.2f}"
            assert shown["rows whose best loss agrees"] == f"{summary.best_loss_agree / summary.best_loss_of:.1%}"


def test_a_curve_without_scores_is_left_out(tmp_path):
    curves = {"ber": {"ramp": [50.0, 60.0]}}
    cell = Result(
        family="my", dataset="own", pi=1, pi_prime=0, trials=1, scores={"auc": {"hinge": [77.0]}}, curves=curves
    )
    write_result(tmp_path / "results", cell)
    write_report([tmp_path / "results"], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page_data(page)["curves"] == {}
    assert 'id="epochs' not in page


def test_versions_do_not_hide_facts(tmp_path):
    write_own(tmp_path / "results", device="cpu", versions={"torch": "2.1", "device": "9", "when": "never"})
    (run,) = write_report([tmp_path / "results"], tmp_path / "report.html")
    assert (run.provenance["device"], run.provenance["version of device"], run.provenance["torch"]) == (
        ["cpu"],
        ["9"],
        ["2.1"],
    )
    assert run.provenance["when"] != run.provenance["version of when"] == ["never"]


def test_a_folder_is_no_file_to_write(tmp_path):
    write_own(tmp_path / "results")
    with pytest.raises(IsADirectoryError, match="results is a folder; expected the name of a file to write"):
        write_report([tmp_path / "results"], tmp_path / "results")


def test_many_losses_look_different(tmp_path):
    scores = {"auc": {loss: [50.0] for loss in [*list_losses(), *(f"own{number:02d}" for number in range(30))]}}
    cell = Result(family="my", dataset="own", pi=1, pi_prime=0, trials=1, scores=scores)
    write_result(tmp_path / "results", cell)
    write_report([tmp_path / "results"], tmp_path / "report.html")
    styles = page_data((tmp_path / "report.html").read_text(encoding="utf-8"))["styles"]
    assert len({(style["color"], style["symbol"]) for style in styles}) == len(list_losses()) + 30
    assert len({style["symbol"] for style in styles[:12]}) == 12


def test_a_damaged_file_is_named_and_left_out(tmp_path):
    write_own(tmp_path / "results")
    path = write_own(tmp_path / "results", dataset="other")
    path.write_text(path.read_text()[:100])
    (run,) = write_report([tmp_path / "results"], tmp_path / "report.html")
    assert [damaged.path.name for damaged in run.damaged] == [path.name]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"Left out: {path.name} (it is no whole JSON file" in page
    assert len(Tables(page).cells) == 2


def test_nothing_to_report(tmp_path):
    (tmp_path / "empty").mkdir()
    damaged = write_own(tmp_path / "damaged")
    damaged.write_text("{")
    for folders, error, message in [
        ([tmp_path / "nowhere"], FileNotFoundError, "there is no folder .*nowhere"),
        ([tmp_path / "empty"], ValueError, r"empty holds no results \(files such as"),
        ([tmp_path / "damaged"], ValueError, "damaged holds no whole result: .*own_pi0.90_0.20.json is not used"),
        ([], ValueError, "at least one folder"),
    ]:
        with pytest.raises(error, match=message):
            write_report(folders, tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_every_further_way_of_scoring_is_there(report):
    names = page_data(report.read_text(encoding="utf-8"))["names"]["scores"]
    assert names == [PUBLISHED, *FURTHER_WAYS.values()]
