"""Labels as people write them: one value in several spellings, rows without a label, positive-unlabeled data."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symloss as sl
from symloss.tabular import fit_table
from symloss.tabular.given_labels import match_labels, read_labels

# What colleagues would point out is not what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:.*(rows have the same features|there are only|alone tells|number rows)")

LINEAR = [("linear", sl.AUCClassifier())]


def labels(values, *arguments, **options):
    return read_labels(pd.Series(values, name="y"), *arguments, **options)


@pytest.mark.parametrize(
    ("values", "expected", "positive"),
    [
        (["yes", "no", "yes "], ("no", "yes"), [1, 0, 1]),
        ([" yes", "no\t", "no"], ("no", "yes"), [1, 0, 0]),
        (["Yes", "yes", "yes", "NO"], ("NO", "yes"), [1, 1, 1, 0]),
        (["TRUE", "True ", "False", "false"], ("False", "TRUE"), [1, 1, 0, 0]),
        ([True, False], (False, True), [1, 0]),
        (["1", "0", "1.0", "0 "], ("0", "1"), [1, 0, 1, 0]),
        ([1.0, 0.0, 1.0], (0.0, 1.0), [1, 0, 1]),
        (["10", "9"], ("9", "10"), [1, 0]),
        (np.array([1, "0", 0, "1 "], object), (0, 1), [1, 0, 0, 1]),
        (["Yes", "no"], ("no", "Yes"), [1, 0]),
        (["nan", "x", "nan "], ("nan", "x"), [0, 1, 0]),
        (pd.Categorical(["b", "a", "b"], categories=["a", "b", "c"]), ("a", "b"), [1, 0, 1]),
        (pd.array([1, 0, 1], dtype="Int64"), (0, 1), [1, 0, 1]),
    ],
)
def test_one_value_in_several_spellings(values, expected, positive):
    found = labels(values)
    assert tuple(map(str, found.values)) == tuple(map(str, expected))
    assert found.positive.astype(int).tolist() == positive
    assert found.rows.tolist() == list(range(len(positive)))


def test_the_notes_name_what_was_taken_for_what():
    assert labels(["yes", "no", "yes ", "yes "]).notes == ["label y: 'yes ' is taken for 'yes' (2 rows)"]
    assert labels(["Yes", "yes", "yes", "no"]).notes == ["label y: 'Yes' is taken for 'yes' (1 rows)"]
    assert labels(["1", "0", "1.0", "1"]).notes == ["label y: '1.0' is taken for '1' (1 rows)"]
    assert labels([1.0, 0.0]).notes == labels(["yes", "no"]).notes == []
    only_case = labels(["yes", "Yes", "yes"])
    assert only_case.values == ("Yes", "yes")
    assert only_case.notes == ["warning: the labels 'Yes', 'yes' differ only in small and capital letters"]


def test_rows_without_a_label_are_left_out_and_counted():
    found = labels(["yes", None, "no", "  ", "", np.nan, "yes"])
    assert found.rows.tolist() == [0, 2, 6]
    assert found.positive.tolist() == [True, False, True]
    assert found.notes == ["label y: 4 rows without a label are left out"]
    assert labels([1, None, 0]).notes == ["label y: 1 row without a label is left out"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            ["a", "b", "c"],
            "must have two distinct values, got 3 distinct values: 'a' .1 rows., 'b' .1 rows., 'c' .1 rows.; empty",
        ),
        (["a", "A", "b", "c"], "got 4 distinct values: 'A' "),
        (["a", "a "], "got only one class: 'a' .2 rows.$"),
        (
            ["a", None, None],
            "got only one class: 'a' .1 rows.; if the 2 rows without a label are unlabeled data, add unlabeled='pos",
        ),
        ([None, ""], "must have two distinct values, got none$"),
    ],
)
def test_labels_that_are_not_two(values, message):
    with pytest.raises(ValueError, match=message):
        labels(values)


@pytest.mark.parametrize("missing", [None, np.nan, "", " "])
def test_positive_and_unlabeled(missing):
    found = labels(["yes", missing, "yes ", missing], unlabeled="positive-unlabeled")
    assert found.values == ("not yes", "yes")
    assert found.positive.tolist() == [True, False, True, False]
    assert found.rows.tolist() == [0, 1, 2, 3]
    assert found.notes[0] == "label y: 2 rows without a label are unlabeled data, some of them positive"
    assert labels([1.0, np.nan], "1", unlabeled="positive-unlabeled").values == ("not 1", "1")


@pytest.mark.parametrize(
    ("values", "positive", "message"),
    [
        (
            ["yes", "no", None],
            None,
            "of one value, the positive one, and rows without a label, got 2 distinct values: ",
        ),
        (["yes", "yes"], None, "every row has the label 'yes'"),
        ([None, None], None, "got 0 distinct values$"),
        (["yes", None], "no", "no label 'no' to be positive"),
        (["yes", None], "not yes", "no label 'not yes' to be positive"),
    ],
)
def test_data_that_are_not_positive_and_unlabeled(values, positive, message):
    with pytest.raises(ValueError, match=message):
        labels(values, positive, unlabeled="positive-unlabeled")


@given(st.lists(st.sampled_from(["yes", "yes ", " yes", "YES", "no", "No", "", None]), min_size=1))
def test_a_row_has_its_label_or_none(values):
    stripped = [(value or "").strip() for value in values]
    folded = {value.lower() for value in stripped if value}
    exact = {value for value in stripped if value}
    if len(folded) != 2 and len(exact) != 2:
        with pytest.raises(ValueError, match="must have two distinct values"):
            labels(np.array(values, object))
        return
    found = labels(np.array(values, object))
    assert found.rows.tolist() == [row for row, value in enumerate(stripped) if value]
    same = str.lower if len(exact) > 2 else str
    assert [same(found.values[int(one)]) for one in found.positive] == [same(value) for value in stripped if value]


def test_a_fit_uses_the_rows_that_have_a_label():
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    y = np.where(x + rng.normal(size=120) > 0, "yes", "no ").astype(object)
    y[:20] = None
    frame = pd.DataFrame({"x": x, "w": rng.integers(1, 3, 120), "y": y})
    fitted = fit_table(frame, "y", weight="w", candidates=LINEAR)
    assert fitted.rows.tolist() == list(range(20, 120))
    assert len(fitted.positive) == len(fitted.weight) == 100
    assert fitted.model.labels == ("no", "yes")
    assert "label y: 20 rows without a label are left out" in fitted.notes
    whole = fit_table(frame.iloc[20:], "y", weight="w", candidates=LINEAR)
    np.testing.assert_array_equal(fitted.model.predict(frame).scores, whole.model.predict(frame).scores)


def test_a_fit_to_positive_and_unlabeled_rows_ranks_the_positive_first():
    rng = np.random.default_rng(0)
    clean = np.arange(200) % 2 == 0
    x = rng.normal(size=200) + 2 * clean
    y = np.where(clean & (np.arange(200) < 100), 1.0, np.nan)
    fitted = fit_table(pd.DataFrame({"x": x, "y": y}), "y", unlabeled="positive-unlabeled", candidates=LINEAR)
    assert fitted.model.labels == ("not 1", "1")
    assert sl.metrics.auc(fitted.model.predict(pd.DataFrame({"x": x})).scores, clean) > 0.85
    assert fitted.notes[0] == "label y: '1' is positive (50 rows); 'not 1' is negative (150 rows)"


@pytest.mark.parametrize(
    ("fitted", "others"),
    [
        (["no"] * 20 + ["yes"] * 18 + ["YES", " yes"], [["NO"] * 20 + ["Yes"] * 20]),
        (["no"] * 20 + ["yes"] * 19 + [None], [["no"] * 20 + ["yes"] * 19 + [" "]]),
        ([0.0] * 20 + [1.0] * 20, [["0.0"] * 20 + ["1.0"] * 20, ["0"] * 20 + ["1"] * 20, [False] * 20 + [True] * 20]),
        (["0.0"] * 20 + ["1.0"] * 20, [[0.0] * 20 + [1.0] * 20, [0] * 20 + [1] * 20]),
        ([False] * 20 + [True] * 20, [["False"] * 20 + ["true"] * 20, [0] * 20 + [1] * 20]),
    ],
)
def test_a_model_scores_the_table_that_was_fitted_however_its_labels_are_written(fitted, others):
    x = np.arange(40.0)
    model = sl.tabular.fit(pd.DataFrame({"x": x, "y": fitted}), "y", candidates=LINEAR)
    assert [model.score(pd.DataFrame({"x": x, "y": y})) for y in [fitted, *others]] == [1.0] * (1 + len(others))


def test_a_model_scores_the_positive_unlabeled_table_that_was_fitted():
    frame = pd.DataFrame({"x": np.arange(40.0), "y": [None] * 20 + ["yes"] * 20})
    model = sl.tabular.fit(frame, "y", unlabeled="positive-unlabeled", candidates=LINEAR)
    assert model.score(frame) == 1.0


def test_known_labels_that_differ_only_in_letters_are_told_apart():
    known = ("Yes", "yes")
    assert match_labels(pd.Series(["yes", "Yes "]), known).positive.tolist() == [True, False]
    with pytest.raises(ValueError, match="must hold the labels 'Yes' and 'yes', got 'YES'"):
        match_labels(pd.Series(["yes", "YES"], name="y"), known)


def test_marks_of_missing_labels_count_as_none_if_that_leaves_two():
    found = read_labels(pd.Series(["yes", "NA", "no", "?", "yes"], name="y"))
    assert (found.values, found.rows.tolist()) == (("no", "yes"), [0, 2, 4])
    assert found.notes == [
        "label y: 'NA' means that there is no label",
        "label y: '?' means that there is no label",
        "label y: 2 rows without a label are left out",
    ]
    assert read_labels(pd.Series(["NA", "EU", "NA"], name="region")).values == ("EU", "NA")
    with pytest.raises(ValueError, match="4 distinct values"):
        read_labels(pd.Series(["NA", "EU", "US", "Asia"], name="region"))
