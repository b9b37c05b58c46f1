"""HTML pages made of hostile texts: names, labels, categories, files, losses. None may become an element or a script.

A page of hostile texts is parsed, and compared with one of harmless texts: it may have no element with other
attributes, and no more scripts. ``python -m attacks.pages --cases 100`` runs so many cases, ``--seed`` others, and
``--only`` repeats one.
"""

from __future__ import annotations

import functools
import random
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
from attacks.commands import new_folder, quick_fits
from attacks.odd_tables import plain_rows
from attacks.tally import attack
from typer.testing import CliRunner

from symloss.cli import app
from symloss.paper.results import Result, write_result

MARK = "zq7"
HOSTILE = [
    "<script>zq7()</script>",
    "</script><script>zq7()</script>",
    "<img src=x onerror=zq7()>",
    '" onmouseover="zq7()',
    "' onclick='zq7()",
    "</style><style>*{zq7:1}",
    "</title><svg/onload=zq7()>",
    "--><b onload=zq7()>",
    "]]><i onload=zq7()>",
    "javascript:zq7()",
    "{{zq7}}",
    "${zq7()}",
    "\\u003cscript\\u003ezq7()",
    "&lt;script&gt;zq7()",
    "<a href='javascript:zq7()'>",
    "</textarea><iframe src=//zq7>",
    "`zq7`",
    "<base href=//zq7>",
    "<meta http-equiv=refresh content=0;url=//zq7>",
    "\u202ezq7<b>",
    "$zq7_{<b>}$",
    "%3Cscript%3Ezq7()",
    "</svg><math onload=zq7()>",
]
HARMLESS = "harmless zq7"
ADDRESSES = {"href", "src", "action", "formaction", "xlink:href", "data", "srcdoc", "poster", "background"}


class Found(HTMLParser):
    """The elements of a page with the names of their attributes, and what must not be there."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements, self.bad = Counter[tuple[str, ...]](), list[str]()
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count an element, and look at its attributes."""
        self.elements[tag, *sorted(name for name, _ in attrs)] += 1
        for name, value in attrs:
            text = (value or "").strip().lower()
            if MARK in tag or MARK in name or (name.startswith("on") and MARK in text):
                self.bad.append(f"<{tag} {name}={value!r}>")
            if name in ADDRESSES and (
                text.startswith("javascript:") or (MARK in text and not text.startswith(("#", "data:")))
            ):
                self.bad.append(f"<{tag} {name}={value!r}>")


Text = Callable[[], str]


def _run(*words: str) -> None:
    result = CliRunner().invoke(app, list(words), env={"COLUMNS": "140"})
    if result.exit_code != 0:
        raise ValueError(f"symloss {' '.join(words)[:100]}: {result.output[-300:]}")


def _table_page(command: str, text: Text) -> Path:
    rows = plain_rows((f"a {text()}", f"b {text()}"))
    names = [f"{name} {k} {text()}" for k, name in enumerate(rows[0])]
    plans = {letter: f"{letter} {text()}" for letter in "abc"}
    frame = pd.DataFrame([[*row[:2], plans[row[2]], *row[3:]] for row in rows[1:]], columns=names)
    file = f"{text().replace('/', '⁄')[:60]}.csv"
    frame.to_csv(file, index=False)
    _run(command, "--label", names[-1], "--out", "out", "--", f"./{file}")
    return Path("out/report.html")


def _report_page(_: str, text: Text) -> Path:
    folder = Path(f"results {text().replace('/', '⁄')[:60]}")
    for pi in (1.0, 0.8):
        scores = {risk: {name: [90.0, 91.0] for name in ("sigmoid", "a" + text())} for risk in ("auc", "ber")}
        cell = Result(
            family=text(),
            dataset=text(),
            pi=pi,
            pi_prime=0.0,
            trials=2,
            protocol=text(),
            settings={text(): text()},
            scores=scores,
            versions={"torch": text(), text(): text()},
            device=text(),
            finished=text(),
        )
        write_result(folder, cell)
    _run("report", str(folder), "--out", "out.html")
    return Path("out.html")


def _explorer_page(_: str, text: Text) -> Path:
    name = f"mine_{random.randrange(10**12)}"
    Path(f"{name}.py").write_text(
        "import torch, symloss as sl\n"
        "class Mine(sl.Loss):\n"
        f"    title, formula, latex, name = {text()!r}, {text()!r}, {text()!r}, {text()!r}\n"
        "    def value(self, z): return torch.relu(1 - z)\n"
        f"    def __repr__(self): return {text()!r}\n",
        encoding="utf-8",
    )
    _run("explore", "--losses", f"hinge,{name}:Mine", "--out", "out.html")
    return Path("out.html")


PAGES = {"fit": _table_page, "audit": _table_page, "report": _report_page, "explore": _explorer_page}


@functools.cache
def harmless(kind: str) -> Found:
    """Return the elements of a page of harmless texts."""
    with new_folder():
        numbers = iter(range(10**6))
        return Found(PAGES[kind](kind, lambda: f"{HARMLESS} {next(numbers)}").read_text(encoding="utf-8"))


def case(generator: random.Random) -> tuple[str, str | None]:
    """Make a page of hostile texts, and say what of them has become an element, an attribute or a script."""
    kind = generator.choice(list(PAGES))
    usual = harmless(kind)
    with new_folder():
        numbers = iter(range(10**6))
        try:
            page = PAGES[kind](kind, lambda: f"{generator.choice(HOSTILE)} {next(numbers)}").read_text(encoding="utf-8")
        except ValueError as error:
            return kind, str(error)
    found = Found(page)
    if MARK not in page:
        return kind, "the hostile texts are not on the page"
    new = [element for element in found.elements if element not in usual.elements]
    scripts = [sum(count for element, count in of.elements.items() if element[0] == "script") for of in (usual, found)]
    if found.bad:
        return kind, f"from a text: {found.bad[0][:200]}"
    if new or scripts[0] != scripts[1]:
        return (
            kind,
            f"elements that harmless texts do not have: {new[:3]}, scripts: {scripts[1]} instead of {scripts[0]}",
        )
    return kind, None


if __name__ == "__main__":
    quick_fits()
    attack("pages of hostile texts", case, 100)
