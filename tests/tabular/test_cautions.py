"""Warnings of a fit: each is given where it is due, and only there."""

import itertools
import shlex

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symloss as sl
from symloss.naming import as_options
from symloss.tabular import Encoding, fit_table
from symloss.tabular.cautions import MARK, cautions, disagreement
from symloss.tabular.summary import summary

LINEAR = [("linear", sl.AUCClassifier())]


def table(n=300):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(size=n), "plan": rng.choice(["a", "b", "c"], n)})
    return frame, frame["age"].to_numpy() + rng.normal(size=n) > 0


def of(frame, positive, weight=None):
    encoding = Encoding.fit(frame)
    weight = np.ones(len(frame)) if weight is None else weight
    return cautions(frame, encoding, encoding.transform(frame).values, np.asarray(positive, bool), weight)


def test_an_ordinary_table_has_none():
    frame, positive = table()
    assert of(frame, positive) == []
    rare = np.arange(300) < 12
    assert of(frame, rare) == []


def copies(positive):
    rng = np.random.default_rng(1)
    n = len(positive)
    unless = np.where(np.arange(n) % 200 == 7, ~positive, positive)  # a few rows differ
    return {
        "number": positive + rng.normal(size=n) / 10,
        "reversed": -1.0 * positive + rng.normal(size=n) / 10,
        "missing": np.where(positive, np.nan, rng.normal(size=n)),
        "filled": np.where(positive, rng.normal(size=n), np.nan),
        "category": np.where(unless, rng.choice(["x", "y"], n), "z"),
        "amount": [f"${1000 * value:,.2f}" for value in positive + rng.random(n) / 2],
        "date": np.where(positive, "2021-05-05", "2020-04-03"),
        "words": [f"the case {k} was {'closed' if value else 'kept'} today" for k, value in enumerate(positive)],
        "closed by": np.where(positive, [f"n{k % 70}" for k in range(n)], None),
    }


@pytest.mark.parametrize("name", sorted(copies(np.array([True, False]))))
def test_a_column_that_copies_the_label(name):
    frame, positive = table()
    with as_options():
        found = of(frame.assign(**{name: copies(positive)[name]}), positive)
    assert len(found) == 1
    assert found[0].startswith(f"column '{name}' alone tells the label (AUC ")
    assert f"(--drop {shlex.quote(name)})" in found[0]


def test_categories_that_tell_the_label_by_chance_are_no_copies():
    frame, positive = table(60)
    assert of(frame.assign(town=[f"t{k // 2}" for k in range(60)]), positive) == []
    few = np.arange(60) < 3
    assert not any("alone tells" in warning for warning in of(frame.assign(x=np.arange(60.0)), few))


def test_whole_numbers_that_only_number_rows():
    frame, positive = table()
    order = np.random.default_rng(3).permutation(300)
    found = of(frame.assign(row=order), positive)
    assert found == ["whole numbers, distinct in every row: row; leave out those that only number rows (drop='row')"]
    assert of(frame.assign(row=frame["age"].rank().astype(int)), positive) == []  # it tells something
    assert of(frame.assign(row=order * 1.5), positive) == []
    assert of(frame[:99].assign(row=order[:99]), positive[:99]) == []
    ten = of(frame[:12].assign(row=np.arange(12)), np.arange(12) > 5)  # they count the rows, and tell the label
    assert [warning for warning in ten if "leave out those that only number rows (drop='row')" in warning]
    assert not any("number rows" in warning for warning in of(frame[:12].assign(row=order[:12]), positive[:12]))


@pytest.mark.parametrize(
    ("n", "positives", "expected"),
    [
        (49, 20, ["there are only 49 rows: "]),
        (50, 20, []),
        (80, 9, ["only 9 rows are labeled positive: "]),
        (80, 71, ["only 9 rows are labeled negative: "]),
        (15, 8, ["there are only 15 rows: ", "only 8 rows are labeled positive", "only 7 rows are labeled negative"]),
    ],
)
def test_few_rows(n, positives, expected):
    frame, _ = table(n)
    found = of(frame, np.random.default_rng(2).permutation(n) < positives)
    assert len(found) == len(expected)
    for warning, start in zip(found, expected, strict=True):
        assert warning.startswith(start)


def test_equal_rows_with_different_labels():
    frame, positive = table()
    twice = pd.concat([frame, frame.iloc[:30]])
    found = of(twice, np.concatenate([positive, ~positive[:30]]))
    assert found == [
        "60 rows have the same features as a row with the other label: if equal rows have the same true label, at "
        "least 9.09% of the labels are wrong"
    ]
    assert of(twice, np.concatenate([positive, positive[:30]])) == []
    assert of(twice.set_index("plan", drop=False), np.concatenate([positive, ~positive[:30]])) == found
    numbered = twice.assign(row=np.random.default_rng(0).permutation(330), who=[f"c{k}" for k in range(330)])
    assert of(numbered, np.concatenate([positive, ~positive[:30]]))[1:] == found  # what names rows is left aside


@given(
    st.lists(st.tuples(st.sampled_from([1.0, 2.0, np.nan]), st.booleans(), st.integers(0, 3)), min_size=1, max_size=12)
)
def test_the_share_is_the_largest_lower_bound(rows):
    """Over all ways to give each distinct row one true label, the least weight of wrong labels is what is returned."""
    values, positive, weight = (np.array(side) for side in zip(*rows, strict=True))
    found = disagreement(pd.DataFrame({"x": values}), positive.astype(bool), weight.astype(float))
    kinds = [np.isnan(values) if np.isnan(kind) else values == kind for kind in (1.0, 2.0, np.nan)]
    truths = (
        np.select(kinds, [np.full(len(values), one) for one in truth])
        for truth in itertools.product([False, True], repeat=3)
    )
    assert found.wrong == min(weight[truth.astype(bool) != positive].sum() for truth in truths)


def test_the_share_of_flipped_labels_is_not_overestimated():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 3, (2000, 3)), columns=list("abc"))
    clean = (frame.sum(axis=1) > 3).to_numpy()
    for share in (0.0, 0.05, 0.2):
        flips = rng.random(2000) < share
        found = disagreement(frame, clean ^ flips, np.ones(2000))
        assert found.wrong <= flips.sum()
        assert found.wrong >= 0.95 * flips.sum()


def test_a_row_of_weight_k_counts_as_k_rows_also_where_columns_name_rows():
    frame, positive = table(60)
    frame = frame.assign(who=[f"c{k}" for k in range(60)], y=positive)
    assert "who" in fit_table(frame, "y", candidates=LINEAR).model.encoding.dropped
    weighted = fit_table(frame.assign(w=2.0), "y", weight="w", candidates=LINEAR).model.encoding
    assert weighted == fit_table(pd.concat([frame] * 2), "y", candidates=LINEAR).model.encoding


def test_warnings_are_notes_and_stand_in_the_summary():
    frame, positive = table(40)
    fitted = fit_table(frame.assign(y=positive, copy=positive * 2.0), "y", candidates=LINEAR)
    warnings = [note for note in fitted.notes if note.startswith("warning: ")]
    assert len(warnings) == 2
    assert "warning: column 'copy' alone tells the label" in warnings[1]
    assert summary(fitted)["warnings"] == [warning.removeprefix("warning: ") for warning in warnings]


def test_rows_of_weight_0_count_as_no_rows():
    generator = np.random.default_rng(0)
    x = generator.normal(size=48)
    frame = pd.DataFrame({"x": x, "city": ["Oslo", "Rome"] * 24, "w": 1.0, "y": np.arange(48) % 2})
    frame = frame.assign(city=generator.permutation(frame["city"]))
    extra = frame[:6].assign(x=1000.0, city="Paris", w=0.0, y=[0, 1] * 3)
    fitted, expected = (
        fit_table(table, "y", weight="w", candidates=LINEAR) for table in (pd.concat([frame, extra]), frame)
    )
    assert fitted.model.encoding == expected.model.encoding
    assert fitted.model.profile.ranges == expected.model.profile.ranges
    warnings = [[note for note in each.notes if note.startswith(MARK)] for each in (fitted, expected)]
    assert warnings[0] == warnings[1] != []
    scores = [each.model.predict(frame).scores for each in (fitted, expected)]
    np.testing.assert_allclose(*scores, rtol=1e-6)
    with pytest.raises(ValueError, match="column 'w', the weight, must be above 0 in rows of both labels"):
        fit_table(frame.assign(w=1.0 * frame["y"]), "y", weight="w", candidates=LINEAR)
