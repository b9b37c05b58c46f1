"""What verdicts imply of each other: verdicts that contradict each other cannot all be right, and none is given."""

from __future__ import annotations

from typing import NamedTuple

from symloss.theory.report import Answer, Verdict


class Contradiction(NamedTuple):
    """Answers that cannot all be right, and why.

    Examples
    --------
    >>> CONTRADICTIONS[0].source
    'theorem 8'
    """

    answers: dict[str, Answer]
    source: str


CONTRADICTIONS = (
    Contradiction({"symmetric": "yes", "calibrated": "yes", "recovers_eta": "yes"}, "theorem 8"),
    Contradiction({"auc_consistent": "yes", "calibrated": "no"}, "an AUC-consistent loss is calibrated"),
    Contradiction({"excess_risk_bound": "yes", "calibrated": "no"}, "a bound makes the loss calibrated"),
    Contradiction({"auc_regret_bound": "yes", "auc_consistent": "no"}, "a bound makes the loss AUC-consistent"),
    Contradiction({"convex": "yes", "bounded": "yes", "calibrated": "yes"}, "a convex bounded loss is constant"),
    Contradiction(
        {"convex": "yes", "symmetric": "yes", "auc_consistent": "yes"}, "a convex symmetric loss is a line"
    ),
    Contradiction(
        {"symmetric": "yes", "non_increasing": "yes", "bounded": "yes", "calibrated": "yes", "auc_consistent": "no"},
        "theorem 11",
    ),
    Contradiction(
        {"convex": "yes", "non_increasing": "yes", "recovers_eta": "yes", "calibrated": "no"},
        "where f* of a convex loss that falls is unique, it has the sign of eta - 1/2",
    ),
)  # fmt: skip


def reconciled(verdicts: dict[str, Verdict]) -> dict[str, Verdict]:
    """Return the verdicts; those that contradict each other become "cannot tell".

    Examples
    --------
    >>> found = reconciled({"auc_consistent": Verdict("yes", "..."), "calibrated": Verdict("no", "...")})
    >>> print(found["calibrated"])
    cannot tell: the checks contradict each other on auc consistent, calibrated: an AUC-consistent loss is calibrated
    """
    found = dict(verdicts)
    for answers, source in CONTRADICTIONS:
        if all(name in verdicts and verdicts[name].answer == answer for name, answer in answers.items()):
            names = ", ".join(name.replace("_", " ") for name in answers)
            reason = f"the checks contradict each other on {names}: {source}"
            found |= {name: Verdict("cannot tell", reason) for name in answers}
    return found
