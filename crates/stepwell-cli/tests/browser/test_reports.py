"""Reports in a browser: long pages with many tables and charts, and collapsible parts."""

import pytest
from conftest import SHOTS
from playwright.sync_api import Error
from test_pages import CROWDED, WIDTHS

REPORTS = ["report", "evaluation", "demo"]
OPEN = "() => document.querySelectorAll('details').forEach((part) => (part.open = true))"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [*WIDTHS, "phone"])
@pytest.mark.parametrize("name", [*REPORTS, "service"])
def test_nothing_is_cut_off_or_overlaps(open_page, name, width, scheme):
    page = open_page(name, {**WIDTHS, "phone": 390}[width], scheme=scheme)
    page.evaluate(OPEN)
    assert page.evaluate(CROWDED) == []
    overflow = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(overflow) <= 0, "the page itself does not scroll sideways"
    # Elements wider than their box can be scrolled into view.
    hidden = """() => [...document.querySelectorAll("main *")].filter((e) => !e.closest("svg, .table, .picture")
      && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map((e) => e.tagName)"""
    assert page.evaluate(hidden) == []
    shoot(page, f"{name}-{width}-{scheme}")


def shoot(page, name):
    """Takes screenshots of a long page in pieces: on a busy machine, the browser fails on a single
    one."""
    width, height = page.evaluate("() => [innerWidth, document.documentElement.scrollHeight]")
    for part, top in enumerate(range(0, height, 3000)):
        clip = {"x": 0, "y": top, "width": width, "height": min(3000, height - top)}
        for patience in (True, True, False):
            try:
                page.screenshot(path=SHOTS / f"{name}-{part}.png", full_page=True, clip=clip)
                break
            except Error:
                if not patience:
                    raise
                page.wait_for_timeout(1000)


@pytest.mark.parametrize("name", REPORTS)
def test_every_chart_answers(open_page, name):
    page = open_page(name)
    page.evaluate(OPEN)
    hint = page.locator("#hint")
    for chart in page.locator("svg.stepwell").all():
        mark = chart.locator(".marks > *:has(> title)").last
        text = mark.locator("title").text_content()
        mark.scroll_into_view_if_needed()
        # The middle of a cloud may be empty, so events go directly to its marks.
        mark.dispatch_event("pointermove", {"bubbles": True, "clientX": 300, "clientY": 300})
        assert hint.is_visible() and hint.text_content() == text
        if chart.locator(".marks[data-series]").count() == 0:
            continue  # Marks without a series have no legend entry that hides them.
        entry = chart.locator(".legend .entry").first
        series = entry.get_attribute("data-series")
        marks = chart.locator(f'.marks[data-series="{series}"]')
        before = [mark.is_visible() for mark in marks.all()]
        entry.click()
        assert not any(mark.is_visible() for mark in marks.all())
        entry.click()
        assert [mark.is_visible() for mark in marks.all()] == before


@pytest.mark.parametrize("name", REPORTS)
def test_tables_sort(open_page, name):
    page = open_page(name)
    page.evaluate(OPEN)
    for table in page.locator("table").all():
        heads = table.locator("tr.columns th")
        for column in {0, 1, heads.count() - 1}:
            cells = table.locator(f"tbody tr > :nth-child({column + 1})")
            values = lambda: cells.evaluate_all("all => all.map(cell => cell.dataset.value)")
            for direction in ("ascending", "descending"):
                heads.nth(column).locator("button").click()
                assert heads.nth(column).get_attribute("aria-sort") == direction
                found = values()
                known = [float(value) for value in found if value is not None]
                assert known == sorted(known, reverse=direction == "descending")
                assert None not in found[: len(known)], "what has no value is last"


def test_differences_are_told_without_colours(open_page):
    page = open_page("report")
    table = page.locator("#table2 ~ .table").first
    signs = table.locator("td.above, td.below").all_text_contents()
    assert signs and all(text[0] in "▲▼▽" and text[2] in "+−" for text in signs)
    assert table.locator("tr.groups th").all_text_contents() == ["none", "graclus", "nmf", "ndp"]


def test_contents_lead_to_parts_that_open(open_page):
    page = open_page("report")
    part = page.locator("details", has=page.locator("#dataset-nci1"))
    assert not part.locator("table").first.is_visible()
    page.locator('nav a[href="#dataset-nci1"]').click()
    page.wait_for_function("() => document.querySelector('#dataset-nci1').closest('details').open")
    assert part.locator("table").first.is_visible()


def test_on_paper_everything_is_open(open_page):
    page = open_page("report", scheme="dark")
    pdf = page.pdf(path=SHOTS / "report.pdf", format="A4")
    assert pdf.startswith(b"%PDF")
    assert page.evaluate("() => [...document.querySelectorAll('details')].every((part) => part.open)")
