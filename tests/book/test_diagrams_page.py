"""The diagrams in a browser: they highlight and describe the same as computed in Python."""

import re

import numpy as np
import pytest

from lnbook import diagrams
from lnbook.diagrams import cells, cubes, residual_streams
from lnbook.diagrams.svg import spoken
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
    for key, times in (("PageUp", 3), ("ArrowLeft", 30), ("ArrowUp", 5)):
        for _ in range(times):
            page.keyboard.press(key)
    walked = [("ArrowRight", (0, 1, 0)), ("ArrowDown", (0, 1, 1)), ("PageDown", (1, 1, 1))]
    walked.append(("ArrowLeft", (1, 0, 1)))
    for key, cell in walked:
        page.keyboard.press(key)
        holds(root.evaluate(LIT), "LayerNorm(C)", cell)
    root.locator("input").first.focus()
    for name in list(cubes.NORMS)[1:]:
        page.keyboard.press("ArrowRight")
        holds(root.evaluate(LIT), name, (1, 0, 1))


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


SHAPES = """svg => { const all = (selector, ...names) => [...svg.querySelectorAll(selector)].map(
  e => names.map(name => parseFloat(e.getAttribute(name))));
  return { outline: svg.querySelector('.stream').getAttribute('d').match(/-?[\\d.]+/g).map(Number),
    rects: all(':is(.norm, .bar)', 'x', 'y', 'width', 'height', 'opacity'),
    circles: all('circle', 'cx', 'cy', 'opacity'),
    texts: [...svg.querySelectorAll('.value')].map(e => e.textContent) } }"""


def test_choices_move_norms_stream_bars_and_marks_as_computed_in_python(browse, source):
    page = browse(source, reduced_motion="reduce")
    root = page.locator(".ln-diagram-residual-stream")
    for place, start in (("pre", "one"), ("pre", "two"), ("sandwich", "one"), ("none", "one")):
        for value in (place, start):
            root.locator(f"label:has([value='{value}'])").click()
        page.wait_for_timeout(50)
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


def test_without_javascript_all_norms_and_lines_are_shown(browse, source):
    page = browse(source, java_script_enabled=False)
    assert page.locator(".ln-diagram-says:visible").count() == len(cubes.NORMS)
    lines = [b for flow in (cells.LSTM, cells.GRU) for b in flow.boxes.values() if b.text]
    assert page.locator(".ln-diagram-parts li:visible").count() == len(lines)
    assert page.locator(".ln-diagram-other li:visible").count() == len(STATES) - 1
    assert page.locator(".ln-diagram-large").is_hidden()


def test_live_widgets_show_the_same_diagrams_in_the_theme_of_the_notebook(browse, source):
    page = browse(source)
    (widget,) = diagrams.cube().widget().children
    page.evaluate(
        """async ([code, style, html]) => {
          document.querySelector("style").remove(); // the book's own
          document.body.innerHTML = `<style>${style}</style><main></main>`;
          document.body.dataset.jpThemeLight = "false";
          const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
          const model = { get: () => html }, el = document.querySelector("main");
          (await import(url)).default.render({ model, el });
        }""",
        [widget._esm, widget._css, widget.html],
    )
    root = page.locator(".ln-diagram-cube")
    root.locator(".ln-diagram-large").focus()
    page.keyboard.press("ArrowDown")
    holds(root.evaluate(LIT), "LayerNorm(C)", (1, 2, 2))
    ground = root.evaluate("e => getComputedStyle(e).backgroundColor.match(/\\d+/g).map(Number)")
    assert max(ground) < 60
    assert page.complaints == []
