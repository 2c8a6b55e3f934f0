"""The table a reader types into, in a real browser, against lnlib.norm and against its own words.

The page is made here from the style sheets of the theme and of the book; it needs no built book.
"""

import importlib.util
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from lnbook.show import colors, sheet
from lnbook.show.sheet import EPS, NORMS, TEST_TIME, Sheet, State
from lnlib import norm

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "book" / "_static"
TABLE = np.array(
    [
        [2.47, -2.92, 1.04, 4.77, 11.41, 7.69],
        [10.4, 10.66, 18.18, 21.06, 17.98, 19.56],
        [24.7, 20.35, 27, 24.64, 32.17, 33.55],
        [32.67, 31.92, 34.4, 42.46, 42.22, 41.09],
    ]
)
RUNNING = (np.array([15.5, 14.0, 20.0, 22.0, 25.0, 24.0]), np.array([9.0, 4.0, 1.0, 16.0, 25, 2]))
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1300, "height": 900}
ROUNDING = 1e-12  # of the largest number around: two orders of summation in float64


def package(name, path):
    return Path(importlib.util.find_spec(name).origin).parent / path


LOOK = [
    package("pydata_sphinx_theme", "theme/pydata_sphinx_theme/static/styles/theme.css"),
    package(
        "pydata_sphinx_theme", "theme/pydata_sphinx_theme/static/styles/pydata-sphinx-theme.css"
    ),
    package("sphinx_book_theme", "theme/sphinx_book_theme/static/styles/sphinx-book-theme.css"),
    package("myst_nb", "static/mystnb.css"),
    STATIC / "custom.css",
    STATIC / "sheet.css",
]


def html_of(*sheets, theme="light", script=True):
    """A page as the book has it around an output, 760 pixels for a card on a desk."""
    look = re.sub(r"@import [^;]*;", "", "".join(path.read_text("utf-8") for path in LOOK))
    look += colors.css()
    cards = "".join(
        '<div class="cell_output" style="padding: 0"><div class="output text_html">'
        f"{s.to_html()}</div></div>"
        for s in sheets
    )
    code = f'<script src="{(STATIC / "sheet.js").as_uri()}"></script>' if script else ""
    block = 'style="display: block; max-width: none; padding: 0"'
    return (
        f'<!doctype html><html lang="en" data-theme="{theme}"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>Sheet</title><link rel="icon" href="data:,"><style>{look}</style><body {block}>'
        f'<main class="bd-main" {block}><article class="bd-article" style="max-width: 760px; '
        f'padding: 16px; margin: auto; box-sizing: content-box"><h1>A table</h1>{cards}'
        f"</article></main>{code}</body></html>"
    )


def table_sheet(**changes):
    return Sheet(TABLE, **({"title": "Type here", "running": RUNNING} | changes))


class Reader:
    """Hands and eyes on one sheet."""

    def __init__(self, page, root=".ln-sheet"):
        self.page, self.root = page, page.locator(root).first

    def cell(self, which, i, j):
        return self.root.locator(f'[data-at="{which} {i} {j}"]')

    def type(self, which, i, j, text):
        self.cell(which, i, j).focus()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.press("Backspace")
        self.page.keyboard.type(text)

    def choose(self, name, value):
        self.root.locator(f".sheet-{name} select").select_option(value)

    def press(self, action, times=1):
        for _ in range(times):
            self.root.locator(f'[data-do="{action}"]').click(force=True)  # at a limit, too

    def paste(self, text):
        """The whole table, by the box below it."""
        details = self.root.locator("details")
        if details.get_attribute("open") is None:
            details.locator("summary").click()
        details.locator("textarea").fill(text)
        self.press("paste")

    def paste_at(self, i, j, text):
        self.cell("x", i, j).focus()
        self.cell("x", i, j).evaluate(
            "(el, text) => { const data = new DataTransfer(); data.setData('text/plain', text);"
            "const event = new ClipboardEvent('paste', { clipboardData: data, bubbles: true,"
            "cancelable: true }); if (el.dispatchEvent(event))"
            "document.execCommand('insertText', false, text); }",
            text,
        )

    def texts(self, which="x"):
        rows = self.root.evaluate(
            "(r, w) => { const rows = [];"
            "for (const el of r.querySelectorAll(`[data-at^='${w} ']`)) {"
            "  const i = el.dataset.at.split(' ')[1];"
            "  (rows[i] ??= []).push(el.value ?? el.textContent);"
            "} return rows }",
            which,
        )
        return rows

    def said(self, kind):
        return self.root.locator(f".sheet-{kind}").text_content()

    def state(self):
        """What the page shows to be set, as Python would have it."""
        i, j = self.root.locator(".sheet-x td.chosen input").get_attribute("data-at").split()[1:]
        value = {
            name: self.root.locator(f".sheet-{name} select").input_value()
            for name in ("norm", "groups", "eps")
        }
        F = len(self.texts()[0])
        bias = self.texts("bias")[0] if value["norm"] != "RMS norm" else ["0"] * F
        return State(
            x=tuple(map(tuple, self.texts())),
            gain=tuple(self.texts("gain")[0]),
            bias=tuple(bias),
            norm=value["norm"],
            groups=int(value["groups"]),
            eps=EPS[value["eps"]],
            cell=(int(i), int(j)),
        )

    def company(self, kind):
        """Cells that are outlined, in the input (x) or the output (y)."""
        found = self.root.evaluate(
            "(r, k) => [...r.querySelectorAll(`[data-at^='${k} ']`)].filter(e => "
            "e.closest('td').classList.contains('company')).map(e => e.dataset.at)",
            kind,
        )
        return {tuple(map(int, at.split()[1:])) for at in found}

    def margins(self):
        """The statistics in sight: where they stand, and what they say."""
        return self.root.evaluate(
            "r => [...r.querySelectorAll('.sheet-margin')].filter(e => e.offsetParent)"
            ".map(e => [e.dataset.of.split(' ').map(Number), e.parentElement.rowIndex, "
            "e.colSpan, [...e.querySelectorAll('b')].map(b => b.textContent)])"
        )


@pytest.fixture(scope="module")
def browse(chromium, tmp_path_factory):
    """``with browse(page html, …) as page`` would nest deeply: contexts are closed at the end."""
    contexts = []

    def open_page(source, wait=True, before=None, **options):
        path = tmp_path_factory.mktemp("sheet") / "page.html"
        path.write_text(source, "utf-8")
        context = chromium.new_context(**({"viewport": DESK} | options))
        contexts.append(context)
        page = context.new_page()
        page.asked, page.complaints = [], []
        page.on("request", lambda r: page.asked.append(r.url))
        page.on("pageerror", lambda e: page.complaints.append(str(e)))
        page.on("console", lambda m: page.complaints.append(m.text))
        if before:
            before(page)
        page.goto(path.as_uri())
        if wait:
            page.wait_for_function("document.querySelector('.ln-sheet').dataset.ready")
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def shared(browse):
    """One page for all the tests of this file; at the end it has not complained."""
    page = browse(html_of(table_sheet()))
    yield page
    assert page.complaints == []


@pytest.fixture
def reader(shared):
    """The page as at the start."""
    shared.reload()
    shared.wait_for_function("document.querySelector('.ln-sheet').dataset.ready")
    return Reader(shared)


# The arithmetic.


def oracle(name, x, gain, bias, eps, groups, running):
    """lnlib.norm, called as a reader of the chapter would."""
    with np.errstate(all="ignore"):
        if name == "layer norm":
            return norm.layer_norm(x, gain, bias, eps=eps)
        if name == "batch norm":
            return norm.batch_norm(x, gain, bias, eps=eps)
        if name == TEST_TIME:
            return norm.batch_norm(x, gain, bias, eps=eps, mean=running[0], var=running[1])
        if name == "RMS norm":
            return norm.rms_norm(x, gain, eps=eps)
        if name == "group norm":
            return norm.group_norm(x, groups, gain, bias, eps=eps)
        if name == "instance norm":
            return norm.instance_norm(x[..., None], gain, bias, eps=eps)[..., 0]
        return gain * x + bias


def cases(count, seed=0):
    rng = np.random.default_rng(seed)
    for k in range(count):
        B, F = int(rng.integers(1, 17)), int(rng.integers(1, 9))
        divisors = [g for g in range(1, F + 1) if F % g == 0]
        x = rng.normal(rng.choice([0, 1e4]), 10 ** rng.uniform(-3, 3), (B, F))
        if k % 5 == 0:
            x[rng.integers(B)] = 7.5  # equal numbers
        yield {
            "name": NORMS[k % len(NORMS)],
            "x": x,
            "gain": rng.normal(1, 2, F),
            "bias": rng.normal(0, 3, F),
            "eps": float(rng.choice(list(EPS.values()))),
            "groups": int(rng.choice(divisors)),
            "running": (rng.normal(0, 5, F), rng.uniform(0.1, 9, F)),
        }


def test_normalize_agrees_with_lnlib_norm(shared):
    made = list(cases(350))
    sent = [
        {
            "x": c["x"].tolist(),
            "options": {
                "norm": c["name"],
                "gain": c["gain"].tolist(),
                "bias": c["bias"].tolist(),
                "eps": c["eps"],
                "groups": c["groups"],
                "running": {"mean": c["running"][0].tolist(), "var": c["running"][1].tolist()},
            },
        }
        for c in made
    ]
    got = shared.evaluate(
        "cases => cases.map(({ x, options }) => lnSheet.normalize(x, options))", sent
    )
    undefined = 0
    for c, r in zip(made, got, strict=True):
        want = oracle(**c)
        y = np.array(r["y"], float)
        note = np.array(r["note"])
        np.testing.assert_array_equal(np.isnan(want), note == "0/0", err_msg=str(c))
        assert set(note.ravel()) <= {"", "0/0"}
        defined = ~np.isnan(want)
        undefined += (~defined).sum()
        scale = max(1.0, *np.abs(want[defined]), 1.0)
        np.testing.assert_allclose(
            y[defined], want[defined], rtol=ROUNDING, atol=ROUNDING * scale, err_msg=str(c)
        )
        assert np.isnan(y[~defined]).all()
    assert undefined > 100  # the cases do reach 0/0


def test_statistics_are_the_mean_and_the_deviation_of_the_formula(shared):
    for c in cases(40, seed=1):
        options = {"norm": "layer norm", "gain": [1] * 8, "bias": [0] * 8, "eps": c["eps"]}
        r = shared.evaluate("([x, o]) => lnSheet.normalize(x, o)", [c["x"].tolist(), options])
        mean = np.broadcast_to(c["x"].mean(1, keepdims=True), c["x"].shape)
        std = np.sqrt(c["x"].var(1, keepdims=True) + c["eps"])
        atol = 1e-15 * np.abs(c["x"]).max() * 10
        np.testing.assert_allclose(r["mean"], mean, rtol=ROUNDING, atol=atol)
        np.testing.assert_allclose(
            r["std"], np.broadcast_to(std, mean.shape), rtol=1e-9, atol=1e-11
        )


@pytest.mark.parametrize(
    ("x", "eps", "note"),
    [
        ([[3, 3, 3]], 0, "0/0"),
        ([[1e200, 2e200, 5]], 1e-5, "too big"),  # NumPy says 0, from x / infinity
        ([[1e308, -1e308, 5]], 1e-5, "too big"),
        ([[1e-200, 2e-200, 3e-200]], 0, "too small"),  # NumPy says infinity, from x / 0
        ([[1e-160, 2e-160, 3e-160]], 0, "too small"),  # NumPy's digits are wrong here
    ],
)
def test_what_float64_cannot_do_has_no_number(shared, x, eps, note):
    options = {"norm": "layer norm", "gain": [1] * 3, "bias": [0] * 3, "eps": eps}
    r = shared.evaluate("([x, o]) => lnSheet.normalize(x, o)", [x, options])
    assert r["note"] == [[note] * 3]
    assert np.isnan(np.array(r["y"], float)).all()


# What is displayed.


def shown_is(text, value):
    """Whether a text is this number, to the digits it shows."""
    number = float(text.replace("−", "-"))
    mantissa, _, power = text.partition("e")
    places = len(mantissa.partition(".")[2])
    unit = 10.0 ** (float(power.replace("−", "-") or 0) - places)
    return abs(number - value) <= 0.5 * unit * (1 + 1e-6) + 1e-12 * abs(value)


def write(x, separator="\t"):
    return "\n".join(separator.join(repr(float(v)) for v in row) for row in x)


def assert_page_is_right(reader):
    """Outputs against lnlib.norm, margins against NumPy, words against Python."""
    state = reader.state()
    x = np.array(state.x, float)
    B, F = x.shape
    gain, bias = np.array(state.gain, float), np.array(state.bias, float)
    running = [np.append(r, np.full(8, f))[:F] for r, f in zip(RUNNING, (0, 1), strict=True)]
    want = oracle(state.norm, x, gain, bias, state.eps, state.groups, running)
    texts = reader.texts("y")
    assert np.shape(texts) == (B, F)
    for i, j in np.ndindex(B, F):
        if np.isnan(want[i, j]):
            assert texts[i][j] == "0/0"
        else:
            assert shown_is(texts[i][j], want[i, j]), (state, i, j, texts[i][j], want[i, j])
    for (i, j), _, span, shown in reader.margins():
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
            digits = 5.1e-3 if span == 1 and value == stats[-1] else 5.1e-4  # 3 or 4 of them
            assert math.isclose(rounded, value, rel_tol=digits, abs_tol=1e-11), (state, text, value)
    python = Sheet(TABLE, title="", running=RUNNING).read(state)
    assert reader.said("text") == python.text
    assert reader.said("work") == python.work
    assert reader.said("warning") == python.warning
    assert reader.said("about") == sheet.WORDS["about"][state.norm]


@pytest.mark.parametrize("name", NORMS)
def test_every_norm_shows_the_numbers_of_lnlib_norm(reader, name):
    rng = np.random.default_rng(NORMS.index(name))
    reader.choose("norm", name)
    assert_page_is_right(reader)
    for k in range(5):
        B, F = rng.integers(1, 17), rng.integers(1, 9)
        x = rng.normal(rng.choice([0, 1e4]), rng.choice([0.1, 5]), (B, F)).round(rng.integers(1, 6))
        reader.paste(write(x))
        for which in ("gain", "bias"):
            if name != "RMS norm" or which == "gain":
                j = int(rng.integers(F))
                reader.type(which, 0, j, repr(round(float(rng.normal()), 3)))
        reader.choose("eps", str(rng.choice(list(EPS))))
        if name == "group norm":
            reader.choose("groups", str(rng.choice([g for g in range(1, F + 1) if F % g == 0])))
        reader.cell("x", int(rng.integers(B)), int(rng.integers(F))).focus()
        assert np.array_equal(np.array(reader.texts(), float), x), k
        assert_page_is_right(reader)


def test_typing_key_by_key_is_answered_at_once(reader):
    reader.type("x", 2, 4, "-7.25")
    assert reader.texts()[2][4] == "-7.25"
    assert_page_is_right(reader)
    reader.type("gain", 0, 4, "-2")
    reader.type("bias", 0, 0, "1/3")
    reader.type("x", 0, 0, "1,5")
    reader.cell("x", 1, 1).focus()
    assert reader.texts()[0][0] == "1.5"  # a decimal comma is seen to have been read as one
    reader.choose("norm", "layer norm")  # the tables are made anew
    assert reader.texts()[0][0] == "1.5"
    want = norm.layer_norm(
        np.array([[1.5, *TABLE[0, 1:]]]),
        np.array([1, 1, 1, 1, -2.0, 1]),
        np.array([1 / 3, 0, 0, 0, 0, 0]),
    )
    assert all(shown_is(t, v) for t, v in zip(reader.texts("y")[0], want[0], strict=True))


def test_the_script_draws_what_the_page_came_with(browse, reader):
    for changes in (
        {},
        {"start": "batch norm"},
        {"start": TEST_TIME},
        {"start": "group norm", "groups": 3},
        {"start": "instance norm"},
        {"start": "RMS norm"},
        {"start": "none", "columns": list("abcdef")},
    ):
        cells = (
            "() => [...document.querySelectorAll('.sheet-tables :is(th, td), .ln-sheet > p, "
            ".sheet-said p')].map(e => [e.tagName, e.colSpan, e.style.cssText,"
            " [...e.classList].sort().join(' '), e.querySelector('input')?.value ?? e.textContent])"
        )
        source = html_of(table_sheet(**changes))
        served = browse(source, wait=False, java_script_enabled=False).evaluate(cells)
        drawn = browse(source).evaluate(cells)
        assert drawn == served


# Words and formats are the same in Python and on the page.

NUMBERS = {
    "1.5": 1.5, "1,5": 1.5, "−2": -2, "–2": -2, "-2": -2, "+3": 3, "1e3": 1e3, "1E-3": 1e-3,
    "1/3": 1 / 3, "-1,5/2": -0.75, " 7 ": 7, ".5": 0.5, "5.": 5, "0": 0, "1e999": math.inf,
    "": None, " ": None, "abc": None, "1.2.3": None, "1,2,3": None, "1,234.5": None,
    "1 000": None, "1/0": None, "1/2/3": None, "/2": None, "nan": None, "inf": None,
    "Infinity": None, "0x10": None, "1_000": None, "--1": None, "e5": None, "1e": None, "٣": None,
}  # fmt: skip


def test_numbers_are_read_alike(shared):
    for text, want in NUMBERS.items():
        python, page = sheet._number(text), shared.evaluate("t => lnSheet.number(t)", text)
        if want is None:
            assert np.isnan([python, page]).all(), text
        else:
            assert python == page == want, text


@pytest.fixture(scope="module")
def floats():
    rng = np.random.default_rng(3)
    made = rng.normal(size=3000) * 10.0 ** rng.uniform(-14, 14, 3000)
    ties = [0.0625, -0.0625, 2.5, -2.5, 0.5, 1000.5, 12.345, 99.995, 999.95, 9.9995, 99999.5, 1e5]
    edges = [0.0, -0.0, -1e-9, 0.0005, 1e-4, 9.99995e-5, 1e6, 999999.5, 123456.5, 1e300, 5e-324]
    return [*made.tolist(), *ties, *edges]


@pytest.mark.parametrize(("name", "python"), [("shown", sheet._shown), ("figure", sheet._figure)])
def test_numbers_are_written_alike(shared, floats, name, python):
    page = shared.evaluate("([n, vs]) => vs.map(v => lnSheet[n](v))", [name, floats])
    assert page == [python(v) for v in floats]


def test_what_is_shown_is_the_number_rounded(shared, floats):
    page = shared.evaluate("vs => vs.map(v => lnSheet.shown(v))", floats)
    assert all(shown_is(text, v) for text, v in zip(page, floats, strict=True))


A, B2 = [["1", "2", "3"], ["4", "5", "6"]], [["1.5", "2.5"], ["-3", "4e2"]]
BLOCKS = {
    "1\t2\t3\n4\t5\t6": (A, "tabs"),
    "1\t2\t3\r\n4\t5\t6\r\n": (A, "tabs"),
    "1,2,3\n4,5,6": (A, "commas"),
    "1, 2, 3,\n4, 5, 6": (A, "commas"),
    "1;2;3\n4;5;6;": (A, "semicolons"),
    "  1 2   3\n\n 4 5 6 \n": (A, "spaces"),
    "[[1 2 3]\n [4 5 6]]": (A, "spaces"),
    "array([[1, 2, 3],\n       [4, 5, 6]])": (A, "commas"),
    "tensor([[1, 2, 3], [4, 5, 6]], dtype=torch.float64)": (A, "commas"),
    "[[1 2\n  3]\n [4 5\n  6]]": (A, "spaces"),  # NumPy breaks long rows
    "[[1,2,3],[4,5,6]]": (A, "commas"),
    "[[1.5\t2.5]\n [-3\t4e2]]": (B2, "spaces"),
    "1.5 2.5\n-3 4e2": (B2, "spaces"),
    "1,5 2,5": ([["1,5", "2,5"]], "spaces"),
    "1,5;2,5": ([["1,5", "2,5"]], "semicolons"),
    "1,5\t2,5": ([["1,5", "2,5"]], "tabs"),
    "1\t\t3": ([["1", "", "3"]], "tabs"),
    "\t2\t3": ([["", "2", "3"]], "tabs"),
    "1 2\n3": ([["1", "2"], ["3"]], "spaces"),
    "1 two": ([["1", "two"]], "spaces"),
    "": ([], "spaces"),
    "\n \n": ([], "spaces"),
}


def test_pasted_blocks_are_read_alike(shared):
    for text, (rows, separator) in BLOCKS.items():
        assert sheet._block(text) == (rows, separator), text
        page = shared.evaluate("t => lnSheet.block(t)", text)
        assert (page["rows"], page["separator"]) == (rows, separator), text


def test_what_numpy_prints_can_be_pasted(reader):
    x = np.random.default_rng(5).normal(0, 30, (4, 8))
    for text in (str(x), repr(x), np.array_str(x.T, precision=3)):
        reader.paste(text)
        numbers = np.array(re.findall(r"-?\d+\.\d*", text), float)
        assert np.array_equal(np.array(reader.texts(), float).ravel(), numbers)
        assert_page_is_right(reader)


# Pasting at a cell.


def test_a_block_lands_at_the_cell_and_leaves_the_others(reader):
    reader.paste_at(1, 2, "7\t8\n9\t10")
    want = TABLE.copy()
    want[1:3, 2:4] = [[7, 8], [9, 10]]
    assert np.array_equal(np.array(reader.texts(), float), want)
    assert reader.said("note") == "Pasted 2 by 2 numbers, read with tabs between them."
    assert_page_is_right(reader)
    reader.type("x", 0, 0, "1")
    assert not reader.root.locator(".sheet-note").is_visible()


def test_one_number_is_pasted_as_it_is_typed(reader):
    reader.paste_at(0, 0, "1,5")
    assert reader.texts()[0][0] == "1,5"
    assert np.shape(reader.texts()) == TABLE.shape
    assert not reader.root.locator(".sheet-note").is_visible()


def test_the_table_grows_under_a_block_and_invents_no_number(reader):
    reader.paste_at(3, 4, "1\t2\t3\n4\t5\t6")
    texts = reader.texts()
    assert np.shape(texts) == (5, 7)
    assert [row[4:] for row in texts[3:]] == [["1", "2", "3"], ["4", "5", "6"]]
    assert texts[4][:4] == [""] * 4
    assert [row[6] for row in texts[:3]] == [""] * 3
    python = table_sheet().read(reader.state())
    assert reader.said("warning") == python.warning
    assert reader.said("warning").startswith("Example 1, feature 7 is empty")


def test_what_is_beyond_the_limits_is_left_out_and_said(reader):
    x = np.arange(20 * 10.0).reshape(20, 10)
    reader.paste(write(x))
    assert np.array_equal(np.array(reader.texts(), float), x[:16, :8])
    assert reader.said("note").endswith("What is beyond 16 examples or 8 features was left out.")
    reader.paste_at(15, 7, "1 2\n3 4")
    assert np.shape(reader.texts()) == (16, 8)
    assert reader.texts()[15][7] == "1"
    assert reader.said("note").endswith("was left out.")


@pytest.mark.parametrize(
    ("shape", "at", "cut"),
    [
        ((16, 8), None, False),
        ((17, 8), None, True),
        ((16, 9), None, True),
        ((2, 9), None, True),
        ((2, 2), (14, 6), False),
        ((3, 2), (14, 6), True),
        ((2, 3), (14, 6), True),
    ],
)
def test_a_cut_is_said_of_rows_alone_and_of_columns_alone(reader, shape, at, cut):
    text = write(np.ones(shape))
    if at:
        reader.paste(write(np.zeros((16, 8))))
        reader.paste_at(*at, text)
    else:
        reader.paste(text)
    said = reader.said("note")
    B, F = (min(size, 2 if at else most) for size, most in zip(shape, (16, 8), strict=True))
    assert said.startswith(f"Pasted {B} by {F} numbers")
    assert said.endswith("What is beyond 16 examples or 8 features was left out.") == cut


def test_pasting_nothing_changes_nothing_and_says_so(reader):
    reader.paste(" \n ")
    assert np.array_equal(np.array(reader.texts(), float), TABLE)
    assert reader.said("note") == "There is no number to paste."


# What is wrong is marked, said, and spoils no number it need not.


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "abc",
            "Example 2, feature 3 holds “abc”, where a number such as 1.5, −2, 1e3 or 1/3 is "
            "expected. Until then, outputs that need it show “?”.",
        ),
        (
            "",
            "Example 2, feature 3 is empty, where a number such as 1.5, −2, 1e3 or 1/3 is "
            "expected. Until then, outputs that need it show “?”.",
        ),
        (
            "-1e999",
            "Example 2, feature 3 holds “-1e999”, beyond the largest number of a computer, "
            "1.8e308. Until then, outputs that need it show “?”.",
        ),
        (
            "<b>{i}</b>",
            "Example 2, feature 3 holds “<b>{i}</b>”, where a number such as 1.5, −2, 1e3 or 1/3 "
            "is expected. Until then, outputs that need it show “?”.",
        ),
    ],
)
def test_a_cell_without_a_number_is_marked_and_named(reader, text, sentence):
    before = reader.texts("y")
    reader.type("x", 1, 2, text)
    field = reader.cell("x", 1, 2)
    assert field.get_attribute("aria-invalid") == "true"
    described = field.get_attribute("aria-describedby")
    assert reader.page.locator(f"#{described}").text_content() == sentence
    assert reader.root.locator(".sheet-warning").is_visible()
    mark = "e => getComputedStyle(e.closest('td'), '::after').content"
    assert field.evaluate(mark) == '"!"'
    after = reader.texts("y")
    assert after == [["?"] * 6 if i == 1 else row for i, row in enumerate(before)]
    assert reader.said("warning") == table_sheet().read(reader.state()).warning
    reader.type("x", 1, 2, "18.18")
    assert field.get_attribute("aria-invalid") is None
    assert field.evaluate(mark) == "none"
    assert not reader.root.locator(".sheet-warning").is_visible()
    assert reader.texts("y") == before


@pytest.mark.parametrize("name", NORMS)
def test_a_cell_without_a_number_spoils_its_company_alone(reader, name):
    reader.choose("norm", name)
    before = reader.texts("y")
    reader.type("x", 1, 2, "?!")
    spoilt = {(i, j) for i, j in np.ndindex(4, 6) if reader.texts("y")[i][j] == "?"}
    assert spoilt == reader.company("x") == company_by_trial(name, TABLE, (1, 2), 2)
    after = reader.texts("y")
    assert all(after[i][j] == before[i][j] for i, j in np.ndindex(4, 6) if (i, j) not in spoilt)


@pytest.mark.parametrize("which", ["gain", "bias"])
def test_a_gain_or_bias_without_a_number_spoils_its_feature_alone(reader, which):
    before = reader.texts("y")
    reader.type(which, 0, 4, "one")
    after = reader.texts("y")
    assert after == [[*row[:4], "?", row[5]] for row in before]
    assert reader.said("warning").startswith(f"The {which} of feature 5 holds “one”, where")


def test_many_wrong_cells_are_counted(reader):
    reader.paste("1 a 3\n4 5\n6 b 8")
    assert reader.said("warning").startswith(
        "Example 1, feature 2 holds “a”, where a number such as 1.5, −2, 1e3 or 1/3 is expected. "
        "2 more cells hold no number."
    )
    assert reader.root.locator("input[aria-invalid=true]").count() == 3
    assert reader.texts("y") == [["?"] * 3] * 3


def test_escape_puts_back_what_was_there(reader):
    reader.type("x", 1, 2, "oh no")
    reader.page.keyboard.press("Escape")
    assert reader.texts()[1][2] == "18.18"
    assert_page_is_right(reader)


# Degenerate tables.


def test_batch_of_one_makes_batch_norm_return_the_bias(reader):
    reader.choose("norm", "batch norm")
    reader.press("less example", 3)
    reader.type("bias", 0, 1, "2.5")
    assert reader.texts("y") == [["0.000", "2.500", "0.000", "0.000", "0.000", "0.000"]]
    assert reader.said("warning").startswith(
        "The batch has one example: a single number is its own"
    )
    assert_page_is_right(reader)
    reader.choose("eps", "0")
    assert reader.texts("y") == [["0/0"] * 6]
    assert_page_is_right(reader)


DEGENERATE = {
    "7": "There is one feature: a single number is its own mean",
    "1 5\n8 2": "There are two features: whatever two different numbers are, they become −1 and 1",
    "1 2 3\n4 4 4": "The numbers of example 2 are equal: x − μ is 0 and the output is the bias.",
    "4 4 4\n4 4 4\n1 2 3": "The numbers of example 1 (and of 1 more) are equal",
    "1e200 2 3": "“too big”: the number, or a square on the way to it, is beyond 1.8e308",
}


@pytest.mark.parametrize("text", DEGENERATE)
def test_degenerate_tables_are_said_to_be(reader, text):
    reader.paste(text)
    assert reader.said("warning").startswith(DEGENERATE[text])
    assert reader.root.locator(".sheet-warning").is_visible()


def test_every_warning_of_every_norm_is_the_one_of_python(reader):
    tables = ["7", "0\n0", "1 5\n8 2", "0 0 0 0\n1 2 3 3", "1e200 2 3 4\n1 1 2 2", "1e-200 2e-200"]
    seen = set()
    for text in tables:
        reader.paste(text)
        for name in NORMS:
            reader.choose("norm", name)
            for eps in ("0", "1e-5"):
                reader.choose("eps", eps)
                python = table_sheet().read(reader.state())
                assert reader.said("warning") == python.warning
                assert reader.said("text") == python.text
                assert reader.said("work") == python.work
                notes = [[n or sheet._shown(y) for n, y in zip(*row, strict=True)]
                         for row in zip(python.note, python.y, strict=True)]  # fmt: skip
                assert reader.texts("y") == notes
                seen.update(np.unique(python.note))
    assert seen == {"", "0/0", "too big", "too small"}


def test_a_feature_without_running_averages_is_said_to_have_none(reader):
    reader.choose("norm", TEST_TIME)
    reader.press("more feature")
    assert reader.said("warning").startswith("Feature 7 has no running averages from training")
    reader.press("more feature")
    assert reader.said("warning").startswith("Feature 7 and those after it have no running")
    assert_page_is_right(reader)


# Company.


def company_by_trial(name, x, cell, groups):
    """The inputs that move this output: by lnlib.norm, pushing one after the other."""
    ones, zeros = np.ones(x.shape[1]), np.zeros(x.shape[1])

    def output(table):
        return oracle(name, table, ones, zeros, 0.1, groups, RUNNING)[cell]

    moved = {cell}  # alone in its mean, a number moves nothing
    for place in np.ndindex(*x.shape):
        pushed = x.copy()
        pushed[place] += 3.7
        if output(pushed) != output(x):
            moved.add(place)
    return moved


@pytest.mark.parametrize("name", NORMS)
def test_the_outline_is_around_the_inputs_that_move_this_output(reader, name):
    reader.choose("norm", name)
    for groups in (1, 2, 3, 6) if name == "group norm" else (2,):
        if name == "group norm":
            reader.choose("groups", str(groups))
        for cell in ((0, 0), (1, 2), (3, 5)):
            for kind in ("x", "y"):
                reader.cell(kind, *cell).click()
                want = company_by_trial(name, TABLE, cell, groups)
                assert reader.company("x") == reader.company("y") == want
                assert reader.state().cell == cell
                assert reader.said("text") == table_sheet().read(reader.state()).text


def test_the_sentence_counts_company_and_means(reader):
    assert reader.said("text") == (
        "Example 2, feature 3 shares its mean 16.31 with the 5 other features of example 2; "
        "4 means in all."
    )
    assert reader.said("work") == (
        "y = gain × (x − μ) / σ + bias = 1 × (18.18 − 16.3067) / 4.20835 + 0 = 0.445"
    )
    reader.choose("norm", "batch norm")
    assert reader.said("text") == (
        "Example 2, feature 3 shares its mean 20.16 with the same feature of the 3 other examples; "
        "6 means in all."
    )


def test_the_outline_is_closed(reader):
    """The company's outer sides have a line, its inner ones none."""
    reader.choose("norm", "group norm")
    reader.cell("x", 1, 1).click()
    sides = {
        at: reader.cell("x", 1, at).evaluate(
            "e => ['t', 'r', 'b', 'l'].filter(s => e.closest('td').classList.contains(s)).join('')"
        )
        for at in range(6)
    }
    assert sides == {0: "tbl", 1: "tb", 2: "trb", 3: "", 4: "", 5: ""}


# Shape, start, draw.


def test_examples_and_features_come_and_go_within_limits(reader):
    reader.press("more example", 14)
    reader.press("more feature", 4)
    assert np.shape(reader.texts()) == (16, 8)
    for action in ("more example", "more feature"):
        button = reader.root.locator(f'[data-do="{action}"]')
        assert button.get_attribute("aria-disabled") == "true"
    assert_page_is_right(reader)
    assert np.array_equal(np.array(reader.texts(), float)[:4, :6], TABLE)
    reader.press("less example", 17)
    reader.press("less feature", 9)
    assert reader.texts() == [["2.47"]]
    assert_page_is_right(reader)
    reader.press("more example", 3)
    reader.press("more feature", 5)
    assert np.array_equal(np.array(reader.texts(), float), TABLE)  # what was there comes back


def test_groups_always_divide_the_features(reader):
    reader.choose("norm", "group norm")
    reader.choose("groups", "3")
    for F, options, chosen in ((5, "15", "1"), (4, "124", "2"), (3, "13", "3"), (2, "12", "2")):
        reader.press("less feature")
        select = reader.root.locator(".sheet-groups select")
        assert (select.evaluate("e => [...e.options].map(o => o.text).join('')")) == options, F
        assert select.input_value() == chosen
        assert_page_is_right(reader)


def test_new_numbers_are_new_and_start_values_come_back(reader):
    reader.choose("norm", "batch norm")
    reader.type("gain", 0, 0, "3")
    seen = [reader.texts()]
    for _ in range(3):
        reader.press("new")
        assert reader.texts() not in seen
        assert all(len(t) <= 5 for row in reader.texts() for t in row)
        seen.append(reader.texts())
        assert_page_is_right(reader)
    reader.press("more example")
    reader.press("start")
    assert np.array_equal(np.array(reader.texts(), float), TABLE)
    assert reader.texts("gain") == [["1"] * 6]
    assert reader.state().norm == "batch norm"  # the choice stays
    assert_page_is_right(reader)


# Keyboard.


def at(reader):
    return reader.page.evaluate("document.activeElement.dataset.at")


def test_keys_move_as_in_a_spreadsheet(reader):
    reader.cell("x", 0, 0).focus()
    moves = [
        ("ArrowDown", "x 1 0"), ("Enter", "x 2 0"), ("Shift+Enter", "x 1 0"), ("ArrowUp", "x 0 0"),
        ("ArrowUp", "x 0 0"), ("ArrowRight", "x 0 1"), ("ArrowLeft", "x 0 0"),
        ("ArrowLeft", "x 0 0"), ("Tab", "x 0 1"), ("Shift+Tab", "x 0 0"),
        ("ArrowDown", "x 1 0"), ("ArrowDown", "x 2 0"), ("ArrowDown", "x 3 0"),
        ("ArrowDown", "gain 0 0"), ("ArrowDown", "bias 0 0"), ("ArrowDown", "bias 0 0"),
        ("ArrowUp", "gain 0 0"), ("ArrowUp", "x 3 0"),
    ]  # fmt: skip
    for key, where in moves:
        reader.page.keyboard.press(key)
        assert at(reader) == where, key
    reader.cell("y", 3, 5).click()
    reader.page.keyboard.press("ArrowUp")
    assert at(reader) == "y 2 5"
    assert reader.state().cell == (2, 5)


def test_within_a_text_left_and_right_move_the_cursor(reader):
    reader.type("x", 0, 1, "12")
    reader.page.keyboard.press("ArrowLeft")
    assert at(reader) == "x 0 1"
    reader.page.keyboard.type("0")
    assert reader.texts()[0][1] == "102"
    reader.page.keyboard.press("End")
    reader.page.keyboard.press("ArrowRight")
    assert at(reader) == "x 0 2"


def test_the_tab_key_visits_every_control_in_the_order_of_the_page(reader):
    reader.page.locator("h1").click()
    stops = []
    for _ in range(60):
        reader.page.keyboard.press("Tab")
        stop = reader.page.evaluate(
            "(() => { const e = document.activeElement; return e.dataset.at ?? e.dataset.do ?? "
            "e.tagName })()"
        )
        if stop == "BODY":
            break
        stops.append(stop)
    cells = [f"x {i} {j}" for i, j in np.ndindex(4, 6)]
    affine = [f"{which} 0 {j}" for which in ("gain", "bias") for j in range(6)]
    steps = ["less example", "more example", "less feature", "more feature", "new", "start"]
    assert stops == ["SELECT", "SELECT", *steps, *cells, *affine, "SUMMARY"]


def test_focus_stays_where_the_tables_are_made_anew(reader):
    reader.cell("x", 2, 3).focus()
    reader.paste_at(2, 3, "1\t2")
    assert at(reader) == "x 2 3"


# Names, themes, widths, paper, no script.


def test_every_field_and_every_control_has_a_name(browse):
    columns = ["height", "width", "depth", "mass", "age", "price"]
    reader = Reader(browse(html_of(table_sheet(columns=columns))))
    names = reader.root.evaluate(
        "r => [...r.querySelectorAll('[data-at^=x], [data-at^=g], [data-at^=b]')]"
        ".map(e => e.ariaLabel)"
    )
    assert names[0] == "example 1, height"
    assert names[-1] == "the bias of price"
    assert len(set(names)) == 24 + 12
    heads = reader.root.locator(".sheet-x thead th").all_text_contents()
    assert heads == [*columns, "mean and deviation"]
    assert reader.said("text").startswith("Example 2, depth shares its mean")
    assert reader.root.locator("table th:not([scope])").count() == 0
    assert reader.root.get_attribute("role") == "group"
    assert reader.root.locator("[role=status][aria-live=polite] .sheet-text").count() == 1


def busy(reader, what):
    """Bring the sheet into one of the states that look different."""
    if what == "groups and a wrong cell":
        reader.choose("norm", "group norm")
        reader.type("x", 1, 1, "abc")
        reader.root.locator("summary").click()
    if what == "batch, 16 by 8":
        reader.choose("norm", "batch norm")
        reader.paste(write(np.arange(128.0).reshape(16, 8) ** 2 % 83))
        reader.cell("x", 3, 7).focus()


@pytest.mark.parametrize("what", ["start", "groups and a wrong cell", "batch, 16 by 8"])
@pytest.mark.parametrize("view", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(browse, violations, theme, view, what):
    page = browse(html_of(table_sheet(alt="Numbers to type over"), theme=theme), viewport=view)
    busy(Reader(page), what)
    assert violations(page) == []


def test_phone_holds_six_features_and_scrolls_wider_tables_inside_themselves(browse):
    page = browse(html_of(table_sheet()), viewport=PHONE)
    reader = Reader(page)
    room = "r => [...r.querySelectorAll('.sheet-scroll')].map(e => e.scrollWidth - e.clientWidth)"
    assert reader.root.evaluate(room) == [0, 0]
    sizes = reader.root.evaluate(
        "r => [...r.querySelectorAll('input, select, textarea')].map(e => "
        "parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 16  # smaller, and iOS zooms in
    reader.press("more feature", 2)
    reader.type("x", 0, 0, "-123456.789")
    assert min(reader.root.evaluate(room)) > 0
    page.evaluate("scrollTo(1000, 0)")
    assert page.evaluate("[scrollX, document.documentElement.scrollWidth]") == [0, 390]


def test_a_field_is_as_wide_as_its_number(browse):
    for view in (DESK, PHONE):
        reader = Reader(browse(html_of(table_sheet()), viewport=view))
        short = "r => [...r.querySelectorAll('input')].map(e => e.scrollWidth - e.clientWidth)"
        for text in ("18.18", "-99.99", "12345.678", "-1.25e-10", "1234567890"):
            reader.type("x", 0, 0, text)
            assert max(reader.root.evaluate(short)) <= 0, text


def test_desk_has_input_and_output_side_by_side(browse):
    page = browse(html_of(table_sheet()))
    boxes = [page.locator(f".sheet-{kind} tbody").bounding_box() for kind in "xy"]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    rows = [
        page.evaluate(
            "k => [...document.querySelectorAll(`.sheet-${k} tbody tr`)]"
            ".filter(e => e.offsetParent).map(e => e.getBoundingClientRect().top)",
            kind,
        )
        for kind in "xy"
    ]
    assert rows[0] == pytest.approx(rows[1], abs=1)  # an example is one line through both


def test_without_javascript_it_is_a_table_to_read(browse):
    page = browse(html_of(table_sheet()), wait=False, java_script_enabled=False)
    rows = page.locator(".sheet-y tbody tr").all()
    want = norm.layer_norm(TABLE)
    for row, numbers in zip(rows, want, strict=True):
        texts = row.locator("td").all_text_contents()
        assert all(shown_is(t, v) for t, v in zip(texts, numbers, strict=True))
    assert page.locator(".sheet-x").inner_text().count("μ") == 4
    assert page.locator(".sheet-text").is_visible()
    assert page.locator("noscript").is_visible()
    for part in (".sheet-controls", ".sheet-paste"):
        assert not page.locator(part).is_visible()
    assert page.locator("input").count() == 0


def test_the_card_keeps_its_height_when_the_script_comes(browse):
    for view in (DESK, PHONE):
        without = browse(html_of(table_sheet(), script=False), wait=False, viewport=view)
        height = "document.querySelector('.ln-sheet').getBoundingClientRect().height"
        with_it = browse(html_of(table_sheet()), viewport=view)
        assert with_it.evaluate(height) == pytest.approx(without.evaluate(height), abs=1)


def test_paper_has_the_tables_and_no_controls(browse):
    page = browse(html_of(table_sheet()))
    page.emulate_media(media="print")
    for part in (".sheet-x", ".sheet-y", ".sheet-text"):
        assert page.locator(part).is_visible()
    assert not page.locator(".sheet-controls").is_visible()


def test_nothing_leaves_the_page(browse):
    page = browse(html_of(table_sheet()))
    reader = Reader(page)
    busy(reader, "batch, 16 by 8")
    reader.paste("1 2\n3 4")
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []
    stored = "[localStorage.length, sessionStorage.length, document.cookie]"
    assert page.evaluate(stored) == [0, 0, ""]
    assert page.complaints == []


def test_two_sheets_on_a_page_do_not_disturb_each_other(browse):
    page = browse(html_of(table_sheet(), Sheet([[1.0, 2.0, 4.0]], title="Another")))
    first, second = (Reader(page, f".cell_output:nth-of-type({n}) .ln-sheet") for n in (1, 2))
    second.type("x", 0, 0, "9")
    assert np.array_equal(np.array(first.texts(), float), TABLE)
    assert second.texts() == [["9", "2", "4"]]
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    options = second.root.locator(".sheet-norm option").all_text_contents()
    assert TEST_TIME not in options


def test_the_data_of_the_page_cannot_end_its_script(browse):
    title = "</script><b>x</b>"
    columns = ["</script>", "<!--", "&amp;", "\"'", "e", "f"]
    page = browse(html_of(table_sheet(title=title, columns=columns)))
    heads = page.locator(".sheet-y thead th").all_text_contents()
    assert heads == columns
    assert page.locator(".sheet-title").text_content() == title
    assert json.loads(page.locator(".sheet-data").text_content())["columns"] == columns
