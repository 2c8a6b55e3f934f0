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


def test_no_two_elements_share_an_id():
    shown = "".join(Sphere().to_html() for _ in range(3))
    ids = re.findall(r' id="([^"]*)"', shown)
    assert len(set(ids)) == len(ids)
    assert "{id}" not in shown


def test_a_book_gets_html_and_a_notebook_a_widget(monkeypatch):
    monkeypatch.setenv("LNLIB_STATIC", "1")
    assert Sphere()._repr_mimebundle_()["text/html"].startswith('<div class="ln-sphere"')
    monkeypatch.delenv("LNLIB_STATIC")
    bundle = Sphere()._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert bundle["text/plain"] == repr(Sphere())


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
