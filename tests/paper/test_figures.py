import numpy as np
import pytest
from matplotlib.colors import to_hex

from symloss.paper import figures
from symloss.paper.compare import Cell, compare


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


def test_figure_4_draws_means_against_noise(made_up):
    cells = compare(made_up("uci", datasets=["spambase", "twonorm"]))
    figure = figures.figure_4(cells)
    assert [axes.get_title() for axes in figure.axes] == ["spambase", "", "twonorm", ""]
    (barrier,) = (bars for bars in figure.axes[1].containers if to_hex(bars[0].get_color()) == "#c40f2e")
    chosen = [c for c in cells if (c.dataset, c.risk, c.loss) == ("spambase", "auc", "barrier_hinge")]
    np.testing.assert_allclose(barrier[0].get_xydata(), [(place, cell.mean) for place, cell in enumerate(chosen)])
    ends = [np.asarray(segment, dtype=float)[:, 1] for segment in barrier[2][0].get_segments()]
    np.testing.assert_allclose(ends, [[cell.mean - cell.se, cell.mean + cell.se] for cell in chosen])
    crosses = [line for line in figure.axes[1].lines if line.get_marker() == "x"]
    np.testing.assert_allclose(crosses[0].get_ydata(), [cell.paper_mean for cell in chosen])
    assert [text.get_text() for text in figure.legends[0].get_texts()][:2] == ["Barrier", "Unhinged"]


def test_losses_have_one_style_in_every_figure():
    losses = ["barrier_hinge", "mine:A", "mine:B", "ramp"]
    cells = [Cell("own", "x", "ber", 1, 0, loss, 70, None, 1, False) for loss in losses]
    styles = figures.styles_of(losses)
    assert styles["barrier_hinge"]["color"] == figures.COLORS["barrier_hinge"]
    assert len({style["color"] for style in styles.values()}) == 4
    # A panel that lacks one of them draws the others as the legend has them.
    figure = figures.figure_4([*cells, Cell("own", "y", "ber", 1, 0, "mine:B", 70, None, 1, False)])
    drawn = [bars[0].get_color() for bars in figure.axes[1].containers if len(bars[0].get_xdata())]
    assert drawn == [styles["mine:B"]["color"]]
    assert len(figures.figure_4(cells).legends[0].get_texts()) == 4  # no crosses: the paper has none of it


def test_scatter_draws_ours_against_the_papers(made_up):
    cells = compare(made_up("mnist"))
    figure = figures.scatter(cells)
    means, _, differences, _ = figure.axes
    points = np.concatenate([bars[0].get_xydata() for bars in means.containers])
    chosen = [(cell.paper_mean, cell.mean) for cell in cells if cell.risk == "ber"]
    np.testing.assert_allclose(sorted(map(tuple, points)), sorted(chosen))
    points = np.concatenate([bars[0].get_xydata() for bars in differences.containers])
    np.testing.assert_allclose(sorted(map(tuple, points)), sorted((x, y - x) for x, y in chosen))


def test_nothing_to_scatter(tmp_path):
    cells = [Cell("my own", "x", "ber", 1, 0, "hinge", 70, None, 1, False)]
    with pytest.raises(ValueError, match="nothing to draw"):
        figures.scatter(cells)
    names = [path.name for path in figures.save_result_figures(tmp_path, cells)]
    assert names == ["noise_my-own.png", "noise_my-own.pdf"]
