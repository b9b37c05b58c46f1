"""From a table to a model, predictions, a page and a list of labels: in Python and on the command line."""

import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
import torch
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from typer.testing import CliRunner

import symloss as sl
from symloss.cli import app
from symloss.columns import Encoding
from symloss.estimators.saving import load_with, save_with
from symloss.messages import as_options
from symloss.tabular.checks import WARNING, Differences, check_table, disagreement
from symloss.tabular.documents import About, Documents, fit_page, noise_summary, summary
from symloss.tabular.evaluation import (
    Importance,
    column_importance,
    evaluate,
    label_table,
    noise_in_words,
    percent,
    when_to_stop,
)
from symloss.tabular.predicting import Wanted, choices, cost_threshold, predict_file, scores_of_file, top_threshold

LINEAR = [("linear", sl.AUCClassifier(random_state=0))]
FILES = ["labels.csv", "model.safetensors", "noise.json", "report.html"]
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>{{ 7 * 7 }}"


def fit(frame, label="y", **options):
    """A model of one linear candidate; what a colleague would point out is not what most of these tests are about."""
    return sl.tabular.fit(frame, label, **{"candidates": LINEAR, "tell": str, **options})


def table(n=1000, rates=(0.2, 0.1), distance=4.0, seed=0):
    """Rows with columns of several kinds, and which of their labels are wrong."""
    rng = np.random.default_rng(seed)
    true = rng.random(n) < 0.5
    wrong = rng.random(n) < np.where(true, *rates)
    frame = pd.DataFrame({
        "who": [f"{k:04d}" for k in range(n)],
        "x": (distance * true + rng.normal(size=n)).round(3),
        "plan": rng.choice(["basic", "plus", "pro"], n),
        "unit": "kg",
    })  # fmt: skip
    return frame.assign(y=np.where(true ^ wrong, "yes", "no")), wrong


@pytest.fixture(scope="module")
def data():
    return table()


@pytest.fixture(scope="module")
def model(data):
    return fit(data[0], drop=["who"])


@pytest.fixture(scope="module")
def page(model, data):
    return fit_page(model, data[0], column_importance(model, data[0], 20), About("data.csv", "symloss fit", ["who"]))


def run(*arguments, width=140):
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": str(width), "NO_COLOR": "1"})


def done(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def error_of(*arguments):
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("symloss: error: ")
    return result.stderr


@pytest.fixture
def quick(monkeypatch):
    """A small pool, so that a command takes no seconds."""
    monkeypatch.setattr("symloss.estimators.selection.default_candidates", lambda *_: LINEAR)


# --- Fitting ---


def test_notes_say_what_was_done_before_anything_is_fitted():
    generator = np.random.default_rng(1)
    n = 150
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(generator.integers(0, 300, n), unit="D")
    frame = pd.DataFrame({
        "day": days.strftime("%d/%m/%y"),
        "price": [f"{price:,.2f}" for price in generator.gamma(1, 2000, n)],
        "city": generator.choice(["Oslo", "Rome "], n),
        "age": np.where(np.arange(n) < 7, np.nan, np.arange(n) % 60),
        "who": [f"c{k}" for k in range(n)],
        "y": np.where(np.arange(n) < 5, None, np.where(np.arange(n) % 2, "yes", "no ")),
    })  # fmt: skip
    told = []
    found = fit(frame, tell=told.append, progress=lambda *_: told.append(None))
    assert list(found.notes) == [
        "label y: 'yes' is positive (73 rows), the larger label; 'no' is negative (72 rows)",
        "label y: 5 rows without a label are left out",
        "label y: 'no ' is taken for 'no' (72 rows)",
        "145 rows, 4 columns as 7 features",
        "one-hot encoded: city (2 categories)",
        "day: dates: month, weekday, days since 2000-01-01",
        "dropped: who (it names rows: 145 distinct texts)",
        "missing values in age (2 rows): medians take their place, and models know where they are",
    ]
    assert told[: told.index(None)] == list(found.notes)


def test_warnings_are_pythons_unless_somebody_is_told():
    frame, _ = table(200)
    with pytest.warns(UserWarning, match=r"column 'copy' alone tells the label .* leave it out \(drop='copy'\)"):
        found = sl.tabular.fit(frame.assign(copy=frame["y"]), "y", drop="who", candidates=LINEAR)
    assert found.notes[-1].startswith("warning: column 'copy' alone tells the label")


@pytest.mark.parametrize(
    ("labels", "positive", "expected"),
    [
        (["10", "9"], None, ("9", "10")),
        (["yes", "no"], "no", ("yes", "no")),
        ([True, False], None, (False, True)),
        ([0.0, 1.0], "0", (1.0, 0.0)),
        (["1", "b"], None, ("1", "b")),
    ],
)
def test_any_two_labels(labels, positive, expected):
    frame, _ = table(100)
    y = np.asarray(labels)[(frame["y"] == "yes").astype(int)]
    found = fit(frame[["x"]].assign(y=y), positive=positive)
    assert found.labels == expected
    assert found.rows.positive.tolist() == [value == expected[1] for value in y.tolist()]
    assert {type(label) for label in found.predict(frame[["x"]]).labels} == {type(expected[0])}


def test_the_same_model_from_a_frame_and_a_file(tmp_path):
    frame, _ = table(200)
    frame.to_csv(tmp_path / "data.csv", index=False)
    frame.to_parquet(tmp_path / "data.parquet")
    expected = fit(frame).predict(frame).scores
    for source in (pl.from_pandas(frame), tmp_path / "data.csv", str(tmp_path / "data.parquet")):
        np.testing.assert_array_equal(fit(source).predict(frame).scores, expected)


def test_weights_are_repetitions_and_rows_of_weight_0_count_as_no_rows():
    frame, _ = table(60)
    frame = frame.assign(w=1.0)
    extra = frame[:6].assign(x=1000.0, plan="gold", w=0.0)
    found, expected = (fit(each, weight="w") for each in (pd.concat([frame, extra]), frame))
    assert found.encoding == expected.encoding
    assert found.profile.ranges == expected.profile.ranges
    assert [note for note in found.notes if WARNING in note] == [note for note in expected.notes if WARNING in note]
    np.testing.assert_allclose(found.predict(frame).scores, expected.predict(frame).scores, rtol=1e-6)
    twice = fit(frame.assign(w=2.0), weight="w").encoding
    assert twice == fit(pd.concat([frame] * 2), drop="w").encoding
    with pytest.raises(ValueError, match="the label: 'no' has 0 rows of weight above 0; two are needed"):
        fit(frame.assign(w=1.0 * (frame["y"] == "yes")), weight="w")
    with pytest.raises(ValueError, match="column 'w', the weight, is missing, negative or infinite in index 3"):
        fit(frame.assign(w=np.where(np.arange(60) == 3, -1.0, 1.0)), weight="w")
    with pytest.raises(ValueError, match="column 'y', the label: '1' has 1 row; two are needed"):
        fit(pd.DataFrame({"x": range(9), "y": [1] + [0] * 8}))


def test_rows_of_a_group_are_in_one_fold():
    rng = np.random.default_rng(0)
    once = pd.DataFrame({"x": rng.normal(size=100), "y": rng.random(100) < 0.5, "who": np.arange(100)})
    twice = pd.concat([once, once.assign(x=once["x"] + 1e-6)])
    neighbor = [("neighbor", KNeighborsClassifier(1))]
    assert fit(twice, drop="who", candidates=neighbor).corrupted_score > 0.85
    grouped = fit(twice, group="who", candidates=neighbor)
    assert grouped.corrupted_score < 0.7
    assert grouped.columns == ["x"]


def test_progress_reaches_the_caller_and_is_not_kept():
    seen, (frame, _) = [], table(100)
    found = fit(frame, progress=lambda *what: seen.append(what))
    assert [what[1:] for what in seen if what[0] == "Scoring candidates on folds"] == [(k, 5) for k in range(1, 6)]
    assert found.estimator.callback is None


def test_candidates_that_there_was_no_time_for_are_named():
    pool = [(name, sl.AUCClassifier(name)) for name in ("unhinged", "logistic")]
    frame, _ = table(100)
    found = fit(frame, drop="who", candidates=pool, time_limit=1e-9)
    made = summary(found)
    assert ([each["name"] for each in made["candidates"]], made["untried"]) == (["unhinged"], ["logistic"])
    assert "NaN" not in json.dumps(made)
    shown_page = text_of(fit_page(found, frame, None, About("data.csv")))
    assert "logistic not tried: there was no time" in shown_page
    assert "Warning: the time limit of 1e-09 s left 1 of 2 candidates untried: with more time" in shown_page


# --- What a colleague would point out ---


def warnings_of(frame, positive, weight=None):
    encoding = Encoding.fit(frame)
    weight = np.ones(len(frame)) if weight is None else weight
    return check_table(frame, encoding, encoding.transform(frame).values, np.asarray(positive, bool), weight)


def plain(n=300):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(size=n), "plan": rng.choice(["a", "b", "c"], n)})
    return frame, frame["age"].to_numpy() + rng.normal(size=n) > 0


def test_an_ordinary_table_has_no_warnings():
    frame, positive = plain()
    assert warnings_of(frame, positive) == []
    assert warnings_of(frame, np.arange(300) < 12) == []
    frame, positive = plain(60)  # a few rows, and categories, may tell the label by chance
    assert warnings_of(frame.assign(town=[f"t{k // 2}" for k in range(60)]), positive) == []
    few = np.arange(60) < 3
    assert not any("alone tells" in warning for warning in warnings_of(frame.assign(x=np.arange(60.0)), few))


@pytest.mark.parametrize("kind", ["number", "reversed", "missing", "category", "amount", "date", "words", "closed by"])
def test_a_column_that_copies_the_label(kind):
    frame, positive = plain()
    rng, n = np.random.default_rng(1), len(positive)
    unless = np.where(np.arange(n) % 200 == 7, ~positive, positive)  # a few rows differ
    copy = {
        "number": positive + rng.normal(size=n) / 10,
        "reversed": -1.0 * positive + rng.normal(size=n) / 10,
        "missing": np.where(positive, np.nan, rng.normal(size=n)),
        "category": np.where(unless, rng.choice(["x", "y"], n), "z"),
        "amount": [f"${1000 * value:,.2f}" for value in positive + rng.random(n) / 2],
        "date": np.where(positive, "2021-05-05", "2020-04-03"),
        "words": [f"the case {k} was {'closed' if value else 'kept'} today" for k, value in enumerate(positive)],
        "closed by": np.where(positive, [f"n{k % 70}" for k in range(n)], None),
    }[kind]
    with as_options():
        (found,) = warnings_of(frame.assign(**{kind: copy}), positive)
    assert found.startswith(f"column '{kind}' alone tells the label (AUC ")
    assert "(--drop " in found


def test_whole_numbers_that_only_number_rows():
    frame, positive = plain()
    order = np.random.default_rng(3).permutation(300)
    found = warnings_of(frame.assign(row=order), positive)
    assert found == ["whole numbers, distinct in every row: row; leave out those that only number rows (drop='row')"]
    assert warnings_of(frame.assign(row=frame["age"].rank().astype(int)), positive) == []  # it tells something
    assert warnings_of(frame.assign(row=order * 1.5), positive) == []
    # They count the rows, and tell the label:
    ten = warnings_of(frame[:12].assign(row=np.arange(12)), np.arange(12) > 5)
    assert [warning for warning in ten if "only number rows (drop='row')" in warning]


@pytest.mark.parametrize(
    ("n", "positives", "expected"),
    [(49, 20, ["there are only 49 rows: "]), (50, 20, []), (80, 71, ["only 9 rows are labeled negative: "])],
)
def test_few_rows(n, positives, expected):
    found = warnings_of(plain(n)[0], np.random.default_rng(2).permutation(n) < positives)
    assert [warning.startswith(start) for warning, start in zip(found, expected, strict=True)] == [True] * len(expected)


def test_equal_rows_with_different_labels():
    frame, positive = plain()
    twice, labels = pd.concat([frame, frame.iloc[:30]]), np.concatenate([positive, ~positive[:30]])
    found = warnings_of(twice, labels)
    assert found == [
        "60 rows have the same features as a row with the other label: if equal rows have the same true label, at "
        "least 9.09% of the labels are wrong"
    ]
    numbered = twice.assign(row=np.random.default_rng(0).permutation(330), who=[f"c{k}" for k in range(330)])
    assert warnings_of(numbered, labels)[1:] == found  # what names rows is left aside
    rng = np.random.default_rng(0)
    cubes = pd.DataFrame(rng.integers(0, 3, (2000, 3)), columns=list("abc"))
    flips = rng.random(2000) < 0.2
    _, wrong = disagreement(cubes, (cubes.sum(axis=1) > 3).to_numpy() ^ flips, np.ones(2000))
    assert 0.95 * flips.sum() <= wrong <= flips.sum()


# --- Predicting ---


def test_predictions_of_frames(data, model):
    frame = data[0]
    other = frame.sample(frac=1, random_state=0)[["plan", "y", "x"]]  # other order, other columns
    found = model.predict(other)
    np.testing.assert_allclose(found.scores, model.predict(frame).scores[other.index], rtol=1e-12)
    assert found.table.index.equals(other.index)
    assert list(found.table.columns) == ["score", "prediction", "clean_probability"]
    assert found.labels == ["yes" if score > 0 else "no" for score in found.scores]
    np.testing.assert_allclose(model.predict(pl.from_pandas(frame)).scores, model.predict(frame).scores)
    assert model.predict(frame[:0]).table.empty


def test_predictions_of_files(data, model, tmp_path):
    frame = data[0][:50].drop(columns="who")
    frame.to_csv(tmp_path / "new.csv", index=False, sep="|")
    found = model.predict(tmp_path / "new.csv", sep="|")
    pd.testing.assert_frame_equal(found.table, model.predict(frame).table)
    assert found.notes == ("separator: pipe; decimal point; encoding: UTF-8",)
    assert model.score(frame) == pytest.approx(sl.metrics.auc(found.scores, frame["y"] == "yes"))
    with pytest.raises(ValueError, match="can be told of a file only, and the table is a data frame"):
        model.predict(frame, sep=";")


def test_what_differs_from_the_table_of_the_fit_is_a_warning(data, model):
    frame = data[0][:200].drop(columns=["y", "who", "unit"])
    for change, expected in (
        ({"color": 1}, "columns that the table of the fit did not have are ignored: color"),
        ({"x": 900.0}, "column 'x' is far outside the range of the fit in 200 of 200 rows"),
        ({"x": np.nan}, "column 'x' is empty in all rows"),
        ({"plan": "gold"}, "column 'plan' has a category that the fit has not seen in 200 of 200 rows"),
    ):
        with pytest.warns(UserWarning, match=f"^{expected}$"):
            model.predict(frame.assign(**change))
    model.predict(frame.assign(plan=np.where(np.arange(200) < 20, "gold", frame["plan"])))  # a few are no warning


def test_parts_are_counted_as_the_whole(data, model):
    frame = data[0].assign(x=lambda frame: frame["x"].where(frame.index > 9, 1e9), plan="gold", new=1)
    found = []
    for parts in ([frame], [frame[:50], frame[50:]]):
        differences = Differences(model.encoding, model.profile)
        for part in parts:
            differences.add(part, model.encoding.transform(part).unseen)
        found.append(differences.sentences())
    assert found[0] == found[1]
    assert len(found[0]) == 3


@pytest.mark.parametrize("target", ["p.csv", "p.parquet"])
def test_parts_of_a_file_are_the_whole(data, model, tmp_path, target):
    frame = data[0].drop(columns="y").assign(plan=lambda frame: frame["plan"].where(frame.index > 5, "gold"), more=1)
    frame.to_csv(tmp_path / "new.csv", index=False)
    notes = [
        predict_file(model, tmp_path / "new.csv", tmp_path / f"{rows}-{target}", ["who"], rows=rows)
        for rows in (300, 5000)
    ]
    assert notes[0] == notes[1]
    positive = int((model.predict_frame(frame).scores > 0).sum())
    pi, pi_prime = model.rates
    assert notes[0] == [
        f"1000 rows: {positive} predicted 'yes', {1000 - positive} 'no'",
        f"clean_probability: that 'yes' is the true label of a row, if {percent(1 - pi)} of the labels 'yes' and "
        f"{percent(pi_prime)} of the labels 'no' are wrong, in all rows alike, as the fit has estimated",
        "columns ignored: unit",
        "categories not seen in the fit, treated as none of those seen: plan (6 rows)",
        "separator: comma; decimal point; encoding: UTF-8",
        "warning: columns that the table of the fit did not have are ignored: more",
    ]
    read = pd.read_parquet if target.endswith("parquet") else lambda path: pd.read_csv(path, dtype={"who": str})
    found = read(tmp_path / f"300-{target}")
    pd.testing.assert_frame_equal(found, read(tmp_path / f"5000-{target}"))
    assert found["who"].tolist() == frame["who"].tolist()  # in order, and 0012 stays 0012
    np.testing.assert_allclose(found["score"], model.predict_frame(frame).scores, rtol=1e-12)
    np.testing.assert_allclose(scores_of_file(model, tmp_path / "new.csv", rows=300), found["score"], rtol=1e-12)
    if target == "p.parquet":
        assert pq.ParquetFile(tmp_path / f"300-{target}").num_row_groups == 4


@pytest.mark.parametrize("target", ["p.csv", "p.parquet"])
def test_an_error_in_the_last_part_leaves_no_file(data, model, tmp_path, target):
    frame = data[0].assign(x=[*data[0]["x"][:-1].astype(str), "old"])
    frame.to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(ValueError, match="column 'x' must hold numbers, got 'old'"):
        predict_file(model, tmp_path / "new.csv", tmp_path / target, rows=300)
    assert [path.name for path in tmp_path.iterdir()] == ["new.csv"]


def test_columns_to_keep_do_not_change_scores_and_are_written_as_they_stand(tmp_path):
    """A feature that is kept is read as a number for the model; NA may be a country."""
    frame = pd.DataFrame({"x": np.arange(40) / 8 + 0.35, "size": 1.0 + np.arange(40) % 7, "y": np.arange(40) > 17})
    lines = ["who;x;size", *(f"{'NA' if k % 2 else ''};{k},35;{8 - k}.654" for k in range(6))]
    (tmp_path / "new.csv").write_text("\n".join(lines) + "\n")
    predict_file(fit(frame), tmp_path / "new.csv", tmp_path / "without.csv")
    predict_file(fit(frame), tmp_path / "new.csv", tmp_path / "with.csv", ["size", "x", "who"], rows=4)
    without, kept = (pd.read_csv(tmp_path / name, dtype=str) for name in ("without.csv", "with.csv"))
    assert without["score"].tolist() == kept["score"].tolist()
    assert kept["x"].tolist() == [f"{k},35" for k in range(6)]
    assert (tmp_path / "with.csv").read_text().count(",NA,") == 3


# --- Thresholds ---


def test_as_many_rows_as_asked_for_and_never_more():
    scores = np.random.default_rng(0).normal(size=101)
    assert [(scores > top_threshold(scores, k)).sum() for k in (0, 1, 50, 100, 101, 999)] == [0, 1, 50, 100, 101, 101]
    ties = np.array([3.0, 2.0, 2.0, 2.0, 1.0])
    assert [(ties > top_threshold(ties, k)).sum() for k in range(6)] == [0, 1, 1, 1, 4, 5]
    near = np.array([1.0, np.nextafter(1.0, 2.0), 5.0])  # equal rows may differ so, by their places
    assert (near > top_threshold(near, 2)).sum() == 1
    _, notes = Wanted(top_k=2).find(None, lambda: ties)
    assert "which the 1 largest scores of this table are above, since others tie with the next one" in notes[0]


@pytest.mark.parametrize("costs", [(1.0, 1.0), (1.0, 5.0), (5.0, 1.0)])
def test_costs_on_clean_labels_are_nearly_the_smallest(costs):
    """By the true classes, which the model does not know, and by the probabilities that it gives."""
    rng = np.random.default_rng(0)
    true = rng.random(2000) < 0.3
    frame = pd.DataFrame({"x": 1.5 * true + rng.normal(size=2000), "y": true ^ (rng.random(2000) < 0.1)})
    labeled = frame["y"].to_numpy()
    model = fit(frame, pi=true[labeled].mean(), pi_prime=true[~labeled].mean())
    scores = model.estimator.oof_scores_

    def cost(threshold):
        above = scores > threshold
        return costs[0] * np.mean(above & ~true) + costs[1] * np.mean(~above & true)

    threshold = cost_threshold(model, *costs)
    assert cost(threshold) < 1.1 * min(cost(each) for each in np.quantile(scores, np.linspace(0, 1, 200)))
    found = model.predict(frame)
    assert ((found.scores > threshold) == (found.probabilities > costs[0] / sum(costs))).all()


def test_what_each_threshold_does_is_counted(data, model):
    found = evaluate(model)
    made = {choice.option: choice for choice in choices(found, model)}
    assert len(made) == 7
    assert choices(found, model, (1.0, 7.0))[1].option == "--cost-false-positive 1 --cost-false-negative 7"
    for choice in made.values():
        above = found.scores > choice.threshold
        assert choice.rows == above.sum()
        assert choice.given == pytest.approx((above[found.positive].mean(), above[~found.positive].mean()))
        assert choice.found.low <= choice.found.value <= choice.found.high
    assert made["--cost-false-positive 5"].rows <= made["--cost-false-negative 5"].rows
    assert made["--top-k 100"].rows == 100


# --- Labels and what the scores tell ---


def test_every_row_is_listed_the_most_suspicious_first(data, model):
    frame, wrong = data
    found = label_table(model, frame, ["who"])
    own = ["row", "given_label", "suggested_label", "wrong_probability", "why", "checked_label"]
    assert list(found.columns) == [*own, "who", "x", "plan", "unit"]
    places = found["row"] - 1
    assert sorted(places) == list(range(1000))
    ranked = (found["why"] == "ranked").to_numpy()
    assert found["wrong_probability"][ranked].is_monotonic_decreasing
    assert ranked.tolist() == [k % 4 != 3 or k >= 400 for k in range(1000)]
    for name in ("who", "x", "plan"):
        assert (found[name] == frame[name].to_numpy()[places]).all()
    assert (found["given_label"] == frame["y"].to_numpy()[places]).all()
    assert wrong[places[ranked][:100]].mean() > 0.9
    assert ((found["suggested_label"] != "") == (found["wrong_probability"] > 0.5)).all()
    assert (found["suggested_label"] != found["given_label"]).all()
    assert 100 < (found["suggested_label"] != "").sum() < 200
    numbered = frame.rename(columns={"x": "row"})
    assert label_table(fit(numbered, drop="who"), numbered)["row_"].sort_values().tolist() == sorted(frame["x"])


def test_there_are_suggestions_in_few_rows():
    frame, wrong = table(100, distance=3.0, seed=2)
    model = fit(frame, drop="who")
    found = label_table(model, frame)
    suggested = found["suggested_label"] != ""
    assert suggested.sum() >= 5
    assert wrong[found["row"][suggested] - 1].mean() > 0.5


def test_when_to_stop_is_said_and_about_true():
    frame, wrong = table(2000, distance=2.5)
    model = fit(frame, drop="who", pi=1 - wrong[frame["y"] == "yes"].mean(), pi_prime=wrong[frame["y"] == "no"].mean())
    numbers = [int(number) for number in re.findall(r"about (\d+)", when_to_stop(model))]
    blocks = label_table(model, frame)["row"].to_numpy()[: 20 * len(numbers)].reshape(-1, 20) - 1
    assert len(numbers) == 4
    np.testing.assert_allclose(wrong[blocks].sum(axis=1), numbers, atol=6)
    assert when_to_stop(model).startswith("Of the first 20 about ")


def test_rows_without_a_label_or_weight(data):
    frame = data[0].head(100).assign(times=np.where(np.arange(100) % 10 == 3, 0.0, 1.0))
    found = label_table(fit(frame, drop=["who"], weight="times", pi=0.9, pi_prime=0.1), frame)
    assert found["wrong_probability"].isna().tolist() == [False] * 90 + [True] * 10
    assert set(found["row"][90:]) == set(range(4, 101, 10))
    some = data[0].assign(y=data[0]["y"].where(np.arange(1000) >= 7))
    assert label_table(fit(some, drop=["who"]), some)["row"].min() == 8


def test_noise_in_words(data, model):
    found = evaluate(model)
    words = noise_in_words(found, model.labels)
    assert re.match(
        r"About \d+% \(\d+% to \d+%\) of the labels seem wrong: \d+% of the labels 'yes' \(\d+% to \d+%\) and", words[0]
    )
    assert found.wrong_share.low < data[1].mean() < found.wrong_share.high
    given = fit(data[0], drop="who", pi=0.9, pi_prime=0.1)
    assert noise_in_words(evaluate(given), given.labels) == [
        "As you said, 10% of the labels 'yes' and 10% of the labels 'no' are wrong: 10% of all labels."
    ]
    assert [percent(share) for share in (0.0, 0.0005, 0.0094, 0.01, 1.0)] == ["0%", "below 0.1%", "0.9%", "1%", "100%"]


def test_the_interval_on_clean_labels_allows_for_that_of_the_rates(model):
    found = evaluate(model)
    exact = sl.metrics.estimate_clean_auc(found.scores, found.positive, *found.rates)
    assert found.clean_auc.value == pytest.approx(exact.value)
    assert found.clean_auc.low < exact.low
    assert found.prior == pytest.approx(0.5, abs=0.1)


def test_where_little_can_be_told_the_interval_is_wide_and_said_to_be():
    rng = np.random.default_rng(0)
    found = noise_summary(fit(pd.DataFrame({"x": rng.normal(size=300), "y": rng.random(300) < 0.3})))
    assert found["wrong_share"]["high"] - found["wrong_share"]["low"] > 0.25
    assert found["words"][-1] == "They are wide: check some labels to know more."


@pytest.mark.parametrize("rates", [{}, {"pi": 1.0, "pi_prime": 0.3}])
@pytest.mark.parametrize("distance", [1.0, 6.0])
def test_rows_without_a_label_are_unlabeled(rates, distance):
    rng = np.random.default_rng(0)
    true = rng.random(1500) < 0.5
    y = np.where(true & (rng.random(1500) < 0.6), "yes", None)
    frame = pd.DataFrame({"x": distance * true + rng.normal(size=1500), "y": y})
    model = fit(frame, unlabeled="positive-unlabeled", **rates)
    by_class = sl.audit.label_quality(
        model.estimator.oof_scores_, y == "yes", *model.rates
    )  # one class has no wrong label
    assert model.estimator.label_quality_ == pytest.approx(by_class)
    found = label_table(model, frame)
    labeled = (frame["y"] == "yes").to_numpy()[found["row"] - 1]
    assert (found["given_label"] == np.where(labeled, "yes", "")).all()
    assert not labeled[: (~labeled).sum()].any()
    assert set(found["suggested_label"][~labeled]) <= {"", "yes"}
    for importances in ([Importance("x", 0.3, 0.1)], None):
        text = text_of(fit_page(model, frame, importances, About("d")))
        assert f"{labeled.sum()} labeled 'yes', {(~labeled).sum():,} unlabeled." in text
        assert "of the unlabeled rows are 'yes'" in text
        assert "labeled 'not yes'" not in text


def test_importance_is_that_of_columns_and_bounded_in_time():
    rng = np.random.default_rng(0)
    frame, _ = table(300)
    frame = frame.assign(rest=rng.normal(size=300))
    model = fit(frame, drop=["who"])
    found = column_importance(model, frame, 20)
    assert found[0].column == "x"
    assert {each.column for each in found} == {"x", "plan", "rest"}
    assert found[0].is_clear
    assert not found[-1].is_clear
    assert found[0].fall > 0.1 > abs(found[-1].fall)
    once = column_importance(model, frame, seconds=0.0)  # one fold is always done
    assert (once[0].column, once[0].sd) == ("x", None)


# --- The page ---


class Structure(HTMLParser):
    """The tags, ids, headings, links and the text of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.ids, self.headings, self.links, self.words = [], [], [], [], []
        self.feed(page)
        self.text = " ".join("".join(self.words).split())

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.append((tag, given))
        self.ids += [given["id"]] if "id" in given else []
        self.headings += [int(tag[1])] if tag in ("h1", "h2", "h3") else []
        self.links += [given[name] for name in ("href", "src") if name in given]

    def handle_data(self, data):
        self.words.append(data)


def text_of(page):
    return Structure(page).text


def test_the_page_begins_with_the_verdict(page, data):
    found = Structure(page)
    text = found.text
    order = [text.index(part) for part in (
        "of the labels seem wrong", "labels to check", "Do the columns tell the labels apart?", "Look at this first",
        "Which columns matter", "What was done with them", "what for, and the option of", "Which models were tried",
    )]  # fmt: skip
    assert order == sorted(order)
    assert re.search(r"AUC 0\.\d\d to 1\.00 It is nearer to the lower end", text)
    assert next(given["class"] for tag, given in found.tags if tag == "table") == "rows"


def test_the_page_is_whole_valid_and_asks_no_network(page):
    found = Structure(page)
    assert len(set(found.ids)) == len(found.ids)
    assert found.headings[0] == 1
    assert all(after <= before + 1 for before, after in zip(found.headings, found.headings[1:], strict=False))
    assert all(link.startswith(("#", "data:")) for link in found.links)
    assert {link[1:] for link in found.links if link.startswith("#")} <= set(found.ids)
    assert not {"script", "link rel=stylesheet"} & {tag for tag, _ in found.tags}
    for tag, given in found.tags:
        assert tag != "svg" or "aria-label" in given or given.get("aria-hidden") == "true"


def test_names_labels_and_values_cannot_break_the_page():
    frame, _ = table(200)
    frame = frame.assign(y=np.where(frame["y"] == "yes", HOSTILE, "$10% - $20%\x00\u202e"))
    frame[HOSTILE] = np.where(frame["x"] > 2, "<b>{{ 7 * 7 }}</b>", "'\"&amp;")
    frame = frame.rename(columns={"y": f"label {HOSTILE}"})
    model = fit(frame, f"label {HOSTILE}", drop=["who"])
    page = fit_page(model, frame, column_importance(model, frame, 20), About(HOSTILE, HOSTILE, [HOSTILE]))
    found = Structure(page)
    assert not {"script", "img", "b"} & {tag for tag, _ in found.tags}
    assert "{{ 7 * 7 }}" in found.text
    assert "\x00" not in page
    assert "$10% - $20%\\x00\\u202e" in found.text


def test_a_table_without_signal_says_so():
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"x": rng.normal(size=120), "y": rng.permutation(["a", "b"] * 60)})
    model = fit(frame)
    text = text_of(fit_page(model, frame, column_importance(model, frame, 20), About("data.csv")))
    assert "Do the columns tell the labels apart? Not that one could see" in text
    assert "How good is the ranking on true labels? Cannot be told" in text
    assert "Do the labels belong to these rows?" in text
    assert "relies on most" not in text
    assert "at least as good on true labels" not in text


def test_rates_that_cannot_be_are_a_warning_on_the_page():
    frame, _ = table(300, rates=(0.0, 0.0))
    with pytest.warns(UserWarning, match="cannot be"):
        model = fit(frame, drop=["who"], pi=0.6, pi_prime=0.4)
    assert "cannot be: " in text_of(fit_page(model, frame, None, About("data.csv")))


def test_a_page_that_fails_loses_nothing(data, model, tmp_path, monkeypatch):
    frame = data[0]

    def fail(*_):
        raise RuntimeError("no font")

    model.save(tmp_path / "m")
    monkeypatch.setattr("symloss.tabular.documents.fit_page", fail)
    assert Documents.of(model, frame, About("d")).write(tmp_path / "m") == [
        "report.html could not be made: RuntimeError: no font"
    ]
    assert sorted(path.name for path in (tmp_path / "m").iterdir()) == FILES[:3]
    sl.tabular.load(tmp_path / "m")


def test_the_page_in_a_browser(visit, page, tmp_path):
    (tmp_path / "report.html").write_text(page, encoding="utf-8")
    frame, _ = table(100, distance=3.0, seed=2)
    few = fit_page(fit(frame, drop="who"), frame, None, About("data.csv"))
    assert "symloss page MODEL --wrong-positive" in text_of(few)
    (tmp_path / "few.html").write_text(few, encoding="utf-8")
    for width, scheme in ((1400, "light"), (390, "dark")):
        for name in ("report.html", "few.html"):
            seen = visit(tmp_path / name, viewport={"width": width, "height": 900}, color_scheme=scheme)
            assert seen.evaluate("document.documentElement.scrollWidth") == width
            assert seen.locator(".button").is_visible()
            assert seen.locator("svg polyline.curve, svg polygon.between").count() == 2
            background = seen.locator("body").evaluate("element => getComputedStyle(element).backgroundColor")
            assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 22, 27)"}[scheme]


# --- Saving, scikit-learn, modules ---


def test_a_saved_model_predicts_the_same(data, model, tmp_path):
    frame = data[0]
    assert [path.name for path in model.save(tmp_path / "model")] == ["model.safetensors"]
    again = sl.tabular.load(str(tmp_path / "model"))
    pd.testing.assert_frame_equal(again.predict(frame).table, model.predict(frame).table, check_exact=True)
    assert (again.notes, again.profile, again.encoding) == (model.notes, model.profile, model.encoding)
    assert (repr(again), again.noise, again.rates) == (repr(model), model.noise, model.rates)
    assert again.score(frame) == model.score(frame)
    other = fit(frame[:200], drop="who", candidates=[("bayes", GaussianNB())])  # that is not symloss's own
    other.save(tmp_path / "model")  # it is replaced
    again = sl.tabular.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(frame).scores, other.predict(frame).scores)
    (tmp_path / "model" / "thesis.tex").write_text("x")
    with pytest.raises(ValueError, match=r"holds more than a model \(thesis.tex\), and is not overwritten"):
        model.save(tmp_path / "model")


def test_a_damaged_model_is_refused_in_one_line(model, tmp_path):
    model.save(tmp_path / "model")
    path = tmp_path / "model" / "model.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[:-10] + b"0123456789")
    with pytest.raises(ValueError, match="damaged"):
        sl.tabular.load(tmp_path / "model")
    path.write_bytes(content)
    estimator, beside = load_with(path)
    for key, wrong in (("labels", ["no"]), ("profile", 3), ("encoding", beside["encoding"] | {"columns": []})):
        save_with(estimator, path, beside | {key: wrong})
        with pytest.raises(ValueError, match=r"model.safetensors is damaged: ") as refused:
            sl.tabular.load(tmp_path / "model")
        assert "\n" not in str(refused.value)
    save_with(estimator, path, None)
    with pytest.raises(ValueError, match="holds an estimator without the columns of a table"):
        sl.tabular.load(tmp_path / "model")
    with pytest.raises(ValueError, match="no model in "):
        sl.tabular.load(tmp_path)


def test_the_pipeline_and_the_module_predict_what_the_model_does(data, model):
    frame = data[0]
    pipeline = model.to_sklearn()
    np.testing.assert_allclose(pipeline.decision_function(frame), model.predict(frame).scores)
    assert pipeline.predict(frame).tolist() == model.predict(frame).labels
    assert pipeline.predict(pl.from_pandas(frame)).tolist() == model.predict(frame).labels
    again = clone(pipeline).fit(frame[["plan", "x"]], frame["y"])
    assert (again.predict(frame) == pipeline.predict(frame)).mean() > 0.98
    encoded = torch.from_numpy(model.encoding.transform(frame).values)
    np.testing.assert_allclose(model.to_module()(encoded).detach(), model.predict(frame).scores, rtol=1e-4, atol=1e-5)


# --- The command line ---


@pytest.fixture(scope="module")
def folder(data, tmp_path_factory):
    """The data as files, and a model fitted to them from the command line."""
    folder = tmp_path_factory.mktemp("tables")
    data[0].head(300).to_csv(folder / "data.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("symloss.estimators.selection.default_candidates", lambda *_: LINEAR)
        patch.setattr("sys.argv", ["symloss", "fit", "data.csv", "--out", "model"])
        result = done("fit", folder / "data.csv", "--label", "y", "--out", folder / "model", "--id", "who",
                      "--pi", 0.9, "--pi-prime", 0.2)  # fmt: skip
    (folder / "output.txt").write_text(result.stdout)
    (folder / "progress.txt").write_text(result.stderr)
    return folder


def test_fit_says_what_it_did(folder):
    text = (folder / "output.txt").read_text()
    for line in (
        "label y: 'yes' is positive (", "), the larger label; 'no' is negative (", "300 rows, 2 columns as 4 features",
        "one-hot encoded: plan (3 categories)", "dropped: unit (constant)", "AUC on noisy folds", "weight",
        "on the given labels, cross-validated: 0.", "AUC on true labels: ", "% interval",
        "This holds if which labels are wrong has nothing to do with the columns.", "threshold: ",
        "As you said, 10% of the labels 'yes' and 20% of the labels 'no' are wrong", "report.html",
    ):  # fmt: skip
        assert line in text
    assert sorted(path.name for path in (folder / "model").iterdir()) == FILES
    assert "symloss fit data.csv --out model" in (folder / "model" / "report.html").read_text(encoding="utf-8")
    lines = (folder / "progress.txt").read_text().splitlines()
    assert lines[0].startswith("Scoring candidates on folds: 1 of 5")  # whole lines, in a file
    assert "\r" not in (folder / "progress.txt").read_text()


@pytest.mark.usefixtures("quick")
def test_fit_with_the_other_risk_and_label(folder, tmp_path):
    frame = pd.read_csv(folder / "data.csv").assign(y=lambda frame: np.where(frame["y"] == "yes", 1, 2), times=2.0)
    frame.to_parquet(tmp_path / "data.parquet")
    options = ["--risk", "ber", "--positive", "1", "--weight", "times", "--drop", "who"]
    done("fit", tmp_path / "data.parquet", "--label", "y", "--out", tmp_path / "m", *options)
    found = sl.tabular.load(tmp_path / "m")
    assert (found.score_name, found.label, found.labels) == ("balanced accuracy", "y", (2, 1))
    assert (found.weight, found.clean_score, "who" in found.columns) == ("times", None, False)


def test_predict_is_what_the_model_says(folder, data, tmp_path):
    result = done("predict", folder / "model", folder / "data.csv", "--id", "who", "--out", tmp_path / "p.csv")
    assert result.stdout == ""
    assert "300 rows: " in result.stderr
    written = pd.read_csv(tmp_path / "p.csv", dtype={"who": str})
    assert list(written.columns) == ["who", "score", "prediction", "clean_probability"]
    found = sl.tabular.load(folder / "model").predict(folder / "data.csv")
    np.testing.assert_allclose(written["score"], found.scores, rtol=1e-12)
    assert written["prediction"].tolist() == found.labels
    lines = done("predict", folder / "model", folder / "data.csv").stdout.splitlines()
    assert (lines[0], len(lines)) == ("score,prediction,clean_probability", 301)


def test_thresholds_on_the_command_line(folder, tmp_path):
    def predicted(*arguments):
        result = done("predict", folder / "model", folder / "data.csv", "--out", tmp_path / "p.csv", *arguments)
        return pd.read_csv(tmp_path / "p.csv"), result.stderr

    found, notes = predicted("--top-k", "7")
    assert (found["prediction"] == "yes").sum() == 7
    assert "300 rows: 7 predicted 'yes', 293 'no'" in notes
    assert (predicted("--share", "0.25")[0]["prediction"] == "yes").sum() == 75
    found, _ = predicted("--threshold", "-0.5")
    assert ((found["prediction"] == "yes") == (found["score"] > -0.5)).all()
    found, notes = predicted("--cost-false-negative", "5")
    threshold = cost_threshold(sl.tabular.load(folder / "model"), 1.0, 5.0)
    assert ((found["prediction"] == "yes") == (found["score"] > threshold)).all()
    assert "if 10% of the labels 'yes' and 20% of the labels 'no' are wrong, in all rows alike, as given" in notes


@pytest.mark.usefixtures("quick")
def test_an_audit_goes_into_a_review(data, tmp_path, monkeypatch):
    frame, wrong = data
    frame.assign(y=frame["y"].replace("yes", "[bold]yes")).to_csv(tmp_path / "data.csv", index=False)
    monkeypatch.chdir(tmp_path)
    result = done("audit", "data.csv", "--label", "y", "--id", "who")
    assert "of the labels seem wrong" in result.stdout
    assert " labels look wrong. Of the first 20 about " in result.stdout
    rows = [line.split() for line in result.stdout.splitlines()]
    rows = [line for line in rows if len(line) == 5 and line[0].isdigit()]
    assert len(rows) == 10
    assert np.mean([wrong[int(row[0]) - 1] for row in rows]) > 0.7
    assert all({row[1], row[2]} == {"[bold]yes", "no"} for row in rows)
    assert json.loads((tmp_path / "audit" / "noise.json").read_text())["suspicious"] > 100
    done("page", "audit")
    assert "Which columns matter" not in (tmp_path / "audit" / "report.html").read_text(encoding="utf-8")
    labels = pd.read_csv("audit/labels.csv", dtype=str, keep_default_na=False)
    assert len(labels) == 1000
    right = np.where(wrong, np.where(frame["y"] == "yes", "no", "[bold]yes"), frame["y"].replace("yes", "[bold]yes"))
    looked = labels["row"].astype(int)[:60] - 1
    labels[:60].assign(checked_label=right[looked]).to_csv("audit/labels.csv", index=False)
    command = re.search("then symloss (review .*)", result.stdout)[1].split()  # as the audit says it
    assert f"{wrong[looked].sum()} were wrong, and are corrected" in done(*command).stdout
    assert (pd.read_csv("audit-reviewed/corrected.csv")["y"].to_numpy()[looked] == right[looked]).all()


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("command", ["audit", "fit"])
def test_labels_that_somebody_has_checked_are_not_overwritten(data, tmp_path, command):
    data[0].head(60).to_csv(tmp_path / "data.csv", index=False)
    labels = tmp_path / "out" / "labels.csv"
    arguments = [command, tmp_path / "data.csv", "--label", "y", "--out", tmp_path / "out"]
    done(*arguments)
    written = labels.read_bytes()
    assert "the data, is in" in error_of(command, labels, "--label", "given_label", "--out", tmp_path / "out")
    labels.write_bytes(written.replace(b"yes", b"no", 1))  # as somebody does who corrects a label
    assert "labels may have been checked there, so it is not overwritten" in error_of(*arguments)
    assert labels.read_bytes() != written
    done(*arguments, "--overwrite")
    assert labels.read_bytes() == written


def test_rates_that_are_known_later(folder, tmp_path):
    """As if they had been given to the fit: for the page, the labels, and predictions; what was checked is kept."""
    frame = pd.read_csv(folder / "data.csv", dtype={"who": str})
    expected, model = fit(frame, drop="who", pi=0.7, pi_prime=0.1), tmp_path / "model"
    shutil.copytree(folder / "model", model)
    result = done("page", model, "--wrong-positive", 0.3, "--wrong-negative", 0.1, "--cost-false-negative", "6")
    assert "As you said, 30% of the labels 'yes' and 10% of the labels 'no' are wrong" in result.stdout
    text = text_of((model / "report.html").read_text(encoding="utf-8"))
    for part in ("30% of the labels 'yes'", "the costs that you gave", "Which columns matter"):
        assert part in text
    written = pd.read_csv(model / "labels.csv", dtype={"who": str}, keep_default_na=False)
    table = label_table(expected, frame, ["who"])
    pair = written.set_index("row"), table.set_index("row").loc[written["row"]]  # two fits may round otherwise
    wrong, expected_wrong = (each["wrong_probability"] for each in pair)
    np.testing.assert_allclose(wrong, expected_wrong, atol=0.02)
    told = np.abs(wrong - 0.5) > 0.02
    for column in set(table.columns) - {"row", "wrong_probability", "why", "checked_label"}:
        assert [str(value) for value in pair[0][column][told]] == [str(value) for value in pair[1][column][told]], (
            column
        )
    written.assign(checked_label="maybe").to_csv(model / "labels.csv", index=False)
    done("page", model, "--wrong-positive", 0.31, "--wrong-negative", 0.1)  # what was checked is kept
    assert set(pd.read_csv(model / "labels.csv")["checked_label"]) == {"maybe"}
    done("page", model, "--wrong-positive", 0.3, "--wrong-negative", 0.1)
    again = sl.tabular.load(model)
    np.testing.assert_allclose(again.predict(frame).probabilities, expected.predict(frame).probabilities, atol=0.02)
    assert again.clean_score.value == pytest.approx(expected.clean_score.value, abs=0.01)
    assert "labels may have been checked there" in error_of("fit", folder / "data.csv", "--label", "y", "--out", model)
    assert "give both --wrong-positive and --wrong-negative" in error_of("page", model, "--wrong-positive", "0.2")
    assert "which say the same" in error_of("page", model, "--wrong-positive", "0.2", "--pi", "0.8")
    assert "'--wrong-positive'" in error_of("page", model, "--wrong-positive", "20", "--wrong-negative", "0")
    assert "less than 1" in error_of("page", model, "--wrong-positive", "0.6", "--wrong-negative", "0.5")
    (model / "noise.json").unlink()
    assert "has no noise.json" in error_of("page", model)


def test_a_review_tells_how_many_labels_are_wrong():
    """The interval holds although most of the rows that are checked are the worst ones, whatever the noise is."""
    other, rng, covered = {"yes": "no", "no": "yes"}, np.random.default_rng(0), []
    for seed, share in enumerate([0.05, 0.2, 0.4] * 4):
        frame, _ = table(300, distance=2.0, seed=seed)
        model = fit(frame, drop="who")
        labels = label_table(model, frame)
        wrong = rng.random(300) < share * np.where(frame["x"] > 1, 1.5, 0.5)
        looked = labels[:80]
        true = [other[y] if wrong[row - 1] else y for row, y in zip(looked["row"], looked["given_label"], strict=True)]
        labels.loc[0, "wrong_probability"] = np.nan  # as that of a row without weight
        looked = labels.assign(checked_label=[*true, *[" "] * 220])
        found = sl.tabular.review(frame, looked, model)
        said, noise, fixed = found.model.review, found.model.noise, found.table["y"] != frame["y"]
        assert (said.checked, len(said.changed)) == (80, fixed.sum())
        assert 8 <= said.random <= 20
        left, positive, then = wrong & ~fixed, found.table["y"] == "yes", evaluate(found.model)
        assert fixed.sum() == wrong[looked["row"][:80] - 1].sum()
        covered.append([
            said.wrong_before[1] <= wrong.mean() <= said.wrong_before[2],
            noise.pi_low <= 1 - left[positive].mean() <= noise.pi_high,
            noise.pi_prime_low <= left[~positive].mean() <= noise.pi_prime_high,
            then.clean_auc.low <= sl.metrics.auc(then.scores, (frame["y"] == "yes") ^ wrong) <= then.clean_auc.high,
        ])  # fmt: skip
    assert (np.sum(covered, 0) >= 9).all()
    assert "by the labels that you checked" in noise_in_words(evaluate(found.model), model.labels)[1]
    few = sl.tabular.review(frame, looked[:3], model).model
    assert few.review.wrong_before is None
    assert "by comparison with other tables" in noise_in_words(evaluate(few), model.labels)[1]


@pytest.mark.parametrize("candidates", [LINEAR, [("neighbors", KNeighborsClassifier(20))]])
def test_in_a_review_labels_that_nobody_has_checked_count_less(candidates, monkeypatch):
    frame, wrong = table(400, rates=(0.3, 0.1))
    model = fit(frame, drop="who", candidates=candidates)
    labels = label_table(model, frame)[:80]
    labels["checked_label"] = np.where((frame["y"] == "yes") ^ wrong, "yes", "no")[labels["row"] - 1]
    learn, used = sl.tabular.reviewing.learn, []
    monkeypatch.setattr(sl.tabular.reviewing, "learn", lambda *args: (used.append(args[3]), learn(*args)))
    now = sl.tabular.review(frame, labels, model).model
    counts = used[0][~now.rows.checked]
    assert (used[0][now.rows.checked] == 1).all()
    # 1 - .3 - .1, or all the same where an estimator takes no weights
    assert counts == pytest.approx(0.6 if candidates is LINEAR else 1.0, abs=0.15 * (candidates is LINEAR))
    assert (
        now.notes[-1] == f"label y: one that nobody has checked counts {counts[0]:.2f} times as much as one that is"
    ) == (candidates is LINEAR)
    assert now.estimator.share_labeled_positive_ == pytest.approx(now.rows.positive.mean())  # for rows to predict


@pytest.mark.parametrize("near_the_border", [False, True])
def test_what_is_said_of_true_labels_after_a_review_holds(near_the_border):
    covered = []
    for seed in range(6):
        frame, wrong = table(400, rates=(0.38, 0.08), distance=2.0, seed=seed)
        true = (frame["y"] == "yes") ^ wrong
        if near_the_border:
            wrong = np.random.default_rng(seed).random(400) < 0.4 * np.exp(-np.abs(frame["x"] - 1))
            frame["y"] = np.where(true ^ wrong, "yes", "no")
        model = fit(frame, drop="who")
        labels = label_table(model, frame)[:100]
        labels["checked_label"] = np.where(true, "yes", "no")[labels["row"] - 1]
        now = sl.tabular.review(frame, labels, model).model
        found = evaluate(now)
        covered.append(found.clean_auc.low <= sl.metrics.auc(found.scores, true) <= found.clean_auc.high)
        for choice in choices(found, now):
            above = found.scores > choice.threshold
            shares = above[true].mean(), above[~true].mean(), true[above].mean()
            for share, told in zip(shares, (choice.found, choice.false, choice.precision), strict=True):
                covered.append(told.low <= share <= told.high)
    assert np.mean(covered) > 0.9  # .86 and .36 if the estimated shares are taken as exact


@pytest.mark.usefixtures("quick")
def test_labels_are_checked_and_the_model_is_fitted_again(folder, data, tmp_path):
    frame, wrong = data[0].head(300), data[1][:300]
    labels = pd.read_csv(folder / "model" / "labels.csv", dtype=str, keep_default_na=False)
    true = np.where(wrong, np.where(frame["y"] == "yes", "no", "yes"), frame["y"])
    labels.loc[:79, "checked_label"] = true[labels["row"][:80].astype(int) - 1]
    comma = labels.assign(wrong_probability=labels["wrong_probability"].str.replace(".", ","))
    comma.to_csv(tmp_path / "checked.csv", sep=";", index=False)  # as a spreadsheet may save it
    table_file, new = folder / "data.csv", tmp_path / "new"
    command = ["review", table_file, tmp_path / "checked.csv", "--model", folder / "model", "--out"]
    result = done(*command, new)
    fixed = int((labels["given_label"] != labels["checked_label"])[:80].sum())
    assert f"You have checked 80 labels: {fixed} were wrong, and are corrected." in result.stdout
    assert sorted(path.name for path in new.iterdir()) == ["corrected.csv", *FILES]
    before, after = (pd.read_csv(path, dtype=str) for path in (table_file, new / "corrected.csv"))
    assert (before != after).sum().to_dict() == {name: fixed * (name == "y") for name in before}
    text = text_of((new / "report.html").read_text(encoding="utf-8"))
    assert "What the review changed" in text
    assert "by the labels that you checked" in text
    listed = pd.read_csv(new / "labels.csv", dtype=str, keep_default_na=False)
    assert (listed["why"] == "checked").tolist() == [False] * 220 + [True] * 80
    assert (listed["checked_label"] == listed["given_label"])[220:].all()
    assert len(sl.tabular.load(new).review.changed) == fixed
    assert "as the checked labels say" in done("predict", new, table_file, "--out", tmp_path / "p.csv").stderr
    done("page", new, "--wrong-positive", "0.01", "--wrong-negative", "0.02")
    listed.loc[:39, "checked_label"] = true[listed["row"][:40].astype(int) - 1]
    listed[:40].to_csv(tmp_path / "more.csv", index=False)  # those of the first review are not forgotten
    again = done("review", new / "corrected.csv", tmp_path / "more.csv", "--model", new, "--out", tmp_path / "newer")
    assert "You have checked 120 labels: " in again.stdout
    assert (pd.read_csv(tmp_path / "newer" / "labels.csv")["why"] == "checked").sum() == 120
    labels.assign(checked_label=labels["given_label"]).to_csv(tmp_path / "checked.csv", index=False)
    done(*command, tmp_path / "all")
    assert "All labels are checked." in text_of((tmp_path / "all" / "report.html").read_text(encoding="utf-8"))
    for wanted, change in (
        ("has another label in the table", {"given_label": "yes"}),
        ("must hold the labels 'no' and 'yes', got 'maybe'", {"checked_label": "maybe"}),
        ("no row has a checked_label", {"checked_label": ""}),
        ("row 7 is twice in the list", {"row": 7}),
    ):
        labels.assign(**change).to_csv(tmp_path / "checked.csv", index=False)
        assert wanted in error_of(*command, tmp_path / "other")
    labels.drop(columns="why").to_csv(tmp_path / "checked.csv", index=False)
    assert "no column 'why' (as in labels.csv)" in error_of(*command, tmp_path / "other")
    assert "it is not overwritten" in error_of(*command, folder / "model")
    frame.head(200).to_csv(tmp_path / "data.csv", index=False)
    command[1] = tmp_path / "data.csv"
    assert "the table must be that of the fit, got one with other values" in error_of(*command, tmp_path / "other")
    turned = frame.groupby("y")[[name for name in frame if name != "y"]].transform(lambda of: of.to_numpy()[::-1])
    turned["y"] = frame["y"]
    turned.to_csv(tmp_path / "data.csv", index=False)  # the labels are the same, their rows are others
    assert "rows in another order" in error_of(*command, tmp_path / "other")
    (new / "noise.json").unlink()
    command[1:5] = table_file, tmp_path / "more.csv", "--model", new
    assert "noise.json'" in error_of(*command, tmp_path / "other")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.csv", "--label", "y"], "no such file: nowhere.csv"),
        (["--label", "Y"], "no column 'Y' (the label); did you mean 'y'?"),
        (["--label", "unit"], "must have two distinct values, got only one class: 'kg' (300 rows)"),
        (["--label", "plan"], "must have two distinct values, got 3 distinct values: 'basic' ("),
        (["--label", "y", "--risk", "f1"], "the risk must be auc or ber, got 'f1'"),
        (["--label", "y", "--positive", "maybe"], "the labels are 'no' and 'yes'"),
        (["--label", "y", "--drop", "whom"], "no column 'whom' (to drop); did you mean 'who'?"),
        (["--label", "y", "--drop", "y"], "must be different columns"),
        (["--label", "y", "--drop", "who", "--weight", "plan"], "column 'plan', the weight, must hold numbers"),
        (
            ["--label", "y", "--drop", "who", "--wrong-positive", "0.2"],
            "give both --wrong-positive and --wrong-negative",
        ),
        (["--label", "y", "--jobs", "0"], "--jobs must be a number of fits"),
        (["--label", "y", "--time-limit", "-1"], "--time-limit must be a number of seconds above 0, got -1"),
        (["--label", "y", "--id", "whom"], "no column 'whom' (to keep); did you mean 'who'?"),
    ],
)
def test_bad_input_to_fit(folder, tmp_path, arguments, message):
    data = [] if arguments[0] == "nowhere.csv" else [folder / "data.csv"]
    assert message in error_of("fit", *data, *arguments, "--out", tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_folders_that_cannot_or_must_not_be_written_are_refused_before_the_fit(folder, tmp_path):
    data = ["fit", folder / "data.csv", "--label", "y", "--out"]
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.tex").write_text("x")
    assert "cannot be written: Not a directory" in error_of(*data, folder / "data.csv" / "model")
    assert "holds more than a model (thesis.tex)" in error_of(*data, tmp_path / "thesis")
    assert "is a file, and is not overwritten" in error_of(*data, folder / "data.csv")
    assert (tmp_path / "thesis" / "thesis.tex").read_text() == "x"


def test_bad_input_to_predict(folder, data, tmp_path):
    model, rows = folder / "model", folder / "data.csv"
    data[0].drop(columns=["x", "plan"]).to_csv(tmp_path / "a.csv", index=False)
    assert "no column 'x' (which the model needs); the columns are" in error_of("predict", model, tmp_path / "a.csv")
    data[0].rename(columns={"plan": "Plan"}).to_csv(tmp_path / "b.csv", index=False)
    assert "did you mean 'Plan'?" in error_of("predict", model, tmp_path / "b.csv")
    assert "no column 'whom' (to keep); did you mean 'who'?" in error_of("predict", model, rows, "--id", "whom")
    assert "no model in " in error_of("predict", tmp_path, rows)
    for arguments, message in (
        (["--share", "0.1", "--cost-false-positive", "3"], "--top-k and costs, got --share and costs"),
        (["--share", "1.5"], "--share"),
        (["--cost-false-positive", "0"], "--cost-false-positive must be a number above 0"),
        (["--threshold", "nan"], "--threshold must be a number, got nan"),
        (["--out", tmp_path / "no" / "such" / "p.csv"], "cannot be written: there is no folder"),
        (["--out", rows], "is the data; it is not overwritten"),
        (["--out", model / "new.csv"], "the model; nothing is written there"),
        (["--out", tmp_path / "p.xlsx"], "must end in one of"),
    ):
        assert message in error_of("predict", model, rows, *arguments)
    assert not (tmp_path / "no").exists()


def test_a_refused_value_names_its_row(folder, tmp_path):
    lines = (folder / "data.csv").read_text().splitlines()
    lines[0] += ",weight"
    lines[1:] = [f"{line},{-1 if k == 40 else 1}" for k, line in enumerate(lines[1:])]
    (tmp_path / "data.csv").write_text("\n".join([lines[0], "", *lines[1:]]) + "\n")
    said = error_of("fit", tmp_path / "data.csv", "--label", "y", "--weight", "weight", "--out", tmp_path / "model")
    assert said.endswith("infinite in row 41\n")


def test_standard_input_and_output(folder):
    command = [sys.executable, "-m", "symloss", "predict", str(folder / "model"), "-"]
    with (folder / "data.csv").open() as stream:
        result = subprocess.run(command, stdin=stream, capture_output=True, text=True, check=True)
    assert len(result.stdout.splitlines()) == 301


def test_answers_of_several_people_become_labels(tmp_path):
    rng = np.random.default_rng(0)
    true = rng.random(300) < 0.4
    votes = pd.DataFrame(
        {f"a{k}": np.where(true ^ (rng.random(300) < 0.05 + 0.1 * k), "yes", "no") for k in range(4)}
    ).where(rng.random((300, 4)) < 0.8, "?")
    votes.insert(0, "item", [f"{k:03d}" for k in range(300)])
    votes.to_csv(tmp_path / "wide.csv", index=False)
    votes.melt("item", var_name="who", value_name="said").to_csv(tmp_path / "long.csv", index=False)
    pd.DataFrame({"item": votes["item"][::-1], "x": true[::-1]}).to_csv(tmp_path / "data.csv", index=False)
    common = ["--item", "item", "--abstain", "?", "--data", tmp_path / "data.csv", "--out"]
    done("annotators", tmp_path / "wide.csv", *common, tmp_path / "a.csv", "--label", "said")
    long = [tmp_path / "long.csv", "--annotator", "who", "--label", "said"]
    result = done("annotators", *long, *common, tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    table = pd.read_csv(tmp_path / "b.csv", dtype={"item": str})
    assert list(table.columns) == ["item", "x", "said", "weight", "probability"]
    assert ((table["said"] == "yes") == table["x"]).mean() > 0.9
    assert "by 4 annotators" in result.stdout
    assert "--label said --weight weight --id item,probability --wrong-positive 0." in result.stdout
    votes.assign(label="no", item=[None, *votes["item"][1:]]).to_csv(tmp_path / "odd.csv", index=False)
    result = done("annotators", tmp_path / "odd.csv", *common, tmp_path / "c.csv", "--label", "said")
    assert "left out, as they have no item: 1 of 300 rows of the answers" in result.stdout
    assert "299 of the 300 rows of" in result.stdout
    table[["item", "weight"]].to_csv(tmp_path / "weights.csv", index=False)
    (tmp_path / "others.csv").write_text("item\n-7\n")
    common = [*long, "--item", "item", "--out", tmp_path / "d.csv"]
    for message, arguments in (
        ("no column 'items' (of the answers); did you mean 'item'?", [*common, "--item", "items"]),
        ("long.csv is the data; it is not overwritten", [*common, "--out", tmp_path / "long.csv"]),
        ("b.csv is the data", [*common, "--data", tmp_path / "b.csv", "--out", tmp_path / "b.csv"]),
        ("has a column 'weight'", [*common, "--data", tmp_path / "weights.csv"]),
        ("has an answer", [*common, "--data", tmp_path / "others.csv"]),
        ("name the column of labels with --label", [tmp_path / "odd.csv", *common[-4:]]),
    ):
        assert message in error_of("annotators", *arguments)


@pytest.mark.usefixtures("quick")
def test_an_audit_of_several_classes(tmp_path):
    rng = np.random.default_rng(0)
    true = rng.integers(0, 3, 300)
    wrong = rng.random(300) < 0.1
    angle = 2 * np.pi * true / 3
    frame = pd.DataFrame({"x": 4 * np.cos(angle) + rng.normal(size=300), "z": 4 * np.sin(angle) + rng.normal(size=300)})
    frame["kind"] = np.array(["cat", "dog", "owl"])[np.where(wrong, (true + 1) % 3, true)]
    pd.concat([frame, frame[:1].assign(kind="emu")]).to_csv(tmp_path / "data.csv", index=False)
    command = ["audit", tmp_path / "data.csv", "--label", "kind", "--out", tmp_path / "a"]
    assert "or see symloss audit --each-class" in error_of(*command)
    command.append("--each-class")
    result = done(*command)
    assert "left out, as they have one row each: 'emu'" in result.stdout
    assert json.loads((tmp_path / "a" / "noise.json").read_text()).keys() > {"cat", "dog", "owl"}
    assert "--wrong-positive is for two labels" in error_of(*command, "--wrong-positive", 0.1, "--wrong-negative", 0.1)
    shares = dict(re.findall(r"(cat|dog|owl|all) +(?:\d+) +(\S+)%", result.stdout))
    table = pd.read_csv(tmp_path / "a" / "labels.csv", keep_default_na=False)
    counts = table["given_label"].value_counts()
    assert abs(float(shares["all"]) - sum(float(shares[name]) * counts[name] for name in counts.index) / 300) < 1
    assert f"Of the first 20 about {table['wrong_probability'][:20].sum():.0f} are wrong" in result.stdout
    assert re.search(r"all +300 ", result.stdout)
    shown = [line.split()[:2] for line in result.stdout.splitlines() if re.match(r" *\d+ +(cat|dog|owl) ", line)]
    assert shown == table[["row", "given_label"]][:10].astype(str).to_numpy().tolist()
    assert sorted(table["row"]) == list(range(1, 301))
    worst = table[: wrong.sum()]
    assert wrong[worst["row"] - 1].mean() > 0.8
    told = worst[worst["suggested_label"] != ""]
    assert (told["suggested_label"] == np.array(["cat", "dog", "owl"])[true[told["row"] - 1]]).mean() > 0.8
