"""What could be silently wrong in benchmarks/noisy_labels.py: groups, draws, rates of noise, resumed runs, means."""

import importlib
import itertools
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import symloss as sl
from symloss.estimators.judging import auc_contributions, weights_of_average

BENCHMARKS = Path(sl.__file__).parents[2] / "benchmarks"
if not BENCHMARKS.exists():
    pytest.skip("installed from a wheel", allow_module_level=True)
sys.path.insert(0, str(BENCHMARKS))
datasets, noise, results, comparison, tables, figure, benchmark = map(
    importlib.import_module,
    [
        "wild_datasets", "wild_noise", "wild_results", "wild_comparison", "noisy_labels_tables", "noisy_labels_figure",
        "noisy_labels",
    ],
)  # fmt: skip
QUICK = ["--datasets", "breast_cancer,digits", "--sizes", "200", "--noises", "0.8/0.3,annotators", "--draws", "0"]


def test_no_data_set_is_both_chosen_on_and_reported():
    assert set(datasets.CHOSEN_ON).isdisjoint(datasets.REPORTED_ON)
    assert set(datasets.CHOSEN_ON) | set(datasets.REPORTED_ON) == set(datasets.DATASETS)
    assert set(datasets.DATASETS) == set(datasets.COUNTS)
    assert (len(datasets.CHOSEN_ON), len(datasets.REPORTED_ON)) == (120, 69)


@pytest.mark.parametrize("name", ["breast_cancer", "clusters", "digits", "hastie"])
def test_data_sets_of_scikit_learn_have_the_counts_that_are_stated(name):
    X, y = datasets.load(name)
    assert len(X) == len(y) == sum(datasets.COUNTS[name])
    assert set(y) == {-1, 1}


@pytest.mark.parametrize(("name", "classes", "positive"), [
    ("marketing", "1 5 6 9", [2, 3]), ("penbased", "0 1 2 9", [0, 2]), ("segment", "1 3 4 7", [0, 1]),
    ("texture", "2 3 4 6 7 8 9 10 12 13 14", [0, 2, 4, 6, 8, 10]), ("splice", "EI IE N N", [2, 3]),
])  # fmt: skip
@pytest.mark.parametrize("header", ["", "@relation made up\n@data\n"])
def test_files_of_keel(tmp_path, monkeypatch, name, classes, positive, header):
    values = "ACGT" if name == "splice" else "1234"
    lines = [f"{values[i % 4]}, {values[0]}, {label}\n" for i, label in enumerate(classes.split())]
    (tmp_path / "keel").mkdir()
    missing = lines[0].replace(values[0], "<null>", 1)
    (tmp_path / "keel" / f"{name}.dat").write_text(header + "".join(lines) + missing)
    monkeypatch.setenv("SYMLOSS_DATA", str(tmp_path))
    monkeypatch.setitem(datasets.COUNTS, name, (len(positive), len(lines) - len(positive)))
    X, y = datasets.load.__wrapped__(name)
    assert np.flatnonzero(y > 0).tolist() == positive
    assert X.shape == (len(lines), 5 if name == "splice" else 2)
    monkeypatch.setitem(datasets.COUNTS, name, (1, 1))
    with pytest.raises(ValueError, match=f"{name} must have"):
        datasets.load.__wrapped__(name)


def test_tables_of_r(tmp_path, monkeypatch):
    (tmp_path / "r").mkdir()
    lines = ["switch,arsenic,association", "yes,2.5,no", "no,0.5,yes", "yes,NA,no", "no,1.5,no"]
    (tmp_path / "r" / "Wells.csv").write_text("\n".join(lines))
    monkeypatch.setenv("SYMLOSS_DATA", str(tmp_path))
    monkeypatch.setitem(datasets.COUNTS, "wells", (1, 2))
    X, y = datasets.load.__wrapped__("wells")
    assert y.tolist() == [1, -1, -1]  # without the row that lacks a value
    assert X.tolist() == [[2.5, 1, 0], [0.5, 0, 1], [1.5, 1, 0]]
    with pytest.raises(FileNotFoundError, match=r"r_tables\.R"):
        datasets.load.__wrapped__("smokers")


@pytest.mark.parametrize("kind", noise.NOISES)
def test_every_data_set_takes_part_with_as_many_points_as_leave_a_test_set(kind):
    for name, size in itertools.product(datasets.DATASETS, noise.SIZES_OF[kind]):
        n = noise.points(name, kind, size)
        left = [have - used for have, used in zip(datasets.COUNTS[name], noise.clean_counts(kind, n), strict=True)]
        more = [have - used for have, used in zip(datasets.COUNTS[name], noise.clean_counts(kind, n + 1), strict=True)]
        assert 90 <= n <= size
        assert min(left) >= 100
        assert n == size or min(more) < 100
        assert size in noise.same_sizes(name, kind, size)


def rows_of(X):
    return [row.tobytes() for row in np.ascontiguousarray(X, dtype=float)]


@pytest.mark.parametrize("kind", noise.NOISES)
@pytest.mark.parametrize("name", ["breast_cancer", "hastie"])
def test_draws_have_the_stated_labels_and_a_clean_balanced_test_set(name, kind):
    X, y = datasets.load(name)
    clean = dict(zip(rows_of(X), y, strict=True))
    size = noise.SIZES_OF[kind][0]
    n = noise.points(name, kind, size)
    drawn = noise.draw(name, size, kind, 0)
    assert not set(rows_of(drawn.X)) & set(rows_of(drawn.X_test))
    assert len(set(rows_of(drawn.X))) == len(drawn.X) == 2 * n
    assert [clean[row] for row in rows_of(drawn.X_test)] == drawn.y_test.tolist()
    assert 200 <= len(drawn.y_test) <= 1000
    assert drawn.y_test.sum() == 0
    true = np.array([clean[row] for row in rows_of(drawn.X)])
    assert ((true > 0).sum(), (true < 0).sum()) == noise.clean_counts(kind, n)
    if kind != "annotators":
        pi, pi_prime = (0.8, 0.3) if kind == "border" else map(float, kind.split("/"))
        assert (drawn.y > 0).sum() == n
        assert (true[drawn.y > 0] > 0).sum() == round(pi * n)
        assert (true[drawn.y < 0] > 0).sum() == round(pi_prime * n)


@pytest.mark.parametrize("kind", ["0.65/0.45", "border", "annotators"])
def test_draws_depend_on_nothing_but_their_names(kind):
    size = noise.SIZES_OF[kind][0]
    first = noise.draw("breast_cancer", size, kind, 0)
    other = noise.draw("breast_cancer", size, kind, 1)
    again = noise.draw("breast_cancer", size, kind, 0)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first.X, other.X)
    assert set(rows_of(first.X_test)) != set(rows_of(other.X_test))


def test_labels_are_wrong_mostly_near_the_border():
    generator = np.random.default_rng(0)
    y = np.repeat([1, -1], [440, 360])
    X = (y * generator.uniform(0, 3, len(y)))[:, None]  # the border is at 0
    noisy = noise.near_the_border(X, y, 400, generator)
    flipped = noisy != y
    assert (flipped[y > 0].sum(), flipped[y < 0].sum()) == (120, 80)
    near, middle, far = (flipped[np.abs(X[:, 0]) // 1 == part].mean() for part in range(3))
    assert near > 1.3 * middle > 1.3 * far > 0


def test_the_majority_is_wrong_as_often_as_the_skills_say():
    y = np.repeat([1, -1], 20_000)
    wrong = noise.by_majority(y, np.random.default_rng(0)) != y
    expected = np.mean([
        sum(
            np.prod([s if right else 1 - s for s, right in zip(skills, case, strict=True)])
            for case in itertools.product([True, False], repeat=3)
            if sum(case) < 2
        )
        for skills in itertools.combinations(noise.SKILLS, 3)
    ])  # fmt: skip
    assert wrong[y > 0].mean() == pytest.approx(expected, abs=0.015)  # about five standard errors
    assert wrong[y < 0].mean() == pytest.approx(expected, abs=0.015)


def row(dataset="adult", size=1000, kind="0.65/0.45", draw=0, method="a", auc=90.0, accuracy=80.0):
    return results.Row(dataset, size, kind, draw, method, auc, accuracy, 1.0)


def test_rows_that_several_runs_add_at_once_are_all_kept(tmp_path):
    path = tmp_path / "new" / "noisy_labels.csv"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda draw: results.add_rows(path, [row(draw=draw)]), range(40)))
    results.add_rows(path, [row(draw=3, auc=10.0)])  # known already
    assert results.read_rows(path) == [row(draw=draw) for draw in range(40)]
    assert [file.name for file in path.parent.iterdir()] == ["noisy_labels.csv"]


def test_a_resumed_run_repeats_nothing_and_the_order_does_not_matter(tmp_path, monkeypatch):
    quick = {name: benchmark.METHODS[name] for name in ("logistic regression", "LightGBM")}
    ran = []
    run = benchmark.run
    monkeypatch.setattr(benchmark, "run", lambda cell, names: ran.append((cell, names)) or run(cell, names))
    first, second = tmp_path / "first", tmp_path / "second"
    for name in quick:
        assert benchmark.main([*QUICK, "--methods", name, "--out", str(first)]) == 0
    assert len(ran) == 4  # two methods and two data sets; annotators have no size of 200
    assert benchmark.main([*QUICK, "--methods", ",".join(quick), "--out", str(first)]) == 0
    assert len(ran) == 4
    assert benchmark.main([*QUICK, "--methods", ",".join([*quick][::-1]), "--out", str(second)]) == 0
    found = [results.read_rows(folder / "noisy_labels.csv") for folder in (first, second)]
    assert [row[:-1] for row in found[0]] == [row[:-1] for row in found[1]]
    keys = {(row.dataset, row.size) for row in found[0]}
    assert keys == {("breast_cancer", 200), ("breast_cancer", 1000), ("breast_cancer", 5000), ("digits", 200)}


def test_a_method_that_fails_is_named_and_tried_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(benchmark.METHODS, "LightGBM", lambda seed: sl.AUCClassifier(model="nonsense"))
    arguments = [*QUICK, "--methods", "LightGBM,logistic regression", "--out", str(tmp_path)]
    assert benchmark.main(arguments) == 1
    assert "LightGBM failed at breast_cancer, 200, 0.8/0.3, 0" in capsys.readouterr().err
    assert {row.method for row in results.read_rows(tmp_path / "noisy_labels.csv")} == {"logistic regression"}
    assert benchmark.main(arguments) == 1
    assert "LightGBM failed" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [
    ["--datasets", "iris"], ["--half", "reported", "--datasets", "digits"], ["--sizes", "300"],
    ["--methods", "oracle"], ["--draws", "9"],
])  # fmt: skip
def test_unknown_parts_end_the_program(tmp_path, wrong):
    with pytest.raises(SystemExit, match="2"):
        benchmark.main([*wrong, "--out", str(tmp_path)])


def test_a_peer_that_is_not_installed_is_not_left_out_in_silence(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(benchmark, "find_spec", lambda package: None)
    with pytest.raises(SystemExit, match="2"):
        benchmark.main([*QUICK, "--out", str(tmp_path)])
    assert "LightGBM needs the package lightgbm" in capsys.readouterr().err


METHODS = ["AUCClassifierCV", "BERClassifierCV", "a", "b"]
HALF = ("adult", "w8a")
AUCS = {"AUCClassifierCV": (90, 80), "BERClassifierCV": (10, 10), "a": (88, 81), "b": (89, 60)}


def made_up(draws=2, half=HALF):
    return [
        row(dataset=dataset, draw=draw, method=method, auc=aucs[place % 2] + draw, accuracy=100.0 - aucs[place % 2])
        for place, dataset in enumerate(half)
        for draw in range(draws)
        for method, aucs in AUCS.items()
    ]


def test_leads_are_paired_differences_over_data_sets():
    table = comparison.Table(made_up(), HALF, 1000, "0.65/0.45", METHODS, 2)
    assert not table.lacks
    assert table.best_peer("AUC") == "a"
    assert table.mean("a", "AUC") == 85  # of 88.5 and 81.5
    lead = table.lead("AUC", "a")
    assert lead == pytest.approx((0.5, 1.5, 1, 2))  # of +2 and -1
    assert lead.text == "+0.50 ± 1.50"
    assert table.best_peer("balanced accuracy") == "b"
    assert table.lead("balanced accuracy", "b").mean == 90 - 25.5


def test_only_draws_that_all_methods_have_are_compared():
    rows = [each for each in made_up() if each.key != row("w8a", draw=1, method="b").key]
    table = comparison.Table(rows, HALF, 1000, "0.65/0.45", [*METHODS, "c"], 2)
    assert table.draws == [("adult", 0), ("adult", 1), ("w8a", 0)]
    assert table.lacks == "3 of 4 draws, without c"
    assert table.mean("a", "AUC") == (88.5 + 81) / 2
    other = comparison.Table(rows, HALF, 200, "0.65/0.45", METHODS, 2)
    assert not other.draws
    assert not other.can_compare


def test_pages_say_what_is_missing_and_which_group_is_which(tmp_path):
    n = len(datasets.REPORTED_ON)
    rows = made_up(half=datasets.REPORTED_ON) + made_up(half=datasets.CHOSEN_ON)
    complete = comparison.Results(rows, METHODS, 2)
    part = comparison.Results(rows[1:], METHODS, 2)
    assert f"ahead on {(n + 1) // 2} of {n} data sets" in " ".join(tables.headline(complete).split())
    assert f"(0.65, 0.45) ({2 * n - 1} of {2 * n} draws). The AUC of" in " ".join(tables.headline(part).split())
    few = comparison.Results([row for row in rows if row.dataset != datasets.REPORTED_ON[0]], METHODS, 2)
    assert tables.headline(few) == f"The benchmark is not complete: {2 * n - 2} of {2 * n} draws.\n"
    page = tables.overview(complete)
    reported, chosen = page.split("## The data sets that the pool is chosen on")
    assert reported.count("### (π, π′) = (0.65, 0.45), size 1,000") == chosen.count("### (π, π′)") == 1
    assert "not complete" not in page.lower()
    assert f"Not complete: {2 * n - 1} of {2 * n} draws." in tables.overview(part)
    assert f"| AUC | {' | '.join(datasets.REPORTED_ON)} |" in tables.by_dataset(complete)
    assert "There are no results yet." in tables.overview(comparison.Results([], METHODS, 2))
    figure.draw_figure(complete, tmp_path / "figure.svg")
    figure.draw_figure(part, tmp_path / "part.svg")
    figure.draw_figure(comparison.Results([], METHODS, 2), tmp_path / "empty.svg")
    assert (tmp_path / "figure.svg").read_text() != (tmp_path / "empty.svg").read_text()


wrong_labels = importlib.import_module("wrong_labels")


@pytest.mark.parametrize("kind", wrong_labels.NOISES)
def test_labels_are_flipped_at_the_rate_that_is_stated(kind):
    cell = wrong_labels.Cell("hastie", kind, 0.2, 0)
    X, y, wrong = wrong_labels.draw(cell)
    assert len(X) == len(y) == len(wrong) == wrong_labels.POINTS
    assert wrong.mean() == pytest.approx(0.2, abs=0.03)
    clean = np.where(wrong, -y, y)
    rates = sorted(wrong[clean == label].mean() for label in (-1, 1))
    assert rates[1] / rates[0] == pytest.approx(3 if kind == wrong_labels.BY_CLASS else 1, rel=0.3)
    np.testing.assert_array_equal(wrong_labels.draw(cell)[2], wrong)


def test_rankings_are_scored_and_rows_survive_the_file(tmp_path, monkeypatch):
    def truth(X, y, seed):
        return {"perfect": np.where(wrong_labels.draw(cell)[2], 0.0, 1.0), "the reverse, of it": X[:, 0]}

    cell = wrong_labels.Cell("breast_cancer", wrong_labels.UNIFORM, 0.1, 1)
    monkeypatch.setitem(wrong_labels.METHODS, "truth", truth)
    rows = wrong_labels.run(cell, "truth")
    assert (rows[0].average_precision, rows[0].precision_at_k) == (100, 100)
    assert rows[1].average_precision < 50
    wrong_labels.add_rows(tmp_path / "rows.csv", rows, wrong_labels.Row)
    again = wrong_labels.read_rows(tmp_path / "rows.csv", wrong_labels.Row)
    assert [row.key for row in again] == [row.key for row in rows]
    lines = wrong_labels.table(again, "average_precision").splitlines()
    assert lines[0] == "| labels flipped | 10% |"
    assert "| perfect | **100.0** |" in lines


def test_the_page_on_times_is_of_the_committed_rows():
    assert importlib.import_module("seconds").table() == (BENCHMARKS / "results" / "seconds.md").read_text()


def test_the_times_of_the_cv_forms_are_those_of_a_process_and_all_that_it_starts():
    cv_seconds = importlib.import_module("cv_seconds")
    X, noisy, X_test, y_test = cv_seconds.drawn(500, 20)
    assert (X.shape, len(noisy), X_test.shape, len(y_test)) == ((500, 20), 500, (20_000, 20), 20_000)
    assert cv_seconds.made("BERClassifierCV(n_jobs=-1)", 60).get_params()["time_limit"] == 60
    assert cv_seconds.made("AUCClassifierCV()", None).n_jobs is None
    if Path("/proc/self/smaps_rollup").exists():
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
            assert cv_seconds.family(os.getpid())[0] == os.getpid()
            assert child.pid in cv_seconds.family(os.getpid())
            assert 0 < cv_seconds.memory(child.pid) < cv_seconds.memory(os.getpid())
    forest, found = ({"seconds": seconds, "busy": 3.0, "auc": 90.0, "memory": 1.5} for seconds in (2.0, 9.0))
    assert cv_seconds.line("AUCClassifierCV()", 2000, 36, forest, found) == (
        "| 2,000 x 36 | `AUCClassifierCV()` | 9.0 | 2.00 | 4.5 | 3 | 1.5 | 90.0 (90.0) |"
    )
    without_extra = {"failed": "symloss: error: needs an extra", "memory": 0.1}
    assert cv_seconds.line("symloss fit", 2000, 36, forest, without_extra) == (
        "| 2,000 x 36 | `symloss fit` | failed: symloss: error: needs an extra | | | | | |"
    )


def test_screened_averages_have_the_weights_of_the_library_and_the_page_is_of_the_committed_rows(tmp_path):
    screening = importlib.import_module("screening_tables")
    random = np.random.default_rng(0)
    positive, fold, weight = np.arange(200) % 2 == 0, np.arange(200) // 2 % 5, random.integers(1, 3, 200)
    noisy = (random.standard_normal((4, 200)) + np.outer([0.9, 1, 1.1, 0.2], positive)).astype(np.float32)
    path = tmp_path / "two-moons-0.8_0.3-1.npz"
    np.savez(
        path, names=list("abcd"), noisy=noisy, clean=noisy, peers=noisy[:2], positive=positive, weight=weight,
        fold=fold, y_test=positive,
    )  # fmt: skip
    draw = screening.Draw(path)
    assert (draw.dataset, draw.noise) == ("two-moons", "0.8/0.3")
    rows = [np.flatnonzero(fold == k) for k in range(5)]
    parts = np.array([np.concatenate([auc_contributions(of[k], positive[k], weight[k]) for k in rows]) for of in noisy])
    means = np.array([np.mean([sl.metrics.auc(of[k], positive[k], weight[k]) for k in rows]) for of in noisy])
    order = np.concatenate(rows)
    expected = weights_of_average(means, parts, positive[order], weight[order], 0.7)
    np.testing.assert_allclose(draw.weights(np.arange(4)), expected, rtol=1e-6, atol=1e-9)
    assert (expected > 0).sum() > 1

    committed = BENCHMARKS / "results" / "screening.csv"
    assert committed.with_suffix(".md").read_text() == screening.markdown(screening.read(committed))
