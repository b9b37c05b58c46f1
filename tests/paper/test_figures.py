import numpy as np
import pytest

from symloss.paper import figures


def curve(figure, label):
    (line,) = (line for line in figure.axes[0].lines if line.get_label().endswith(label))
    return np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float)


def test_figure_1_has_the_papers_losses():
    z, sigmoid = curve(figures.figure_1(), "Sigmoid")
    np.testing.assert_allclose(sigmoid, 1 / (1 + np.exp(z)))
    assert len(figures.figure_1().axes[0].lines) == 8


def test_figure_2_draws_the_captions_formulas():
    z, barrier = curve(figures.figure_2(), "½ Barrier hinge (b=10, r=1)")
    np.testing.assert_allclose(barrier, 0.5 * np.maximum(-10 * (1 + z) + 1, np.maximum(10 * (z - 1), 1 - z)))
    z, hinge = curve(figures.figure_2(), "½ Hinge")
    np.testing.assert_allclose(hinge, np.maximum(0, 0.5 - 0.5 * z))


def test_figure_3_shows_what_its_caption_says():
    figure = figures.figure_3()
    _, sigmoid = curve(figure, "Sigmoid")
    np.testing.assert_allclose(sigmoid, 1)
    for label in ("½ Barrier hinge (b=10, r=1)", "½ Hinge"):
        z, total = curve(figure, label)
        np.testing.assert_allclose(total[np.abs(z) <= 1], 1)
        assert (total[np.abs(z) > 1.001] > 1).all()


def test_files_are_whole_or_absent(tmp_path, monkeypatch):
    paths = figures.save_figures(tmp_path / "new" / "folder")
    assert [path.name for path in paths] == [f"figure{n}.{kind}" for n in (1, 2, 3) for kind in ("png", "pdf")]
    for path in paths:
        assert path.read_bytes().startswith(b"\x89PNG" if path.suffix == ".png" else b"%PDF")
    before = paths[0].read_bytes()

    def broken(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", broken)
    with pytest.raises(OSError, match="disk full"):
        figures.save_figures(tmp_path / "new" / "folder")
    assert paths[0].read_bytes() == before
    assert len(list((tmp_path / "new" / "folder").iterdir())) == 6
