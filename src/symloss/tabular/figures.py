"""Draw the ROC curve and the distribution of the out-of-fold scores, for the observed labels."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from symloss.drawing import COLORS, styled
from symloss.estimators.encoding import as_text
from symloss.metrics import auc
from symloss.tabular.fitting import Fitted

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def scores_figure(fitted: Fitted) -> Figure:
    """Return a figure that shows how well out-of-fold scores tell the observed labels apart.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> from symloss.tabular import fit_table
    >>> frame = pd.DataFrame({"x": np.arange(40.0), "y": ["no"] * 20 + ["yes"] * 20})
    >>> fitted = fit_table(frame, "y", candidates=[("linear", sl.AUCClassifier())])
    >>> [axes.get_xlabel() for axes in scores_figure(fitted).axes]
    ["share of 'no' above the threshold", 'score (out of fold)']
    """
    from sklearn.metrics import roc_curve

    scores = fitted.model.estimator.oof_scores_
    used = ~np.isnan(scores) & (fitted.weight > 0)
    scores, positive, weight = scores[used], fitted.positive[used], fitted.weight[used]
    negative_label, positive_label, column = map(_plain, (*fitted.model.labels, fitted.model.label))
    with styled() as new_figure:
        figure = new_figure(figsize=(9, 4), layout="constrained")
        roc, histogram = figure.subplots(1, 2)
        false, true, _ = roc_curve(positive, scores, sample_weight=weight)
        roc.plot(false, true, color=COLORS["logistic"], label=f"AUC {auc(scores, positive, weight):.3f}")
        roc.plot([0, 1], [0, 1], color=COLORS["squared"], linewidth=1, linestyle="--", label="chance 0.500")
        roc.set(xlabel=f"share of '{negative_label}' above the threshold", aspect="equal")
        roc.set(ylabel=f"share of '{positive_label}' above it", title=f"ROC on the labels given ({column})")
        roc.legend(loc="lower right")
        edges = np.histogram_bin_edges(scores, bins=min(40, max(10, len(scores) // 20)))
        for rows, label, color in (
            (~positive, negative_label, COLORS["unhinged"]),
            (positive, positive_label, COLORS["logistic"]),
        ):
            shares = weight[rows] / weight[rows].sum()
            histogram.hist(scores[rows], edges, weights=shares, color=color, alpha=0.5, label=f"'{label}'")
        histogram.axvline(0.0, color=COLORS["zero_one"], linewidth=1)
        histogram.set(xlabel="score (out of fold)", ylabel="share of the label's rows", title="Scores by label given")
        histogram.legend()
    return figure


def _plain(value: Any) -> str:
    """Return a label as a text that Matplotlib draws as it is: between two dollar signs it would read a formula."""
    return as_text(value).replace("$", r"\$")


def scores_png(fitted: Fitted) -> bytes:
    """Return the figure as the content of a PNG file.

    Examples
    --------
    >>> import pandas as pd, symloss as sl
    >>> from symloss.tabular import fit_table
    >>> frame = pd.DataFrame({"x": np.arange(40.0), "y": ["no"] * 20 + ["yes"] * 20})
    >>> scores_png(fit_table(frame, "y", candidates=[("linear", sl.AUCClassifier())]))[1:4]
    b'PNG'
    """
    content = io.BytesIO()
    scores_figure(fitted).savefig(content, format="png", dpi=150)
    return content.getvalue()
