"""An open page of the built book, with helpers for its explorers."""

import json
from contextlib import ExitStack, closing

import pytest
from playwright.sync_api import TimeoutError

from tests.book.conftest import PATIENCE, PHONE

# A page does not react to its reader's first moves for 1.5 s; tests do not need this delay.
HURRY = """const wait = window.setTimeout;
window.setTimeout = (f, ms, ...given) => wait(f, ms === 1500 ? 0 : ms, ...given);"""
# Layout shift without user input: fraction of the window times fraction of the distance.
SHIFTS = """window.lnShift = 0;
if (PerformanceObserver.supportedEntryTypes.includes("layout-shift")) {
  new PerformanceObserver((list) => list.getEntries().forEach((e) => {
    if (!e.hadRecentInput) lnShift += e.value;
  })).observe({ type: "layout-shift", buffered: true });
}"""
# A frame that the browser never draws, because it does not show the page, counts after a second.
TO_THE_END = """async () => {
  const frame = () => new Promise((done) => {
    requestAnimationFrame(() => setTimeout(done)), setTimeout(done, 1000);
  });
  for (let y = 0; y < document.documentElement.scrollHeight; y += innerHeight) {
    scrollTo({ top: y, behavior: "instant" });
    await frame(), await frame();
  }
  scrollTo({ top: 0, behavior: "instant" });
  await frame(), await frame();
  return { shift: lnShift };
}"""
TWO_FRAMES = """() => new Promise((done) => {
  requestAnimationFrame(() => requestAnimationFrame(() => done(true)));
})"""
INK = "e => getComputedStyle(e.querySelector('.main-svg text')).fill"  # color of texts in figures


def draws(page):
    """Whether the browser draws this page; rarely, it stops."""
    try:
        page.wait_for_function(TWO_FRAMES, timeout=PATIENCE / 6)
    except TimeoutError:
        return False
    return True


class SharedVisit:
    """A visit shared by several tests. The page is opened again if the browser no longer draws it.

    Args:
        prepare: Called with each visit after it was opened.
        visit: The fixture.
        *place: The site and the name of the page.
        **options: Other options of the fixture.
    """

    def __init__(self, prepare, visit, *place, **options):
        self._prepare = prepare
        self._open = lambda: visit(*place, **options)
        self._opened = ExitStack()
        self._visit = None

    def get(self):
        """The visit, opened and prepared by this call if necessary."""
        if self._visit is None or not draws(self._visit.page):
            self.close()
            opened = self._opened.enter_context(self._open())
            opened.page.set_default_timeout(PATIENCE / 3)  # after which the test runs again
            self._prepare(opened)
            self._visit = opened
        self._visit.page.bring_to_front()  # Firefox needs this for keys
        return self._visit

    def close(self):
        self._visit = None
        self._opened.close()


@pytest.fixture(scope="session")
def on_a_desk(visit, built_book, chapter):
    def prepare(v):
        v.explorers()
        v.shift = shift_of_a_scroll(v.page)

    options = {"before": lambda page: page.add_init_script(SHIFTS), "reduced_motion": "reduce"}
    with closing(SharedVisit(prepare, visit, built_book.as_uri(), chapter, **options)) as shared:
        yield shared


@pytest.fixture
def opened(on_a_desk):
    """A page that was scrolled through, shared by several tests."""
    return on_a_desk.get()


@pytest.fixture(scope="session")
def on_a_phone(visit, http, chapter):
    def prepare(v):
        v.page.wait_for_function(
            "() => [...document.querySelectorAll('.ln-explorer')]"
            ".every(e => e.dataset.ready === 'yes')"
        )
        v.shift = shift_of_a_scroll(v.page)

    options = {
        "before": lambda page: page.add_init_script(SHIFTS + HURRY),
        "viewport": PHONE,
        "reduced_motion": "reduce",
    }
    with closing(SharedVisit(prepare, visit, http, chapter, **options)) as shared:
        yield shared


@pytest.fixture
def phone(on_a_phone):
    """The same page on a phone, from a server, without scrolling before it was drawn."""
    return on_a_phone.get()


# Helpers.


def cell_value(cell):
    """A cell as a number if possible: Python and JavaScript format 1e-7 differently."""
    if cell is None:
        return "–"
    try:
        return float(cell)
    except ValueError:
        return str(cell)


def shift_of_a_scroll(page):
    """Layout shift so far and while scrolling to the end. Formulas are typeset before: how far a
    page is scrolled when they are depends on the machine."""
    if page.query_selector(".math"):
        page.wait_for_function("window.MathJax?.startup?.promise?.then(() => true)")
    # Not `evaluate`, which waits without a limit.
    return page.wait_for_function(TO_THE_END).json_value()["shift"]


def index(root):
    """The index of the state selected by the controls; the last control varies fastest."""
    sizes, values = root.evaluate(
        "r => [JSON.parse(r.dataset.sizes), [...r.querySelectorAll('input, select')]"
        ".map(e => Number(e.value))]"
    )
    number = 0
    for size, value in zip(sizes, values, strict=True):
        number = number * size + value
    return number


def stops(control):
    """The first, the middle and the last position."""
    last = control.evaluate("e => e.options ? e.options.length - 1 : Number(e.max)")
    return sorted({0, last // 2, last})


def jump(control, value):
    """Set a control to the value at the end of a drag."""
    if control.evaluate("e => e.tagName") == "SELECT":
        control.select_option(index=value)
    else:
        control.evaluate("(e, v) => { e.value = v; e.dispatchEvent(new Event('input')) }", value)


def wait_drawn(page, root):
    page.wait_for_function("([r, i]) => r.dataset.state == i", arg=[root, index(root)])


def move(page, root, control, value):
    """Use a control like a reader: keys for a slider, a selection in a menu."""
    if control.evaluate("e => e.tagName") == "SELECT":
        control.select_option(index=value)
    else:
        control.focus()
        while abs(int(control.input_value()) - value) > 1:  # most of the distance in one drag
            jump(control, value + (1 if value == 0 else -1))
        while (now := int(control.input_value())) != value:
            page.keyboard.press("ArrowRight" if now < value else "ArrowLeft")
    wait_drawn(page, root)


def rendered(root):
    """The description and every drawn mark."""
    return root.evaluate(
        "r => [r.querySelector('.ln-text').textContent, ...[...r.querySelectorAll('.main-svg')]"
        ".map(s => s.innerHTML.replace(/(clip|legend|topdefs-|defs-)[0-9a-f]{6}\\w*/g, ''))]"
    )


def assert_drawn(root, states):
    """Compare the data in plotly with what Python computed for this state of the controls."""
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
