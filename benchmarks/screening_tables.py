"""Judge pools and rules by the scores that screening.py has stored; write screening.csv and screening.md.

All numbers are AUCs on clean test labels, in percent. Averages are by the rule of AUCClassifierCV, unless said.
"""

import argparse
import csv
from io import StringIO
from pathlib import Path

import numpy as np
from scipy.stats import rankdata
from screening import DRAWS, PEERS
from screening_candidates import KINDS

from symloss.estimators.judging import AUC
from symloss.files import write_whole

NOISES = tuple(DRAWS)
COLUMNS = ("section", "name", "noise", "auc", "gain", "standard_error")
POOL = 14  # the first names of a file are those of the pool
TEMPERATURE, LEAST_WEIGHT = 0.7, 0.03  # of the library


class Draw:
    """The scores of one draw, and what weights need of them: means over folds, and covariances of these."""

    def __init__(self, path):
        with np.load(path) as file:
            stored = {name: file[name] for name in file.files}
        self.dataset, noise, _ = path.stem.rsplit("-", 2)
        self.noise, self.names, self.y_test = noise.replace("_", "/"), stored["names"].tolist(), stored["y_test"]
        positive, weight = stored["positive"], stored["weight"].astype(float)
        noisy, clean = stored["noisy"].astype(float), stored["clean"].astype(float)
        mean = np.average(noisy, axis=1, weights=weight)[:, None]
        scale = np.sqrt(np.average((noisy - mean) ** 2, axis=1, weights=weight))[:, None]
        self.noisy, self.clean = (noisy - mean) / scale, (clean - mean) / scale
        self.peers = dict(zip(PEERS, (self.auc(scores) for scores in stored["peers"]), strict=True))
        self._labels = positive, weight, [np.flatnonzero(stored["fold"] == k) for k in range(5)]
        self.means, self.covariance = _judged(noisy, *self._labels)

    def auc(self, scores):
        """Return the clean AUC of scores of the test points, in percent."""
        ranks, n = rankdata(scores)[self.y_test], self.y_test.sum()
        return 100 * (ranks.sum() - n * (n + 1) / 2) / (n * (len(scores) - n))

    def weights(self, members, temperature=TEMPERATURE):
        """Return the weights of members in an average."""
        return _weights(self.means[members], self.covariance[np.ix_(members, members)], temperature)

    def average(self, members, temperature=TEMPERATURE, equal=0.0):
        """Return the clean AUC of an average; equal: the share of the weight that all members get equally."""
        members = np.array(sorted(members))
        weights = (1 - equal) * self.weights(members, temperature) + equal / len(members)
        used = weights > 0
        return self.auc(weights[used] @ self.clean[members[used]])

    def average_of_families(self):
        """Return the clean AUC of an average of families, whose members have equal weights."""
        members = [[self.names.index(name) for name in family] for family in FAMILIES]
        noisy, clean = (np.array([of[m].mean(0) for m in members]) for of in (self.noisy, self.clean))
        scale = noisy.std(1)
        weights = _weights(*_judged(noisy, *self._labels), TEMPERATURE) / scale
        return self.auc(weights @ clean)

    def average_of_ranks(self, members):
        """Return the clean AUC of an average of ranks among the held-out scores, with the same weights."""
        weights = self.weights(np.array(members))
        ranks = [np.searchsorted(np.sort(self.noisy[k]), self.clean[k]) for k in members]
        return self.auc(weights @ np.array(ranks))


def _judged(noisy, positive, weight, rows):
    """Return the mean scores over folds, and their covariances."""
    ((score, contributions),) = AUC.weighed_by
    of_folds = [[(scores[test], positive[test], weight[test]) for test in rows] for scores in noisy]
    means = np.array([np.mean([score(*fold) for fold in of]) for of in of_folds])
    points = np.array([np.concatenate([contributions(*fold) for fold in of]) for of in of_folds])
    return means, _covariance(points, positive[np.concatenate(rows)], weight[np.concatenate(rows)])


def _weights(means, covariance, temperature):
    """Return the weights of ``weights_of_average``, from covariances of all pairs that are computed once."""
    best, own = int(np.argmax(means)), np.diag(covariance)
    error = np.sqrt(np.maximum(own + own[best] - 2 * covariance[best], 0))
    gap = means[best] - means
    behind = np.divide(gap, error, out=np.where(gap > 0, np.inf, 0.0), where=error > 0)
    weights = np.exp(-0.5 * (behind / temperature) ** 2)
    weights[weights < LEAST_WEIGHT] = 0
    return weights / weights.sum()


def _covariance(points, positive, weight):
    """Return the covariances of scores, from what points contribute to each (``standard_error_of_difference``)."""
    total = 0.0
    for of_class in (positive, ~positive):
        share = weight[of_class] / weight[of_class].sum()
        centered = points[:, of_class] - (points[:, of_class] @ share)[:, None]
        total = total + (centered * share) @ centered.T / weight[of_class].sum()
    return total


FAMILIES = (
    ("trees, leaves of 20", "trees, leaves of 100", "trees, 40% pruned"),
    ("trees, leaves of 5", "trees, 20% pruned"),
    ("trees, leaves of 1",),
    ("linear, unhinged", "linear, 20% pruned"),
    ("linear, logistic",),
    ("boosting, 60 small trees",),
    ("boosting, 100 trees",),
    ("kernel",),
    ("Gaussian process", "Gaussian process, 10% pruned"),
)
TODAY = "today's"
LEAVE = ("trees, leaves of 100", "trees, leaves of 5", "trees, leaves of 1", "linear, logistic", "kernel")


class Screening:
    """All draws, and gains over the pool of today, by data set."""

    def __init__(self, draws):
        self.draws, self.names = draws, draws[0].names
        self.sets = sorted({draw.dataset for draw in draws})
        self.pool = list(range(POOL))
        self.today = np.array([draw.average(self.pool) for draw in draws])
        self._known = {}

    def by_set(self, values, noise):
        """Return the mean over draws of each data set."""
        return np.array(
            [
                np.mean(
                    [v for v, of in zip(values, self.draws, strict=True) if (of.dataset, of.noise) == (name, noise)]
                )
                for name in self.sets
                if any((of.dataset, of.noise) == (name, noise) for of in self.draws)
            ]
        )

    def gains(self, members):
        """Return the gains of a pool at both noises, by data set."""
        key = frozenset(members)
        if key not in self._known:
            values = [
                of.average(members) - today if of.noise != "1/0" else np.nan
                for of, today in zip(self.draws, self.today, strict=True)
            ]
            self._known[key] = np.mean([self.by_set(values, noise) for noise in NOISES[:2]], 0)
        return self._known[key]

    def greedy(self, left_out, among, steps):
        """Add or remove one candidate at a time, as long as the mean gain over the other data sets grows by .005."""
        others = np.array([name != left_out for name in self.sets])
        members, best = frozenset(self.pool), 0.0
        for _ in range(steps):
            moves = [members ^ {k} for k in among]
            values = [self.gains(move)[others].mean() for move in moves]
            if max(values) <= best + 0.005:
                break
            members, best = moves[int(np.argmax(values))], max(values)
        return sorted(members)

    def selected(self, among, steps):
        """Return values of pools that are chosen without the data set that they are judged on, and on all of them."""
        pools = {name: self.greedy(name, among, steps) for name in self.sets}
        everywhere = self.greedy(None, among, steps)
        blind = [of.average(pools[of.dataset]) for of in self.draws]
        return blind, [of.average(everywhere) for of in self.draws]


def rows_of(screening):
    """Yield the section, the name and the values by draw of every row of the tables."""
    draws, pool, every = screening.draws, screening.pool, list(range(len(screening.names)))
    for leaf in PEERS:
        yield "alone", f"extra trees, leaves of {leaf}, 300 trees", [of.peers[leaf] for of in draws]
    for k, name in enumerate(screening.names):
        yield "alone", name, [of.auc(of.clean[k]) for of in draws]
    for k in every[POOL:]:
        yield "with", screening.names[k], [of.average([*pool, k]) for of in draws]
    for k in pool:
        yield "without", screening.names[k], [of.average([m for m in pool if m != k]) for of in draws]
    yield "average", TODAY, screening.today
    start = POOL
    for kind, size in zip(KINDS, SIZES, strict=True):
        yield "average", f"with all {size}: {kind}", [of.average([*pool, *range(start, start + size)]) for of in draws]
        start += size
    yield "average", f"all {len(every)}", [of.average(every) for of in draws]
    yield "average", "only the new ones", [of.average(every[POOL:]) for of in draws]
    for temperature in (0.5, 1.0, 1.4):
        yield "average", f"temperature {temperature}", [of.average(pool, temperature) for of in draws]
    for share in (0.1, 0.2, 0.4):
        yield "average", f"{share:.0%} of the weight shared equally", [of.average(pool, equal=share) for of in draws]
    families = [of.average_of_families() for of in draws]
    yield "average", f"{len(FAMILIES)} families, equal weights inside", families
    name = "rotated parts, leaves of 20"
    fewer = [k for k in pool if screening.names[k] not in LEAVE] + [screening.names.index(name)]
    by_hand = [of.average(fewer) for of in draws]
    yield "average", f"without 5 of today's, with {name}, chosen by hand on all data sets (flatters)", by_hand
    yield "average", "ranks instead of scores", [of.average_of_ranks(pool) for of in draws]
    for title, among, steps in (("fewer of today's", pool, 8), ("5 changes", every, 5)):
        blind, flattered = screening.selected(among, steps)
        yield "average", f"{title}, chosen without the data set", blind
        yield "average", f"{title}, chosen on all data sets (flatters)", flattered
    yield "average", "the best of the pool in each draw, as if one knew", [of.auc(of.clean[_best(of)]) for of in draws]


SIZES = (10, 10, 4, 13, 2)  # candidates of each kind


def _best(draw):
    return int(np.argmax([draw.auc(scores) for scores in draw.clean[:POOL]]))


def summaries(screening):
    """Return (section, name, noise, AUC, gain over today's average, its standard error over data sets) of every row."""
    found = []
    for section, name, values in rows_of(screening):
        for noise in NOISES:
            gain = screening.by_set(np.array(values) - screening.today, noise)
            error = gain.std(ddof=1) / np.sqrt(len(gain))
            numbers = screening.by_set(values, noise).mean(), gain.mean(), error
            found.append((section, name, noise, *(f"{number:.3f}" for number in numbers)))
    return found


def markdown(found):
    """Return the tables of averages and of candidates."""
    cells = {(section, name, noise): tuple(map(float, numbers)) for section, name, noise, *numbers in found}
    heads = [f"({noise.replace('/', ', ')})" if noise != "1/0" else "clean" for noise in NOISES]
    today = [f"{cells['average', TODAY, noise][0]:.2f}" for noise in NOISES]
    lines = [f"| average | {' | '.join(heads)} |", "|---|--:|--:|--:|", f"| today's: AUC | {' | '.join(today)} |"]
    for name in dict.fromkeys(name for section, name, *_ in found if section == "average"):
        if name == TODAY:
            continue
        gains = [cells["average", name, noise] for noise in NOISES]
        lines.append(f"| {name} | " + " | ".join(f"{gain:+.2f} ± {error:.2f}" for _, gain, error in gains) + " |")
    lines += ["", f"| candidate | {' | '.join(f'alone, {head}' for head in heads)} | gain, {' | gain, '.join(heads)} |"]
    lines.append("|---|" + "--:|" * 6)
    alone = dict.fromkeys(name for section, name, *_ in found if section == "alone")
    for name in sorted(alone, key=lambda name: -cells["alone", name, NOISES[0]][0]):
        scores = " | ".join(f"{cells['alone', name, noise][0]:.2f}" for noise in NOISES)
        if ("with", name, NOISES[0]) in cells:
            gains = [cells["with", name, noise][1] for noise in NOISES]
        elif ("without", name, NOISES[0]) in cells:
            gains = [0.0 - cells["without", name, noise][1] for noise in NOISES]
        else:
            gains = []
        shown = " | ".join(f"{gain:+.2f}" for gain in gains) or " | | "
        lines.append(f"| {f'**{name}**' if ('without', name, NOISES[0]) in cells else name} | {scores} | {shown} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scores", type=Path, help="if not given, screening.md is written from screening.csv")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    path = arguments.out / "screening.csv"
    if arguments.scores:
        screening = Screening([Draw(of) for of in sorted(arguments.scores.glob("*.npz"))])
        write_whole(path, written([COLUMNS, *summaries(screening)]))
    write_whole(path.with_suffix(".md"), markdown(read(path)))


def written(rows):
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def read(path):
    with path.open(newline="") as file:
        return [tuple(row) for row in csv.reader(file)][1:]


if __name__ == "__main__":
    main()
