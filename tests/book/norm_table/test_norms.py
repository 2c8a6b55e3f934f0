"""The arithmetic and the display of the norm table, compared with lnlib.norms."""

import numpy as np
import pytest

from tests.book.norm_table.conftest import (
    EPS,
    NORMS,
    TABLE,
    assert_page_is_right,
    oracle,
    set_by_trial,
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


MARGINS = """r => [...r.querySelectorAll('.norm-table-margin')].filter((e) => e.offsetParent)
  .map((e) => [...e.querySelectorAll('b')].map((one) => Number(one.textContent)))"""


@pytest.mark.parametrize(("name", "axis"), [("layer norm", 1), ("batch norm", 0)])
def test_margins_show_mean_and_standard_deviation(reader, name, axis):
    reader.choose("norm", name)
    shown = reader.root.evaluate(MARGINS)
    expected = np.stack([TABLE.mean(axis), np.sqrt(TABLE.var(axis) + 1e-5)], -1)
    np.testing.assert_allclose(shown, expected, rtol=5.1e-3)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", NORMS)
def test_every_norm_shows_the_numbers_of_lnlib_norms(reader, name):
    rng = np.random.default_rng(NORMS.index(name))
    reader.choose("norm", name)
    assert_page_is_right(reader)
    for B, F in ((1, 4), (16, 8), (3, 6)):
        reader.paste(write(rng.normal(1e4, 5, (B, F)).round(3)))
        reader.type("gain", 0, F - 1, "-1.5")
        reader.choose("eps", str(rng.choice(list(EPS))))
        if name == "group norm":
            reader.choose("groups", "2")
        assert_page_is_right(reader)


@pytest.mark.parametrize("name", NORMS)
def test_the_outline_surrounds_the_inputs_that_affect_this_output(reader, name):
    reader.choose("norm", name)
    for groups in (1, 2, 3, 6) if name == "group norm" else (2,):
        if name == "group norm":
            reader.choose("groups", str(groups))
        for cell in ((0, 0), (1, 2), (3, 5)):
            for kind in ("x", "y"):
                reader.cell(kind, *cell).click()
                want = set_by_trial(name, TABLE, cell, groups)
                snapshot = reader.snapshot()
                for which in ("x", "y"):
                    assert set(map(tuple, snapshot["set"][which])) == want
                assert snapshot["cell"] == list(cell)


def test_examples_and_features_can_be_added_and_removed_within_limits(reader):
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
    assert np.array_equal(np.array(reader.texts(), float), TABLE)  # numbers are restored


def test_groups_always_divide_the_features(reader):
    reader.choose("norm", "group norm")
    reader.choose("groups", "3")
    for F, options, chosen in ((5, "15", "1"), (4, "124", "2"), (3, "13", "3"), (2, "12", "2")):
        reader.press("less feature")
        select = reader.root.locator(".norm-table-groups select")
        assert (select.evaluate("e => [...e.options].map(o => o.text).join('')")) == options, F
        assert select.input_value() == chosen
        assert_page_is_right(reader)
