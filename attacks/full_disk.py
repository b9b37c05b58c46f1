"""Commands that cannot write all of their files, as on a full disk: old files stay, and none is half written.

The largest size of a file is limited while a command runs (Unix). ``python -m attacks.full_disk --cases 200`` runs so
many cases, ``--seed`` others, and ``--only`` repeats one.
"""

from __future__ import annotations

import random
import resource
import shutil
from pathlib import Path

from attacks.commands import fault_of, new_folder, quick_fits
from attacks.files import saved_model
from attacks.odd_tables import plain_frame
from attacks.tally import attack

from symloss.paper.results import Result, write_result

COMMANDS = {
    "fit": ["fit", "data.csv", "--label", "y", "--out", "model"],
    "audit": ["audit", "data.csv", "--label", "y", "--out", "audit"],
    "predict": ["predict", "saved", "data.csv", "--out", "out.csv"],
    "predict to Parquet": ["predict", "saved", "data.csv", "--out", "out.parquet"],
    "compare": ["compare", "results", "--csv", "out.csv"],
    "figures": ["compare", "results", "--figures", "figures"],
    "report": ["report", "results", "--out", "out.html"],
    "explore": ["explore", "--losses", "hinge", "--out", "out.html"],
}


def case(generator: random.Random) -> tuple[str, str | None]:
    """Run a command in a folder of its own, with files of at most so many bytes."""
    kind = generator.choice(list(COMMANDS))
    bytes_ = generator.choice([0, generator.randrange(100), generator.randrange(10_000), generator.randrange(10**6)])
    words = COMMANDS[kind]
    out = Path(words[-1])
    with new_folder():
        plain_frame().to_csv("data.csv", index=False)
        shutil.copytree(saved_model(), "saved")
        scores = {"auc": {"sigmoid": [90.0, 91.0], "hinge": [80.0, 82.0]}}
        write_result(
            Path("results"), Result(family="uci", dataset="spambase", pi=1, pi_prime=0, trials=2, scores=scores)
        )
        if generator.random() < 0.5 and out.suffix:
            out.write_text("old\n")
        elif generator.random() < 0.5 and kind == "fit":
            shutil.copytree("saved", out)
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, most))
        try:
            fault = fault_of(words, [out])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        return kind, None if fault is None else f"{bytes_} bytes: {fault}"


if __name__ == "__main__":
    quick_fits()
    attack("commands on a full disk", case, 200)
