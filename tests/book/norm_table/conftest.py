"""A norm table in a browser, with helpers to use it and to check its numbers.

The page is generated here with the style sheets of the theme and of the book, and needs no built
book.
"""

import numpy as np
import pytest

from lnbook.show import NormTable
from lnbook.widgets.norm_table import WEB
from lnlib import norms
from tests.cases.themed_page import themed

TABLE = np.array(
    [
        [2.47, -2.92, 1.04, 4.77, 11.41, 7.69],
        [10.4, 10.66, 18.18, 21.06, 17.98, 19.56],
        [24.7, 20.35, 27, 24.64, 32.17, 33.55],
        [32.67, 31.92, 34.4, 42.46, 42.22, 41.09],
    ]
)
TEST_TIME = "batch norm at inference"
NORMS = ("layer norm", "batch norm", TEST_TIME, "RMS norm", "group norm", "instance norm", "none")
EPS = {"0": 0.0, "1e-5": 1e-5, "1e-3": 1e-3, "1e-1": 1e-1}
RUNNING = (np.array([15.5, 14.0, 20.0, 22.0, 25.0, 24.0]), np.array([9.0, 4.0, 1.0, 16.0, 25, 2]))
READY = "document.querySelector('.ln-norm-table').dataset.ready"


def norm_table(**changes):
    return NormTable(TABLE, **({"title": "Type here", "running": RUNNING} | changes))


class Reader:
    """Types into, reads and clicks a norm table."""

    def __init__(self, page, root=".ln-norm-table"):
        self.page, self.root = page, page.locator(root).first

    def cell(self, which, i, j):
        return self.root.locator(f'[data-at="{which} {i} {j}"]')

    def type(self, which, i, j, text):
        self.cell(which, i, j).focus()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.press("Backspace")
        self.page.keyboard.type(text)

    def choose(self, name, value):
        self.root.locator(f".norm-table-{name} select").select_option(value)

    def press(self, action, times=1):
        for _ in range(times):
            self.root.locator(f'[data-do="{action}"]').click(force=True)  # at a limit, too

    def paste(self, text):
        """Paste a whole table with the box below it."""
        details = self.root.locator("details")
        if details.get_attribute("open") is None:
            details.locator("summary").click()
        details.locator("textarea").fill(text)
        self.press("paste")

    def paste_at(self, i, j, text):
        """Copy a text elsewhere on the page, and paste it with the keyboard."""
        self.page.evaluate(
            "text => { const box = document.body.appendChild(document.createElement('textarea'));"
            "box.id = 'elsewhere'; box.value = text; box.select(); }",
            text,
        )
        self.page.keyboard.press("Control+c")
        self.page.evaluate("document.getElementById('elsewhere').remove()")
        self.cell("x", i, j).focus()
        self.page.keyboard.press("Control+v")

    def snapshot(self):
        """Everything the norm table shows, read in one call for speed."""
        return self.root.evaluate(SEEN)

    def texts(self, which="x"):
        return self.snapshot()["texts"][which]

    def message(self, kind):
        return self.snapshot()["said"][kind]


SEEN = """r => {
  const texts = {}, said = {}, chosen = {}, set = { x: [], y: [] };
  for (const el of r.querySelectorAll('[data-at]')) {
    const [kind, ...at] = el.dataset.at.split(' '), [i, j] = at.map(Number);
    ((texts[kind] ??= [])[i] ??= []).push(el.value ?? el.textContent);
    if (set[kind] && el.closest('td').classList.contains('set')) set[kind].push([i, j]);
  }
  for (const kind of ['text', 'work', 'warning', 'note', 'about'])
    said[kind] = r.querySelector(`.norm-table-${kind}`)?.textContent;
  for (const name of ['norm', 'groups', 'eps'])
    chosen[name] = r.querySelector(`.norm-table-${name} select`).value;
  const of = r.querySelector('.norm-table-x td.chosen input')?.dataset.at;
  const cell = of?.split(' ').slice(1).map(Number);
  return { texts, said, chosen, set, cell };
}"""


def open_table(browse, *tables, theme="light", **options):
    """A page with norm tables whose scripts have started."""
    page = browse(themed(WEB, *(tables or [norm_table()]), theme=theme), **options)
    page.wait_for_function(READY)
    return page


@pytest.fixture(scope="module")
def shared(browse):
    """A page shared by all tests of a file, which must not report errors."""
    page = open_table(browse)
    yield page
    assert page.complaints == []


@pytest.fixture
def reader(shared):
    """The shared page in its initial state."""
    shared.reload()
    shared.wait_for_function(READY)
    return Reader(shared)


def oracle(name, x, gain, bias, eps, groups, running):
    """The result of the matching function of lnlib.norms."""
    with np.errstate(all="ignore"):
        if name == "layer norm":
            return norms.layer_norm(x, gain, bias, eps=eps)
        if name == "batch norm":
            return norms.batch_norm(x, gain, bias, eps=eps)
        if name == TEST_TIME:
            return norms.batch_norm(x, gain, bias, eps=eps, mean=running[0], var=running[1])
        if name == "RMS norm":
            return norms.rms_norm(x, gain, eps=eps)
        if name == "group norm":
            return norms.group_norm(x, groups, gain, bias, eps=eps)
        if name == "instance norm":
            return norms.instance_norm(x[..., None], gain, bias, eps=eps)[..., 0]
        return gain * x + bias


def shown_is(text, value):
    """Whether a text is this number, to the displayed precision."""
    number = float(text.replace("−", "-"))
    mantissa, _, power = text.partition("e")
    places = len(mantissa.partition(".")[2])
    unit = 10.0 ** (float(power.replace("−", "-") or 0) - places)
    return abs(number - value) <= 0.5 * unit * (1 + 1e-6) + 1e-12 * abs(value)


def write(x, separator="\t"):
    return "\n".join(separator.join(repr(float(v)) for v in row) for row in x)


def assert_page_is_right(reader):
    """Compare all outputs with lnlib.norms, and the calculation below them with its output."""
    snapshot = reader.snapshot()
    texts, chosen = snapshot["texts"], snapshot["chosen"]
    F = len(texts["x"][0])
    no_bias = [["0"] * F]  # RMS norm has none
    tables = texts["x"], texts["gain"], texts.get("bias", no_bias)
    x, gain, bias = (np.array(table, float) for table in tables)
    running = [np.append(r, np.full(8, f))[:F] for r, f in zip(RUNNING, (0, 1), strict=True)]
    want = oracle(
        chosen["norm"], x, gain[0], bias[0], EPS[chosen["eps"]], int(chosen["groups"]), running
    )
    assert np.shape(texts["y"]) == x.shape
    for (i, j), value in np.ndenumerate(want):
        text = texts["y"][i][j]
        assert text == "0/0" if np.isnan(value) else shown_is(text, value), (chosen, i, j, text)
    i, j = snapshot["cell"]
    assert snapshot["said"]["text"].startswith(f"Example {i + 1}, feature {j + 1} ")
    assert snapshot["said"]["work"].endswith(f" = {texts['y'][i][j]}")


def set_by_trial(name, x, cell, groups):
    """The inputs that affect this output, found by changing one after the other."""
    ones, zeros = np.ones(x.shape[1]), np.zeros(x.shape[1])

    def output(table):
        return oracle(name, table, ones, zeros, 0.1, groups, RUNNING)[cell]

    moved = {cell}  # a number that is its own mean has no effect
    for place in np.ndindex(*x.shape):
        pushed = x.copy()
        pushed[place] += 3.7
        if output(pushed) != output(x):
            moved.add(place)
    return moved
