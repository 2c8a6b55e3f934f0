"""Widgets in live notebooks whose scripts are those of the built book."""

import json

import pytest

from lnbook.show import (
    ActivationMaps,
    AttentionReplay,
    CaptionRanking,
    DrawReplay,
    HandwritingReplay,
    NormTable,
    Playground,
    SentenceNeighbors,
    Sphere,
    TransformerWidget,
)
from lnbook.widgets import base

RENDER = """async ([source, data]) => {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const { default: widget } = await import(url);
  for (let twice = 0; twice < 2; twice++)
    widget.render({ model: { get: () => data }, el: document.body });
}"""
SHOWN = {
    "playground": (lambda: Playground(depth=3), "canvas"),
    "sphere": (Sphere, "svg"),
    "transformer": (lambda: TransformerWidget("Now"), "canvas"),
    "caption_ranking": (CaptionRanking, "svg"),
    "draw": (DrawReplay, "canvas"),
    "activation_maps": (ActivationMaps, "canvas"),
    "sentence_neighbors": (SentenceNeighbors, "canvas"),
    "handwriting": (HandwritingReplay, "canvas"),
    "attention": (AttentionReplay, ".ln-attention-passage"),
    "norm_table": (lambda: NormTable([[1.0, 2], [3, 5]], title="Two examples"), "input"),
}


def live(name):
    (widget,) = SHOWN[name][0]().widget().children
    return widget


@pytest.fixture
def page(browser):
    page = browser.new_page(reduced_motion="reduce")
    yield page
    page.close()


def rendered(page, name):
    """Render a widget twice and wait until it is drawn."""
    widget = live(name)
    page.add_style_tag(content=widget._css)
    page.evaluate(RENDER, [widget._esm, json.loads(json.dumps(widget.data))])
    page.wait_for_function(
        "([name, picture]) => [...document.querySelectorAll(`.ln-${name}`)]"
        ".every((root) => root.querySelector(picture)?.checkVisibility())",
        arg=[name, SHOWN[name][1]],
    )
    page.wait_for_timeout(300)


def test_every_widget_with_scripts_is_tested_in_a_notebook():
    by_kernel = {"explorer", "quiz"}  # they consist of ipywidgets
    assert {widget.name for widget in base.widgets()} == {*SHOWN, *by_kernel, "diagrams"}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", SHOWN)
def test_widgets_work_in_a_notebook_without_leaking_names(page, name):
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: message.type == "error" and wrong.append(message.text))
    rendered(page, name)
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert wrong == []
    assert page.locator(f".ln-{name.replace('_', '-')}").count() == 2
    assert len(ids) == len(set(ids))
    page.locator("input[type=range], select").first.press("End")
    page.wait_for_timeout(500)  # long enough for an address to be written
    assert page.evaluate("location.hash") == ""


AROUND = """([source, data]) => {
  document.body.innerHTML = '<div id="cell"><div class="ln-keys"></div></div><input id="other">';
  window.heard = { before: [], after: [] };
  // Notebook 7 listens to the document before any element, JupyterLab and cells after.
  document.addEventListener("keydown", ({ key, target }) => {
    if (!target.hasAttribute("data-lm-suppress-shortcuts")) heard.before.push(key);
  }, true);
  document.body.addEventListener("keydown", ({ key }) => heard.after.push(key));
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  return import(url).then(({ default: widget }) =>
    widget.render({ model: { get: () => data }, el: document.querySelector(".ln-keys") }));
}"""


def test_keys_go_to_the_live_widget_and_commands_to_the_notebook(page):
    widget = live("draw")
    page.evaluate(AROUND, [widget._esm, json.loads(json.dumps(widget.data))])
    slider = page.locator(".ln-draw input[type=range]").first
    slider.focus()
    at_first = slider.input_value()
    page.keyboard.press("ArrowLeft")
    assert slider.input_value() != at_first
    for key in ("ArrowDown", "ArrowUp", "Home", "End", "PageUp", "j", "d", "Enter", " "):
        page.keyboard.press(key)
    assert page.evaluate("heard") == {"before": [], "after": []}
    for key in ("Control+s", "Shift+Enter", "Escape"):
        page.keyboard.press(key)
    page.locator("#other").press("j")  # outside the widget
    heard = page.evaluate("heard")
    for keys in heard.values():
        assert [k for k in keys if k not in ("Control", "Shift")] == ["s", "Enter", "Escape", "j"]
