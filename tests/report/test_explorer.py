"""The explorer as a file, and in a browser: what it computes equals the library, and every control does its work."""

import json
import re
from dataclasses import dataclass

import numpy as np
import pytest
import torch

import symloss as sl
from symloss.report.explorer import _styles, explorer_section, write_explorer
from symloss.theory.conditional import minimizers

LOSSES = [
    *(sl.get_loss(name) for name in sl.list_losses()),
    sl.BarrierHinge(b=10, r=1),
    sl.BarrierHinge(b=1.5, r=0.3),
]
MARGINS = np.concatenate([np.linspace(-6, 6, 97), [-1e3, -300.0, -50.0, 50.0, 300.0, 1e3]])


@pytest.fixture(scope="module")
def explorer(tmp_path_factory):
    return write_explorer(tmp_path_factory.mktemp("explorer") / "explorer.html")


@pytest.fixture(scope="module")
def shared(visit_once, explorer):
    return visit_once(explorer)


@pytest.fixture
def page(shared):
    """The explorer as it opens, loaded once for all tests that leave no trace but in its controls."""
    shared.locator("#reset").click()
    settle(shared)
    return shared


def in_browser(page, loss, expression, scale=1.0, margin=0.0, **values):
    """Evaluate an expression of ``math``, ``loss`` and the values in the page."""
    names = ", ".join(values)
    return page.evaluate(
        f"([name, parameters, scale, margin, {names}]) => {{ const math = symloss.math;"
        f"const loss = math.transformed({{ name }}, parameters, scale, margin); return {expression}; }}",
        [loss.name, list(vars(loss).values()), scale, margin, *values.values()],
    )


@pytest.mark.parametrize(("scale", "margin"), [(1.0, 0.0), (2.5, 0.7)])
def test_losses_slopes_and_sums_equal_the_library(page, scale, margin):
    there, back = (torch.from_numpy(scale * (side * MARGINS - margin)) for side in (1, -1))
    for loss in LOSSES:
        found = in_browser(
            page, loss, "[z.map(loss.value), z.map(loss.slope), z.map((at) => math.sum(loss, at))]", scale, margin,
            z=MARGINS.tolist(),
        )  # fmt: skip
        expected = [loss(there), scale * loss.derivative(there), loss(there) + loss(back)]
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-12, atol=1e-300, err_msg=repr(loss))


@pytest.mark.parametrize(("pi", "pi_prime"), [(0.8, 0.3), (0.65, 0.0)])
def test_decompositions_equal_theorems_1_and_3(page, pi, pi_prime):
    quantiles = np.array(page.evaluate("symloss.data('explorer-data').quantiles"))
    positive, negative = quantiles + 1, quantiles - 1
    for theorem, decompose in (("ber", sl.theory.ber_decomposition), ("auc", sl.theory.auc_decomposition)):
        for loss in LOSSES:
            found = in_browser(
                page, loss, f"math.{theorem}Terms(math.{theorem}Means(loss, positive, negative), pi, prime)",
                positive=positive.tolist(), negative=negative.tolist(), pi=pi, prime=pi_prime,
            )  # fmt: skip
            parts = decompose(loss, positive, negative, pi, pi_prime)
            assert found["clean"] == pytest.approx(parts.clean, rel=1e-9, abs=1e-12)
            assert found["terms"] == pytest.approx(parts.excess_terms, rel=1e-9, abs=1e-12)
            total = (pi - pi_prime) * found["clean"] + sum(found["terms"].values())
            assert total == pytest.approx(parts.corrupted, rel=1e-9, abs=1e-12)


def test_minimizers_and_symmetric_intervals_equal_the_library(page):
    etas = np.array([0.05, 0.25, 0.5, 0.7, 0.95])
    for loss in LOSSES:
        found = in_browser(page, loss, "etas.map((eta) => math.minimizer(loss, eta))", etas=etas.tolist())
        claimed = loss.properties.minimizer(torch.from_numpy(etas)).numpy()
        np.testing.assert_allclose(found, claimed, rtol=1e-9, atol=1e-12, err_msg=repr(loss))
        np.testing.assert_allclose(found, minimizers(loss, etas), rtol=1e-4, atol=1e-6, err_msg=repr(loss))
        stretched = in_browser(page, loss, "math.minimizer(loss, eta)", scale=0.5, eta=0.7)
        if loss.name != "zero_one":  # where any score of the right sign is as good
            assert stretched == pytest.approx(2 * claimed[3], rel=1e-9)
        radius = in_browser(page, loss, "math.symmetricRadius(loss)")
        assert radius == pytest.approx(loss.properties.symmetric_radius, rel=1e-6), loss


def cells(page, name):
    """The verdicts of one loss as the page shows them."""
    found = page.locator(f'#verdicts tr[data-loss="{name}"] [data-verdict]')
    return dict(found.evaluate_all("all => all.map((cell) => [cell.dataset.verdict, cell.textContent])"))


def test_verdicts_are_those_of_analyze_whatever_b_r_and_scale(page):
    for loss in (sl.Sigmoid(), sl.BarrierHinge(b=10, r=1), sl.BarrierHinge(b=1.5, r=4), sl.BarrierHinge()):
        for name, value in vars(loss).items():
            move(page, f"{loss.name}-{name}", value)
        answers = {name: verdict.answer for name, verdict in sl.theory.analyze(loss).verdicts.items()}
        shown = cells(page, loss.name)
        if vars(loss):
            assert shown.pop("symmetric") == f"on [−{loss.r:g}, {loss.r:g}], K = {2 * loss.r:g}"
            assert answers.pop("symmetric") == "no"
        else:
            assert shown["symmetric"] == "yes, K = 1"
            shown["symmetric"] = "yes"
        assert shown == answers
    move(page, "scale", 2)
    stretched = sl.theory.analyze(sl.CallableLoss(lambda z: sl.Savage()(2 * z)))
    page.locator("input[value=savage]").check()
    settle(page)
    assert cells(page, "savage") == {name: verdict.answer for name, verdict in stretched.verdicts.items()}
    assert cells(page, "barrier_hinge")["symmetric"] == "on [−25, 25], K = 100"


@pytest.mark.parametrize(
    ("name", "margin", "symmetric", "radius"),
    [
        ("hinge", -1.0, "no", 0.0),
        ("hinge", 0.5, "on [−1.5, 1.5], K = 3", 1.5),
        ("unhinged", 0.5, "yes, K = 3", np.inf),
        ("sigmoid", 1.0, "no", 0.0),
    ],
)
def test_verdicts_with_a_margin(page, name, margin, symmetric, radius):
    move(page, "margin", margin)
    shown, loss = cells(page, name), sl.get_loss(name)
    report = sl.theory.analyze(sl.CallableLoss(lambda z: loss(z - margin)))
    for verdict in ("convex", "non_increasing", "bounded"):
        assert shown[verdict] == report.verdicts[verdict].answer
    assert shown["symmetric"] == symmetric
    assert report.symmetric_interval[1] == pytest.approx(radius)
    assert shown["calibrated"] == ("for margin 0 only" if name == "sigmoid" else report.calibrated.answer)
    assert shown["auc_consistent"] == "for margin 0 only"
    assert "A margin keeps convexity" in page.locator("#verdict-note").inner_text()


def settle(page):
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def move(page, name, value):
    page.locator(f'input[data-for="{name}"]').fill(f"{value}")
    settle(page)


def curves(page, plot="loss"):
    """The named curves of a plot."""
    return page.locator(f"#plot-{plot} .plot-area").evaluate(
        "area => Object.fromEntries(area.data.filter((trace) => trace.name)"
        ".map(({ name, x, y }) => [name, [...x].map((at, i) => [at, y[i]])]))"
    )


PLOTS = ["loss", "sum", "slope", "risk", "minimizer", "ber", "auc"]


@pytest.mark.parametrize(
    ("slider", "value", "plots"),
    [
        ("barrier_hinge-b", 3.1, ["loss", "sum", "slope", "risk", "ber", "auc"]),
        ("barrier_hinge-r", 2.5, PLOTS),
        ("scale", 2, PLOTS),
        ("margin", -0.5, ["loss", "sum", "slope", "risk", "ber", "auc"]),
        ("eta", 0.25, ["risk"]),
        ("pi", 0.9, ["ber", "auc"]),
        ("pi_prime", 0.1, ["ber", "auc"]),
    ],
)
def test_each_slider_moves_its_plots_and_reset_undoes_it(page, slider, value, plots):
    before = {plot: curves(page, plot) for plot in PLOTS}
    page.locator(f"#{slider}").fill(f"{value}")
    settle(page)
    assert page.locator(f'input[data-for="{slider}"]').input_value() == f"{value:g}"
    assert f"{slider}={value:g}" in page.url
    after = {plot: curves(page, plot) for plot in PLOTS}
    assert set(plots) <= {plot for plot in PLOTS if after[plot] != before[plot]}
    if slider in ("eta", "pi", "pi_prime"):
        assert {plot for plot in PLOTS if after[plot] != before[plot]} == set(plots)
    page.locator("#reset").click()
    settle(page)
    assert {plot: curves(page, plot) for plot in PLOTS} == before
    assert "=" not in page.url


def test_a_curve_is_the_loss_and_its_numbers_stand_in_a_table(page):
    z, value = np.array(curves(page)["Logistic"]).T
    np.testing.assert_allclose(value, sl.Logistic()(torch.from_numpy(z)).numpy(), rtol=1e-12)
    page.locator("#plot-loss summary").click()
    page.locator("#plot-loss tbody tr").first.wait_for()
    assert page.locator("#plot-loss tbody tr").count() > 20
    row = page.locator("#plot-loss tbody tr").filter(has=page.locator("th", has_text=re.compile(r"^0$")))
    assert row.inner_text().split("\t")[:3] == ["0", "1", "0.693147"]
    page.locator("#plot-minimizer summary").click()
    page.locator("#plot-minimizer tbody tr").first.wait_for()
    assert page.locator("#plot-minimizer tbody tr").last.inner_text().split("\t")[1:4] == ["1", "4.59512", "Infinity"]


def test_the_curves_of_risk_and_sum_are_the_library(page):
    move(page, "eta", 0.7)
    for loss in (sl.Logistic(), sl.Sigmoid(), sl.BarrierHinge(b=10, r=1)):
        z, risk = np.array(curves(page, "risk")[loss.title]).T
        there, back = loss(torch.from_numpy(z)).numpy(), loss(torch.from_numpy(-z)).numpy()
        np.testing.assert_allclose(risk, 0.7 * there + 0.3 * back, rtol=1e-12)
        np.testing.assert_allclose(np.array(curves(page, "sum")[loss.title])[:, 1], there + back, rtol=1e-12)
    bands = page.locator("#plot-sum .plot-area").evaluate(
        "area => area.data.filter((trace) => !trace.name).map(({ x, y }) => [...x, ...y])"
    )
    (low, high) = z[[0, -1]]
    expected = [[-1, 1, 2, 2], [low, high, 1, 1], [low, high, 2, 2], [-1, 1, 2, 2]]  # from hinge to barrier hinge
    np.testing.assert_allclose(bands, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("theorem", "decompose"), [("ber", sl.theory.ber_decomposition), ("auc", sl.theory.auc_decomposition)]
)
def test_what_noise_adds_is_drawn_and_tabled_as_the_theorems_say(page, theorem, decompose):
    move(page, "pi", 0.9)
    move(page, "pi_prime", 0.3)
    quantiles = np.array(page.evaluate("symloss.data('explorer-data').quantiles"))
    drawn = curves(page, theorem)
    for loss in (sl.Logistic(), sl.Sigmoid()):
        for stretch, name in ((1, "g(x) = x"), (2, "g(x) = 2x")):
            points = drawn[f"{loss.title}, {name}"]
            assert (points[0][0], points[-1][0]) == (0, 1)
            for t, excess in points[::20]:
                parts = decompose(loss, stretch * (quantiles + 1), stretch * (quantiles - 1), 1 - 0.1 * t, 0.3 * t)
                assert excess == pytest.approx(sum(parts.excess_terms.values()), rel=1e-9, abs=1e-12)
        rows = [row.split("\t") for row in page.locator("#terms tbody tr").all_inner_texts()]
        (row,) = (row for row in rows if row[:2] == [loss.title, theorem.upper()])
        parts = decompose(loss, quantiles + 1, quantiles - 1, 0.9, 0.3)
        expected = [parts.corrupted, 0.6 * parts.clean, sum(parts.excess_terms.values())]
        assert [float(text) for text in row[2:5]] == pytest.approx(expected, rel=1e-4)


def test_best_scores_say_what_they_hold_for(page):
    best = page.locator("#verdicts tr[data-loss=barrier_hinge] .minimizer")
    declared = sl.theory.analyze(sl.BarrierHinge(b=10, r=1)).minimizer_formula
    assert best.inner_text() == declared
    move(page, "scale", 2)
    move(page, "barrier_hinge-r", 3)
    assert best.inner_text() == f"{declared} (for b = 10, r = 1, scale = 1)"
    move(page, "margin", 1)
    assert best.inner_text() == "for margin 0 only"


def test_checkboxes_choose_losses_in_plots_tables_and_key(page):
    page.locator("input[value=hinge]").uncheck()
    page.locator("input[value=savage]").check()
    settle(page)
    names = ["Logistic", "Savage", "Sigmoid", "Unhinged", "Barrier hinge"]
    assert list(curves(page)) == names
    assert page.locator(".key li").all_inner_texts() == names
    assert page.locator("#verdicts tbody tr:visible th").all_inner_texts() == names
    assert page.locator("details.why:visible").count() == len(names)
    assert "losses=logistic,savage,sigmoid,unhinged,barrier_hinge" in page.url
    for box in page.locator("input[name=loss]").all():
        box.uncheck()
    settle(page)
    assert curves(page) == {}
    assert page.locator(".key").inner_text() == "No loss is picked."


def test_the_address_keeps_a_view_and_refuses_nonsense(visit, explorer, tmp_path):
    page = visit(explorer)
    address = "#losses=sigmoid,nonsense,ramp&eta=0.25&scale=99&margin=x"
    page.evaluate("(hash) => { location.hash = hash; }", address)
    page.reload()
    assert list(curves(page)) == ["Ramp", "Sigmoid"]
    read = {name: page.locator(f'input[data-for="{name}"]').input_value() for name in ("eta", "scale", "margin")}
    assert read == {"eta": "0.25", "scale": "5", "margin": "0"}


def test_the_handle_of_pi_lies_right_of_that_of_pi_prime(visit, explorer):
    page = visit(explorer)
    place = """name => { const { min, max, value } = document.getElementById(name);
      return (value - min) / (max - min); }"""
    places = {name: page.evaluate(place, name) for name in ("pi", "pi_prime")}
    assert places == pytest.approx({"pi": 0.7, "pi_prime": 0.4})
    for name, value in (("pi", 0.2), ("pi_prime", 0.9)):
        move(page, name, value)
        assert page.evaluate(place, "pi") >= page.evaluate(place, "pi_prime")
    page = visit(explorer, anchor="pi=0.3&pi_prime=0.2")
    assert page.evaluate(place, "pi") == pytest.approx(0.3)
    assert page.evaluate(place, "pi_prime") == pytest.approx(0.2)


def test_everything_is_reached_and_moved_with_the_keyboard(visit, explorer):
    page = visit(explorer)
    controls = "[...document.querySelectorAll('input, button, summary, .findings > .scroll')]"
    visible = page.evaluate(f"{controls}.flatMap((control, i) => control.checkVisibility() ? [i] : [])")
    seen = set()
    for _ in range(len(visible) + 5):
        page.keyboard.press("Tab")
        seen.add(page.evaluate(f"{controls}.indexOf(document.activeElement)"))
    assert set(visible) <= seen
    page.locator("#eta").focus()
    page.keyboard.press("ArrowRight")
    settle(page)
    assert "eta=0.81" in page.url
    page.locator("input[value=hinge]").focus()
    page.keyboard.press("Space")
    settle(page)
    assert "Hinge" not in curves(page)


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_the_page_never_scrolls_sideways(visit, explorer, width):
    page = visit(explorer, viewport={"width": width, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    settle(page)
    assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing(visit, explorer, axe, scheme, width):
    page = visit(explorer, viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('.why, #plot-loss details').forEach((one) => { one.open = true; })")
    assert axe(page, every=True) == []


def test_without_scripts_the_table_is_complete(visit, explorer):
    page = visit(explorer, java_script_enabled=False)
    assert "runs no scripts" in page.locator("noscript").inner_text()
    assert page.locator("#verdicts tbody tr:visible").count() == len(sl.list_losses())
    assert page.get_by_text("max(-b*(r + z) + r, max(b*(z - r), r - z))").is_visible()
    assert page.locator(".plot:visible, .controls:visible, #terms:visible").count() == 0
    assert page.locator("#verdicts").bounding_box()["width"] > 1000


@dataclass(frozen=True)
class Tilted(sl.Loss):
    """A loss of a user's own, with a formula and a parameter."""

    a: float = 0.5
    formula = "log(1 + exp(-a*z))"

    def value(self, z):
        return -torch.nn.functional.logsigmoid(self.a * z)


class Misprinted(sl.Loss):
    """A loss whose formula is of another loss."""

    formula = "exp(-z)"

    def value(self, z):
        return torch.cos(z / 10) - z


class Wordy(sl.Loss):
    """A loss whose formula no program can read."""

    formula = "(2 atan(z) - 1)^2"

    def value(self, z):
        return (2 * torch.atan(z) - 1) ** 2


def test_losses_of_a_users_own(visit, tmp_path):
    page = visit(write_explorer(tmp_path / "own.html", [Tilted(), Misprinted(), Wordy()]))
    z = np.linspace(-30, 30, 301)
    assert page.locator(".losses label").all_inner_texts() == ["Tilted", "Misprinted (sampled)", "Wordy (sampled)"]
    for loss in (Tilted(a=2), Misprinted(), Wordy()):
        found = page.evaluate(
            "([name, parameters, z]) => {"
            "const entry = symloss.data('explorer-data').losses.find((loss) => loss.name === name);"
            "const loss = symloss.math.transformed(entry, parameters, 1, 0);"
            "return [z.map(loss.value), z.map(loss.slope)]; }",
            [loss.name, list(vars(loss).values()), z.tolist()],
        )
        exact = {"rtol": 1e-12} if isinstance(loss, Tilted) else {"rtol": 1e-3, "atol": 1e-3}
        np.testing.assert_allclose(found[0], loss(torch.from_numpy(z)).numpy(), **exact)
        np.testing.assert_allclose(found[1], loss.derivative(torch.from_numpy(z)).numpy(), **exact)
    move(page, "tilted-a", 1.5)
    assert (
        "Tilted: the other answers and all reasons are those for a = 0.5." in page.locator("#verdict-note").inner_text()
    )


@dataclass(frozen=True)
class Reserved(sl.Loss):
    """A loss whose parameters are words of JavaScript, or of formulas, and one of which is no number."""

    new: float = 2.0
    Math: float = 1.0
    exp: float = 7.0
    stretched: bool = True
    title = "100 %{y} <b>own</b>"
    formula = "exp(-new*z) + Math"

    def value(self, z):
        return torch.exp(-self.new * z) + self.Math


class Inner(sl.Loss):
    """A loss whose formula names a function that formulas cannot call."""

    formula = "steeper(z)"

    def value(self, z):
        return -z


class Divided(sl.Loss):
    """A loss whose formula has no value."""

    formula = "1/0 - z"

    def value(self, z):
        return -z


def test_names_and_formulas_that_could_break_the_page(visit, tmp_path):
    page = visit(write_explorer(tmp_path / "own.html", [Reserved(), Inner(), Divided()]))
    titles = [Reserved.title, "Inner (sampled)", "Divided (sampled)"]
    assert page.locator(".losses label").all_inner_texts() == titles
    assert page.locator("input[type=range]").evaluate_all("all => all.map((one) => one.id)")[:4] == [
        "reserved-new", "reserved-Math", "reserved-exp", "scale",
    ]  # fmt: skip
    move(page, "reserved-new", 3)
    z, value = np.array(curves(page)[Reserved.title]).T
    np.testing.assert_allclose(value, Reserved(new=3)(torch.from_numpy(z)).numpy(), rtol=1e-12)
    template = page.locator("#plot-loss .plot-area").evaluate("area => area.data[0].hovertemplate")
    assert template == "100 &#37;{y} &lt;b>own&lt;/b>: %{y:.4g} at %{x:.3g}<extra></extra>"


def test_a_slider_reaches_the_declared_value(visit, tmp_path):
    page = visit(write_explorer(tmp_path / "steep.html", [sl.BarrierHinge(b=1000, r=300)]))
    page.evaluate("location.hash = '#eta=0.3'")
    page.wait_for_function("document.getElementById('eta').value === '0.3'")
    assert [page.locator(f"#barrier_hinge-{name}").input_value() for name in "br"] == ["1000", "300"]


def test_thirty_losses_of_ones_own_look_different():
    styles = _styles([f"own{number:02d}" for number in range(30)])
    assert len({(style["color"], style["dash"]) for style in styles}) == 30


def test_what_cannot_be_shown_is_an_error():
    with pytest.raises(ValueError, match="of different names, got hinge, hinge"):
        explorer_section(["hinge", "hinge"])
    with pytest.raises(ValueError, match="got none"):
        explorer_section([])
    with pytest.raises(ValueError, match="has no formula to compute with, and is not finite on"):
        explorer_section([sl.CallableLoss(torch.log)])


def test_the_file_holds_no_address_to_load_from(explorer):
    text = explorer.read_text(encoding="utf-8")
    own = text.replace(
        next(script for script in re.findall(r"<script>.*?</script>", text, re.S) if "plotly.js v" in script), ""
    )
    assert not re.search(r"""(?:src|href)=["'](?!data:|#)""", own)
    json.loads(re.search(r'id="explorer-data">(.*?)</script>', own).group(1))
    assert 4e6 < len(text) < 6e6
