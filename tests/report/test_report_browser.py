"""The report in a browser: filters, trials, figures, keyboard, phones, and no JavaScript."""

import json
import re

import pytest

from symloss.paper.compare import compare, noise_text, summarize
from symloss.paper.images import FURTHER_WAYS
from symloss.paper.results import PUBLISHED, Result, read_results, write_result
from symloss.paper.score_tables import loss_heading
from symloss.report.claim import TITLE, panels
from symloss.report.report import write_report
from symloss.report.tables import signed

COUNT = re.compile(r"([\d,]+) of ([\d,]+) cells shown")


def counts(page):
    return [int(number.replace(",", "")) for number in COUNT.fullmatch(page.locator(".shown").inner_text()).groups()]


def tick(page, key, *names):
    """Open a filter, choose some of its values, and close it."""
    page.locator(f".filter[data-key={key}] summary").click()
    for name in names:
        page.locator(f".filter[data-key={key}]").get_by_label(name, exact=True).check()
    page.keyboard.press("Escape")


def visible_cells(page):
    """Cells of tables that are not hidden, folded up or not."""
    return page.evaluate("[...document.querySelectorAll('td[data-cell]')].filter(td => !td.closest('[hidden]')).length")


def traces(page, figure):
    """The names of what a figure shows, or None where it is hidden."""
    return page.evaluate(
        """id => { const figure = document.getElementById(id);
          return figure.hidden ? null : figure.querySelector(".plot-area").data.map(t => t.name).filter(Boolean); }""",
        figure,
    )


def test_everything_is_there_at_first(visit, report):
    page = visit(report)
    assert counts(page) == [1912, 1912]
    assert visible_cells(page) == 1912
    assert len(traces(page, "noise-ber")) == 14  # seven losses, ours and the paper's
    assert (
        page.evaluate("document.querySelector('#scatter .plot-area').data.flatMap(t => t.name ? t.x : []).length")
        == 1624
    )
    assert "1,624 cells, rms difference in points: uci-matched" in page.locator("#scatter figcaption").inner_text()


def test_filters_choose_cells_of_tables_and_figures(visit, small_report):
    page = visit(small_report)
    assert counts(page) == [336, 336]
    tick(page, "dataset", "susy", "cat")
    assert counts(page) == [168, 336]
    assert visible_cells(page) == 168
    tick(page, "run", "uci-matched", "uci-printed")
    assert counts(page)[0] == visible_cells(page) == 112
    assert page.locator("#noise-of option").all_inner_texts() == ["uci-matched: susy", "uci-printed: susy"]
    assert page.locator("#epochs-of option").count() == 0
    assert page.locator(".none-epochs").is_visible()
    tick(page, "risk", "AUC")
    assert traces(page, "noise-ber") is None
    tick(page, "loss", "Hinge", "Barrier")
    assert counts(page)[0] == visible_cells(page) == 16
    assert traces(page, "noise-auc") == ["Barrier", "Barrier, paper", "Hinge", "Hinge, paper"]
    assert traces(page, "scatter") == ["Barrier", "Hinge"]
    headings = page.locator("table.scores:visible").first.locator("thead th:visible").all_inner_texts()
    assert headings == ["data set", "Barrier", "Hinge"]
    page.locator(".filters button").click()
    assert counts(page) == [336, 336]
    assert "#" not in page.url
    tick(page, "run", "cifar10")
    tick(page, "dataset", "susy")
    assert counts(page)[0] == visible_cells(page) == 0
    page.get_by_role("button", name="Reset the filters").click()
    assert counts(page)[0] == 336


def test_the_address_keeps_the_filters(visit, small_report):
    page = visit(small_report)
    tick(page, "dataset", "horse", "cat")
    tick(page, "loss", "Sigmoid")
    assert page.url.endswith("#dataset=cat&dataset=horse&loss=sigmoid")
    page.locator(".page-nav a", has_text="Results").click()
    page.wait_for_url("**#results&dataset=cat&dataset=horse&loss=sigmoid")
    page.reload()
    assert counts(page)[0] == visible_cells(page) == 16
    assert page.locator(".filter[data-key=dataset] .filter-chosen").inner_text() == "cat, horse"
    page.goto(small_report.as_uri() + "#dataset=nonsense&run=uci-printed&other=1&loss=%C3")
    page.locator(".shown", has_text="112 of 336").wait_for()


def test_other_scores(visit, small_report):
    page = visit(small_report)
    tick(page, "scores", "dropout off, last epoch")
    assert counts(page) == [112, 112]
    assert visible_cells(page) == 112
    assert page.locator("#epochs-of option").all_inner_texts() == ["cifar10: cat", "cifar10: horse"]
    tick(page, "scores", "dropout off, epoch chosen on corrupted labels")
    assert counts(page) == [112, 112]
    assert page.locator(".none-epochs").is_visible()  # curves end at the last epoch, whichever is chosen


def test_of_two_ways_of_scoring_the_last_is_shown(visit, small_report):
    page = visit(small_report)
    further = next(iter(FURTHER_WAYS.values()))
    page.goto(f"{small_report.as_uri()}#scores={PUBLISHED}&scores={further}")
    page.locator(".shown", has_text="112 of 112").wait_for()
    assert page.locator(".filter[data-key=scores] .filter-chosen").inner_text() == further


@pytest.mark.parametrize("anchor", ["tables&dataset=susy", "explorer&eta=0.3", "explorer", "figures&run=cifar10"])
def test_a_link_lands_at_its_heading(visit, small_report, anchor):
    page = visit(small_report, anchor=anchor)
    page.wait_for_timeout(300)
    assert 0 <= page.locator(f"#{anchor.split('&')[0]}").evaluate("it => it.getBoundingClientRect().top") < 100


@pytest.mark.parametrize(("settings", "section"), [
    ("dataset=susy", "results"), ("run=cifar10&loss=hinge", "results"), ("eta=0.3", "explorer"),
])  # fmt: skip
def test_a_link_without_an_anchor_lands_at_what_it_sets(visit, small_report, settings, section):
    page = visit(small_report, anchor=settings)
    page.wait_for_timeout(300)
    top = f"document.getElementById('{section}').getBoundingClientRect().top"
    assert 0 <= page.evaluate(top) < 100
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    page.evaluate("hash => { location.hash = hash; }", settings.replace("susy", "adult").replace("0.3", "0.4"))
    if "&" not in settings:
        page.wait_for_timeout(300)
        assert 0 <= page.evaluate(top) < 100


def test_the_claim_comes_first_with_its_figure(visit, small_report):
    page = visit(small_report)
    assert page.locator("h2").first.inner_text() == TITLE
    panels = [panel for run in ("uci-matched", "uci-printed", "cifar10") for panel in shown_panels(small_report, run)]
    assert page.locator("#claim-of option").all_inner_texts() == [panel["title"] for panel in panels]
    page.locator("#claim-of").select_option("cifar10: AUC")
    for loss in panels[-1]["losses"]:
        x, y = drawn(page, "claim-plot")[loss["title"]]
        assert (x, y) == (panels[-1]["noises"], loss["ours"])
        assert drawn(page, "claim-plot")[f"{loss['title']}, paper"][1] == loss["paper"]


def shown_panels(small_report, run):
    return panels(run, compared(small_report, run))


def test_a_phone_shows_a_figure_within_five_screens(visit, report):
    page = visit(report, viewport={"width": 390, "height": 844})
    tops = page.locator(".plot:visible").evaluate_all("all => all.map(one => one.getBoundingClientRect().top)")
    assert 0 < tops[0] < 5 * 844


def test_a_table_that_scrolls_sideways_says_so(visit, small_report):
    page = visit(small_report, viewport={"width": 390, "height": 844})
    box = page.locator("#summary .scroll:visible").first
    hint = box.locator("xpath=preceding-sibling::*[1]")
    assert hint.inner_text() == "Scroll sideways to see all columns →"
    assert "more" in box.get_attribute("class")
    box.evaluate("box => { box.scrollLeft = box.scrollWidth; }")
    page.wait_for_function("() => !document.querySelector('#summary .scroll').classList.contains('more')")
    assert hint.is_visible()
    page.set_viewport_size({"width": 1600, "height": 900})
    hint.wait_for(state="hidden")
    page.locator("#noise-ber summary").click()  # a table that is made later
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator("#noise-ber .sideways").wait_for()


def drawn(page, figure):
    """The named traces of a figure: x and y of each."""
    return page.locator(f"#{figure} .plot-area").evaluate(
        "area => Object.fromEntries(area.data.filter(trace => trace.name).map(({ name, x, y }) => [name, [x, y]]))"
    )


def compared(small_report, run):
    return compare(read_results(small_report.parent / run).whole)


def test_noise_is_drawn_as_the_comparison_says(visit, small_report):
    page = visit(small_report)
    page.locator("#noise-of").select_option("uci-printed: susy")
    traces = drawn(page, "noise-auc")
    cells = [cell for cell in compared(small_report, "uci-printed") if (cell.dataset, cell.risk) == ("susy", "auc")]
    for loss in ("hinge", "sigmoid"):
        own = [cell for cell in cells if cell.loss == loss]
        x, y = traces[loss_heading(loss)]
        assert x == [noise_text(cell.pi, cell.pi_prime) for cell in own]
        assert y == pytest.approx([cell.mean for cell in own], abs=1e-4)
        assert traces[f"{loss_heading(loss)}, paper"][1] == [cell.paper_mean for cell in own]


def test_ours_against_the_papers(visit, small_report):
    page = visit(small_report)
    tick(page, "run", "uci-printed")
    cells = compared(small_report, "uci-printed")
    x, y = drawn(page, "scatter")["Hinge"]
    hinge = [cell for cell in cells if cell.loss == "hinge"]
    assert x == [cell.paper_mean for cell in hinge]
    assert y == pytest.approx([cell.mean for cell in hinge], abs=1e-4)
    caption = page.locator("#scatter .rms").inner_text()
    assert caption == f"112 cells, rms difference in points: uci-printed {summarize(cells).rms_difference:.2f}."
    largest = sorted(cells, key=lambda cell: -abs(cell.difference))[:10]
    rows = [row.split("\t") for row in page.locator(".largest tbody tr").all_inner_texts()]
    assert [row[0] for row in rows] == [loss_heading(cell.loss) for cell in largest]
    assert [row[-1] for row in rows] == [signed(cell.difference) for cell in largest]
    tick(page, "loss", "Hinge", "Barrier")
    assert [text[2:] for text in page.locator(".loss-key li").all_inner_texts()] == ["Barrier", "Hinge"]


def test_the_facts_of_a_cell_and_its_color(visit, small_report):
    page = visit(small_report)
    cells = compared(small_report, "uci-matched")
    for sign in (1, -1):
        number, cell = max(enumerate(cells), key=lambda pair: sign * pair[1].difference)
        shown = page.locator(f"td[data-cell='{number}']")
        shown.focus()
        bold, paper_bold = (", boldface" if is_bold else "" for is_bold in (cell.bold, cell.paper_bold))
        assert page.locator("#trials .facts span").all_inner_texts() == [
            f"ours {cell.mean:.1f} ({cell.se:.1f}){bold}",
            f"paper {cell.paper_mean:.1f} ({cell.paper_se:.1f}){paper_bold}",
            f"difference {signed(cell.difference)}, z {signed(cell.z)}",
        ]
    bluer = """shade => { const [red, , blue] = getComputedStyle(shade).backgroundColor.match(/\\d+/g).map(Number);
      return Math.sign(blue - red); }"""
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for side, expected in (("above", 1), ("below", -1)):
            for size in (1, 2, 3):
                assert page.locator(f".scale .{side}{size}").evaluate(bluer) == expected


def test_everything_is_printed(visit, small_report):
    page = visit(small_report, viewport={"width": 1032, "height": 700}, color_scheme="dark")  # landscape A4
    opened = "document.querySelectorAll('details.run[open]').length"
    assert page.evaluate(opened) == 1
    before = page.locator("#noise-auc .main-svg").first.bounding_box()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.evaluate(opened) == 3
    assert page.evaluate("document.documentElement.scrollWidth") == 1032
    assert page.locator(".scale .above1").evaluate("shade => getComputedStyle(shade).printColorAdjust") == "exact"
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(opened) == 1
    page.wait_for_timeout(500)
    assert page.locator("#noise-auc .main-svg").first.bounding_box()["width"] == pytest.approx(before["width"], abs=1)


def test_a_data_set_of_one_name_in_two_families(visit, tmp_path):
    for family, pi in (("one", 0.9), ("two", 0.8)):
        scores = {"auc": {"hinge": [100 * pi]}}
        write_result(tmp_path / "r", Result(family=family, dataset="own", pi=pi, pi_prime=0.2, trials=1, scores=scores))
    write_report([tmp_path / "r"], tmp_path / "report.html")
    page = visit(tmp_path / "report.html")
    assert page.locator("#noise-of option").all_inner_texts() == ["own (one)", "own (two)"]
    assert drawn(page, "noise-auc")["Hinge"] == [["(0.9, 0.2)"], [90]]


def shown_trials(page):
    text = page.locator("#trials .scores").inner_text()
    return [float(number) for number in text.split(": ")[1].split()]


def cell_of(page, title, row, loss):
    """A cell of the first run by what a reader sees."""
    table = page.locator(".score-table", has=page.get_by_role("heading", name=title, exact=True)).first
    headings = table.locator("thead th").all_inner_texts()
    line = table.locator(f"tbody tr:has(th:text-is('{row}'))")
    return line.locator(f":scope > :nth-child({headings.index(loss) + 1})")


def test_hover_focus_and_tap_show_the_trials_of_the_result_file(visit, small_report, results):
    title = "UCI and LIBSVM: AUC, (π, π') = (0.65, 0.45)"
    scores = json.loads((results / "uci-matched/susy_pi0.65_0.45.json").read_text())["scores"]["auc"]
    page = visit(small_report)
    cell = cell_of(page, title, "susy", "Hinge")
    cell.hover()
    assert shown_trials(page) == [round(score, 2) for score in scores["hinge"]]
    assert page.locator("#trials circle").count() == 20
    assert cell.get_attribute("aria-describedby") == "trials"
    page.keyboard.press("Escape")
    assert page.locator("#trials").is_hidden()
    cell.focus()
    page.keyboard.press("ArrowRight")
    assert shown_trials(page) == [round(score, 2) for score in scores["squared"]]
    page.keyboard.press("Home")
    assert shown_trials(page) == [round(score, 2) for score in scores["barrier_hinge"]]
    page.keyboard.press("Escape")
    assert page.locator("#trials").is_hidden()

    phone = visit(small_report, viewport={"width": 390, "height": 844}, has_touch=True)
    cell_of(phone, title, "susy", "Savage").tap()
    assert shown_trials(phone) == [round(score, 2) for score in scores["savage"]]
    phone.locator("#tables").tap()
    assert phone.locator("#trials").is_hidden()


def test_the_trials_stay_while_they_are_pointed_at(visit, small_report):
    page = visit(small_report)
    page.locator("td[data-cell]").first.hover()
    page.locator("#trials .scores").hover()
    page.wait_for_timeout(400)
    assert page.locator("#trials").is_visible()
    page.locator("#tables").hover()
    page.locator("#trials").wait_for(state="hidden")


def test_epochs_at_a_noise_that_is_chosen(visit, small_report, results):
    page = visit(small_report)
    page.locator("#epochs-of").select_option("cifar10: horse")
    page.locator("#epochs-noise").select_option("(0.7, 0.4)")
    curve = json.loads((results / "cifar10/horse_pi0.70_0.40.json").read_text())["curves"]["auc"]["sigmoid"]
    drawn = page.evaluate(
        "document.querySelector('#epochs-auc .plot-area').data.find(trace => trace.name === 'Sigmoid').y"
    )
    assert drawn == pytest.approx(curve, abs=0.0051)
    page.locator("#epochs-auc summary").click()
    page.locator("#epochs-auc tbody tr").first.wait_for()
    assert page.locator("#epochs-auc tbody tr").count() == 50


def test_the_keyboard_reaches_every_control(visit, small_report):
    page = visit(small_report)
    wanted = page.evaluate(
        """() => { const controls = [...document.querySelectorAll("a, button, input, select, summary, [tabindex='0']")];
          window.wanted = controls.filter(control => control.checkVisibility());
          return wanted.length; }"""
    )
    assert wanted > 30
    page.locator(".skip").focus()
    for _ in range(wanted + 20):
        page.evaluate("document.activeElement.reached = true")
        page.keyboard.press("Tab")
    assert (
        page.evaluate("wanted.filter(control => !control.reached).map(control => control.outerHTML.slice(0, 200))")
        == []
    )


def test_a_filter_by_keyboard(visit, small_report):
    page = visit(small_report)
    page.locator(".filter[data-key=risk] summary").focus()
    for key in ("Enter", "Tab", "Tab", "Space"):
        page.keyboard.press(key)
    assert counts(page)[0] == 168
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.textContent.trim()") == "Risk AUC"
    assert page.locator(".filter[open]").count() == 0


@pytest.mark.parametrize("width", [360, 1280])
def test_the_body_does_not_scroll_sideways(visit, small_report, width):
    page = visit(small_report, viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.locator(".filter[data-key=scores] summary").click()
    page.locator("td[data-cell]").nth(6).focus()
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_without_javascript(visit, small_report):
    page = visit(small_report, java_script_enabled=False)
    assert page.locator("td[data-cell]:visible").count() == 336 + 224
    cell = page.locator("tr:has(th:text-is('susy')) td").first
    assert re.fullmatch(r"72\.2 \(0\.4\)\s*71\.3 \(0\.4\)\s*\+0\.9", cell.inner_text())
    for hidden in (".filters", ".figures", "#trials", "#theme"):
        assert page.locator(hidden).is_hidden()
    assert page.locator("#results noscript p").is_visible()
    assert page.locator("#explorer .plot:visible, #explorer .controls:visible").count() == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_accessibility(visit, small_report, axe, theme):
    page = visit(small_report, color_scheme=theme)
    tick(page, "run", "uci-printed")  # with all seven colors
    page.locator(".filter[data-key=dataset] summary").click()
    page.locator(".parts summary").evaluate("summary => summary.parentElement.open = true")
    assert axe(page) == []
    page.keyboard.press("Escape")
    page.locator("td[data-cell]:visible").nth(3).focus()
    assert page.locator("#trials").is_visible()
    assert axe(page) == []


def test_names_with_markup_and_no_published_numbers(visit, tmp_path):
    loss, dataset = "<b>loss</b><script>document.title = 'x'</script>", "<img src=x onerror=\"document.title='y'\">"
    for pi in (0.9, 0.8):
        scores = {"auc": {loss: [90.0], "sigmoid": [80.0]}}
        curves = {"auc": {loss: [80.0, 90.0]}}
        cell = Result(family="mine", dataset=dataset, pi=pi, pi_prime=0.2, trials=1, scores=scores, curves=curves)
        write_result(tmp_path / "results", cell)
    write_report([tmp_path / "results"], tmp_path / "report.html")
    page = visit(tmp_path / "report.html")
    assert counts(page) == [4, 4]
    assert page.locator("#noise-of option").inner_text() == dataset
    assert traces(page, "noise-auc") == ["Sigmoid", loss]
    page.locator("td[data-cell]").nth(1).hover()
    assert page.locator("#trials strong").inner_text() == loss
    assert shown_trials(page) == [90.0]
    tick(page, "loss", loss)
    assert counts(page) == [2, 4]
    assert page.title() == "Results"
