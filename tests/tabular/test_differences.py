"""What is said of a table to predict that differs from the one that was fitted."""

import json

import numpy as np
import pandas as pd
import pytest

import symloss as sl
from symloss.tabular import Encoding, TableModel, fit_table
from symloss.tabular.differences import Differences, Profile
from symloss.tabular.predicting import predict_file

N = 120


def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.uniform(20, 60, N),
            "price": [f"${price:,.2f}" for price in rng.uniform(0, 2000, N)],
            "day": (pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, N), unit="D")).strftime(
                "%Y-%m-%d"
            ),
            "city": rng.choice(["Oslo", "Rome", "Bonn"], N),
            "churn": rng.choice(["yes", "no"], N),
        }
    )


@pytest.fixture(scope="module")
def fitted():
    return fit_table(table(), "churn", candidates=[("linear", sl.AUCClassifier())])


def sentences(model, *frames):
    differences = Differences(model.encoding, model.profile)
    for frame in frames:
        differences.add(frame, model.encoding.transform(frame).unseen)
    return differences.sentences()


def test_the_table_of_the_fit_does_not_differ(fitted):
    assert sentences(fitted.model, table()) == []
    assert sentences(fitted.model, table().drop(columns="churn").sample(5, random_state=0)) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"plan": 1, "other": 2}, "columns that the table of the fit did not have are ignored: plan, other"),
        ({"age": 99.0}, None),
        ({"age": 101.0}, "column 'age' is far outside the range of the fit in 120 of 120 rows"),
        ({"age": -21.0}, "column 'age' is far outside the range of the fit in 120 of 120 rows"),
        ({"price": "$9,000.00"}, "column 'price' is far outside the range of the fit in 120 of 120 rows"),
        ({"day": "2024-05-05"}, "column 'day' is far outside the range of the fit in 120 of 120 rows"),
        ({"age": np.nan}, "column 'age' is empty in all rows"),
        ({"city": None}, "column 'city' is empty in all rows"),
        ({"city": "Paris"}, "column 'city' has a category that the fit has not seen in 120 of 120 rows"),
    ],
)
def test_what_differs_is_said(fitted, change, expected):
    found = sentences(fitted.model, table().assign(**change))
    assert expected in found if expected else found == []


def test_a_few_unknown_categories_are_no_warning(fitted):
    frame = table()
    frame.loc[:11, "city"] = "Paris"
    assert sentences(fitted.model, frame) == []
    frame.loc[12, "city"] = "Paris"
    assert sentences(fitted.model, frame) == [
        "column 'city' has a category that the fit has not seen in 13 of 120 rows"
    ]


def test_parts_are_counted_as_the_whole(fitted):
    frame = table().assign(age=lambda frame: frame["age"].where(frame.index > 9, 1e9), city="Paris", new=1)
    whole = sentences(fitted.model, frame)
    assert len(whole) == 3
    assert sentences(fitted.model, frame[:50], frame[50:]) == whole
    assert sentences(fitted.model, frame[:5].assign(age=np.nan), frame[5:]) != whole
    empty = table().assign(age=np.nan)
    assert sentences(fitted.model, empty[:50], empty[50:]) == ["column 'age' is empty in all rows"]
    assert sentences(fitted.model, empty[:50], table()[50:]) == []


def test_columns_that_are_kept_may_be_new(fitted, tmp_path):
    table().assign(who=range(N), more=1).to_csv(tmp_path / "new.csv", index=False)
    notes = predict_file(fitted.model, tmp_path / "new.csv", tmp_path / "p.csv", ["who"])
    assert notes[-1] == "warning: columns that the table of the fit did not have are ignored: more"


def test_very_wide_ranges():
    encoding = Encoding.fit(pd.DataFrame({"x": [-3e38, 3e38]}))
    differences = Differences(encoding, Profile(("x",), {"x": (-3e38, 3e38)}))
    differences.add(pd.DataFrame({"x": [3.3e38, np.nan]}), {})
    assert differences.sentences() == []


def test_the_profile_is_saved_and_a_model_without_it_is_read(fitted, tmp_path):
    fitted.model.save(tmp_path / "model")
    again = TableModel.load(tmp_path / "model")
    assert again.profile == fitted.model.profile
    assert again.encoding == fitted.model.encoding
    new = table().assign(age=500.0, city="Paris")
    assert sentences(again, new) == sentences(fitted.model, new)
    new.to_csv(tmp_path / "new.csv", index=False)
    notes = predict_file(again, tmp_path / "new.csv", tmp_path / "p.csv")
    assert "warning: column 'age' is far outside the range of the fit in 120 of 120 rows" in notes
    earlier = TableModel(again.estimator, again.encoding, again.label, again.labels)
    assert sentences(earlier, new) == ["column 'city' has a category that the fit has not seen in 120 of 120 rows"]
    np.testing.assert_array_equal(earlier.predict_frame(new).scores, again.predict_frame(new).scores)
    stored = json.loads(json.dumps(again.profile.to_json()))
    assert Profile.from_json(stored) == again.profile
