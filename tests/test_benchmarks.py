"""What could be silently wrong in benchmarks: groups, rates of noise, rows that are learned from and judged by."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import symloss as sl

if not (Path(sl.__file__).parents[2] / "benchmarks").exists():
    pytest.skip("installed from a wheel", allow_module_level=True)
from benchmarks import noisy_labels, tables

README = Path(__file__).parents[1] / "README.md"


def test_no_table_is_both_chosen_on_and_reported():
    groups = [{record["name"] for record in tables.records(group)} for group in ("chosen", "reported", "new")]
    assert [*map(len, groups)] == [120, 69, 57]
    assert len(set.union(*groups)) == 246
    results = pd.read_csv(noisy_labels.RESULTS)
    assert set(results["table"]) == groups[2]
    for _, of in results[results["size"] == 1000].groupby(["noise", "draw", "method"])["table"]:
        assert sorted(of) == sorted(groups[2])[: len(of)]  # all, or the first by name: none is picked
    main = results[results["size"].eq(1000) & results["draw"].eq(0)]
    counts = main.groupby(["noise", "method"]).size().unstack()[[*noisy_labels.QUICK]]
    assert (counts == 57).all(axis=None)


@pytest.mark.parametrize("noise", tables.NOISES)
def test_draws_have_the_shares_of_wrong_labels_that_they_state(noise):
    x = np.random.default_rng(0).normal(size=(3000, 3)).astype(np.float32)
    found = tables.draw((x, (x[:, 0] > 0).astype(np.int8)), noise, 500, seed=0)
    pi, pi_prime = tables.NOISES[noise]
    assert found.clean[found.given].mean() == pytest.approx(pi, abs=0.002)
    assert found.clean[~found.given].mean() == pytest.approx(pi_prime, abs=0.002)
    assert np.array_equal(found.clean, found.x[:, 0] > 0)  # rows and labels belong together
    assert not {row.tobytes() for row in found.x} & {row.tobytes() for row in found.x_new}


def test_a_draw_that_takes_all_rows_of_a_class_has_a_label_for_each_row():
    x = np.arange(3000, dtype=np.float32)[:, None]  # 693 positives are left: 630 * .65 and 630 * .45 round to 694
    found = tables.draw((x, (x[:, 0] < 1039).astype(np.int8)), "35% and 45% wrong", 1000, seed=0)
    assert len(found.x) == len(found.given) == 2 * 629


def test_the_page_and_the_readme_have_means_and_differences_of_the_same_draws():
    results = pd.read_csv(noisy_labels.RESULTS).query("size == 1000")
    clean = results[results["noise"] == "clean"].pivot(index=["table", "draw"], columns="method", values="auc")
    line = next(line for line in noisy_labels.page(results).splitlines() if line.startswith("LightGBM"))
    mean, ahead = clean["LightGBM"].mean(), (clean["AUCClassifierCV"] - clean["LightGBM"]).mean()
    assert line.split()[3:5] == [f"{mean:.1f}", f"{ahead:.1f}"]
    names = {"**symloss**": "AUCClassifierCV", "average of five models": "average of five", "CatBoost": "CatBoost",
             "best of a grid of 14, tuned on the noisy labels": "tuned grid of 14", "LightGBM": "LightGBM",
             "cleanlab around a tuned forest": "cleanlab, tuned forest", "random forest": "random forest"}  # fmt: skip
    means = results.groupby(["method", "noise"])["auc"].mean().round(1)
    rows = [line.strip("| ").split(" | ") for line in README.read_text().splitlines() if line.startswith("| ")]
    for name, *said in (row for row in rows if row[0] in names):
        assert [float(number.strip("*")) for number in said] == list(means[names[name]][[*tables.NOISES][:4]])
    assert {row[0] for row in rows} >= names.keys()
