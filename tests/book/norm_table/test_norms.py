"""The arithmetic and the display of the norm table, compared with lnlib.norms."""

import math

import numpy as np
import pytest

from tests.book.norm_table.conftest import (
    EPS,
    NORMS,
    assert_page_is_right,
    oracle,
    shown_is,
    write,
)

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
    got = shared.evaluate("all => all.map((one) => lnNormTableCompute.normalize(...one))", sent)
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


FORMATTED = {
    -1.0625: ("−1.063", "−1.063"), 0.0625: ("0.063", "0.0625"), 2.5: ("2.500", "2.5"),
    12.345: ("12.35", "12.35"), 99.995: ("100.00", "100"), 999.95: ("1000.0", "1000"),
    123456.0: ("1.23e5", "123456"), 1e6: ("1.00e6", "1e6"), -0.00316228: ("−0.003", "−0.003162"),
    24.0: ("24.00", "24"), 0.0: ("0.000", "0"), -1e-9: ("0.000", "−1e−9"),
    1e-4: ("0.000", "0.0001"), 5e-324: ("0.000", "4.941e−324"), 1e300: ("1.00e300", "1e300"),
}  # fmt: skip


def test_numbers_are_formatted_with_few_digits_and_are_the_numbers_rounded(shared):
    def both(values):
        return shared.evaluate(
            "vs => vs.map((v) => [lnNormTableTexts.shown(v), lnNormTableTexts.figure(v)])", values
        )

    assert both([*FORMATTED]) == [list(texts) for texts in FORMATTED.values()]
    rng = np.random.default_rng(3)
    floats = (rng.normal(size=3000) * 10.0 ** rng.uniform(-14, 14, 3000)).tolist()
    for v, (column, sentence) in zip(floats, both(floats), strict=True):
        assert shown_is(column, v)
        assert math.isclose(float(sentence.replace("−", "-")), v, rel_tol=5.1e-4)
