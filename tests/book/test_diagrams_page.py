"""The diagrams in a browser: they highlight and describe the same as computed in Python."""

import itertools
import re

import numpy as np
import pytest

from lnbook import diagrams
from lnbook.diagrams import cells, cubes, residual_streams
from lnbook.diagrams.svg import spoken
from tests.book.conftest import DESK, PHONE
from tests.cases.themed_page import themed

STATES = {
    place: {
        "one": residual_streams.State(
            f"{place} one", (0.2, 1, size), (1.5, 0.5), {"a": 2.5, "b": 3}
        ),
        "two": residual_streams.State(f"{place} two"),
    }
    for place, size in (("post", 1), ("pre", 2.5), ("sandwich", 2), ("none", 3))
}
GAUGE = residual_streams.Gauge("loss", 2, 3.5, {"bigram": 2.5, "unigram": 3.3})


def residual_stream():
    words = {
        "title": "Residual stream",
        "starts": "Start",
        "bars": "gradient",
        "hint": "What it means.",
    }
    return diagrams.residual_stream(STATES, GAUGE, **words)


@pytest.fixture(scope="module")
def source():
    """A page with all diagrams."""
    shown = diagrams.cube(), diagrams.lstm(), diagrams.gru(), diagrams.residual(("attention",))
    return themed(diagrams.WEB, *shown, residual_stream(), width=780)


@pytest.fixture(scope="module")
def page(browse, source):
    """A page shared by several tests of this file, which must not report errors."""
    opened = browse(source)
    yield opened
    assert opened.complaints == []


LIT = """root => {
  const cells = [...root.querySelectorAll('.ln-diagram-large g .ln-diagram-cell')];
  const lit = at => {
    const d = at.querySelector('.lit').getAttribute('d');
    return cells.map(cell => d.includes(cell.getAttribute('d')));
  };
  return { said: root.querySelector('.ln-diagram-said').textContent, large: lit(root.querySelector(
    '.ln-diagram-large')), norms: [...root.querySelectorAll('.ln-diagram-norm')].map(lit),
    mark: cells.findIndex(cell => cell.getAttribute('d')
      === root.querySelector('.ln-diagram-large .mark').getAttribute('d')),
    says: [...root.querySelectorAll('.ln-diagram-says')].map(e => e.textContent) };
}"""


def by_place(drawn):
    """Reorder cells from drawing order (the last example first) to the shape of the cube."""
    return np.array(drawn).reshape(cubes.SHAPE)[::-1]


def holds(rendered, name, cell):
    sets = {norm: cubes.sets(norm) for norm in cubes.NORMS}
    assert rendered["said"] == cubes.describe(name, cell)
    assert np.array_equal(by_place(rendered["large"]), sets[name] == sets[name][cell])
    for lit, says, (norm, numbers) in zip(
        rendered["norms"], rendered["says"], sets.items(), strict=True
    ):
        assert np.array_equal(by_place(lit), numbers == numbers[cell])
        assert f"{norm}: {says}" == cubes.describe(norm, cell)
    assert by_place(np.arange(96) == rendered["mark"])[cell]


def test_hovering_a_cell_highlights_and_describes_its_normalization_set(page):
    root = page.locator(".ln-diagram-cube")
    names = list(cubes.NORMS)
    drawn = [(3 - k // 24, k // 4 % 6, k % 4) for k in range(96)]
    for k in (*range(0, 96, 5), 95):
        root.locator(".ln-diagram-norm").nth(k % 6).click()
        cell = root.locator(".ln-diagram-large g .ln-diagram-cell").nth(k)
        x, y = cell.evaluate(  # the center of its front face
            "e => { const n = e.getAttribute('d').match(/-?[\\d.]+/g).slice(0, 6).map(Number);"
            "const m = e.ownerSVGElement.getScreenCTM();"
            "const p = new DOMPoint(n[0] + n[4] / 2, n[1] + (n[3] + n[5]) / 2)"
            ".matrixTransform(m); return [p.x, p.y] }"
        )
        page.mouse.move(x, y)
        holds(root.evaluate(LIT), names[k % 6], drawn[k])


@pytest.mark.every_browser
def test_arrow_keys_select_cells_and_norms(page):
    root = page.locator(".ln-diagram-cube")
    root.locator(".ln-diagram-norm").first.click()
    page.mouse.move(0, 0)
    root.locator(".ln-diagram-large").focus()
    for _ in range(3):
        page.keyboard.press("PageUp")  # stays at the first
    for key, times in (("ArrowLeft", 30), ("ArrowUp", 5)):
        for _ in range(times):
            page.keyboard.press(key)
    walked = [("ArrowRight", (0, 1, 0)), ("ArrowDown", (0, 1, 1)), ("PageDown", (1, 1, 1))]
    walked += [("ArrowLeft", (1, 0, 1)), ("ArrowLeft", (0, 5, 1)), ("ArrowRight", (1, 0, 1))]
    for key, cell in walked:
        page.keyboard.press(key)
        holds(root.evaluate(LIT), "LayerNorm(C)", cell)
    root.locator("input").first.focus()
    for name in list(cubes.NORMS)[1:]:
        page.keyboard.press("ArrowRight")
        holds(root.evaluate(LIT), name, (1, 0, 1))


def test_beams_connect_examples_that_share_a_mean(page):
    root = page.locator(".ln-diagram-cube")
    for k, name in enumerate(cubes.NORMS):
        root.locator(".ln-diagram-norm").nth(k).click()
        beams = root.evaluate(
            "r => [...r.querySelectorAll('.ln-diagram-large .beam')].map(b => b.getAttribute('d'))"
        )
        expected = ["", "", ""]
        if name == "BatchNorm":
            channel = re.search(r"channel (\d)", root.locator(".ln-diagram-said").inner_text())[1]
            expected = [cubes.beam(i, int(channel) - 1) for i in (2, 1, 0)]
        assert beams == expected


FLOWS = {"LSTM": (0, cells.LSTM), "GRU": (1, cells.GRU)}


@pytest.mark.parametrize("name", FLOWS)
def test_arrow_keys_describe_every_box_and_blur_shows_the_whole_diagram(page, name):
    place, flow = FLOWS[name]
    root = page.locator(".ln-diagram-flow").nth(place)
    texts = root.locator(".ln-diagram-said")
    assert texts.inner_text() == text(flow.description)
    root.locator("svg [tabindex='0']").focus()
    lines = [box.text for box in flow.boxes.values() if box.text]
    for line in lines:
        assert texts.inner_text() == text(line)
        active = page.evaluate("document.activeElement.getAttribute('aria-label')")
        assert active == spoken(line)
        page.keyboard.press("ArrowRight")
    assert texts.inner_text() == text(lines[-1])  # stays at the last
    page.keyboard.press("Home")
    assert texts.inner_text() == text(lines[0])
    page.evaluate("document.activeElement.blur()")
    assert texts.inner_text() == text(flow.description)


def text(line):
    """A sentence as the page shows it: subscripts are letters like the others."""
    return re.sub(r"_\{?(t−1|\w)\}?", r"\1", line.replace("$", ""))


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_hovering_a_box_describes_it_and_highlights_its_inputs(browse, source, size):
    page = browse(source, viewport=size)
    for place, flow in FLOWS.values():
        root = page.locator(".ln-diagram-flow").nth(place)
        drawn = root.locator("svg")
        for name, box in itertools.islice(flow.boxes.items(), 0, None, 3):
            if box.text:
                page.mouse.move(1, 1)  # a box may be scrolled to where the last one was
                drawn.locator(f"[data-part='{name}']").hover()
                assert root.locator(".ln-diagram-said").inner_text() == text(box.text)
                into = sum(wire.target == name for wire in flow.wires)
                assert drawn.locator("[data-to].on:visible").count() == into
                assert drawn.locator(".box.on").count() == 1
    assert page.complaints == []


SHAPES = """svg => { const all = (selector, ...names) => [...svg.querySelectorAll(selector)].map(
  e => names.map(name => parseFloat(e.getAttribute(name))));
  return { outline: svg.querySelector('.stream').getAttribute('d').match(/-?[\\d.]+/g).map(Number),
    rects: all(':is(.norm, .bar)', 'x', 'y', 'width', 'height', 'opacity'),
    circles: all('circle', 'cx', 'cy', 'opacity'),
    texts: [...svg.querySelectorAll('.value')].map(e => e.textContent) } }"""


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_choices_move_norms_stream_bars_and_marks_as_computed_in_python(browse, source, motion):
    page = browse(source, reduced_motion=motion)
    root = page.locator(".ln-diagram-residual-stream")
    for place, start in (("pre", "one"), ("pre", "two"), ("sandwich", "one"), ("none", "one")):
        for value in (place, start):
            root.locator(f"label:has([value='{value}'])").click()
        page.wait_for_timeout(50 if motion == "reduce" else 700)
        assert root.locator(".ln-diagram-said").inner_text() == f"{place} {start}"
        for name, layout in (("wide", residual_streams.WIDE), ("tall", residual_streams.TALL)):
            want = residual_streams._shape(layout, place, STATES[place][start], 2, GAUGE)
            rendered = root.locator(f".ln-diagram-{name} svg").evaluate(SHAPES)
            outline_numbers = [float(n) for n in re.findall(r"-?[\d.]+", want["outline"])]
            assert rendered["outline"] == pytest.approx(outline_numbers, abs=0.06)
            for kind in ("rects", "circles"):
                assert np.allclose(rendered[kind], want[kind])
            assert rendered["texts"] == [text for _, _, text in want["texts"]]
    root.locator("input[value='post']").focus()
    page.keyboard.press("ArrowRight")
    assert root.locator("input[value='pre']").is_checked()
    assert page.complaints == []


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_diagrams_are_legible_and_keep_their_height_when_the_sentence_changes(browse, source, size):
    page = browse(source, viewport=size)
    assert page.evaluate("(r => r.scrollWidth - r.clientWidth)(document.documentElement)") == 0
    small = page.evaluate(
        "() => [...document.querySelectorAll('.ln-diagram-flow svg text, "
        ".ln-diagram-residual svg text, .ln-diagram-residual-stream svg text,"
        " .ln-diagram-large text')].filter(e => e.checkVisibility()).map(e => [e.textContent,"
        "parseFloat(getComputedStyle(e).fontSize) * Math.sqrt("
        "e.getScreenCTM().a ** 2 + e.getScreenCTM().b ** 2)]).filter(p => p[1] < 10)"
    )
    assert small == []
    out = page.evaluate(
        "() => [...document.querySelectorAll('.ln-diagram svg')].filter(e => e.checkVisibility())"
        ".flatMap(svg => { const frame = svg.closest('.ln-diagram').getBoundingClientRect();"
        "return [...svg.querySelectorAll('text, rect')].map(e => e.getBoundingClientRect())"
        ".filter(r => r.width).filter(r => r.left < frame.left || r.right > frame.right"
        " || r.bottom > frame.bottom) })"
    )
    assert out == []
    heights = set()
    flow = page.locator(".ln-diagram-flow").first
    for box in flow.locator("svg [data-part]").all():
        box.hover()
        heights.add(flow.bounding_box()["height"])
    assert len(heights) == 1
    cube = page.locator(".ln-diagram-cube")
    for width in {size["width"], 360, 320} if size is PHONE else {size["width"]}:
        page.set_viewport_size(size | {"width": width})
        norms = [
            label.click() or cube.bounding_box()["height"] for label in cube.locator("label").all()
        ]
        assert norms == [norms[0]] * len(norms), width


def test_without_javascript_all_norms_and_lines_are_shown(browse, source):
    bare = browse(source, java_script_enabled=False)
    has_every_line(bare)
    assert bare.locator(".ln-diagram-large").is_hidden()


@pytest.mark.not_in("firefox", reason="its driver cannot show a page as on paper")
def test_printed_diagrams_show_all_norms_and_lines(browse, source):
    printed = browse(source)
    printed.emulate_media(media="print")
    has_every_line(printed)


def has_every_line(page):
    assert page.locator(".ln-diagram-says:visible").count() == len(cubes.NORMS)
    lines = [b for flow in (cells.LSTM, cells.GRU) for b in flow.boxes.values() if b.text]
    assert page.locator(".ln-diagram-parts li:visible").count() == len(lines)
    assert page.locator(".ln-diagram-other li:visible").count() == len(STATES) - 1


@pytest.mark.parametrize("theme", ["true", "false"], ids=["light", "dark"])
def test_live_widgets_show_the_same_diagrams(browse, source, theme):
    page = browse(source)
    (widget,) = diagrams.cube().widget().children
    page.evaluate(
        """async ([code, style, html, theme]) => {
          document.querySelector("style").remove(); // the book's own
          document.body.innerHTML = `<style>${style}</style><main></main>`;
          document.body.dataset.jpThemeLight = theme;
          const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
          const model = { get: () => html }, el = document.querySelector("main");
          (await import(url)).default.render({ model, el });
        }""",
        [widget._esm, widget._css, widget.html, theme],
    )
    root = page.locator(".ln-diagram-cube")
    root.locator(".ln-diagram-large").focus()
    page.keyboard.press("ArrowDown")
    holds(root.evaluate(LIT), "LayerNorm(C)", (1, 2, 2))
    ground = root.evaluate("e => getComputedStyle(e).backgroundColor.match(/\\d+/g).map(Number)")
    assert (max(ground) < 60) == (theme == "false")
    assert page.complaints == []
