"""The arithmetic and the display of the norm table, compared with lnlib.norms."""

import numpy as np
import pytest

from lnbook.widgets.norm_table.state import EPS, NORMS, TEST_TIME
from tests.book.norm_table.conftest import assert_page_is_right, html_of, oracle, table_sheet, write

ROUNDING = 1e-12  # relative to the largest number; sums in another order, in float64


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
        "cases => cases.map(({ x, options }) => lnNormTable.normalize(x, options))", sent
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


def test_statistics_are_the_mean_and_the_std_of_the_formula(shared):
    for c in cases(40, seed=1):
        options = {"norm": "layer norm", "gain": [1] * 8, "bias": [0] * 8, "eps": c["eps"]}
        r = shared.evaluate("([x, o]) => lnNormTable.normalize(x, o)", [c["x"].tolist(), options])
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
def test_overflow_and_underflow_are_noted_instead_of_a_number(shared, x, eps, note):
    options = {"norm": "layer norm", "gain": [1] * 3, "bias": [0] * 3, "eps": eps}
    r = shared.evaluate("([x, o]) => lnNormTable.normalize(x, o)", [x, options])
    assert r["note"] == [[note] * 3]
    assert np.isnan(np.array(r["y"], float)).all()


@pytest.mark.one_in(3)
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


def test_the_script_draws_the_tables_of_the_served_page(browse, reader):
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
            "() => [...document.querySelectorAll('.sheet-tables :is(th, td), .ln-norm-table > p, "
            ".sheet-said p')].map(e => [e.tagName, e.colSpan, e.style.cssText,"
            " [...e.classList].sort().join(' '), e.querySelector('input')?.value ?? e.textContent])"
        )
        source = html_of(table_sheet(**changes))
        served = browse(source, wait=False, java_script_enabled=False).evaluate(cells)
        drawn = browse(source).evaluate(cells)
        assert drawn == served
