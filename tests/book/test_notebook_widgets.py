"""What a live notebook shows of the widgets whose scripts are the built book's."""

import json

import pytest

from lnbook.show import (
    Neighbors,
    Painter,
    Places,
    Playground,
    Reader,
    Scene,
    Scribe,
    Sphere,
    Switchboard,
)

RENDER = """async ([source, data]) => {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const { default: widget } = await import(url);
  for (let twice = 0; twice < 2; twice++)
    widget.render({ model: { get: () => data }, el: document.body });
}"""
SHOWN = {
    "playground": (lambda: Playground(depth=3), "canvas"),
    "sphere": (Sphere, "svg"),
    "transformer": (lambda: Switchboard("Now"), "canvas"),
    "scene": (Scene, "svg"),
    "painter": (Painter, "canvas"),
    "places": (Places, "canvas"),
    "neighbors": (Neighbors, "canvas"),
    "scribe": (Scribe, "canvas"),
    "reader": (Reader, ".lnr-passage"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_widget_comes_to_life_in_a_notebook_and_its_names_stay_its_own(browser, name):
    make, picture = SHOWN[name]
    (widget,) = make().widget().children
    page = browser.new_page(reduced_motion="reduce")
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: said.type == "error" and wrong.append(said.text))
    page.add_style_tag(content=widget._css)
    page.evaluate(RENDER, [widget._esm, json.loads(json.dumps(widget.data))])
    page.wait_for_function(
        "([name, picture]) => [...document.querySelectorAll(`.ln-${name}`)]"
        ".every((root) => root.querySelector(picture)?.checkVisibility())",
        arg=[name, picture],
    )
    page.wait_for_timeout(300)
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert wrong == []
    assert page.locator(f".ln-{name}").count() == 2
    assert len(ids) == len(set(ids))
    page.close()
