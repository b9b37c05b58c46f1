"""The list of labels to check, and ``symloss audit``."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import symloss as sl
from symloss.cli import app
from symloss.tabular import fit_table
from symloss.tabular.documents import noise_summary
from symloss.tabular.findings import findings
from symloss.tabular.labels import label_table, noise_in_words, percent

LINEAR = [("linear", sl.AUCClassifier())]


def table(n=1000, seed=0, rates=(0.2, 0.1)):
    """Rows, and which of their labels are wrong."""
    rng = np.random.default_rng(seed)
    true = rng.random(n) < 0.5
    wrong = rng.random(n) < np.where(true, *rates)
    frame = pd.DataFrame({"who": [f"{k:03d}" for k in range(n)], "x": 4 * true + rng.normal(size=n)})
    return frame.assign(y=np.where(true ^ wrong, "yes", "no")), wrong


@pytest.fixture(scope="module")
def data():
    return table()


@pytest.fixture(scope="module")
def fitted(data):
    return fit_table(data[0], "y", drop=["who"], candidates=LINEAR)


def test_every_row_is_listed_the_worst_first(fitted, data):
    frame, wrong = data
    found = label_table(fitted, frame, ["who"])
    assert list(found.columns) == ["row", "who", "given_label", "label_quality", "suggested_label", "score"]
    assert sorted(found["row"]) == list(range(1, 1001))
    assert found["label_quality"].is_monotonic_increasing
    assert (found["who"] == frame["who"].to_numpy()[found["row"] - 1]).all()
    assert (found["given_label"] == frame["y"].to_numpy()[found["row"] - 1]).all()
    assert wrong[found["row"][:100] - 1].mean() > 0.9
    other = found["given_label"] != found["suggested_label"]
    assert (other == (found["label_quality"] < 0.5)).all()
    assert 100 < other.sum() < 200
    scores = fitted.model.estimator.oof_scores_[found["row"] - 1]
    np.testing.assert_allclose(found["score"], scores, atol=1e-6)


def test_rows_without_weight_come_last(data):
    frame = data[0].head(100).assign(times=np.where(np.arange(100) % 10 == 3, 0.0, 1.0))
    fitted = fit_table(frame, "y", drop=["who"], weight="times", candidates=LINEAR)
    found = label_table(fitted, frame)
    assert found["label_quality"].isna().tolist() == [False] * 90 + [True] * 10
    assert set(found["row"][90:]) == set(range(4, 101, 10))
    assert (found["suggested_label"] == "").all()  # so few rows do not tell the noise
    known = fit_table(frame, "y", drop=["who"], weight="times", candidates=LINEAR, pi=0.9, pi_prime=0.1)
    found = label_table(known, frame)
    assert (found["given_label"][90:] == found["suggested_label"][90:]).all()
    assert (found["given_label"] != found["suggested_label"]).tolist() == (found["label_quality"] < 0.5).tolist()


def test_only_rows_that_were_fitted_are_listed(fitted, data):
    """As where rows without a label were left out: the row numbers are those of the table."""
    some = fitted._replace(rows=np.arange(1000) + 7)
    frame = pd.concat([data[0].head(7), data[0]], ignore_index=True)
    found = label_table(some, frame, ["who"])
    assert (found["row"].min(), found["row"].max()) == (8, 1007)
    assert (found["who"] == label_table(fitted, data[0], ["who"])["who"]).all()


def test_noise_in_words(fitted, data):
    words = noise_in_words(findings(fitted), ("no", "yes"))
    assert words[0].startswith("About 1")
    assert "of the labels 'yes' (95% interval " in words[0]
    assert words[1].startswith("This assumes ")
    wrong = findings(fitted).wrong_share
    assert wrong.low < data[1].mean() < wrong.high
    assert [percent(share) for share in (0.0, 0.0005, 0.005, 0.0094, 0.01, 0.5, 1.0)] == [
        "0%", "below 0.1%", "0.5%", "0.9%", "1%", "50%", "100%"]  # fmt: skip


def test_the_interval_on_clean_labels_allows_for_that_of_the_rates(fitted):
    found = findings(fitted)
    exact = sl.metrics.estimate_clean_auc(found.scores, found.positive, *found.rates)
    assert found.clean_auc.value == pytest.approx(exact.value)
    assert found.clean_auc.low < exact.low
    assert found.auc.value < found.clean_auc.value
    assert found.prior == pytest.approx(0.5, abs=0.1)


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "140", "NO_COLOR": "1"})


@pytest.fixture
def quick(monkeypatch):
    """A small pool, so that a command takes no seconds."""
    monkeypatch.setattr("symloss.estimators.selection.default_candidates", lambda *_: LINEAR)


@pytest.mark.usefixtures("quick")
def test_audit_writes_labels_noise_and_a_page_and_no_model(data, tmp_path, monkeypatch):
    frame, wrong = data
    frame = frame.assign(y=frame["y"].replace("yes", "[bold]yes"))
    frame.to_csv(tmp_path / "data.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["symloss", "audit", "data.csv", "--label", "y", "--id", "who"])
    result = run("audit", "data.csv", "--label", "y", "--id", "who")
    assert result.exit_code == 0, result.output
    assert "of the labels seem wrong: " in result.stdout
    assert " labels are more likely wrong than right\nthe 10 least credible labels:" in result.stdout
    rows = [line.split() for line in result.stdout.splitlines() if line.split()[1:2] and line.split()[0].isdigit()]
    rows = [line for line in rows if len(line) == 5]
    assert len(rows) == 10
    assert np.mean([wrong[int(row[0]) - 1] for row in rows]) > 0.7
    assert all({row[2], row[3]} == {"[bold]yes", "no"} for row in rows)
    assert sorted(path.name for path in (tmp_path / "audit").iterdir()) == ["labels.csv", "noise.json", "report.html"]
    written = pd.read_csv(tmp_path / "audit" / "labels.csv", dtype={"who": str})
    assert len(written) == 1000
    assert written["who"][0] == rows[0][1]
    noise = json.loads((tmp_path / "audit" / "noise.json").read_text())
    assert noise["noise"]["pi_low"] < 0.9 < noise["noise"]["pi_high"] + 0.1
    assert noise["positive"] == "no"  # the larger of the two texts
    page = (tmp_path / "audit" / "report.html").read_text(encoding="utf-8")
    assert "symloss audit data.csv --label y --id who" in page
    found = json.loads(run("audit", "data.csv", "--label", "y", "--id", "who", "--json").stdout)  # it is replaced
    assert found["suspicious"] > 100
    assert [name.rpartition("/")[2] for name in found["files"]] == ["labels.csv", "noise.json", "report.html"]


@pytest.mark.usefixtures("quick")
def test_bad_input_to_audit(data, tmp_path):
    frame = data[0].head(50).assign(score=1.0)
    frame.to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.tex").write_text("x")
    for arguments, message in (
        (["--label", "z"], "no column 'z' (the label)"),
        (["--label", "y", "--id", "whom"], "no column 'whom' (to keep); did you mean 'who'?"),
        (["--label", "y", "--id", "score"], "a column of labels.csv already has the name 'score'"),
        (["--label", "y", "--jobs", "0"], "--jobs must be a number of fits"),
        (["--label", "y", "--out", tmp_path / "thesis"], "holds more than an audit of labels, and is not overwritten"),
        (["--label", "y", "--out", tmp_path / "data.csv"], "is a file, and is not overwritten"),
    ):
        result = run("audit", tmp_path / "data.csv", *arguments)
        assert result.exit_code == 2, result.output
        assert message in result.stderr
    assert (tmp_path / "thesis" / "thesis.tex").read_text() == "x"


@pytest.mark.usefixtures("quick")
def test_neither_the_data_nor_labels_corrected_by_hand_are_overwritten(data, tmp_path):
    data[0].head(60).to_csv(tmp_path / "data.csv", index=False)
    out, labels = tmp_path / "audit", tmp_path / "audit" / "labels.csv"
    command = ["audit", tmp_path / "data.csv", "--label", "y", "--out", out]
    assert run(*command).exit_code == 0
    written = labels.read_bytes()
    for name in ("audit", "fit"):
        result = run(name, labels, "--label", "given_label", "--out", out)
        assert result.exit_code == 2, result.output
        assert "the data, is in" in result.stderr
        assert labels.read_bytes() == written
    labels.write_bytes(written.replace(b"yes", b"no", 1))  # as somebody does who corrects a label
    result = run(*command)
    assert result.exit_code == 2, result.output
    assert "labels may have been corrected there, so it is not overwritten" in result.stderr
    assert labels.read_bytes() != written
    labels.write_bytes(written)
    (out / "report.html").unlink()
    assert run(*command).exit_code == 0
    (out / "noise.json").unlink()  # as the data of somebody, in a folder of its own
    (out / "report.html").unlink()
    assert run(*command).exit_code == 2
    assert labels.exists()


@pytest.mark.usefixtures("quick")
def test_fit_writes_the_page_and_the_labels_and_its_folder_can_be_replaced(data, tmp_path, monkeypatch):
    frame = data[0].head(200)
    frame.to_csv(tmp_path / "data.csv", index=False)
    command = ["fit", tmp_path / "data.csv", "--label", "y", "--id", "who", "--out", tmp_path / "model"]
    monkeypatch.setattr("sys.argv", ["symloss", *map(str, command)])
    for _ in range(2):  # the second time, the folder is replaced
        result = run(*command)
        assert result.exit_code == 0, result.output
    assert "report.html" in result.stdout
    assert "labels" in result.stdout
    page = (tmp_path / "model" / "report.html").read_text(encoding="utf-8")
    assert f"--label y --id who --out {tmp_path / 'model'}" in page
    assert "Which columns matter" in page
    labels = pd.read_csv(tmp_path / "model" / "labels.csv", dtype={"who": str})
    assert list(labels.columns)[:3] == ["row", "who", "given_label"]
    assert len(labels) == 200
    model = sl.tabular.TableModel.load(tmp_path / "model")
    assert [column.name for column in model.encoding.columns] == ["x"]  # it has not learned from the identifier


def test_no_number_is_given_where_the_noise_cannot_be_told():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=300), "y": np.where(rng.random(300) < 0.1, "yes", "no")})
    found = noise_summary(fit_table(frame, "y", candidates=LINEAR))
    assert found["noise"]["pi"] is None
    assert found["wrong_share"]["value"] is None
    assert found["suspicious"] is None
    assert found["wrong_share"]["high"] > 0.5
