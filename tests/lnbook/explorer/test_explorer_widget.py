"""Explorers in a live notebook."""

import ipywidgets
import numpy as np
import plotly.graph_objects as go

from lnbook.show import Explorer, slider
from tests.cases.page import parts
from tests.lnbook.explorer.conftest import TABLE, X, drawn, explorer, panels, sentence


def test_moving_a_control_redraws_and_describes():
    box = explorer().widget()
    rows, scale = parts(box, ipywidgets.SelectionSlider) + parts(box, ipywidgets.Dropdown)
    before = panels(box)
    assert np.shape(drawn(box)[0].data[0].z) == (3, 7)
    rows.value, scale.value = 2, -2.0
    assert panels(box) == before  # updated, not replaced
    heat, lines = drawn(box)
    np.testing.assert_array_equal(heat.data[0].z, TABLE[:2] * -2)
    np.testing.assert_array_equal(lines.data[1].y, np.sin(X) * -2)
    assert "2 rows" in [text.value for text in parts(box, ipywidgets.HTML)]
    assert "2 rows &lt;times&gt; -2.0." in sentence(box)


def test_live_sliders_are_finer_and_errors_keep_the_last_figure():
    def sometimes(x):
        if x == 0.25:
            raise ZeroDivisionError("x must not be 0.25")
        return go.Figure(go.Bar(y=[x]))

    fine = {"x": slider("x", [0.0, 1.0], live=(0, 2, 0.25))}  # finer with a kernel
    box = Explorer(sometimes, fine, title="T", describe=lambda x: f"x = {x}.").widget()
    (control,) = parts(box, ipywidgets.FloatSlider)
    assert (control.min, control.max, control.step) == (0, 2, 0.25)
    control.value = 0.25
    assert "not be drawn (ZeroDivisionError: x must not be 0.25). Choose another" in sentence(box)
    assert drawn(box)[0].data[0].y == (0,)
    control.value = 1.25
    assert drawn(box)[0].data[0].y == (1.25,)
    assert "x = 1.25." in sentence(box)
