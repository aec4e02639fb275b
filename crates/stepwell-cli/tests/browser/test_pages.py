"""Every page in a browser: no error, no network request, and everything responds."""

import time

import pytest
from conftest import HOSTILE, SHOTS

PAGES = ["lda", "pca", "points", "hostile", "ndp", "graclus", "nmf", "deep", "alone", "large", "hostile-graph", "explanation"]  # fmt: skip
POINTS = ["lda", "pca", "points", "hostile"]
WIDTHS = {"wide": 1280, "narrow": 640}

#: The texts of a picture that overlap or stick out, in its own coordinates.
CROWDED = """() => {
  const found = [];
  for (const svg of document.querySelectorAll("svg.stepwell")) {
    const [, top, width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    const shape = svg.getScreenCTM().inverse();
    const boxes = [...svg.querySelectorAll("text")].map((text) => {
      const box = text.getBoundingClientRect();
      const a = new DOMPoint(box.left, box.top).matrixTransform(shape);
      const b = new DOMPoint(box.right, box.bottom).matrixTransform(shape);
      return { text: text.textContent, left: a.x, top: a.y + 2, right: b.x, bottom: b.y - 2 };
    });
    for (const box of boxes) {
      if (box.left < 0 || box.right > width || box.top < top || box.bottom > top + height)
        found.push(`'${box.text}' sticks out`);
      for (const other of boxes)
        if (other !== box && box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom)
          found.push(`'${box.text}' lies on '${other.text}'`);
    }
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_cut_off_or_overlaps(open_page, name, width, scheme):
    page = open_page(name, WIDTHS[width], scheme=scheme)
    assert page.evaluate(CROWDED) == []
    overflow = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(overflow) <= 0, "the page itself does not scroll sideways"
    paper = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    inside = page.evaluate("() => getComputedStyle(document.querySelector('svg.stepwell .paper')).fill")
    assert paper == inside == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(21, 23, 27)")
    page.screenshot(path=SHOTS / f"{name}-{width}-{scheme}.png", full_page=True)


@pytest.mark.parametrize("name", PAGES)
def test_pointing_says_what_it_is(open_page, name):
    page = open_page(name)
    mark = page.locator(".marks > *").last
    text = mark.locator("title").text_content()
    mark.hover(force=True)
    hint = page.locator("#hint")
    assert hint.is_visible()
    assert hint.text_content().split()[0] in ("graph", "vertex")
    if name not in ("points", "large"):  # another mark may lie on top of it
        assert hint.text_content() == text
    box = hint.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 1280
    page.mouse.move(2, 2)
    assert not hint.is_visible()


@pytest.mark.parametrize("name", [*POINTS, "ndp"])
def test_the_legend_hides_and_shows(open_page, name):
    page = open_page(name)
    entry, marks = page.locator(".legend .entry").first, page.locator('.marks[data-series="0"]').first
    assert marks.is_visible() and entry.get_attribute("aria-pressed") == "true"
    entry.click()
    assert not marks.is_visible() and entry.get_attribute("aria-pressed") == "false"
    entry.focus()
    page.keyboard.press("Enter")
    assert marks.is_visible() and entry.get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("name", PAGES)
def test_tables_sort(open_page, name):
    page = open_page(name)
    heads = page.locator("th")
    for column in range(heads.count()):
        cells = page.locator(f"tbody tr > :nth-child({column + 1})")
        values = lambda: [
            (cell["value"], cell["text"])
            for cell in cells.evaluate_all("all => all.map(c => ({value: c.dataset.value, text: c.textContent}))")
        ]
        before = values()
        for direction in ("ascending", "descending"):
            heads.nth(column).locator("button").click()
            assert heads.nth(column).get_attribute("aria-sort") == direction
            found = values()
            assert sorted(map(str, found)) == sorted(map(str, before))
            known = [float(value) for value, _ in found if value is not None]
            assert known == sorted(known, reverse=direction == "descending")
            assert all(value is not None for value, _ in found[: len(known)]), "what has no value is last"


@pytest.mark.parametrize("name", ["lda", "points", "ndp", "large", "explanation"])
def test_zooming_keeps_up(open_page, name):
    page = open_page(name)
    place = lambda: page.locator(".marks > *").last.bounding_box()
    ticks = lambda: page.locator(".tick").all_text_contents()
    first, numbers = place(), ticks()
    start = time.monotonic()
    for _ in range(4):
        page.get_by_role("button", name="zoom in").click()
        page.evaluate("() => new Promise(requestAnimationFrame)")
    # Generous: it only distinguishes a responsive picture from a hanging one.
    assert time.monotonic() - start < 10
    moved = place()
    assert (moved["x"], moved["y"]) != (first["x"], first["y"])
    assert abs(moved["width"] - first["width"]) < 0.5, "marks keep their size"
    assert not numbers or ticks() != numbers
    page.get_by_role("button", name="show all").click()
    page.evaluate("() => new Promise(requestAnimationFrame)")
    page.evaluate("() => new Promise(requestAnimationFrame)")
    back = place()
    assert abs(back["x"] - first["x"]) < 0.5 and abs(back["y"] - first["y"]) < 0.5
    assert ticks() == numbers, "the page writes numbers as the picture does"


def test_wheel_and_drag_after_a_click(open_page):
    page = open_page("lda")
    window = page.locator("svg.zoom").bounding_box()
    x, y = window["x"] + window["width"] / 2, window["y"] + window["height"] / 2
    place = lambda: page.locator(".marks > *").first.bounding_box()
    first = place()
    page.mouse.move(x, y)
    page.mouse.wheel(0, -300)
    page.wait_for_timeout(100)
    assert page.evaluate("() => scrollY") == 0 and place() == first, "a page is scrolled, not its pictures"
    page.mouse.click(x, y)
    page.mouse.wheel(0, -600)
    page.wait_for_function("before => document.querySelector('.marks > *').getBoundingClientRect().x != before", arg=first["x"])
    zoomed = place()
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y + 25)
    page.mouse.up()
    page.evaluate("() => new Promise(requestAnimationFrame)")
    page.evaluate("() => new Promise(requestAnimationFrame)")
    dragged = place()
    assert abs(dragged["x"] - zoomed["x"] - 40) < 2 and abs(dragged["y"] - zoomed["y"] - 25) < 2


def test_hostile_names_are_shown_as_they_are(open_page):
    page = open_page("hostile")
    names = page.locator(".legend .entry text").all_text_contents()
    assert any(name.startswith(HOSTILE[0][:12]) for name in names)
    assert all(len(name) < 40 for name in names)
    assert page.locator("script").count() == 1


def test_on_paper_there_is_light_and_no_button(open_page):
    page = open_page("explanation", scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    fill = "() => getComputedStyle(document.querySelector('svg.stepwell .paper')).fill"
    assert page.evaluate(fill) == "rgb(255, 255, 255)"
    assert not page.locator(".tools").is_visible()
    page.screenshot(path=SHOTS / "explanation-print.png", full_page=True)
