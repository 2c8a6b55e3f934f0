"""An open page of the built book, and hands and eyes on its explorers."""

import json

import pytest

from tests.book.conftest import PHONE

# A page leaves a reader's first moves alone for a second and a half; nobody moves anything here.
HURRY = """const wait = window.setTimeout;
window.setTimeout = (f, ms, ...given) => wait(f, ms === 1500 ? 0 : ms, ...given);"""
# What moves without the reader's doing, as a share of the window times a share of the way.
SHIFTS = """window.lnShift = 0;
if (PerformanceObserver.supportedEntryTypes.includes("layout-shift")) {
  new PerformanceObserver((list) => list.getEntries().forEach((e) => {
    if (!e.hadRecentInput) lnShift += e.value;
  })).observe({ type: "layout-shift", buffered: true });
}"""
TO_THE_END = """async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  for (let y = 0; y < document.documentElement.scrollHeight; y += innerHeight) {
    scrollTo({ top: y, behavior: "instant" });
    await frame(), await frame();
  }
  scrollTo({ top: 0, behavior: "instant" });
  await frame(), await frame();
  return lnShift;
}"""
INK = "e => getComputedStyle(e.querySelector('.main-svg text')).fill"  # as a figure's text has it


@pytest.fixture(scope="session")
def opened_once(visit, built_book, chapter):
    def observe(page):
        page.add_init_script(SHIFTS)

    with visit(built_book.as_uri(), chapter, before=observe, reduced_motion="reduce") as v:
        v.explorers()
        v.shift = v.page.evaluate(TO_THE_END)
        yield v


@pytest.fixture
def opened(opened_once):
    """One visit that several tests look at; in front, as in Firefox no key moves a page behind."""
    opened_once.page.bring_to_front()
    return opened_once


def cell_value(cell):
    """A cell as a number where it is one: two languages write 1e-7 in two ways."""
    if cell is None:
        return "–"
    try:
        return float(cell)
    except ValueError:
        return str(cell)


@pytest.fixture(scope="session")
def phone_once(visit, http, chapter):
    def hurry(page):
        page.add_init_script(SHIFTS + HURRY)

    with visit(http, chapter, before=hurry, viewport=PHONE, reduced_motion="reduce") as v:
        v.page.wait_for_function(
            "() => [...document.querySelectorAll('.ln-explorer')]"
            ".every(e => e.dataset.ready === 'yes')"
        )
        v.shift = v.page.evaluate(TO_THE_END)
        yield v


@pytest.fixture
def phone(phone_once):
    """The same page on a phone, from a server; nobody has scrolled before it was drawn."""
    phone_once.page.bring_to_front()
    return phone_once


# Hands and eyes.


def index(root):
    """The state the controls ask for, the last control running fastest."""
    sizes, values = root.evaluate(
        "r => [JSON.parse(r.dataset.sizes), [...r.querySelectorAll('input, select')]"
        ".map(e => Number(e.value))]"
    )
    number = 0
    for size, value in zip(sizes, values, strict=True):
        number = number * size + value
    return number


def stops(control):
    """First, middle and last position."""
    last = control.evaluate("e => e.options ? e.options.length - 1 : Number(e.max)")
    return sorted({0, last // 2, last})


def jump(control, value):
    """Put a control where a drag would leave it."""
    if control.evaluate("e => e.tagName") == "SELECT":
        control.select_option(index=value)
    else:
        control.evaluate("(e, v) => { e.value = v; e.dispatchEvent(new Event('input')) }", value)


def wait_drawn(page, root):
    page.wait_for_function("([r, i]) => r.dataset.state == i", arg=[root, index(root)])


def move(page, root, control, value):
    """Move a control as a reader does: keys on a slider, a choice in a list."""
    if control.evaluate("e => e.tagName") == "SELECT":
        control.select_option(index=value)
    else:
        control.focus()
        while abs(int(control.input_value()) - value) > 1:  # the long way in one drag
            jump(control, value + (1 if value == 0 else -1))
        while (now := int(control.input_value())) != value:
            page.keyboard.press("ArrowRight" if now < value else "ArrowLeft")
    wait_drawn(page, root)


def rendered(root):
    """The sentence, and every mark as it stands in the figure."""
    return root.evaluate(
        "r => [r.querySelector('.ln-text').textContent, ...[...r.querySelectorAll('.main-svg')]"
        ".map(s => s.innerHTML.replace(/(clip|legend|topdefs-|defs-)[0-9a-f]{6}\\w*/g, ''))]"
    )


def assert_drawn(root, states):
    """What plotly holds is what Python computed for this position of the controls."""
    state, marks = states[index(root)], ".trace, .hm, .point, .shapelayer path, .annotation"
    for panel, drawn in zip(root.query_selector_all(".ln-panel"), state["panels"], strict=True):
        rows = [row for trace in drawn["data"] for row in trace.get("z", [[0]])]
        if any(value is not None for row in rows for value in row):  # a map may have no value
            panel.wait_for_selector(marks, state="attached")  # plotly may be drawing it anew
    # As text: Playwright hands over an array number by number, which takes ten times as long.
    shown = json.loads(
        root.evaluate("""r => {
          const panels = [...r.querySelectorAll(".ln-panel")];
          return JSON.stringify({
            text: r.querySelector(".ln-text").innerText,
            data: panels.map((p) => p.data.filter((trace) => trace.meta !== "cursor")),
          });
        }""")
    )
    assert shown["text"] == state["text"]
    assert shown["data"] == [panel["data"] for panel in state["panels"]]
