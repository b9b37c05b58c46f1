import numpy as np
import pytest
from matplotlib.colors import to_hex
from typer.testing import CliRunner

from symloss.cli import app
from symloss.drawing import COLORS
from symloss.paper import image_figures
from symloss.paper.compare import compare
from symloss.paper.published import find_published
from symloss.paper.results import PUBLISHED, Result, Scored, write_result

NOISES = [(1.0, 0.0), (0.65, 0.45)]


def result(family, dataset, pi, pi_prime, curves=True):
    """Made up: two losses, three epochs, two trials; curves end below 100 by the noise."""
    rng = np.random.default_rng(int(100 * pi))

    def of(size):
        return {
            risk: {loss: rng.uniform(60, 90, size).tolist() for loss in ("barrier_hinge", "hinge")}
            for risk in ("ber", "auc")
        }

    return Result(
        family=family,
        dataset=dataset,
        pi=pi,
        pi_prime=pi_prime,
        trials=2,
        scores=of(2),
        curves=of(3) if curves else {},
        errors=of(3) if curves else {},
        further={
            "dropout_off": Scored(scores=of(2), curves=of(3), errors=of(3)),
            "chosen_epoch": Scored(scores=of(2)),
        }
        if curves
        else {},
    )


@pytest.fixture
def results():
    names = [("mnist", "mnist"), ("cifar10", "horse"), ("cifar10", "cat")]
    return [result(family, dataset, *noise) for family, dataset in names for noise in NOISES]


def line(axes, loss):
    (found,) = (
        line for line in axes.lines if to_hex(line.get_color()) == COLORS[loss].lower() and len(line.get_xdata()) > 1
    )
    return found.get_xydata()


def test_figure_5_has_noise_above_and_the_epochs_of_the_highest_noise_below(results):
    figure = image_figures.figure_5(compare(results))
    above, below = figure.axes[:4], figure.axes[4:]
    assert [axes.get_title() for axes in above] == [
        f"{name}: {score}" for name in ("MNIST", "airplane against horse") for score in ("Balanced accuracy", "AUC")
    ]
    assert [tick.get_text() for tick in above[0].get_xticklabels()] == ["1.0\n0.0", "0.65\n0.45"]
    (horse,) = (cell for cell in results if (cell.dataset, cell.pi) == ("horse", 0.65))
    curve = horse.curves["auc"]["hinge"]
    np.testing.assert_allclose(line(below[3], "hinge"), np.column_stack([[1, 2, 3], curve]))
    crosses = [line.get_xydata()[0].tolist() for line in below[3].lines if line.get_marker() == "x"]
    assert [3.0, find_published("cifar10", "horse", "auc", 0.65, 0.45, "hinge").mean] in crosses
    assert len(crosses) == len(below[3].collections) == 2  # a cross and a band for each loss


def test_curves_of_every_data_set(results):
    figure = image_figures.epochs_figure([cell for cell in compare(results) if cell.family == "cifar10"])
    assert [axes.get_title() for axes in figure.axes] == ["cat", "", "horse", ""]  # the paper's order
    (cat,) = (cell for cell in results if (cell.dataset, cell.pi) == ("cat", 0.65))
    np.testing.assert_allclose(line(figure.axes[0], "barrier_hinge")[:, 1], cat.curves["ber"]["barrier_hinge"])


def test_files_of_two_folders(results, tmp_path):
    for cell in results:
        write_result(tmp_path / cell.family, cell)
    folders = [str(tmp_path / family) for family in ("mnist", "cifar10")]
    drawn = CliRunner().invoke(app, ["compare", *folders, "--figures", str(tmp_path / "all")])
    assert drawn.exit_code == 0, drawn.output
    names = {path.name for path in (tmp_path / "all").glob("*.png")}
    assert names == {
        "noise_mnist.png", "noise_cifar10.png", "ours_against_paper.png", "figure5.png", "epochs_mnist.png",
        "epochs_cifar10.png"}  # fmt: skip
    # A chosen epoch has no curve.
    options = ["--scores", "chosen_epoch", "--figures", str(tmp_path / "chosen")]
    assert CliRunner().invoke(app, ["compare", *folders, *options]).exit_code == 0
    assert not list((tmp_path / "chosen").glob("*epochs*"))


def test_other_scores_have_their_own_curves_and_errors(results):
    (cell,) = (cell for cell in compare(results[:1], "dropout_off") if (cell.risk, cell.loss) == ("auc", "hinge"))
    way = results[0].further["dropout_off"]
    assert list(cell.scores) == way.scores["auc"]["hinge"]
    assert list(cell.curve) == way.curves["auc"]["hinge"]
    assert list(cell.curve_errors) == way.errors["auc"]["hinge"]
    assert results[0].ways == [PUBLISHED, "dropout_off", "chosen_epoch"]
    with pytest.raises(ValueError, match="horse has no scores 'dropout_off' beside the published kind; it has: none"):
        result("cifar10", "horse", 1.0, 0.0, curves=False).scored("dropout_off")


def test_nothing_to_draw(tmp_path):
    none = compare([result("cifar10", "horse", 1.0, 0.0, curves=False)])
    for draw in (image_figures.figure_5, image_figures.epochs_figure):
        with pytest.raises(ValueError, match="curves"):
            draw(none)
    assert image_figures.save_epoch_figures(tmp_path, none) == []
