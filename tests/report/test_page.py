"""The skeleton of a page, in a browser where there is one."""

import json

import plotly.graph_objects as go
import pytest
from markupsafe import Markup

from symloss.report.page import Section, plot, render_page


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    figure = go.Figure(go.Scatter(x=[1, 2, 3], y=[1.5, None, 2.5], name="a </script> name", line_color="#000000"))
    row = "<tr>" + "<td>a wide cell</td>" * 60 + "</tr>"
    table = Markup(f'<div class="scroll" role="region" aria-label="Wide table" tabindex="0"><table>{row}</table></div>')
    first = Section(
        "first",
        "First",
        plot("curve", "One curve", "It rises.") + table,
        {"figure": json.loads(figure.to_json())},
        "symloss.draw(document.getElementById('curve'), symloss.data('figure'));",
        "#curve { max-width: 40rem; }",
    )
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(render_page("A page", [first, Section("second", "Second", Markup("<p>Text.</p>"))]))
    return path


def test_a_figure_of_python_is_drawn_with_its_numbers(visit, file):
    page = visit(file)
    assert page.locator("#curve .scatterlayer path.js-line").count() > 0
    assert page.locator(".modebar").count() == 0
    page.locator("#curve summary").click()
    page.locator("#curve tbody tr").first.wait_for()
    assert page.locator("#curve tbody tr").all_inner_texts() == ["1\t1.5", "2\t", "3\t2.5"]
    assert page.locator("#curve thead th").all_inner_texts() == ["x", "a </script> name"]


def line_color(page):
    return page.locator("#curve path.js-line").first.evaluate("line => getComputedStyle(line).stroke")


def test_the_theme_follows_the_system_then_the_button_and_is_remembered(visit, file):
    page = visit(file, color_scheme="dark")
    assert page.locator("#theme").inner_text() == "Light theme"
    dark = line_color(page)
    assert dark != "rgb(0, 0, 0)"  # a black curve would not be seen
    page.locator("#theme").click()
    assert line_color(page) == "rgb(0, 0, 0)"
    page.reload()
    assert page.locator("#theme").inner_text() == "Dark theme"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_a_page_works_without_storage(visit, file):
    page = visit(file)
    page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('denied'); } })")
    page.reload()
    page.locator("#theme").click()
    assert page.locator("#theme").inner_text() == "Light theme"


@pytest.mark.parametrize("width", [360, 768])
def test_a_narrow_page_scrolls_inside_its_boxes_only(visit, file, width):
    page = visit(file, viewport={"width": width, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") == width
    box = page.locator("section > .scroll").first
    assert box.evaluate("box => box.scrollWidth > box.clientWidth")
    box.focus()
    page.keyboard.press("ArrowRight")
    box.evaluate("async box => { while (!box.scrollLeft) await new Promise(requestAnimationFrame); }")


def test_the_first_tab_skips_the_navigation(visit, file):
    page = visit(file)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_paper_is_white(visit, file):
    page = visit(file, color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert line_color(page) == "rgb(0, 0, 0)"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()


def test_two_sections_of_one_id_are_an_error():
    section = Section("one", "One", Markup(""))
    with pytest.raises(ValueError, match="ids of their own, got one, one"):
        render_page("A page", [section, section])


def test_a_script_cannot_end_its_element():
    with pytest.raises(ValueError, match="must not hold an end tag"):
        render_page("A page", [Section("one", "One", Markup(""), script="'</script>'")])
