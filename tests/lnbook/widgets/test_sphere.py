"""The sphere's Python half: what a page and a notebook are handed."""

import html
import json
import re

import numpy as np
import pytest

from lnbook.widgets.sphere import WEB, Sphere, cloud


@pytest.mark.parametrize("gradient", [False, True])
def test_the_page_gets_its_options_and_the_picture_at_the_start(gradient):
    shown = Sphere(gradient=gradient).to_html()
    options = json.loads(html.unescape(re.search(r'data-options="([^"]*)"', shown)[1]))
    assert options == {"cloud": cloud(), "settings": {"gradient": gradient}}
    assert shown.count("<div") == shown.count("</div>")
    assert ("ln-sphere-tangent" in shown) == gradient
    assert re.search(r'role="status"[^>]*>Layer norm removes two ', shown)
    assert "JavaScript" in shown


def test_the_widget_runs_the_same_files_as_the_page():
    (widget,) = Sphere(gradient=True).widget().children
    assert WEB.source() in widget._esm
    assert widget.data["options"] == Sphere(gradient=True).options


def test_fifty_examples_can_be_told_from_the_sum_and_from_each_other():
    points = np.array(cloud())
    assert points.shape == (50, 3)
    assert np.abs(points).max() <= 2  # as far as the sliders go
    assert points.std(-1).min() > 0.05
    assert len(np.unique(points, axis=0)) == 50
