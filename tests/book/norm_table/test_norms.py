"""The arithmetic and the display of the norm table, compared with lnlib.norms."""

import numpy as np
import pytest

from lnbook.widgets.norm_table import WEB
from lnbook.widgets.norm_table.state import EPS, NORMS, TEST_TIME
from lnbook.widgets.norm_table.texts import figure, shown
from tests.book.norm_table.conftest import (
    READY,
    assert_page_is_right,
    norm_table,
    oracle,
    shown_is,
    write,
)
from tests.cases.themed_page import themed

ROUNDING = 1e-12  # relative to the largest number; sums in another order, in float64


def cases(count):
    rng = np.random.default_rng(0)
    for k in range(count):
        B, F = int(rng.integers(1, 17)), int(rng.integers(1, 9))
        x = rng.normal(rng.choice([0, 1e4]), 10 ** rng.uniform(-3, 3), (B, F))
        if k % 5 == 0:
            x[rng.integers(B)] = 7.5  # equal numbers
        yield {
            "name": NORMS[k % len(NORMS)],
            "x": x,
            "gain": rng.normal(1, 2, F),
            "bias": rng.normal(0, 3, F),
            "eps": float(rng.choice(list(EPS.values()))),
            "groups": int(rng.choice([g for g in range(1, F + 1) if F % g == 0])),
            "running": (rng.normal(0, 5, F), rng.uniform(0.1, 9, F)),
        }


def test_normalize_agrees_with_lnlib_norms(shared):
    made = list(cases(350))
    sent = []
    for c in made:
        mean, var = (v.tolist() for v in c["running"])
        options = {"norm": c["name"], "gain": c["gain"].tolist(), "bias": c["bias"].tolist(),
                   "eps": c["eps"], "groups": c["groups"],
                   "running": {"mean": mean, "var": var}}  # fmt: skip
        sent.append([c["x"].tolist(), options])
    got = shared.evaluate("all => all.map((one) => lnNormTable.normalize(...one))", sent)
    undefined = 0
    for c, result in zip(made, got, strict=True):
        want = oracle(**c)
        y, note = np.array(result["y"], float), np.array(result["note"])
        np.testing.assert_array_equal(note, np.where(np.isnan(want), "0/0", ""), err_msg=str(c))
        scale = max(1.0, np.nanmax(np.abs(want), initial=0))
        np.testing.assert_allclose(y, want, rtol=ROUNDING, atol=ROUNDING * scale, err_msg=str(c))
        undefined += np.isnan(want).sum()
    assert undefined > 100  # the cases do reach 0/0


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", NORMS)
def test_every_norm_shows_the_numbers_of_lnlib_norms(reader, name):
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


CELLS = """() => [...document.querySelectorAll(
  ".norm-table-tables :is(th, td), .ln-norm-table > p, .norm-table-said p")].map((e) => [
  e.tagName, e.colSpan, e.style.cssText, [...e.classList].sort().join(" "),
  e.querySelector("input")?.value ?? e.textContent])"""


def test_the_script_draws_the_tables_of_the_served_page(browse):
    starts = ["batch norm", TEST_TIME, "group norm", "instance norm", "RMS norm", "none"]
    for changes in ({}, *({"start": start} for start in starts), {"columns": list("abcdef")}):
        source = themed(WEB, norm_table(groups=3, **changes))
        served = browse(source, java_script_enabled=False)
        drawn = browse(source)
        drawn.wait_for_function(READY)
        assert drawn.evaluate(CELLS) == served.evaluate(CELLS)


def test_numbers_are_formatted_as_in_python_and_rounded_correctly(shared):
    rng = np.random.default_rng(3)
    made = rng.normal(size=3000) * 10.0 ** rng.uniform(-14, 14, 3000)
    ties = [0.0625, -0.0625, 2.5, -2.5, 0.5, 1000.5, 12.345, 99.995, 999.95, 9.9995, 99999.5, 1e5]
    edges = [0.0, -0.0, -1e-9, 0.0005, 1e-4, 9.99995e-5, 1e6, 999999.5, 123456.5, 1e300, 5e-324]
    floats = [*made.tolist(), *ties, *edges]
    for python in (shown, figure):
        page = shared.evaluate(
            "([name, vs]) => vs.map((v) => lnNormTable[name](v))", [python.__name__, floats]
        )
        assert page == [python(v) for v in floats]
    assert all(shown_is(shown(v), v) for v in floats)
