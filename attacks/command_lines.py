"""Command lines with odd values of every option of every command.

``python -m attacks.command_lines --cases 500`` runs so many cases, ``--seed`` others, and ``--only`` repeats one.
"""

from __future__ import annotations

import itertools
import random
import shutil
from pathlib import Path
from typing import Any

import typer.main
from attacks.commands import fault_of, new_folder, quick_fits
from attacks.files import saved_model
from attacks.odd_tables import NAMES, plain_frame
from attacks.tally import attack

from symloss.cli import app
from symloss.paper.results import Result, write_result

NUMBERS = [
    "-1",
    "0",
    "1",
    "2",
    "0.5",
    "-0.0",
    "1e-320",
    "1e400",
    "-1e400",
    "nan",
    "inf",
    "9" * 30,
    "0x10",
    "1_0",
    "½",
    "1,5",
]
TEXTS = [
    "",
    " ",
    ",",
    "a,,b",
    "yes",
    "no",
    "YES",
    "y",
    "age",
    "age,age",
    "plan",
    "auc",
    "BER",
    "--",
    "-",
    "%s",
    "[/red]",
    "[link=x]",
    "\udcff",
    "日本",
    "x" * 3000,
    "hinge",
    "hinge,hinge",
    "mine:Mine",
    "os:getcwd",
    "sys:exit",
    ":",
    "a:b:c",
    "utf-8",
    "utf-7",
    "idna",
    "rot13",
    "zip",
    "tab",
    "\\t",
    "semicolon",
    ";",
    ".",
    "..",
    "abc",
    "1,0",
    "0,1",
    "nan,nan",
    "dropout_off",
    "matched",
    "positive-unlabeled",
    "cuda",
    "cpu:99",
    "tcp://x",
    "spambase",
    *NAMES,
]
PATHS = [
    "data.csv",
    "data.csv/x",
    "model",
    "results",
    "nowhere",
    "nowhere/deep/x.csv",
    "new.csv",
    "new.parquet",
    "new.html",
    "new",
    "",
    ".",
    "..",
    "-",
    "/dev/null",
    "/dev/full",
    "x" * 300,
    "a\nb.csv",
    "\udcff.csv",
    "new.xlsx",
    "notes.txt",
    "link",
    "loop",
    "results/notes",
    "model/model.json",
]
OUTPUTS = {"--out", "--csv", "--markdown", "--latex", "--figures"}
# What each command needs; a sweep is kept small, and nothing is downloaded.
BASES = {
    "fit": ["data.csv", "--label", "y", "--out", "new"],
    "predict": ["model", "data.csv"],
    "audit": ["data.csv", "--label", "y"],
    "losses": [],
    "analyze": ["hinge"],
    "figures": ["--out", "new"],
    "datasets": [],
    "compare": ["results"],
    "report": ["results"],
    "explore": ["--losses", "hinge"],
    "reproduce uci": [
        "--datasets",
        "twonorm",
        "--noise",
        "1,0",
        "--risks",
        "auc",
        "--losses",
        "unhinged",
        "--trials",
        "1",
        "--jobs",
        "1",
        "--out",
        "new",
    ],
    "reproduce mnist": ["--device", "cpu", "--out", "new"],
    "reproduce cifar10": ["--device", "cpu", "--out", "new"],
}
WITHOUT = {
    "--fetch",
    "--download",
    "--no-download",
    "--trials",
    "--datasets",
    "--jobs",
    "--time-limit",
    "--backend",
    "--scheduler-address",
}
_QUICK = {"figures": 0.1, "reproduce uci": 0.1}  # the share of the cases that are run: these take longer


def prepare() -> None:
    """Write the files that commands are pointed at."""
    plain_frame().to_csv("data.csv", index=False)
    shutil.copytree(saved_model(), "model")
    Path("notes.txt").write_text("not a table\n")
    Path("link").symlink_to("data.csv")
    Path("loop").symlink_to("loop")
    scores = {"auc": {"sigmoid": [90.0, 91.0], "hinge": [80.0, 82.0]}}
    write_result(Path("results"), Result(family="uci", dataset="spambase", pi=1, pi_prime=0, trials=2, scores=scores))


def _options(name: str) -> list[Any]:
    group: Any = typer.main.get_command(app)
    for word in name.split():
        group = group.commands[word]
    return [option for option in group.params if not WITHOUT & {*option.opts, *option.secondary_opts}]


def _value(option: Any, generator: random.Random) -> str:
    usual = PATHS if OUTPUTS & {*option.opts} or option.param_type_name == "argument" else [*NUMBERS, *TEXTS]
    return generator.choice(usual if generator.random() < 0.85 else [*NUMBERS, *TEXTS, *PATHS])


def command_line(generator: random.Random) -> list[str]:
    """Return a command whose arguments are right except for some options, or that lacks or repeats a word."""
    name = generator.choice([name for name in BASES if generator.random() < _QUICK.get(name, 1.0)])
    words = list(BASES[name])
    for option in generator.choices(_options(name), k=generator.choice([1, 1, 1, 2, 3])):
        if option.param_type_name == "argument":
            places = [
                k
                for k, word in enumerate(words)
                if not word.startswith("-") and (k == 0 or not words[k - 1].startswith("-"))
            ]
            if places:
                words[generator.choice(places)] = _value(option, generator)
            else:
                words.insert(0, _value(option, generator))
        else:
            words += [generator.choice(option.opts)] + ([] if option.is_flag else [_value(option, generator)])
    if generator.random() < 0.1 and words:
        del words[generator.randrange(len(words))]
    if generator.random() < 0.05:
        words.append(generator.choice(TEXTS))
    return [*name.split(), *words, *(["--no-download"] if "reproduce" in name else [])]


def written_paths(words: list[str]) -> list[Path]:
    """Return what a command that succeeds may have written: the values of its options of output, and the defaults."""
    named = [Path(after) for word, after in itertools.pairwise(words) if word in OUTPUTS]
    followed = [Path("data.csv")] if Path("link") in named else []
    return [*named, *followed, *map(Path, ("report.html", "explorer.html", "audit", "figures"))]


def case(generator: random.Random) -> tuple[str, str | None]:
    """Run one command in a folder of its own."""
    words = command_line(generator)
    with new_folder():
        prepare()
        return words[0], fault_of(words, written_paths(words), b"")


if __name__ == "__main__":
    quick_fits()
    attack("command lines", case, 500)
