import numpy as np
import pytest

from symloss.datasets import load, make_twonorm, make_waveform, where


def test_twonorm_and_waveform_are_drawn_where_there_is_no_file(register, site):
    assert where("twonorm") == ["generator"]
    register("twonorm", {"twonorm.dat": b"0"}, [(f"{site.url}/absent", {"twonorm.dat": None})])
    drawn = load("twonorm")
    assert len(site.asked) == 1
    assert drawn.data.shape == (7400, 20)
    assert drawn.origin == "Breiman's generator, random_state=0"
    np.testing.assert_array_equal(drawn.data, make_twonorm(random_state=0).data)
    waveform = load("waveform", negative="2", download=False)
    assert set(waveform.labels.tolist()) == {1, 2}


def test_twonorm_has_breimans_distribution():
    drawn = make_twonorm(40_000, random_state=1)
    mean = 2 / np.sqrt(20)
    for target, sign in ((1, -1), (-1, 1)):
        rows = drawn.data[drawn.target == target]
        np.testing.assert_allclose(rows.mean(axis=0), sign * mean, atol=0.03)
        np.testing.assert_allclose(np.cov(rows.T), np.eye(20), atol=0.05)
    assert abs((drawn.target == 1).mean() - 0.5) < 0.01


def test_waveform_has_breimans_distribution():
    drawn = make_waveform(60_000, random_state=1)
    points = np.arange(1, 22)
    waves = {center: np.maximum(6 - abs(points - center), 0) for center in (7, 11, 15)}
    for label, (one, other) in enumerate([(7, 15), (7, 11), (11, 15)]):
        rows = drawn.data[drawn.labels == label]
        np.testing.assert_allclose(rows.mean(axis=0), (waves[one] + waves[other]) / 2, atol=0.06)
        spread = (waves[one] - waves[other]) ** 2 / 12 + 1  # of the uniform share, and of the noise
        np.testing.assert_allclose(rows.var(axis=0), spread, atol=0.15)
    np.testing.assert_allclose(np.bincount(drawn.labels) / 60_000, 1 / 3, atol=0.01)


@pytest.mark.parametrize("make", [make_twonorm, make_waveform])
def test_draws_are_repeatable(make):
    np.testing.assert_array_equal(make(50, random_state=3).data, make(50, random_state=3).data)
    assert not np.array_equal(make(50, random_state=3).data, make(50, random_state=4).data)
    generator = np.random.default_rng(3)
    np.testing.assert_array_equal(make(50, random_state=generator).data, make(50, random_state=3).data)
