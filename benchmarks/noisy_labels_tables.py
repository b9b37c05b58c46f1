"""The tables of noisy_labels.py, as Markdown."""

import textwrap
from collections.abc import Iterator, Sequence

from wild_comparison import OURS, Results, Table, standard_error
from wild_datasets import CHOSEN_ON, COUNTS, DATASETS, REPORTED_ON
from wild_noise import NOISES, SIZES_OF, TITLES, points

HEADLINE = (1000, "0.65/0.45")
HALVES = {
    "The reported data sets": (REPORTED_ON, "The pool and the rules are not chosen on these data sets"),
    "The data sets that the pool is chosen on": (CHOSEN_ON, "The pool and the rules are chosen on these data sets"),
}
NO_RESULTS = ["There are no results yet.", ""]
ANY_NOISE = """\
The best peer of a line above is another one for other labels, and one cannot know beforehand which. This is how far we
are ahead of each peer in the mean over all kinds of labels of a size, and on how many data sets.
"""
HOW_MANY = """\
Every data set takes part at every size. One that is too small for a size takes part with as many points per corrupted
class as leave a clean test set of 100 points per class; then it may have the same points at several sizes, and the
same results. The table shows the number of points per corrupted class where it is smaller than the size.
"""


def overview(results: Results) -> str:
    """Return the means over data sets: first those of the group that the pool is not chosen on."""
    lines = []
    for title, (half, text) in HALVES.items():
        lines += [f"## {title}", "", f"{text}: {', '.join(half)}.", "", *_summary(results, half)]
        lines += _any_noise(results, half)
        for table in results.tables(half):
            if table.draws:
                lines += [f"### {_title(table)}", "", *_note(table), *_means(table), ""]
    return "\n".join([*lines, *_numbers_of_points()])


def headline(results: Results) -> str:
    """Return a paragraph on the reported group, or what is missing for it."""
    size, noise = HEADLINE
    table = results.table(REPORTED_ON, size, noise)
    if len(table.datasets) < len(REPORTED_ON) or not table.can_compare:
        return f"The benchmark is not complete: {table.lacks}.\n"
    text = (
        f"These are means over the {len(table.datasets)} data sets on which the pool and the rules are not chosen, "
        f"with {size:,} training points per corrupted class (fewer if a data set is small) and {TITLES[noise]}"
        f"{f' ({table.lacks})' if table.lacks else ''}."
    )
    for score, ours in OURS.items():
        peer = table.best_peer(score)
        lead = table.lead(score, peer)
        text += (
            f" The {score} of `{ours}` on clean labels is {table.mean(ours, score):.1f} percent, and that of the best "
            f"of {len(table.peers)} other methods, {peer}, is {table.mean(peer, score):.1f} percent. The difference is "
            f"{lead.text} percentage points (± its standard error over data sets), and `{ours}` is ahead on "
            f"{lead.count} data sets."
        )
    return textwrap.fill(text, 120, break_on_hyphens=False) + "\n"


def by_dataset(results: Results) -> str:
    """Return the mean and the standard error over draws of every method on every data set."""
    lines = []
    for title, (half, _) in HALVES.items():
        tables = [table for table in results.tables(half) if table.draws]
        lines += [f"## {title}", "", *([] if tables else NO_RESULTS)]
        for table in tables:
            lines += [f"### {_title(table)}", "", *_note(table)]
            for score in OURS:
                lines += [f"| {score} | {' | '.join(table.datasets)} |", "|---|" + "--:|" * len(table.datasets)]
                lines += [f"| {_code(method)} | {_scores(table, method, score)} |" for method in table.methods]
                lines.append("")
    return "\n".join(lines)


def _summary(results: Results, half: Sequence[str]) -> list[str]:
    """Return a table with one line per size and noise: how far we are ahead of the best peer."""
    lines = []
    for table in results.tables(half):
        if table.can_compare:
            cells = [TITLES[table.noise] + (" (not complete)" if table.lacks else ""), f"{table.size:,}"]
            for score in OURS:
                peer = table.best_peer(score)
                lead = table.lead(score, peer)
                cells += [peer, lead.text, lead.count]
            lines.append(f"| {' | '.join(cells)} |")
    head = ["labels", "size"]
    for score, ours in OURS.items():
        head += [f"best peer in {score}", f"`{ours}` is ahead by", "sets ahead"]
    return [f"| {' | '.join(head)} |", "|---|--:|---|--:|--:|---|--:|--:|", *lines, ""] if lines else NO_RESULTS


def _any_noise(results: Results, half: Sequence[str]) -> list[str]:
    """Return a table with one line per peer: how far we are ahead in the mean over all kinds of labels."""
    sizes = sorted({size for sizes in SIZES_OF.values() for size in sizes})
    columns = [(size, score) for size in sizes for score in OURS]
    lines = []
    for peer in (method for method in results.methods if method not in OURS.values()):
        leads = [results.mean_lead(half, size, score, peer) for size, score in columns]
        if any(leads):
            cells = [f"{lead.text}, {lead.count}" if lead else "not complete" for lead in leads]
            lines.append(f"| {peer} | {' | '.join(cells)} |")
    head = [f"{score}, size {size:,}" for size, score in columns]
    title = ["### One method for all kinds of labels", "", ANY_NOISE]
    return [*title, f"| | {' | '.join(head)} |", "|---|" + "--:|" * len(head), *lines, ""] if lines else []


def _means(table: Table) -> Iterator[str]:
    """Yield the lines of a table with the mean of every method, and how far we are ahead of it."""
    head = [""]
    for score, ours in OURS.items():
        head += [score, f"`{ours}` is ahead by", "sets ahead"]
    yield f"| {' | '.join(head)} | seconds |"
    yield "|---|" + "--:|" * len(head)
    for method in sorted(table.methods, key=lambda method: -table.mean(method, "AUC")):
        cells = [_code(method)]
        for score, ours in OURS.items():
            value = f"{table.mean(method, score):.2f}"
            if method in table.peers and ours in table.methods:
                lead = table.lead(score, method)
                best = method == table.best_peer(score)
                cells += [f"**{value}**" if best else value, lead.text, lead.count]
            else:
                cells += [value, "", ""]
        yield f"| {' | '.join(cells)} | {table.mean(method, 'seconds'):.1f} |"


def _numbers_of_points() -> list[str]:
    """Return a table with the size of every data set, and the points that it has where a size asks for more."""
    asked = [(noise, size) for noise in NOISES for size in SIZES_OF[noise]]
    lines = ["## How many points", "", HOW_MANY]
    lines.append("| | positives | negatives | " + " | ".join(f"{noise}, {size:,}" for noise, size in asked) + " |")
    lines.append("|---|--:|--:|" + "--:|" * len(asked))
    for dataset in DATASETS:
        found = [(points(dataset, noise, size), size) for noise, size in asked]
        cells = [f"{n:,}" for n in COUNTS[dataset]] + [f"{n:,}" if n < size else "" for n, size in found]
        lines.append(f"| {dataset} | {' | '.join(cells)} |")
    return [*lines, ""]


def _title(table: Table) -> str:
    return f"{TITLES[table.noise]}, size {table.size:,}: {len(table.draws)} draws, data sets: {len(table.datasets)}"


def _note(table: Table) -> list[str]:
    return [f"Not complete: {table.lacks}.", ""] if table.lacks else []


def _scores(table: Table, method: str, score: str) -> str:
    found = [table.of(method, score, dataset) for dataset in table.datasets]
    return " | ".join(f"{of.mean():.1f}" + (f" ({standard_error(of):.1f})" if len(of) > 1 else "") for of in found)


def _code(method: str) -> str:
    return f"`{method}`" if method in OURS.values() else method
