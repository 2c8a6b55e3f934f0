"""A norm table in a browser, with helpers to use it and to check its numbers.

The page is generated here with the style sheets of the theme and of the book, and needs no built
book.
"""

import math
import re
from dataclasses import dataclass

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


@dataclass
class State:
    """What the page shows to be set: typed texts, choices, and the chosen cell."""

    x: list[list[str]]
    gain: list[str]
    bias: list[str]
    norm: str
    groups: int
    eps: float
    cell: tuple[int, int]


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

    def state(self, snapshot=None):
        """What the page shows to be set."""
        snapshot = snapshot or self.snapshot()
        value, texts = snapshot["chosen"], snapshot["texts"]
        F = len(texts["x"][0])
        bias = texts["bias"][0] if value["norm"] != "RMS norm" else ["0"] * F
        return State(
            x=texts["x"],
            gain=texts["gain"][0],
            bias=bias,
            norm=value["norm"],
            groups=int(value["groups"]),
            eps=EPS[value["eps"]],
            cell=tuple(snapshot["cell"]),
        )


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
  const every = (e, part) => [...e.querySelectorAll(part)].map((one) => one.textContent);
  const inSight = [...r.querySelectorAll('.norm-table-margin')].filter(e => e.offsetParent);
  const margins = inSight.map(e => [
    e.dataset.of.split(' ').map(Number), e.parentElement.rowIndex, e.colSpan, every(e, 'b')]);
  const heard = inSight.map(e => [every(e, '.norm-table-sr'), e.classList.contains('mine')]);
  const bars = [...r.querySelectorAll('[data-at^="y "]')].map(({ style }) => [
    parseFloat(style.getPropertyValue('--share')), style.getPropertyValue('--tone')]);
  const names = [...r.querySelectorAll('input[data-at]')].map((e) => [e.dataset.at, e.ariaLabel]);
  return { texts, said, chosen, set, cell, margins, heard, bars, names };
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
    """Outputs and their bars against lnlib.norms, margins against NumPy, and the sentences."""
    snapshot = reader.snapshot()
    state = reader.state(snapshot)
    x = np.array(state.x, float)
    B, F = x.shape
    gain, bias = np.array(state.gain, float), np.array(state.bias, float)
    running = [np.append(r, np.full(8, f))[:F] for r, f in zip(RUNNING, (0, 1), strict=True)]
    want = oracle(state.norm, x, gain, bias, state.eps, state.groups, running)
    texts = snapshot["texts"]["y"]
    assert np.shape(texts) == (B, F)
    for i, j in np.ndindex(B, F):
        if np.isnan(want[i, j]):
            assert texts[i][j] == "0/0"
        else:
            assert shown_is(texts[i][j], want[i, j]), (state, i, j, texts[i][j], want[i, j])
    peak = max(2, *abs(want[np.isfinite(want)]), 2)  # the longest bar; at least 2
    for (share, tone), y in zip(snapshot["bars"], want.flat, strict=True):
        if np.isnan(y):
            assert (share, tone) == (pytest.approx(math.nan, nan_ok=True), "")
        else:
            assert share == pytest.approx(100 * abs(y) / peak, abs=0.051)
            assert tone == f"var(--ln-{'low' if y < 0 else 'high'})"
    for at, name in snapshot["names"]:
        kind, i, j = at.split()
        of = f"example {int(i) + 1}" if kind == "x" else f"the {kind} of"
        assert name.replace(",", "") == f"{of} feature {int(j) + 1}"
    ours = ["root mean square"] if state.norm == "RMS norm" else ["mean", "standard deviation"]
    for ((i, j), _, span, shown), (names, mine) in zip(
        snapshot["margins"], snapshot["heard"], strict=True
    ):
        assert names == ours
        row = state.norm in ("batch norm", TEST_TIME) or i == state.cell[0]
        column = state.norm in ("layer norm", "RMS norm") or j <= state.cell[1] < j + span
        assert mine == (row and column)
        part = {
            "layer norm": x[i],
            "RMS norm": x[i],
            "batch norm": x[:, j],
            "group norm": x[i, j : j + span],
            "instance norm": x[i, j : j + 1],
        }.get(state.norm)
        if state.norm == TEST_TIME:
            stats = [running[0][j], math.sqrt(running[1][j] + state.eps)]
        elif state.norm == "RMS norm":
            stats = [math.sqrt(np.square(part).mean() + state.eps)]
        else:
            stats = [part.mean(), math.sqrt(part.var() + state.eps)]
        assert len(shown) == len(stats)
        for text, value in zip(shown, stats, strict=True):
            rounded = float(text.replace("−", "-"))
            per_row = state.norm in ("layer norm", "RMS norm")
            few = not per_row and span == 1 and value == stats[-1]
            digits = 5.1e-3 if few else 5.1e-4  # 3 or 4 digits
            assert math.isclose(rounded, value, rel_tol=digits, abs_tol=1e-11), (state, text, value)
    i, j = state.cell
    mean, std = statistics(state, x, running)
    check_sentence(state, snapshot["said"]["text"], std if state.norm == "RMS norm" else mean)
    assert snapshot["said"]["work"].endswith(f" = {texts[i][j]}")


def statistics(state, x, running):
    """Mean and standard deviation, or root mean square, that normalize the chosen cell."""
    (i, j), size = state.cell, x.shape[1] // state.groups
    if state.norm == TEST_TIME:
        return running[0][j], math.sqrt(running[1][j] + state.eps)
    part = {"batch norm": x[:, j], "group norm": x[i, j // size * size :][:size],
            "instance norm": x[i, j : j + 1]}.get(state.norm, x[i])  # fmt: skip
    square = np.square(part).mean() if state.norm == "RMS norm" else part.var()
    return part.mean(), math.sqrt(square + state.eps)


def check_sentence(state, text, statistic):
    """Compare the sentence about the chosen cell: what it shares, with how many, how often."""
    (i, j), (B, F) = state.cell, np.shape(state.x)
    assert text.startswith(f"Example {i + 1}, feature {j + 1} ")
    if state.norm == "none":
        assert text.endswith("; nothing is shared.")
        return
    sharing, total = {
        "batch norm": (B, F),
        TEST_TIME: (0, F),
        "group norm": (F // state.groups, B * state.groups),
        "instance norm": (1, B * F),
    }.get(state.norm, (F, B))
    written = re.search(r"(?:mean|root mean square) ([−\d.e]+)", text)[1].replace("−", "-")
    assert math.isclose(float(written), statistic, rel_tol=5.1e-4, abs_tol=1e-11), text
    others = {0: "", 1: "no other number", 2: "the other "}.get(
        sharing, f"the {sharing - 1} other "
    )
    assert others in text
    noun = "root mean square" if state.norm == "RMS norm" else "mean"
    assert text.endswith(f"; {total} {noun}{'s' * (total != 1)} in total.")


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
