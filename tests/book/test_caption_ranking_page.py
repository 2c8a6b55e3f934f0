"""The caption ranking in a browser: the ranking of Python, controls, missing files."""

import re

import numpy as np
import pytest

from lnbook.chapters.order_embeddings import penalty
from lnbook.widgets.replay import caption_ranking
from lnlab.datasets.coco_val2017_layout import Layouts, features
from tools.browser import browser_name

CLOSE = 1e-12  # tolerance for penalties up to 1; both sides compute in float64


def made(pictures):
    """The features of scenes ``(w, h, boxes)``, computed by the library."""
    rows = [{"w": w, "h": h, "boxes": boxes} for w, h, boxes in pictures]
    return features(
        Layouts("", tuple(caption_ranking.pictures()["categories"]), {"test": rows}, ""), "test"
    )


def ranked(norm, point, w, h, boxes):
    """Captions in the order computed from the record."""
    result = penalty.vectors(caption_ranking.records()[norm], made([(w, h, boxes)]), point)
    return np.argsort(penalty.penalties(result, 0), kind="stable").tolist()


@pytest.fixture
def page(browse):
    """A page that contains only a scene."""
    source = (
        '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">'
        f"<style>{caption_ranking.WEB.complete_style()}</style>"
        f"{caption_ranking.CaptionRanking().to_html()}"
        '<script src="caption_ranking/caption_ranking.js"></script>'
    )
    page = browse(source, caption_ranking.WEB, has_touch=True)
    page.wait_for_selector(".ln-caption-ranking[data-ready='yes']")
    yield page
    assert page.complaints == []


ENGINE = """([kept, scenes, count]) => {
  const { features, Network } = lnCaptionRankingEngine, x = scenes.map(([w, h, boxes]) =>
    features({ w, h, boxes }, count));
  const found = kept.map((norms) => Object.fromEntries(Object.entries(norms).map(([norm, one]) => {
    const network = new Network(one);
    return [norm, x.map((row) => Array.from(network.penalties(row)))];
  })));
  return [x.map((row) => Array.from(row)), found];
}"""


def test_the_page_computes_the_same_penalties_as_python(page):
    pictures, points = caption_ranking.pictures(), (0, 3)
    scenes = [[w, h, boxes] for _, w, h, boxes, _ in pictures["pictures"][::25]]
    # Two objects of equal size, one inside another, and no objects.
    scenes += [[200, 100, [[3, 0, 0, 20, 10], [3, 80, 40, 100, 50], [7, 0, 0, 200, 100]]]]
    scenes += [[640, 480, []]]
    networks = [caption_ranking.networks(point) for point in points]
    x, result = page.evaluate(ENGINE, [networks, scenes, len(pictures["categories"])])
    np.testing.assert_allclose(x, made(scenes), rtol=2e-7)  # the last digit of float32
    for point, norms in zip(points, result, strict=True):
        for norm, record in caption_ranking.records().items():
            vectors = penalty.vectors(record, np.array(x), point)
            np.testing.assert_allclose(
                norms[norm], penalty.penalty_matrix(vectors).T, rtol=0, atol=CLOSE
            )


def boxes(page):
    """The objects on the canvas, in fractions of its size: name, left, top, right, bottom."""
    return page.evaluate("""() =>
      [...document.querySelectorAll(".ln-caption-ranking-object")].map((e) => {
      const s = e.style, [x, y, w, h] = [s.left, s.top, s.width, s.height].map(parseFloat);
      return [e.querySelector("span").textContent, x, y, x + w, y + h]; })""")


def shown(page, norm):
    """The visible captions in order, and the rank of the image's own caption."""
    items = page.locator(f"[data-part='list-{norm}'] li").all_inner_texts()
    return [text.removeprefix("✓ correct: ") for text in items]


def agrees(page, point, w, h, placed, own=None):
    texts = [caption for *_, caption in caption_ranking.pictures()["pictures"]]
    # The networks of a point are loaded when they are first needed.
    soonest = texts[ranked(caption_ranking.NORMS[0], point, w, h, placed)[0]]
    page.wait_for_function(
        "t => document.querySelector('[data-part=list-none] li')?.textContent.includes(t)",
        arg=soonest,
    )
    for norm in caption_ranking.NORMS:
        expected = ranked(norm, point, w, h, placed)
        first = [texts[k] for k in expected[:10]]
        captions = shown(page, norm)
        assert captions[:10] == first, norm
        text = page.locator(f"[data-part='own-{norm}']").inner_text()
        if own is None:
            assert text == "your own scene"
            continue
        place = expected.index(own) + 1
        assert text.endswith(f"rank {place}")
        assert captions[10:] == [texts[own]] * (place > 10)


@pytest.mark.every_browser
def test_objects_can_be_moved_resized_added_and_removed(page):
    _, w, h, placed, _ = caption_ranking.pictures()["pictures"][68]
    agrees(page, 8, w, h, placed, 68)

    # The slider: data are loaded when they are needed.
    page.locator("[data-part='at']").focus()
    for _ in range(6):
        page.keyboard.press("ArrowLeft")
    agrees(page, 2, w, h, placed, 68)

    # The keyboard: right by 2% of the canvas, then larger, then gone.
    person = page.locator(".ln-caption-ranking-object").first
    person.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    c, x1, y1, x2, y2 = placed[0]
    moved = [c, x1 + 10, y1, x2 + 10, round(y2 + 0.02 * h)]
    agrees(page, 2, w, h, [moved, placed[1]], 68)
    assert "person, 51% from the left" in person.get_attribute("aria-label")
    page.keyboard.press("Delete")
    agrees(page, 2, w, h, placed[1:], 68)
    assert [name for name, *_ in boxes(page)] == ["surfboard"]

    # The pointer: drag an object.
    board = page.locator(".ln-caption-ranking-object")
    before = board.bounding_box()
    page.mouse.move(before["x"] + 60, before["y"] + 20)
    page.mouse.down()
    page.mouse.move(before["x"] + 20, before["y"] - 20, steps=3)
    page.mouse.up()
    after = board.bounding_box()
    assert after["x"] == pytest.approx(before["x"] - 40, abs=1.5)
    assert after["y"] == pytest.approx(before["y"] - 40, abs=1.5)

    # A new scene: with the button and the list; a tap on the empty canvas adds the selected object.
    page.get_by_role("button", name="Clear").click()
    assert "The canvas is empty" in page.locator("[data-part='hint']").inner_text()
    page.get_by_role("button", name="dog", exact=True).click()
    page.get_by_label("Add another object").select_option(label="TV")
    stage = page.locator("[data-part='stage']").bounding_box()
    # Firefox does not create clicks for taps of the driver.
    tap = page.mouse.click if browser_name(page) == "firefox" else page.touchscreen.tap
    tap(stage["x"] + 0.8 * stage["width"], stage["y"] + 0.2 * stage["height"])
    assert [name for name, *_ in boxes(page)] == ["dog", "TV"]
    names = caption_ranking.pictures()["categories"]
    pixels = [[names.index({"TV": "tvmonitor"}.get(name, name)),
               *np.multiply([a, b, c, d], [6.4, 4.8, 6.4, 4.8]).round().astype(int).tolist()]
              for name, a, b, c, d in boxes(page)]  # fmt: skip
    agrees(page, 2, 640, 480, pixels)

    # The address contains the state: another page that opens it shows the same.
    page.locator("[data-part='copy']").click()
    link = page.locator("[data-part='link']").input_value()
    page.wait_for_function("link => location.href === link", arg=link)  # it is updated with a delay
    assert "tvmonitor" in link
    other = page.context.new_page()
    other.goto(link)
    other.wait_for_selector(".ln-caption-ranking[data-ready='yes']")
    assert boxes(other) == boxes(page)
    agrees(other, 2, 640, 480, pixels)
    # Invalid parts are ignored, and the rest is shown.
    other.goto(link.split("#")[0] + "#scene&at=99&size=640x480&boxes=dog,0,0,64,48;cow,9,9,1,1;x")
    other.wait_for_function("document.querySelectorAll('.ln-caption-ranking-object').length === 1")
    agrees(other, 8, 640, 480, [[names.index("dog"), 0, 0, 64, 48]])
    other.close()


@pytest.mark.parametrize("picture", [20, 64])  # for the last one, a caption has rank 16
def test_objects_and_ranks_are_described_correctly(page, picture):
    _, w, h, placed, _ = caption_ranking.pictures()["pictures"][picture]
    assert w != h
    page.goto(f"{page.url}#scene&picture={picture}")
    page.wait_for_function(
        "n => document.querySelectorAll('.ln-caption-ranking-object').length === n", arg=len(placed)
    )
    agrees(page, 8, w, h, placed, picture)
    objects = page.locator(".ln-caption-ranking-object").all()
    for (_, x1, y1, x2, y2), one in zip(placed, objects, strict=True):
        text = [int(n) for n in re.findall(r"(\d+)%", one.get_attribute("aria-label"))]
        shares = [(x1 + x2) / 2 / w, (y1 + y2) / 2 / h, (x2 - x1) / w]
        np.testing.assert_allclose(text, [100 * share for share in shares], atol=0.51)
