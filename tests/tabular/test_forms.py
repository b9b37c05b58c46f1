"""Dates, numbers written for people, and columns of many texts: what is taken for what, and what it becomes."""

import datetime
import itertools
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symloss as sl
from symloss.columns.dates import Dates
from symloss.columns.hashing import Hashed
from symloss.columns.written_numbers import WrittenNumbers
from symloss.tabular import Column, Encoding

DAYS = "days since 2000-01-01"


def numbers_of(form, texts):
    out = np.zeros((len(texts), len(form.features("x"))))
    wrong = form.fill(texts, np.arange(len(texts)), out)
    return out, wrong


@pytest.mark.parametrize(
    "text",
    [
        "2021-03-04", "2021/3/4", "2021.03.04", "4 Mar 2021", "4-Mar-21", "4 March, 2021", "Mar 4, 2021",
        "MARCH 4 2021",
        "2021-03-04T00:00:00", "2021-03-04 00:00", "2021-03-04T00:00:00.123456789Z", "2021-03-04 00:00+0200",
        "2021-03-04 00:00:00-05:00", "4.3.2021", "04.03.21", " 2021-03-04 ", "Mar 4, 2021 12:00 AM",
    ],
)  # fmt: skip
def test_forms_of_a_date(text):
    dates = Dates.recognize([text])
    assert dates.told
    out, wrong = numbers_of(Dates(("year", "month", "weekday", "hour", DAYS), dates.day_first), [text])
    day = datetime.date(2021, 3, 4)
    assert out[0].tolist() == [2021, 3, day.weekday(), 0, (day - datetime.date(2000, 1, 1)).days]
    assert not wrong.any()


@pytest.mark.parametrize(
    "text",
    ["2021", "20210304", "2021.03", "1.2.3", "10:30", "2021-02-30", "13/13/2021", "2021-01-01 25:00",
     "1/2/2021 13:00 PM", "3 Market 2021", "monday", "", "2021-13", "0000-01-01", "1/2-2021", "2021-01-01 10"],
)  # fmt: skip
def test_what_is_no_date(text):
    assert Dates.recognize([text]) is None
    assert Dates.recognize(["2021-01-01", text]) is None


@pytest.mark.parametrize(
    ("texts", "day_first", "told"),
    [
        (["1/2/2020", "24/12/2020"], True, True),
        (["1/2/2020", "12/24/2020"], False, True),
        (["1/2/2020", "3/4/2020"], False, False),
        (["1-2-2020", "3-4-2020"], True, False),
        (["1.2.2020", "3.4.2020"], True, True),
    ],
)
def test_the_order_of_day_and_month(texts, day_first, told):
    dates = Dates.recognize(texts)
    assert (dates.day_first, dates.told) == (day_first, told)
    assert ("no value tells" in dates.decision) is not told
    out, _ = numbers_of(Dates(("month",), day_first), texts[:1])
    assert out[0, 0] == (2 if day_first else 1)
    assert Dates.recognize(["24/12/2020", "12/24/2020"]) is None


def test_parts_that_do_not_vary_are_left_out():
    assert Dates.recognize(["2020-01-01", "2020-01-02"]).parts == ("weekday", DAYS)
    assert Dates.recognize(["2020-01-01", "2020-01-08"]).parts == (DAYS,)
    assert Dates.recognize(["2020-01-01"] * 2).parts == (DAYS,)
    assert Dates.recognize(["2020-01-01 10:00", "2020-01-01 11:00"]).parts == ("hour", DAYS)
    assert Dates.recognize(["2020-03", "2021-03"]).parts == ("year", "weekday", DAYS)


@given(st.lists(st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2300, 1, 1)), min_size=1, max_size=8))
def test_every_way_of_writing_gives_the_same_numbers(moments):
    moments = [moment.replace(microsecond=0) for moment in moments]
    written = [
        [moment.isoformat() for moment in moments],
        [f"{moment:%d %b %Y %H:%M:%S}" for moment in moments],
        [f"{moment:%B %d, %Y %I:%M:%S %p}" for moment in moments],
        [f"{moment:%d.%m.%Y %H:%M:%S}" for moment in moments],
        [f"{moment.year}/{moment.month}/{moment.day} {moment:%H:%M:%S}Z" for moment in moments],
    ]
    expected = [[m.year, m.month, m.weekday(), m.hour, (m - datetime.datetime(2000, 1, 1)) / datetime.timedelta(1)]
                for m in moments]  # fmt: skip
    for texts in written:
        form = Dates(("year", "month", "weekday", "hour", DAYS), day_first=True)
        out, wrong = numbers_of(form, texts)
        np.testing.assert_allclose(out, expected, rtol=1e-12)
        assert not wrong.any()
        assert Dates.recognize(texts) is not None


@pytest.mark.parametrize(
    ("texts", "expected", "values"),
    [
        (["1,000.52", "-3", "+4."], WrittenNumbers("."), [1000.52, -3, 4]),
        (["45%", "3.5 %"], WrittenNumbers(".", "%"), [45, 3.5]),
        (["$12.50", "-$1,000", "$-3"], WrittenNumbers(".", "$"), [12.5, -1000, -3]),
        (["12,5 €", "1.000,25 €"], WrittenNumbers(",", "€"), [12.5, 1000.25]),
        (["1,234", "567"], WrittenNumbers(".", told=False), [1234, 567]),
        (["1,234", "5.5"], WrittenNumbers("."), [1234, 5.5]),
        (["1 234,50 €", "1\u202f234\u202f567,00\u00a0€", "5 €"], WrittenNumbers(",", "€"), [1234.5, 1234567, 5]),
        (["1'000.5%", "3%"], WrittenNumbers(".", "%"), [1000.5, 3]),
        (["€1.000", "€950"], WrittenNumbers(".", "€", told=False), [1, 950]),
        (["$1,000", "$950"], WrittenNumbers(".", "$"), [1000, 950]),
        (["1,234,567", "1"], WrittenNumbers("."), [1234567, 1]),
        (["£5", "?", "n/a", " - "], WrittenNumbers(".", "£"), [5, np.nan, np.nan, np.nan]),
    ],
)
def test_numbers_written_for_people(texts, expected, values):
    form = WrittenNumbers.recognize(texts)
    assert form == expected
    out, wrong = numbers_of(form, texts)
    np.testing.assert_array_equal(out[:, 0], values)
    assert not wrong.any()
    assert ("no value tells" in form.decision) is not form.told


@pytest.mark.parametrize(
    "texts",
    [["45%", "3"], ["$5", "€5"], ["12 kg"], ["007", "1,000"], ["1,00,000"], ["€5€"], ["--5%"], ["-$-5"], ["?", "-"],
     ["12,5%", "12.5%"], ["12 34%"], ["a%"], ["1,000", "1.000"], ["$"]],
)  # fmt: skip
def test_what_is_no_number(texts):
    assert WrittenNumbers.recognize(texts) is None
    assert WrittenNumbers.recognize(texts, many=True) is None


def test_digits_and_decimal_commas_are_categories_unless_there_are_many():
    for texts in (["1", "2"], ["1,2", "2,3"], ["1.5", "2"]):
        assert WrittenNumbers.recognize(texts) is None
        assert WrittenNumbers.recognize(texts, many=True) is not None
    codes = pd.DataFrame({"zip": [f"{k:05d}" for k in range(60)] * 2})
    assert isinstance(Encoding.fit(codes).columns[0].form, Hashed)
    assert isinstance(Encoding.fit(codes.replace("00007", "K1A 0B6")).columns[0].form, Hashed)  # not a missing number


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=8), st.sampled_from(["", "$", "%"]))
def test_numbers_are_read_as_they_were_written(numbers, mark):
    texts = [f"{number:,.2f}{mark}" for number in numbers]
    form = WrittenNumbers.recognize(texts, many=True)
    out, _ = numbers_of(form, texts)
    np.testing.assert_array_equal(out[:, 0], [float(f"{number:.2f}") for number in numbers])
    swapped = [text.translate(str.maketrans(",.", ".,")) for text in texts]
    out, _ = numbers_of(WrittenNumbers.recognize(swapped, many=True), swapped)
    np.testing.assert_array_equal(out[:, 0], [float(f"{number:.2f}") for number in numbers])


def test_every_form_is_learned_from():
    """What tells the label is a weekday, an amount, one word of a text, and one of many towns."""
    rng = np.random.default_rng(0)
    n = 600
    days = rng.integers(0, 500, n)
    frame = {
        "day": [f"{pd.Timestamp('2020-01-06') + pd.Timedelta(days=int(day)):%d %b %Y}" for day in days],
        "price": [f"${price:,.2f}" for price in rng.gamma(2, 700, n)],
        "text": [" ".join(words) for words in rng.choice([f"word{k}" for k in range(40)], (n, 6))],
        "town": [f"town{k}" for k in rng.integers(0, 80, n) ** 2 // 80],
    }
    tells = {
        "day": days % 7 >= 5,
        "price": np.array([float(price[1:].replace(",", "")) for price in frame["price"]]) > 1200,
        "text": np.array(["word3" in text.split() for text in frame["text"]]),
        "town": np.array([town == "town0" for town in frame["town"]]),
    }
    for name, positive in tells.items():
        trees = sl.AUCClassifier(model="trees", n_estimators=30, min_samples_leaf=3, threshold=0.0, random_state=0)
        X = pd.DataFrame({name: frame[name]})
        fitted = trees.fit(X[:400], positive[:400])
        assert fitted.encoding_.columns[0].form is not None
        assert fitted.score(X[400:], positive[400:]) > 0.9, name


def test_hashes_are_fixed_for_all_time():
    """A saved model holds no list of texts: its predictions rely on these places."""
    form = Hashed(32, words=False, distinct=60)
    out, _ = numbers_of(form, ["Oslo", "Rome", "oslo"])
    assert [row.nonzero()[0].tolist() for row in out] == [[19], [14], [29]]
    assert out.sum() == 3
    words, _ = numbers_of(Hashed(200, words=True, distinct=60), ["Good, but dear", "dear but good!", "GOOD"])
    np.testing.assert_array_equal(words[0], words[1])
    assert np.flatnonzero(words[0]).tolist() == [62, 129, 187]
    np.testing.assert_allclose((words**2).sum(1), 1)
    assert words[0] @ words[2] > 0.5


def messy(rng, n):
    days = pd.Timestamp("2019-05-01") + pd.to_timedelta(rng.integers(0, 400, n), unit="D")
    frame = pd.DataFrame(
        {
            "age": rng.normal(size=n),
            "plan": rng.choice(["a", "b", None], n),
            "day": days.strftime("%d/%m/%Y"),
            "price": [f"${price:,.2f}" for price in rng.gamma(1, 3000, n)],
            "zip": rng.choice([f"{k:05d}" for k in range(0, 99999, 997)], n),
            "text": [" ".join(words) for words in rng.choice(["good", "bad", "late", "soon", "fine"], (n, 6))],
        }
    )
    for column in frame.columns[1:]:
        frame.loc[rng.random(n) < 0.1, column] = None
    return frame


@pytest.fixture(scope="module")
def frame():
    return messy(np.random.default_rng(0), 150)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_order_of_rows_changes_nothing(frame, seed):
    order = np.random.default_rng(seed).permutation(len(frame))
    encoding, other = Encoding.fit(frame), Encoding.fit(frame.iloc[order])
    assert encoding == other
    np.testing.assert_array_equal(encoding.transform(frame).values[order], other.transform(frame.iloc[order]).values)


@settings(max_examples=20)
@given(cuts=st.lists(st.integers(0, 150), max_size=5))
def test_parts_of_a_table_are_encoded_as_the_whole(frame, cuts):
    encoding = Encoding.from_json(json.loads(json.dumps(Encoding.fit(frame).to_json())))
    ends = [0, *sorted(cuts), 150]
    parts = [encoding.transform(frame.iloc[start:end]).values for start, end in itertools.pairwise(ends)]
    np.testing.assert_array_equal(np.concatenate(parts), encoding.transform(frame).values)


def test_the_messy_table_has_columns_of_every_form(frame):
    encoding = Encoding.fit(frame)
    assert [type(column.form).__name__ for column in encoding.columns] == [
        "NoneType", "NoneType", "Dates", "WrittenNumbers", "Hashed", "Hashed",
    ]  # fmt: skip
    assert encoding.texts == ["plan", "day", "price", "zip", "text"]
    assert encoding.categorical == {"plan": 3}
    assert [column.is_measured for column in encoding.columns] == [True, False, True, True, False, False]
    values = encoding.transform(frame).values
    assert values.shape == (150, len(encoding.features))
    assert len(set(encoding.features)) == len(encoding.features)
    gone = frame["zip"].isna().to_numpy()
    zips = [name.startswith("zip: ") for name in encoding.features]
    np.testing.assert_array_equal(values[:, zips].sum(1), np.where(gone, 0, 1))


def test_what_cannot_be_read_at_prediction(frame):
    encoding = Encoding.fit(frame)
    for column, value, what in (
        ("day", "31/31/2020", "dates"),
        ("price", "12.50", "numbers"),
        ("price", "many", "numbers"),
    ):
        with pytest.raises(
            ValueError, match=f"column '{column}' must hold {what}, as in the fit, got '{value}' in 3 rows"
        ):
            encoding.transform(frame.assign(**{column: frame[column].mask(frame.index < 3, value)}))
    empty = encoding.transform(frame.assign(day=None, price=np.nan, zip=None, text=np.nan)).values
    assert np.isnan(empty[:, 4:8]).all()
    assert not empty[:, 9:].any()


def test_numbers_in_place_of_written_ones():
    texts = [f"{k},5" for k in range(60)]
    encoding = Encoding.fit(pd.DataFrame({"x": texts}))
    assert encoding.columns == (Column("x", form=WrittenNumbers(",")),)
    for given_as in (texts, [k + 0.5 for k in range(60)]):
        np.testing.assert_array_equal(
            encoding.transform(pd.DataFrame({"x": given_as})).values[:, 0], np.arange(60) + 0.5
        )


def test_an_encoding_of_an_earlier_version_is_read_as_it_was():
    stored = {
        "columns": [{"name": "age", "categories": None}, {"name": "city", "categories": ["Oslo", None]}],
        "dropped": {"unit": "constant"},
    }
    encoding = Encoding.from_json(stored)
    assert json.loads(json.dumps(encoding.to_json())) == stored
    values, unseen = encoding.transform(pd.DataFrame({"age": [1.5, 2], "city": ["Oslo", "45%"]}))
    assert values.tolist() == [[1.5, 1, 0], [2, 0, 0]]
    assert unseen == {"city": 1}


@pytest.mark.parametrize("form", [{"kind": "pickle"}, {}, {"kind": "hashed", "n_features": 3}, [1]])
def test_a_form_that_is_none(form):
    with pytest.raises((KeyError, TypeError, AttributeError)):
        Encoding.from_json({"columns": [{"name": "x", "categories": None, "form": form}], "dropped": {}})


@pytest.mark.parametrize(
    ("prose", "codes", "of_prose", "of_codes"), [(5, 31, 200, 32), (20, 40, 50, 25), (80, 80, 16, 16)]
)
def test_many_columns_of_texts_share_a_budget_of_features(prose, codes, of_prose, of_codes):
    sentences = [f"the words of row {k}" for k in range(60)] * 2
    texts = [f"x{k}y" for k in range(60)] * 2
    frame = pd.DataFrame({f"p{k}": sentences for k in range(prose)} | {f"c{k}": texts for k in range(codes)})
    encoding = Encoding.fit(frame.assign(number=np.arange(120)))
    sizes = {name: {len(column.features) for column in encoding.columns if column.name[0] == name} for name in "pcn"}
    assert sizes == {"p": {of_prose}, "c": {of_codes}, "n": {1}}
    again = Encoding.from_json(json.loads(json.dumps(encoding.to_json())))
    assert again == encoding
    assert again.transform(frame.assign(number=0)[:3]).values.shape == (3, prose * of_prose + codes * of_codes + 1)
