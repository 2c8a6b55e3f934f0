"""The sphere's Python half: what a page and a notebook are handed."""

import re

import numpy as np

from lnbook.widgets.sphere import Sphere, cloud


def test_the_page_gets_the_picture_at_the_start():
    for gradient in (False, True):
        page = Sphere(gradient=gradient).to_html()
        assert ("ln-sphere-tangent" in page) == gradient
        assert re.search(r'role="status"[^>]*>Layer norm removes two ', page)


def test_fifty_examples_can_be_told_from_the_sum_and_from_each_other():
    points = np.array(cloud())
    assert points.shape == (50, 3)
    assert np.abs(points).max() <= 2  # as far as the sliders go
    assert points.std(-1).min() > 0.05
    assert len(np.unique(points, axis=0)) == 50
