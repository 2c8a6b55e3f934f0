"""Normalization sets (outline and sentence), and the shape of the table."""

import numpy as np
import pytest

from tests.book.norm_table.conftest import NORMS, TABLE, assert_page_is_right, set_by_trial


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
                assert reader.state(snapshot).cell == cell


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


def test_the_buttons_draw_new_numbers_and_restore_the_initial_ones(reader):
    reader.choose("norm", "batch norm")
    reader.type("gain", 0, 0, "3")
    observed = [reader.texts()]
    for _ in range(3):
        reader.press("new")
        assert reader.texts() not in observed
        assert all(len(t) <= 5 for row in reader.texts() for t in row)
        observed.append(reader.texts())
    reader.press("more example")
    reader.press("start")
    assert np.array_equal(np.array(reader.texts(), float), TABLE)
    assert reader.texts("gain") == [["1"] * 6]
    assert reader.state().norm == "batch norm"  # the choice stays
    assert_page_is_right(reader)
