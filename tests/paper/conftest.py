"""Results made up for tests: the published means, moved at random by their standard errors. They measure nothing."""

from collections import defaultdict

import numpy as np
import pytest

from symloss.paper import protocol
from symloss.paper.published import published_cells
from symloss.paper.results import Result

# How many trials the paper's numbers are of.
TRIALS = {"uci": protocol.TRIALS, "mnist": protocol.IMAGE_TRIALS, "cifar10": protocol.IMAGE_TRIALS}


def made_up_scores(mean, se, trials, rng):
    """Scores with a mean and, but for clipping, a standard error that are given."""
    scores = rng.normal(size=trials)
    scores = (scores - scores.mean()) / scores.std(ddof=1) * se * trials**0.5
    return np.clip(mean + scores, 0, 100).tolist()


@pytest.fixture
def made_up():
    """Make results of some families, each mean moved by ``shift`` standard errors times a standard normal number."""

    def make(*families, shift=1.0, datasets=None):
        rng = np.random.default_rng(0)
        scores = defaultdict(lambda: defaultdict(dict))
        for cell in published_cells():
            if cell.family in families and (datasets is None or cell.dataset in datasets):
                se = max(cell.se, 0.02)
                mean = cell.mean + shift * se * rng.normal()
                values = made_up_scores(mean, se, TRIALS[cell.family], rng)
                scores[cell.family, cell.dataset, cell.pi, cell.pi_prime][cell.risk][cell.loss] = values
        return [
            Result(family=family, dataset=dataset, pi=pi, pi_prime=pi_prime, trials=TRIALS[family], scores=values)
            for (family, dataset, pi, pi_prime), values in scores.items()
        ]

    return make
