"""Thresholds for a share, for the top rows and for costs, in Python and from the command line."""

import copy

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import symloss as sl
from symloss.cli import app
from symloss.tabular import fit_table
from symloss.tabular.findings import findings
from symloss.tabular.rates import known_rates
from symloss.tabular.thresholds import (
    Asked,
    choices,
    chosen_threshold,
    cost_threshold,
    share_threshold,
    top_threshold,
)

LINEAR = [("linear", sl.AUCClassifier())]


def table(n=2000, seed=0):
    """Rows of known classes, and labels of which one in ten is wrong."""
    rng = np.random.default_rng(seed)
    true = rng.random(n) < 0.3
    frame = pd.DataFrame({"x": 1.5 * true + rng.normal(size=n), "z": rng.normal(size=n)})
    return frame.assign(y=np.where(true ^ (rng.random(n) < 0.1), "yes", "no")), true


@pytest.fixture(scope="module")
def data():
    return table()


@pytest.fixture(scope="module")
def fitted(data):
    frame, true = data
    labeled = frame["y"] == "yes"
    rates = {"pi": true[labeled].mean(), "pi_prime": true[~labeled].mean()}
    return fit_table(frame, "y", candidates=LINEAR, **rates)


def test_as_many_rows_as_asked_for():
    scores = np.random.default_rng(0).normal(size=101)
    for k in (0, 1, 50, 100, 101, 1000):
        assert (scores > top_threshold(scores, k)).sum() == min(k, 101)
    for share in (0.0, 0.1, 0.5, 1.0):
        assert (scores > share_threshold(scores, share)).sum() == round(101 * share)


def test_ties_are_never_more_than_asked_for():
    scores = np.array([3.0, 2.0, 2.0, 2.0, 1.0])
    assert [(scores > top_threshold(scores, k)).sum() for k in range(6)] == [0, 1, 1, 1, 4, 5]
    assert (np.zeros(5) > top_threshold(np.zeros(5), 3)).sum() == 0
    near = np.array([1.0, np.nextafter(1.0, 2.0), 5.0])  # equal rows may differ so, by their places
    assert (near > top_threshold(near, 2)).sum() == 1
    assert (near > top_threshold(near, 0)).sum() == 0
    assert (1e-8 * near > top_threshold(1e-8 * near, 1)).sum() == 1
    _, notes = chosen_threshold(Asked(top_k=2), None, lambda: scores)
    assert notes == ["threshold 2.5, which the 1 largest scores of this table are above, since others tie with the "
                     "next one"]  # fmt: skip


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan")])
def test_shares_that_are_none(wrong):
    with pytest.raises(ValueError, match="must be from 0 to 1"):
        share_threshold(np.arange(5.0), wrong)


@pytest.mark.parametrize("costs", [(1.0, 1.0), (1.0, 5.0), (5.0, 1.0)])
def test_costs_on_clean_labels_are_nearly_the_smallest(fitted, data, costs):
    """The costs of other thresholds, by the true classes, which the model does not know."""
    _, true = data
    scores = fitted.model.estimator.oof_scores_

    def cost(threshold):
        above = scores > threshold
        return costs[0] * np.mean(above & ~true) + costs[1] * np.mean(~above & true)

    best = min(cost(threshold) for threshold in np.quantile(scores, np.linspace(0, 1, 200)))
    assert cost(cost_threshold(fitted.model.estimator, *costs)) < 1.1 * best
    assert cost(0.0) >= best


def test_costs_agree_with_clean_probabilities(fitted, data):
    estimator = fitted.model.estimator
    values = pd.DataFrame(fitted.model.encoding.transform(data[0]).values, columns=fitted.model.encoding.features)
    above = estimator.decision_function(values) > cost_threshold(estimator, 3.0, 1.0)
    assert (above == (estimator.predict_clean_proba(values)[:, 1] > 0.75)).all()


def test_costs_need_rates_and_numbers(fitted):
    for costs in ((0.0, 1.0), (1.0, -1.0), (float("inf"), 1.0), (float("nan"), 1.0)):
        with pytest.raises(ValueError, match=r"the cost of a false (positive|negative) must be a number above 0"):
            cost_threshold(fitted.model.estimator, *costs)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60), "y": [0, 1] * 30})
    unknown = fit_table(frame, "y", candidates=LINEAR).model.estimator
    assert known_rates(unknown) is None
    with pytest.raises(ValueError, match="costs need the rates of the noise"):
        cost_threshold(unknown)


def test_one_thing_at_a_time():
    with pytest.raises(ValueError, match="got threshold and costs"):
        Asked(threshold=0.5, cost_false_positive=2.0).check()
    Asked(cost_false_positive=2.0, cost_false_negative=3.0).check()
    assert Asked(cost_false_negative=3.0).costs == (1.0, 3.0)
    assert chosen_threshold(Asked(threshold=-0.5), None, pytest.fail) == (-0.5, [])


def test_what_each_threshold_does_is_counted(fitted):
    found = findings(fitted)
    made = choices(found, fitted.model.estimator, "yes")
    assert len(made) == 7
    for choice in made:
        above = found.scores > choice.threshold
        assert choice.rows == above.sum()
        assert choice.share == pytest.approx(above.mean())
        assert choice.found == pytest.approx(above[found.positive].mean())
        assert choice.false_alarms == pytest.approx(above[~found.positive].mean())
        assert choice.clean.tpr.low <= choice.clean.tpr.value <= choice.clean.tpr.high
        assert choice.clean.tpr.value > choice.found or choice.found > 0.97
    by_option = {choice.option: choice for choice in made}
    assert by_option["--cost-false-positive 5"].rows < by_option["--cost-false-negative 5"].rows
    assert by_option["--top-k 100"].rows == 100


def test_shares_are_of_rows_whatever_their_weights(data):
    frame = data[0].head(500).assign(times=np.where(data[0]["y"].head(500) == "yes", 4.0, 0.5))
    fitted = fit_table(frame, "y", weight="times", candidates=LINEAR, pi=0.9, pi_prime=0.1)
    labeled = (frame["y"] == "yes").sum()
    made = {choice.purpose: choice for choice in choices(findings(fitted), fitted.model.estimator, "yes")}
    as_labeled = made["as many 'yes' as there are labels 'yes'"]
    assert as_labeled.option == f"--share {labeled / 500:.3g}"
    assert as_labeled.rows == labeled
    assert made["as many 'yes' as there seem to be in truth"].rows == round(0.9 * labeled + 0.1 * (500 - labeled))
    assert all(choice.share == pytest.approx(choice.rows / 500) for choice in made.values())


def test_costs_need_a_model_with_probabilities(fitted):
    earlier = copy.copy(fitted.model.estimator)
    del earlier.calibration_
    with pytest.raises(ValueError, match="without probabilities, which costs need: fit it again"):
        cost_threshold(earlier)


def test_the_command_line(fitted, data, tmp_path):
    frame = data[0].head(200)
    frame.to_csv(tmp_path / "data.csv", index=False)
    fitted.model.save(tmp_path / "model")

    def predicted(*arguments):
        out = tmp_path / "p.csv"
        result = CliRunner().invoke(app, ["predict", str(tmp_path / "model"), str(tmp_path / "data.csv"), "--out",
                                          str(out), *arguments])  # fmt: skip
        assert result.exit_code == 0, result.output
        return pd.read_csv(out), result.stderr

    found, notes = predicted("--top-k", "7")
    assert (found["prediction"] == "yes").sum() == 7
    assert found["score"][found["prediction"] == "yes"].min() > found["score"][found["prediction"] == "no"].max()
    assert "200 rows: 7 predicted 'yes', 193 'no'" in notes
    assert "which the 7 largest scores of this table are above" in notes
    found, _ = predicted("--share", "0.25")
    assert (found["prediction"] == "yes").sum() == 50
    found, notes = predicted("--threshold", "-0.5")
    assert ((found["prediction"] == "yes") == (found["score"] > -0.5)).all()
    found, notes = predicted("--cost-false-negative", "5")
    threshold = cost_threshold(fitted.model.estimator, 1.0, 5.0)
    assert ((found["prediction"] == "yes") == (found["score"] > threshold)).all()
    assert "of the smallest expected cost by the rates pi = 0." in notes
    assert "given to the fit" in notes
    for arguments, message in (
        (["--share", "0.1", "--top-k", "3"], "give one of --threshold, --share, --top-k and costs"),
        (["--share", "1.5"], "--share"),
        (["--top-k", "-1"], "--top-k"),
        (["--cost-false-positive", "0"], "the cost of a false positive must be a number above 0"),
        (["--threshold", "nan"], "--threshold must be a number, got nan"),
    ):
        result = CliRunner().invoke(app, ["predict", str(tmp_path / "model"), str(tmp_path / "data.csv"), *arguments])
        assert result.exit_code == 2
        assert message in result.stderr
