"""Columns of every kind as numbers, the same at fitting and at prediction."""

import datetime
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symloss.columns import Column
from symloss.naming import as_options
from symloss.tabular import Encoding

FRAME = pd.DataFrame(
    {
        "age": [30, 40, 50],
        "income": [1.5, np.nan, 2.5],
        "member": [True, False, True],
        "city": ["Oslo", "Rome", None],
        "plan": ["b", "a", "b"],
        "unit": ["kg"] * 3,
        "empty": [np.nan] * 3,
        "zero": [0.0] * 3,
    }
)


def test_kinds_of_columns():
    encoding = Encoding.fit(FRAME)
    assert encoding.features == [
        "age", "income", "member", "city=Oslo", "city=Rome", "city is missing", "plan=a", "plan=b",
    ]  # fmt: skip
    assert encoding.categorical == {"city": 3, "plan": 2}
    assert encoding.dropped == {"unit": "constant", "empty": "all values missing", "zero": "constant"}
    values, unseen = encoding.transform(FRAME)
    assert unseen == {}
    np.testing.assert_array_equal(
        values, [[30, 1.5, 1, 1, 0, 0, 0, 1], [40, np.nan, 0, 0, 1, 0, 1, 0], [50, 2.5, 1, 0, 0, 1, 0, 1]]
    )


def test_columns_in_any_order_with_others_between():
    encoding = Encoding.from_json(json.loads(json.dumps(Encoding.fit(FRAME).to_json())))
    shuffled = FRAME[["plan", "empty", "member", "city", "income", "age"]].assign(further="x")
    np.testing.assert_array_equal(encoding.transform(shuffled).values, Encoding.fit(FRAME).transform(FRAME).values)
    with pytest.raises(ValueError, match="columns that the model needs are missing: income, plan"):
        encoding.transform(FRAME.drop(columns=["plan", "income", "unit"]))


def test_categories_not_seen_before_are_zeros_and_counted():
    frame = FRAME.assign(city=["Paris", None, "Bonn"], plan=["a", None, "b"])
    values, unseen = Encoding.fit(FRAME).transform(frame)
    assert unseen == {"city": 2, "plan": 1}
    np.testing.assert_array_equal(values[:, 3:], [[0, 0, 0, 1, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 1]])


def test_a_category_is_the_same_however_it_was_read():
    encoding = Encoding.fit(pd.DataFrame({"code": pd.Categorical([1, 2, 1])}))
    for read in (["1", "2"], [1, 2], [1.0, 2.0], np.array(["1", "2"], object), pd.array([1, 2], dtype="Int64")):
        np.testing.assert_array_equal(encoding.transform(pd.DataFrame({"code": read})).values, np.eye(2))


def test_numbers_of_every_type():
    frame = pd.DataFrame(
        {
            "decimal": [Decimal("1.5"), None],
            "bool": np.array([True, None], object),
            "nullable": pd.array([1, None], dtype="Int64"),
            "boolean": pd.array([True, None], dtype="boolean"),
            "small": np.array([1, 2], np.uint8),
        }
    )
    encoding = Encoding.fit(frame)
    assert encoding.features == list(frame.columns)
    np.testing.assert_array_equal(encoding.transform(frame).values, [[1.5, 1, 1, 1, 1], [np.nan] * 4 + [2]])
    text = frame.assign(small=["3", "x"])
    with pytest.raises(ValueError, match="column 'small' must hold numbers, got 'x' in index 1"):
        encoding.transform(text)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([datetime.timedelta(1), datetime.timedelta(2)], r"column 'x' holds lengths of time .* with drop='x'"),
        ([[1], [2]], "column 'x' holds lists, not numbers or text"),
        ([1.0, np.inf], "column 'x' holds infinite values in index 1: leave missing values empty, or drop the column"),
        ([5, 5], r"no column is left to learn from: dropped x \(constant\)"),
    ],
)
def test_what_is_refused(column, message):
    with pytest.raises(ValueError, match=message):
        Encoding.fit(pd.DataFrame({"x": column}))


def test_columns_are_refused_all_at_once():
    numbers = [*map(str, range(59)), "x9"]
    frame = pd.DataFrame(
        {"nearly": numbers, "far": [np.inf] * 60, "age": range(60), "span": [datetime.timedelta(1)] * 60}
    )
    frame.loc[0, ["far", "span"]] = [0.0, datetime.timedelta(2)]
    with as_options(), pytest.raises(ValueError, match="column 'nearly' holds numbers except 'x9' in row 60: ") as e:
        Encoding.fit(frame)
    assert "column 'far' holds infinite values in 59 rows, the first of them row 2: leave" in str(e.value)
    assert "column 'span' holds lengths of time" in str(e.value)
    assert Encoding.fit(pd.concat([frame[["nearly"]]] * 2), max_categories=60).categorical == {"nearly": 60}


def test_spaces_around_texts_do_not_count():
    encoding = Encoding.fit(pd.DataFrame({"city": ["Oslo ", "Oslo", " Rome", None]}))
    assert encoding.features == ["city=Oslo", "city=Rome", "city is missing"]
    values, unseen = encoding.transform(pd.DataFrame({"city": ["Oslo", "Rome  ", "Ro me"]}))
    assert values.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert unseen == {"city": 1}
    earlier = Encoding((Column("city", ("Oslo", "Oslo ")),), {})  # earlier versions kept them apart
    assert earlier.transform(pd.DataFrame({"city": ["Oslo ", "Oslo", " Oslo"]})).values.tolist() == [
        [0, 1], [1, 0], [1, 0]]  # fmt: skip
    many = [f"{k % 70} a" for k in range(140)]
    hashed = Encoding.fit(pd.DataFrame({"code": many}))
    spaced = pd.DataFrame({"code": [f" {text} " for text in many]})
    np.testing.assert_array_equal(
        hashed.transform(spaced).values, hashed.transform(pd.DataFrame({"code": many})).values
    )


@pytest.mark.parametrize(
    "written",
    [["13:45", "9:05", None], [datetime.time(13, 45), datetime.time(9, 5), None], ["1:45 PM", "9:05 am", None]],
)
def test_times_of_the_day_become_hours(written):
    encoding = Encoding.fit(pd.DataFrame({"at": written}))
    again = Encoding.from_json(json.loads(json.dumps(encoding.to_json())))
    assert again.features == ["at: hour"]
    np.testing.assert_allclose(again.transform(pd.DataFrame({"at": written})).values[:, 0], [13.75, 9 + 1 / 12, np.nan])
    with pytest.raises(
        ValueError, match="column 'at' must hold times of the day, as in the fit, got '24:00' in index 1"
    ):
        again.transform(pd.DataFrame({"at": ["12:00", "24:00"]}))


def test_a_column_that_names_rows_is_dropped():
    frame = pd.DataFrame({"who": [f"c{k}" for k in range(60)], "age": range(60)})
    encoding = Encoding.fit(frame)
    assert encoding.dropped == {"who": "it names rows: 60 distinct texts"}
    assert encoding.features == ["age"]
    assert Encoding.fit(frame, max_categories=60) == encoding._replace(max_categories=60)
    assert Encoding.fit(frame[:10]).dropped == {"who": "it names rows: 10 distinct texts"}
    assert Encoding.fit(frame[:9]).categorical == {"who": 9}  # which may be chance
    repeated = Encoding.fit(pd.concat([frame] * 2))
    assert repeated.dropped == {}
    assert Encoding.fit(frame, rows=120.0) == repeated
    with pytest.raises(ValueError, match=r"no column is left to learn from: dropped who \(it names rows: 60"):
        Encoding.fit(frame[["who"]])


@given(st.lists(st.one_of(st.none(), st.text(max_size=3)), min_size=2, max_size=20))
def test_every_row_of_the_fitted_table_has_one_category(texts):
    frame = pd.DataFrame({"x": np.array(texts, object), "n": np.arange(len(texts))})
    encoding = Encoding.from_json(json.loads(json.dumps(Encoding.fit(frame).to_json())))
    values, unseen = encoding.transform(frame)
    assert unseen == {}
    if "x" in encoding.categorical:
        np.testing.assert_array_equal(values[:, :-1].sum(1), 1)
        different = {text and text.strip() for text in texts}  # spaces around a text do not make another one
        assert len(np.unique(values[:, :-1], axis=0)) == len(different)


@pytest.mark.parametrize(
    ("first", "second", "feature"),
    [
        ({"day": ["2020-01-03", "2021-02-04"]}, {"day: year": [2020, 2021]}, "day: year"),
        ({"city": ["Oslo", "Rome"]}, {"city=Oslo": [1, 0]}, "city=Oslo"),
        ({"city": ["Oslo", None]}, {"city is missing": [0, 1]}, "city is missing"),
    ],
)
def test_two_columns_that_become_features_of_the_same_name(first, second, feature):
    frame = pd.DataFrame(first | second)
    (one,), (other,) = first, second
    message = f"columns '{one}' and '{other}' become features of the same name, '{feature}': leave one of them out"
    with pytest.raises(ValueError, match=f"^{message}, such as with drop='{other}'$"):
        Encoding.fit(frame)
    with pytest.raises(ValueError, match=f"^{message}$"):
        Encoding.fit(frame, options=False)
    assert Encoding.fit(frame[[one]]).columns
