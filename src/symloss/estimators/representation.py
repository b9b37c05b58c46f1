"""How a fitted CV estimator looks in a notebook: its candidates with their scores and weights, below its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np


def candidates_table(results: Mapping[str, Any], score: str) -> str:
    """Return an HTML table of the candidates, the largest weights first.

    Parameters
    ----------
    results : dict
        ``cv_results_`` of a fitted CV estimator.
    score : str
        What the candidates are scored by.

    Examples
    --------
    >>> results = {"candidate": ["a < b"], "mean_test_score": np.array([0.7]), "std_test_score": np.array([0.1]),
    ...            "weight": np.array([1.0]), "points": np.array([100])}
    >>> "<td>a &lt; b</td><td>70.0 ± 10.0</td><td>100</td><td>100%</td>" in candidates_table(results, "AUC")
    True
    """
    order = np.lexsort((-np.nan_to_num(results["mean_test_score"]), -results["weight"]))
    rows = []
    for k in order.tolist():
        mean, deviation = 100 * results["mean_test_score"][k], 100 * results["std_test_score"][k]
        shown = "no time" if np.isnan(mean) else f"{mean:.1f} ± {deviation:.1f}"
        cells = (
            escape(str(results["candidate"][k])),
            shown,
            f"{results['points'][k]:,}" if "points" in results else "all",  # an earlier version scored on all points
            f"{results['weight'][k]:.0%}",
        )
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    heads = ("candidate", f"{escape(score)} on noisy folds, in %", "points", "weight in the average")
    head = "<tr>" + "".join(f"<th>{text}</th>" for text in heads) + "</tr>"
    body = "\n".join(rows)
    return f"<details open><summary>Candidates</summary><table>{head}\n{body}</table></details>"
