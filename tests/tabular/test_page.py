"""The page of a fit: what it says, that names and labels cannot break it, and how it looks in a browser."""

import itertools
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import symloss as sl
from symloss.tabular import fit_table
from symloss.tabular.documents import add_documents, write_audit
from symloss.tabular.findings import findings
from symloss.tabular.importance import Importance, column_importance
from symloss.tabular.labels import label_table
from symloss.tabular.page import About, audit_page, fit_page, shown
from symloss.tabular.pictures import _ticks

LINEAR = [("linear", sl.AUCClassifier())]
HOSTILE = '</td></style><script>alert("1")</script><img src=http://x.example/a onerror=alert(2)>'
VOID = {"meta", "link", "br", "img", "input", "hr"}


def noisy(n=1200, seed=0, rate=0.15):
    """A table whose labels are wrong at a rate, and which of them are."""
    rng = np.random.default_rng(seed)
    true = rng.random(n) < 0.4
    wrong = rng.random(n) < rate
    frame = pd.DataFrame(
        {
            "who": [f"{k:04d}" for k in range(n)],
            "signal": 4 * true + rng.normal(size=n),
            "plan": np.where(rng.random(n) < 0.5 + 0.3 * true, "pro", "basic"),
            "rest": rng.normal(size=n),
            "churn": np.where(true ^ wrong, "yes", "no"),
        }
    )
    return frame, wrong


def page_of(frame, label="churn", drop=(), about=None, **options):
    fitted = fit_table(frame, label, drop=drop, candidates=LINEAR, **options)
    return fit_page(fitted, frame, column_importance(fitted, frame), about or About("data.csv"))


@pytest.fixture(scope="module")
def page():
    frame, _ = noisy()
    about = About("data.csv", "symloss fit data.csv --label churn --id who --out model", ["who"])
    fitted = fit_table(frame, "churn", drop=["who"], candidates=LINEAR)
    fitted.notes.append("warning: Mind the gap.")
    return fit_page(fitted, frame, column_importance(fitted, frame), about)


class Structure(HTMLParser):
    """Checks that elements are closed in order, and collects ids, links, headings and texts."""

    def __init__(self, page):
        super().__init__()
        self.open, self.ids, self.links, self.tags, self.headings, self.text = [], [], [], [], [], ""
        self.feed(page)
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.append((tag, given))
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given[name] for name in ("href", "src") if name in given]
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}>"

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.text += data


def text_of(page):
    return " ".join(Structure(page).text.split())


def test_the_first_screen_answers(page):
    text = text_of(page)
    assert "Is there signal? Yes The columns tell the labels apart" in text
    assert re.search(r"How good is the ranking on true labels\? AUC [01]\.\d\d Interval 0\.\d\d to [01]\.\d\d", text)
    assert re.search(r"How many labels are wrong\? About 1\d% Interval \d+% to \d+%", text)
    assert re.search(r"How many should be checked\? \d+ labels", text)
    assert "Look at this first Warning: Mind the gap. The labels of rows " in text
    assert "The column signal is what the ranking relies on most" in text


def test_the_page_has_what_a_colleague_needs(page):
    text = text_of(page)
    for part in (
        "1,200 rows of data.csv:", "The 20 most suspicious labels", "AUC", "balanced accuracy", "on true labels",
        "labels given true labels, estimated chance", "Which columns matter", "one-hot encoded: plan (2 categories)",
        "--cost-false-negative 5", "--share 0.4", "--top-k 100",
        "symloss fit data.csv --label churn --id who --out model",
        "Which models were tried", "linear", "1.00",
    ):  # fmt: skip
        assert part in text, part
    assert text.index("signal") < text.index("rest")


def test_the_most_suspicious_labels_come_with_their_rows():
    frame, wrong = noisy()
    fitted = fit_table(frame, "churn", drop=["who"], candidates=LINEAR, pi=0.79, pi_prime=0.1)
    found = Structure(fit_page(fitted, frame, column_importance(fitted, frame), About("data.csv", ids=["who"])))
    rows = re.findall(r"\n\s*(\d+)\s*\n\s*(\d{4})\s*\n\s*(yes|no)\s*\n\s*(yes|no|the same)\s*\n", found.text)
    assert len(rows) == 20
    for number, who, given, suggested in rows:
        assert who == frame["who"][int(number) - 1]
        assert given == frame["churn"][int(number) - 1]
        assert suggested != given
    assert np.mean([wrong[int(number) - 1] for number, *_ in rows]) > 0.9


def test_one_file_without_scripts_or_requests(page):
    found = Structure(page)
    assert not any(tag in ("script", "iframe", "object", "img", "form") for tag, _ in found.tags)
    assert not any(name.startswith("on") for _, given in found.tags for name in given)
    policy = next(given["content"] for _, given in found.tags if given.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:"
    assert all(link.startswith(("#", "data:")) for link in found.links)
    assert {link[1:] for link in found.links if link.startswith("#")} <= set(found.ids)
    assert "url(http" not in page
    assert "@import" not in page


def test_valid_structure(page):
    found = Structure(page)
    assert len(set(found.ids)) == len(found.ids)
    assert found.headings[0] == 1
    assert found.headings.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(found.headings, found.headings[1:], strict=False))
    for tag, given in found.tags:
        assert tag != "svg" or "aria-label" in given or given.get("aria-hidden") == "true"
        assert given.get("class") != "scroll" or (given["tabindex"] == "0" and given["aria-label"])


def test_names_labels_and_values_cannot_break_the_page():
    frame, _ = noisy(200)
    frame["churn"] = np.where(frame["churn"] == "yes", HOSTILE, "$10% - $20%\x00\u202e")
    frame[HOSTILE] = np.where(frame["signal"] > 0, "<b>{{ 7 * 7 }}</b>", "'\"&amp;")
    frame = frame.rename(columns={"churn": f"label {HOSTILE}"})
    about = About(HOSTILE, HOSTILE, [HOSTILE])
    for drop in (["who"], ["who", HOSTILE]):
        page = page_of(frame, f"label {HOSTILE}", drop, about)
        found = Structure(page)
        tags = {tag for tag, _ in found.tags}
        assert not {"script", "img", "b"} & tags
        assert page.count("<style>") == 1
        assert "{{ 7 * 7 }}" in found.text
        assert "\x00" not in page
        assert "\u202e" not in page
        assert "$10% - $20%\\x00\\u202e" in found.text
    fitted = fit_table(frame, f"label {HOSTILE}", drop=["who", HOSTILE], candidates=LINEAR)
    assert "<script" not in audit_page(fitted, frame, about)


def test_a_table_without_signal_says_so():
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"x": rng.normal(size=120), "y": rng.permutation(["a", "b"] * 60)})
    fitted = fit_table(frame, "y", candidates=LINEAR)
    assert 0.5 < findings(fitted).auc.value < 0.6  # better than chance by chance
    text = text_of(fit_page(fitted, frame, column_importance(fitted, frame), About("data.csv")))
    assert "Is there signal? None to be seen" in text
    assert "How good is the ranking on true labels? Cannot be told" in text
    assert "Do the labels belong to these rows?" in text
    assert "relies on most" not in text
    assert "at least as large there" not in text  # below 0.5, both numbers would be smaller there


def test_a_little_signal_may_be_chance():
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    frame = pd.DataFrame({"x": x, "y": np.where(x + 3 * rng.logistic(size=300) > 0, "b", "a")})
    text = text_of(page_of(frame, "y"))
    assert "Is there signal? A little The columns tell the labels apart" in text
    assert "by chance it can be as much as this" in text


def test_given_rates_are_used_and_unknown_ones_are_bounded():
    frame, _ = noisy(150, rate=0.1)
    text = text_of(page_of(frame, drop=["who"], pi=0.9, pi_prime=0.1))
    assert "As you said, 10% of the labels 'yes' and 10% of the labels 'no' are wrong: 10% of all labels." in text
    assert "follow from the rates given to the fit" in text
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    frame = pd.DataFrame({"x": x, "y": np.where(x + 2 * rng.logistic(size=200) > 0, "b", "a")})
    text = text_of(page_of(frame, "y"))
    assert "How many labels are wrong cannot be told: " in text
    assert "How many should be checked? The worst first " in text
    assert "are the least credible ones" in text
    assert re.search(r"At most \d+% of the labels 'b' and \d+% of the labels 'a' are wrong \(95% bounds\)", text)
    assert "Thresholds for costs need the rates" in text
    assert "--cost" not in text
    assert re.search(r"AUC 0\.\d\d or more", text)
    assert "both numbers are at least as large there" in text


def test_rates_that_cannot_be_are_a_warning_on_the_page():
    frame, _ = noisy(300, rate=0.0)
    with pytest.warns(UserWarning, match="cannot be"):
        fitted = fit_table(frame, "churn", drop=["who"], candidates=LINEAR, pi=0.6, pi_prime=0.4)
    assert "cannot be: " in text_of(fit_page(fitted, frame, column_importance(fitted, frame), About("data.csv")))


def test_rows_without_weight_and_constant_scores_do_no_harm():
    frame, _ = noisy(60)
    frame["times"] = np.where(np.arange(60) < 15, 1.0, 0.0)
    text = text_of(page_of(frame, drop=["who"], weight="times"))
    assert "The 15 most suspicious labels" in text
    assert "nan" not in text.lower()
    constant = [("constant", sl.AUCClassifier(model="trees", n_estimators=2, min_samples_leaf=60))]
    fitted = fit_table(frame.drop(columns=["who", "times"]), "churn", candidates=constant)
    assert "Is there signal? None" in text_of(fit_page(fitted, frame, column_importance(fitted, frame), About("d")))


def test_importance_is_that_of_columns_and_bounded_in_time():
    frame, _ = noisy(300)
    fitted = fit_table(frame, "churn", drop=["who"], candidates=LINEAR)
    found = column_importance(fitted, frame)
    assert [each.column for each in found][:1] == ["signal"]
    assert {each.column for each in found} == {"signal", "plan", "rest"}
    assert found[0].fall > 0.1 > abs(next(each.fall for each in found if each.column == "rest"))
    assert found[0].sd > 0
    once = column_importance(fitted, frame, seconds=0.0)  # one fold is always done
    assert {each.sd for each in once} == {None}


@pytest.mark.parametrize(
    ("ticks", "seconds", "columns"),
    [
        ([0, 9], 5, 1),  # one column is always shuffled
        ([0, 1, 9], 5, 2),
        ([0, 1, 2, 3, 4, 99], 50, 3),  # the second fold is not complete
    ],
)
def test_no_column_is_shuffled_after_the_time_for_importance(monkeypatch, ticks, seconds, columns):
    frame, _ = noisy(300)
    fitted = fit_table(frame, "churn", drop=["who"], candidates=LINEAR)
    clock = itertools.chain(ticks, itertools.repeat(ticks[-1]))
    monkeypatch.setattr("symloss.tabular.importance.time", SimpleNamespace(monotonic=clock.__next__))
    found = column_importance(fitted, frame, seconds)
    assert {each.column for each in found} == set(fitted.model.columns[:columns])
    assert {each.sd for each in found} == {None}


def test_a_page_that_fails_does_not_lose_the_model(tmp_path, monkeypatch):
    frame, _ = noisy(100)
    fitted = fit_table(frame, "churn", drop=["who"], candidates=LINEAR)
    fitted.model.save(tmp_path / "m")

    def fail(*_):
        raise RuntimeError("no font")

    monkeypatch.setattr("symloss.tabular.documents.fit_page", fail)
    troubles = add_documents(fitted, frame, tmp_path / "m", About("data.csv"))
    assert troubles == ["the model is saved, but report.html could not be made: RuntimeError: no font"]
    names = {path.name for path in (tmp_path / "m").iterdir()}
    assert {"model.safetensors", "labels.csv"} <= names
    sl.tabular.load(tmp_path / "m")
    fitted.model.save(tmp_path / "m")  # it still holds a model and nothing else


def test_values_and_ticks_are_texts_that_can_be_read():
    assert [shown(value) for value in (1.0, 0.1234567, "a" * 100, float("nan"), True, "x\ny")] == [
        "1", "0.123457", "a" * 79 + "…", "", "True", "x\\ny"]  # fmt: skip
    assert [shown(value) for value in (None, pd.NaT, pd.NA, [1, 2])] == ["", "", "", "[1, 2]"]
    assert shown("\u061c\u200b\u200f\ufeff") == r"\u061c\u200b\u200f\ufeff"
    assert [text for _, text in _ticks(0.0, 1.0)] == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
    assert [text for _, text in _ticks(-3e-7, 5e-7)][:2] == ["−0.0000002", "0.0000000"]


# In a browser.


@pytest.fixture(scope="module")
def file(page, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page, encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_no_sideways_scroll_and_no_error(visit, file, width):
    seen = visit(file, viewport={"width": width, "height": 800})
    assert seen.evaluate("document.documentElement.scrollWidth") == width
    assert seen.locator(".card").count() == 4
    assert seen.locator("svg polyline.curve").count() == 2


def test_hostile_names_do_nothing_in_a_browser(visit, tmp_path):
    frame, _ = noisy(100)
    frame = frame.assign(churn=np.where(frame["churn"] == "yes", HOSTILE, "no" * 200)).rename(columns={"plan": HOSTILE})
    (tmp_path / "p.html").write_text(page_of(frame, drop=["who"], about=About(HOSTILE, HOSTILE, ids=[HOSTILE])))
    seen = visit(tmp_path / "p.html", viewport={"width": 360, "height": 800})
    assert seen.locator("script, img").count() == 0
    assert seen.evaluate("document.documentElement.scrollWidth") == 360


def color(seen, selector, what):
    return seen.locator(selector).first.evaluate(f"element => getComputedStyle(element).{what}")


def test_dark_light_and_print(visit, file):
    dark, light = (visit(file, color_scheme=scheme) for scheme in ("dark", "light"))
    assert color(dark, "body", "backgroundColor") == "rgb(18, 22, 27)"
    assert color(light, "body", "backgroundColor") == "rgb(255, 255, 255)"
    for selector in (".curve.clean", ".area.negative"):
        assert color(dark, selector, "stroke") != color(light, selector, "stroke")
    dark.emulate_media(media="print")
    assert color(dark, "body", "backgroundColor") == "rgb(255, 255, 255)"
    assert color(dark, ".curve.clean", "stroke") == color(light, ".curve.clean", "stroke")
    assert not dark.locator("nav").is_visible()
    assert dark.pdf()[:4] == b"%PDF"


def test_the_keyboard_reaches_tables_and_numbers(visit, file):
    seen = visit(file, viewport={"width": 360, "height": 800})
    seen.keyboard.press("Tab")
    assert seen.evaluate("document.activeElement.className") == "skip"
    box = seen.locator(".scroll").first
    box.focus()
    seen.keyboard.press("ArrowRight")
    box.evaluate("async box => { while (!box.scrollLeft) await new Promise(requestAnimationFrame); }")
    seen.locator("summary").first.focus()
    seen.keyboard.press("Enter")
    assert seen.locator("details td").first.is_visible()


def test_the_page_is_accessible(visit, file, axe):
    for scheme in ("light", "dark"):
        assert axe(visit(file, color_scheme=scheme)) == []


def test_the_audit_page_is_shorter(tmp_path):
    frame, _ = noisy(150)
    fitted = fit_table(frame, "churn", drop=["who"], candidates=LINEAR)
    write_audit(fitted, frame, tmp_path / "audit", About("data.csv", ids=["who"]))
    page = Path(tmp_path / "audit" / "report.html").read_text(encoding="utf-8")
    found = Structure(page)
    assert {"short", "labels", "ranking", "made"} <= set(found.ids)
    assert not {"thresholds", "columns"} & set(found.ids)
    assert {link[1:] for link in found.links if link.startswith("#")} <= set(found.ids)


def test_a_file_name_that_is_no_utf8_or_a_page_that_fails_does_not_lose_the_audit(tmp_path, monkeypatch):
    frame, _ = noisy(100)
    fitted = fit_table(frame, "churn", drop=["who"], candidates=LINEAR)
    write_audit(fitted, frame, tmp_path / "audit", About("caf\udce9.csv", "symloss audit caf\udce9.csv"))
    assert b"symloss audit caf\\udce9.csv" in (tmp_path / "audit" / "report.html").read_bytes()
    fitted.model.save(tmp_path / "model")
    assert add_documents(fitted, frame, tmp_path / "model", About("", "symloss fit caf\udce9.csv")) == []

    def fail(*_):
        raise RuntimeError("no template")

    monkeypatch.setattr("symloss.tabular.documents.audit_page", fail)
    with pytest.warns(UserWarning, match="report.html could not be made: RuntimeError: no template"):
        written = write_audit(fitted, frame, tmp_path / "audit", About("data.csv"))
    assert [path.name for path in written] == ["labels.csv", "noise.json"]
    assert all(path.exists() for path in written)


def test_the_page_goes_by_the_noise_of_the_model():
    """With fractional weights, rows that are merged and rows that are not can tell different things."""
    frame, _ = noisy()
    fitted = fit_table(frame, "churn", drop=["who"], candidates=LINEAR)
    estimator, importances = fitted.model.estimator, [Importance("signal", 0.4, 0.1)]
    assert findings(fitted).rates == (estimator.noise_.pi, estimator.noise_.pi_prime)
    estimator.noise_ = replace(estimator.noise_, pi=0.75, pi_prime=0.25)
    assert findings(fitted).rates == (0.75, 0.25)
    assert findings(fitted).noise == estimator.noise_
    estimator.noise_ = None
    found = findings(fitted)
    assert (found.rates, found.clean_auc, found.noise.pi, found.noise.pi_high) == (None, None, None, 1.0)
    page = text_of(fit_page(fitted, frame, importances, About("data.csv")))
    assert "cannot be told: it depends on how rows with the same features are counted." in page


@pytest.mark.parametrize("rates", [{}, {"pi": 1.0, "pi_prime": 0.3}])
@pytest.mark.parametrize("distance", [1.0, 6.0])
def test_rows_without_a_label_are_unlabeled(rates, distance):
    rng = np.random.default_rng(0)
    true = rng.random(1500) < 0.5
    y = np.where(true & (rng.random(1500) < 0.6), "yes", None)
    frame = pd.DataFrame({"x": distance * true + rng.normal(size=1500), "y": y})
    fitted = fit_table(frame, "y", unlabeled="positive-unlabeled", candidates=LINEAR, **rates)
    found = label_table(fitted, frame)
    labeled = (frame["y"] == "yes").to_numpy()[found["row"] - 1]
    assert (found["given_label"] == np.where(labeled, "yes", "")).all()
    assert not labeled[: (~labeled).sum()].any()
    assert (found["suggested_label"][labeled] == ("" if fitted.model.rates is None else "yes")).all()
    assert set(found["suggested_label"][~labeled]) <= {"", "yes"}
    for page in (
        fit_page(fitted, frame, [Importance("x", 0.3, 0.1)], About("d")),
        audit_page(fitted, frame, About("d")),
    ):
        text = text_of(page)
        assert f"{labeled.sum()} are labeled 'yes', {(~labeled).sum():,} are unlabeled." in text
        assert "How many unlabeled rows are 'yes'?" in text
        assert "labeled 'not yes'" not in text
        assert not re.search("seem wrong|are wrong|they wrong|looks wrong|suspicious|--pi", text)


def test_candidates_that_there_was_no_time_for_are_on_the_page():
    frame, _ = noisy(100)
    both = [*LINEAR, ("<late>", sl.AUCClassifier("logistic"))]
    fitted = fit_table(frame, "churn", drop=["who"], candidates=both, time_limit=100.0)
    assert "The fit had a time limit of 100 s" in text_of(audit_page(fitted, frame, About("data.csv")))
    assert "not tried" not in text_of(audit_page(fitted, frame, About("data.csv")))
    results = fitted.model.estimator.cv_results_
    for name in ("mean_test_score", "std_test_score"):  # as after a time limit
        results[name] = np.where([False, True], np.nan, results[name])
    text = text_of(audit_page(fitted, frame, About("data.csv")))
    assert "<late> not tried: there was no time" in text
    assert "Warning: the time limit of 100 s left 1 of 2 candidates untried: with more time the model may be" in text
