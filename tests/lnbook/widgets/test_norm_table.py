"""The norm table without a browser: errors, formatting, sentences, and the live widget."""

import re

import ipywidgets
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnbook.show import NormTable
from lnbook.widgets.norm_table.state import NORMS, TEST_TIME, State, typed
from lnbook.widgets.norm_table.texts import exact, figure, shown
from lnlib import norms
from tests.cases.page import Page, parts

TABLE = np.random.default_rng(0).normal(9, 9, (4, 6)).round(2)
RUNNING = (TABLE.mean(0) + 1, TABLE.var(0) + 2)


def make(values=TABLE, **changes):
    return NormTable(values, **({"title": "Type here", "running": RUNNING} | changes))


def state_of(x, **changes):
    """A state from numbers or texts."""
    x = tuple(tuple(v if isinstance(v, str) else repr(float(v)) for v in row) for row in x)
    F = len(x[0])
    start = {"gain": ("1",) * F, "bias": ("0",) * F, "norm": "layer norm", "groups": 1}
    return State(x=x, **(start | {"eps": 1e-5, "cell": (0, 0)} | changes))


@pytest.mark.parametrize(
    ("values", "match"),
    [
        (np.zeros((17, 2)), r"1 to 16 by 1 to 8, got \(17, 2\)"),
        ([[1.0, 2.0], [3.0]], "values must be numbers in rows of equal length"),
        ([[1.0, np.nan]], "values must not contain NaN or infinity"),
    ],
)
def test_invalid_tables_raise_an_error(values, match):
    with pytest.raises(ValueError, match=match):
        NormTable(values, title="")


def test_groups_are_rounded_down_to_a_divisor():
    assert make(groups=4).start.groups == 3
    assert make(groups=99).start.groups == 6
    assert NormTable(np.ones((1, 5)), title="").start.groups == 1


# Numbers and sentences; the tests in a browser compare the page with these.


@pytest.mark.parametrize("name", NORMS)
def test_readings_contain_the_numbers_of_the_formula(name):
    rng = np.random.default_rng(0)
    for groups in (1, 2, 3):
        x, gain, bias = rng.normal(1e4, 3, (5, 6)), rng.normal(size=6), rng.normal(size=6)
        state = state_of(
            x, gain=(*map(repr, map(float, gain)),), bias=(*map(repr, map(float, bias)),),
            norm=name, groups=groups, eps=1e-3,
        )  # fmt: skip
        r = make().read(state)
        for i, j in np.ndindex(5, 6):  # a loop from the formula
            k = 6 // groups
            group = x[i, j // k * k : j // k * k + k]
            part = {"batch norm": x[:, j], "group norm": group}.get(
                name, x[i, j : j + 1] if name == "instance norm" else x[i]
            )
            mean, var = part.mean(), part.var()
            if name == TEST_TIME:
                mean, var = RUNNING[0][j], RUNNING[1][j]
            if name == "RMS norm":
                mean, var = 0, np.square(part).mean()
            std = 1 if name == "none" else np.sqrt(var + 1e-3)
            mean = 0 if name == "none" else mean
            b = 0 if name == "RMS norm" else bias[j]
            assert r.mean[i, j] == pytest.approx(mean, rel=1e-12)
            assert r.std[i, j] == pytest.approx(std, rel=1e-9)
            assert r.y[i, j] == pytest.approx(gain[j] * (x[i, j] - mean) / std + b, rel=1e-8)
        assert (r.note == "").all()


def test_invalid_cells_affect_their_normalization_set():
    x = [["1", "2", "oops"], ["4", "5", "7"]]
    for name, spoilt in {"layer norm": [0, 0, 0], "batch norm": [2, 2]}.items():
        r = make(np.ones((2, 3)), running=None).read(state_of(x, norm=name))
        numbers = np.array([[1, 2, np.nan], [4, 5, 7.0]])
        want = getattr(norms, name.replace(" ", "_"))(numbers)
        np.testing.assert_array_equal(r.note == "?", np.isnan(want))
        assert (r.note == "?").sum() == len(spoilt)
        np.testing.assert_allclose(r.y, want, rtol=1e-12)
        assert r.warning.startswith("Example 1, feature 3 holds “oops”, where a number")


@given(st.floats(-1e300, 1e300))
def test_formatted_numbers_parse_to_the_rounded_numbers(v):
    assert typed(exact(v)) == v
    short, long = typed(shown(v)), typed(figure(v, 6))
    half = {10: 5.1e-4, 100: 5.1e-3, 1000: 5.1e-2, 1e5: 0.51}  # of the last digit, up to a size
    assert abs(short - v) <= next((half[size] for size in half if abs(v) < size), 5.1e-3 * abs(v))
    assert long == pytest.approx(v, rel=5.1e-6, abs=1e-310)


# The page.


def rounds(text, value):
    digits = text.replace("−", "-")
    return abs(float(digits) - value) <= 0.5001 * 10.0 ** -len(digits.partition(".")[2])


def test_the_html_contains_the_initial_state_as_tables():
    parsed = Page(make().to_html())
    inputs, outputs = parsed.tables
    want = norms.layer_norm(TABLE)
    shown = [row for row in inputs[1:] if row[0].startswith("E")]
    for i in range(4):
        head, *cells, margin = shown[i]
        assert head == f"E{i + 1}"
        assert [float(c) for c in cells] == TABLE[i].tolist()
        mean, std = re.fullmatch(r"μmean (\S+)σstandard deviation (\S+)", margin).groups()
        assert rounds(mean, TABLE[i].mean())
        assert rounds(std, np.sqrt(TABLE[i].var() + 1e-5))
        assert all(rounds(t, v) for t, v in zip(outputs[i + 1][1:], want[i], strict=True))
    assert outputs[5:] == [["gain", *"111111"], ["bias", *"000000"]]
    assert all(a.get("scope") in ("row", "col") for a in parsed.find("th"))
    ids = [a["id"] for _, a, _ in parsed.elements if "id" in a]
    assert len(ids) == len(set(ids))


# The live widget.


class Live:
    """Helpers to use and inspect the widget."""

    def __init__(self, made):
        self.norm_table, self.box = made, made.widget()

    def find(self, kind, **traits):
        """The only part of a kind with a given tooltip or description."""
        ((name, value),) = traits.items()
        (result,) = (w for w in parts(self.box, kind) if getattr(w, name, None) == value)
        return result

    def field(self, name):
        return self.find(ipywidgets.Text, tooltip=name)

    def control(self, label):
        return self.find(ipywidgets.Widget, description=label)

    @property
    def fields(self):
        every = parts(self.box, ipywidgets.Text)
        return [w.value for w in every if w.tooltip.startswith("example")]

    @property
    def html(self):
        return [w.value for w in parts(self.box, ipywidgets.HTML)]

    @property
    def page(self):
        (result,) = (text for text in self.html if "ln-norm-table-live" in text)
        return result

    @property
    def outputs(self):
        rows = Page(self.page).tables[1][1:]
        return [row[1:] for row in rows if row[0].startswith("E")]


@pytest.fixture
def widget():
    return Live(make())


def assert_shows(widget, want):
    for row, numbers in zip(widget.outputs, want, strict=True):
        assert all(rounds(t, v) for t, v in zip(row, numbers, strict=True)), (row, numbers)


def test_live_typing_updates_the_table(widget):
    widget.field("example 3, feature 5").value = "1/3"
    widget.field("the gain of feature 5").value = "−2"
    widget.field("the bias of feature 1").value = "1,5"
    widget.control("eps").value = 0.1
    x = TABLE.copy()
    x[2, 4] = 1 / 3
    gain, bias = np.array([1, 1, 1, 1, -2.0, 1]), np.array([1.5, 0, 0, 0, 0, 0])
    assert_shows(widget, norms.layer_norm(x, gain, bias, eps=0.1))
    assert "Example 3, feature 5 shares its mean" in widget.page  # the last edited cell


@pytest.mark.parametrize(
    ("text", "message"), [("abc", "holds “abc”"), ("", "is empty"), ("<i>", "&lt;i&gt;")]
)
def test_live_text_in_a_number_field_is_reported(widget, text, message):
    widget.field("example 2, feature 3").value = text
    assert message in widget.page
    assert "<i>" not in widget.page
    assert widget.outputs[1] == ["?"] * 6
    widget.field("example 2, feature 3").value = str(TABLE[1, 2])
    assert_shows(widget, norms.layer_norm(TABLE))


def test_live_table_grows_and_shrinks(widget):
    assert widget.control("Groups").layout.display == "none"
    widget.control("Norm").value = "group norm"
    assert_shows(widget, norms.group_norm(TABLE, 2))
    assert widget.control("Groups").layout.display != "none"
    widget.control("Norm").value = "batch norm"
    widget.control("Examples").value = 1
    assert_shows(widget, np.zeros((1, 6)))
    assert "The batch has one example" in widget.page
    widget.control("Features").value = 8
    widget.control("Examples").value = 16
    assert len(widget.fields) == 16 * 8
    x = np.array(widget.fields, float).reshape(16, 8)
    np.testing.assert_array_equal(x[:4, :6], TABLE)
    assert_shows(widget, norms.batch_norm(x))


def test_live_buttons_paste_draw_and_restore_numbers(widget):
    (box,) = parts(widget.box, ipywidgets.Textarea)
    box.value = str(TABLE[:2, :3])
    widget.control("Use these numbers").click()
    assert_shows(widget, norms.layer_norm(TABLE[:2, :3].copy()))
    assert "Pasted 2 by 3 numbers, read with spaces between them." in widget.html[-1]
    box.value = ""
    widget.control("Use these numbers").click()
    assert widget.html[-1] == "There is no number to paste."
    widget.control("New numbers").click()
    assert_shows(widget, norms.layer_norm(np.array(widget.fields, float).reshape(2, 3)))
    assert float(widget.fields[0]) != TABLE[0, 0]
    widget.control("Start values").click()
    assert [float(f) for f in widget.fields] == TABLE.ravel().tolist()
    assert_shows(widget, norms.layer_norm(TABLE))


def test_a_batch_of_one_is_reported_to_return_the_bias():
    r = make().read(state_of([[2.47] * 6], norm="batch norm", bias=("2",) * 6))
    np.testing.assert_array_equal(r.y, np.full((1, 6), 2.0))
    assert r.warning.startswith("The batch has one example: ")
    assert "feature 1 shares its mean 2.47 with no other number; 6 means in total." in r.text
