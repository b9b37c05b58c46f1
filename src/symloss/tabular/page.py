"""The page of a fit: what one sends to a colleague, as one HTML file without scripts that needs no network."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symloss import __version__
from symloss.columns import as_text
from symloss.metrics import Estimate
from symloss.pages import Section, framed
from symloss.tabular.cautions import MARK
from symloss.tabular.findings import Findings, findings
from symloss.tabular.fitting import Fitted
from symloss.tabular.importance import Importance
from symloss.tabular.labels import label_table, noise_in_words, percent, suspicious
from symloss.tabular.pictures import TEMPLATES, Bar, noise_picture, roc_curves, roc_picture, scores_picture
from symloss.tabular.summary import lack_of_time, summary
from symloss.tabular.thresholds import choices

if TYPE_CHECKING:
    from pandas import DataFrame

SUSPICIOUS = 20  # labels that are shown
_COLUMNS = 10  # of a suspicious row that are shown: the most important ones
_LONGEST = 80  # of a value that is shown
# Characters that are not seen, or that change the direction of the text after them.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
_FALSE_ALARMS = (0.01, 0.05, 0.1, 0.2, 0.5)


class About(NamedTuple):
    """What a page says about how it was made.

    Parameters
    ----------
    source : str
        The name of the table.
    command : str
        The command that made the page; empty if there was none.
    ids : sequence of str
        Columns that tell rows apart.

    Examples
    --------
    >>> About("data.csv").command
    ''
    """

    source: str
    command: str = ""
    ids: Sequence[str] = ()


def fit_page(fitted: Fitted, frame: DataFrame, importances: Sequence[Importance], about: About) -> str:
    """Return the page of a fit.

    Parameters
    ----------
    fitted : Fitted
        What ``fit_table`` returned.
    frame : DataFrame
        The table that was given to it.
    importances : sequence of Importance
        How much each column matters, the most important first.
    about : About
        How it was made.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> from symloss.tabular import fit_table
    >>> frame = pd.DataFrame({"x": np.arange(40.0), "y": ["no"] * 20 + ["yes"] * 20})
    >>> fitted = fit_table(frame, "y", candidates=[("linear", sl.AUCClassifier())])
    >>> page = fit_page(fitted, frame, [Importance("x", 0.4, 0.1)], About("data.csv"))
    >>> "Is there signal?" in page, "<script" in page
    (True, False)
    """
    found = findings(fitted)
    made = summary(fitted, found)
    return _framed(
        f"Predicting {shown(fitted.model.label)}",
        fitted,
        about,
        [
            _short(fitted, frame, found, made, importances),
            _labels(fitted, frame, found, importances, about),
            _ranking(fitted, found),
            _columns(fitted, made, importances),
            _thresholds(fitted, found),
            _made(fitted, made, about),
        ],
    )


def audit_page(fitted: Fitted, frame: DataFrame, about: About) -> str:
    """Return the page of an audit: how noisy the labels are, and which to check.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> from symloss.tabular import fit_table
    >>> frame = pd.DataFrame({"x": np.arange(40.0), "y": ["no"] * 20 + ["yes"] * 20})
    >>> fitted = fit_table(frame, "y", candidates=[("linear", sl.AUCClassifier())])
    >>> "The labels of y" in audit_page(fitted, frame, About("data.csv"))
    True
    """
    found = findings(fitted)
    made = summary(fitted, found)
    return _framed(
        f"The labels of {shown(fitted.model.label)}",
        fitted,
        about,
        [
            _short(fitted, frame, found, made, ()),
            _labels(fitted, frame, found, (), about),
            _ranking(fitted, found),
            _made(fitted, made, about),
        ],
    )


def shown(value: Any, longest: int = _LONGEST) -> str:
    r"""Return a value as a text that can be seen: not too long, and with unseen characters spelled out.

    Examples
    --------
    >>> shown(1.0), shown("a\tb"), shown(None)
    ('1', 'a\\tb', '')
    """
    import pandas as pd

    if np.ndim(value) == 0 and pd.isna(value):
        return ""
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.6g}"
    text = _UNSEEN.sub(lambda match: repr(match[0])[1:-1], as_text(value)[: longest + 1])
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _framed(title: str, fitted: Fitted, about: About, sections: Sequence[Section]) -> str:
    negative, positive = _labels_of(fitted)
    count, n = int(fitted.positive.sum()), len(fitted.positive)
    now = datetime.now(tz=UTC).strftime("%Y-%m-%d %H:%M UTC")
    others, may_be = f"labeled {negative!r}", "Some of these labels may be wrong."
    if fitted.unlabeled:
        others, may_be = "unlabeled", f"Some of the unlabeled ones may be {positive!r}."
    lead = (
        f"{n:,} rows of {shown(about.source)}: {count:,} are labeled {positive!r}, {n - count:,} are {others}. {may_be}"
    )
    footer = f"Written by symloss {__version__} on {now}. It shows {min(SUSPICIOUS, n)} rows of the table."
    return framed(title, sections, lead, footer, style=[TEMPLATES.source("report.css")])


def _warnings(fitted: Fitted) -> list[str]:
    return [note.removeprefix(MARK) for note in fitted.notes if note.startswith(MARK)]


def _labels_of(fitted: Fitted) -> tuple[str, str]:
    negative, positive = map(shown, fitted.model.labels)
    return negative, positive


def _render(template: str, fitted: Fitted, found: Findings | None = None, **values: Any) -> Any:
    """Return a template of this package; all of them may use these values and functions."""
    negative, positive = (f"'{label}'" for label in _labels_of(fitted))
    return TEMPLATES.render(
        template, fitted=fitted, found=found, negative=negative, positive=positive,
        percent=percent, number=_number, shown=shown, interval=_interval, **values,
    )  # fmt: skip


def _short(
    fitted: Fitted, frame: DataFrame, found: Findings, made: dict[str, Any], importances: Sequence[Importance]
) -> Section:
    worst = label_table(fitted, frame)
    wrong = int(suspicious(fitted).sum())
    named = wrong if found.rates else len(worst) if found.has_signal else 0
    html = _render(
        "short.html.j2",
        fitted,
        found,
        warnings=[*_warnings(fitted), *found.warnings, *lack_of_time(made)],
        suspicious=wrong,
        first_rows=worst["row"].head(min(3, named)).tolist(),
        best=importances[0] if importances and importances[0].fall > 0 else None,
    )
    return Section("short", "In short", html)


def _labels(
    fitted: Fitted, frame: DataFrame, found: Findings, importances: Sequence[Importance], about: About
) -> Section:
    worst = label_table(fitted, frame, about.ids).dropna(subset="label_quality").head(SUSPICIOUS)
    columns = [each.column for each in importances] or [column.name for column in fitted.model.encoding.columns]
    lines = [
        (line, [frame[name].iloc[line["row"] - 1] for name in columns[:_COLUMNS]])
        for line in worst.to_dict(orient="records")
    ]
    html = _render(
        "labels.html.j2",
        fitted,
        found,
        words=noise_in_words(found, _labels_of(fitted)),
        picture=noise_picture(_bars(fitted, found)),
        ids=about.ids,
        columns=columns[:_COLUMNS],
        left_out=max(0, len(columns) - _COLUMNS),
        by_importance=bool(importances),
        lines=lines,
    )
    return Section("labels", "The labels", html)


def _bars(fitted: Fitted, found: Findings) -> list[Bar]:
    """Return the share of wrong labels of either kind, with its interval or bounds."""
    noise, rates = found.noise, found.rates
    negative, positive = (f"labeled '{shown(label, 40)}'" for label in fitted.model.labels)
    negative = "unlabeled" if found.unlabeled else negative
    if rates is None:
        bars = [Bar(positive, None, 0.0, 1 - noise.pi_low), Bar(negative, None, 0.0, noise.pi_prime_high)]
    elif found.rates_given:
        wrong = ((positive, 1 - rates.pi), (negative, rates.pi_prime))
        bars = [Bar(label, share, share, share) for label, share in wrong]
    else:
        bars = [
            Bar(positive, 1 - rates.pi, 1 - noise.pi_high, 1 - noise.pi_low),
            Bar(negative, rates.pi_prime, noise.pi_prime_low, noise.pi_prime_high),
        ]
    return bars[1:] if found.unlabeled else bars


def _ranking(fitted: Fitted, found: Findings) -> Section:
    curves = roc_curves(found)
    html = _render(
        "ranking.html.j2",
        fitted,
        found,
        roc=roc_picture(found),
        scores=scores_picture(found),
        false_alarms=[
            (share, [float(np.interp(share, fpr, tpr)) for fpr, tpr in curves.values()]) for share in _FALSE_ALARMS
        ],
    )
    return Section("ranking", "The ranking", html)


def _columns(fitted: Fitted, made: dict[str, Any], importances: Sequence[Importance]) -> Section:
    most = max((each.fall for each in importances), default=0.0)
    html = _render(
        "columns.html.j2",
        fitted,
        importances=importances,
        most=most if most > 0 else 1.0,
        score=made["score"],
        notes=[note for note in fitted.notes if not note.startswith(MARK)],
    )
    return Section("columns", "The columns", html)


def _thresholds(fitted: Fitted, found: Findings) -> Section:
    made = choices(found, fitted.model.estimator, _labels_of(fitted)[1])
    return Section("thresholds", "Where to draw the line", _render("thresholds.html.j2", fitted, found, choices=made))


def _made(fitted: Fitted, made: dict[str, Any], about: About) -> Section:
    candidates = sorted(made["candidates"], key=lambda each: (-each["weight"], -each["mean"]))
    html = _render(
        "made.html.j2", fitted, candidates=candidates, untried=made["untried"], time_limit=made["time_limit"],
        score=made["score"], in_parts=len({each["rows"] for each in candidates}) > 1, about=about,
    )  # fmt: skip
    return Section("made", "How this was made", html)


def _interval(estimate: Estimate, text: Any = None) -> str:
    text = text or _number
    return f"{text(estimate.low)} to {text(estimate.high)}"


def _number(value: float) -> str:
    """Return a number with about three digits."""
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.3f}" if abs(value) < 10 else f"{value:.4g}"
    return text.replace("-", "−") if float(text) else "0.000"
