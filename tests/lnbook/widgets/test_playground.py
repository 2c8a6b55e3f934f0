"""The playground's Python half: what a page and a notebook are handed."""

import html
import json
import re

import pytest

from lnbook.widgets.playground import WEB, Playground, digits


def test_the_page_gets_one_element_with_its_options():
    shown = Playground(small=True, depth=12, a="batch").to_html()
    options = json.loads(html.unescape(re.search(r'data-options="([^"]*)"', shown)[1]))
    assert options == {"small": True, "settings": {"depth": 12, "a": "batch"}}
    assert shown.count("<div") == shown.count("</div>") == 1
    assert "JavaScript" in shown


def test_the_widget_runs_the_same_files_as_the_page():
    (widget,) = Playground(depth=3).widget().children
    assert WEB.source() in widget._esm
    assert widget.data["digits"] == digits()
    assert widget.data["options"] == {"small": False, "settings": {"depth": 3}}


@pytest.mark.parametrize("value", [True, None, [1], {"a": 1}])
def test_a_setting_that_is_no_number_and_no_text_is_refused(value):
    with pytest.raises(TypeError, match="Playground: residual must be a number or a text, got"):
        Playground(residual=value)
