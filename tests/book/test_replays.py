"""Common features of the replays: accessible sliders, themes, missing files."""

import pytest

SLIDERS = {
    "draw": ("draw", {"glimpse": lambda k: f"{k} of 8", "point": None}),
    "handwriting": ("handwriting", {"pen": lambda k: f"point {k} of 450", "point": None}),
    "attention": ("attentive_reader", {"point": None}),
    "sentence-neighbors": ("skip_thoughts", {"point": None}),
    "activation-maps": ("convnet", {"point": None, "channel": None}),
}


@pytest.mark.parametrize("name", SLIDERS)
def test_sliders_announce_their_text_and_canvases_follow_the_theme(visit, built_book, name):
    chapter, parts = SLIDERS[name]
    with visit(built_book.as_uri(), chapter) as v:
        widget = v.page.locator(f".ln-{name}").first
        v.page.wait_for_function(f"document.querySelector('.ln-{name}')?.dataset.ready === 'yes'")
        for part, wanted in parts.items():
            slider = widget.locator(f"input[data-part='{part}']")
            low, high = (int(slider.get_attribute(end)) for end in ("min", "max"))
            texts = []
            for k in (low, (low + high) // 2, high):
                slider.fill(str(k))
                readout = widget.locator(f"[data-part='{part}-told']").text_content()
                texts.append(slider.get_attribute("aria-valuetext"))
                assert texts[-1].endswith(readout)
                assert wanted is None or readout == wanted(k)
            assert len(set(texts)) == 3, "places that are told apart"
        pictures = []
        for theme in ("light", "dark"):
            v.page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
            v.page.wait_for_timeout(100)
            canvases = widget.locator("canvas:visible")
            pictures.append(canvases.evaluate_all("all => all.map((e) => e.toDataURL())"))
        assert all(light != dark for light, dark in zip(*pictures, strict=True))
        assert not v.complaints


FILES = {
    "draw": ("draw", "packed.js"),
    "handwriting": ("handwriting", "packed.js"),
    "attention": ("attentive_reader", "packed.js"),
    "sentence-neighbors": ("skip_thoughts", "packed.js"),
    "caption-ranking": ("order_embeddings", "networks-8.js"),
    "transformer": ("transformer_ablation", "weights.js"),
}


@pytest.mark.parametrize("name", FILES)
def test_missing_files_are_reported(visit, http, name):
    chapter, file = FILES[name]

    def refuse(page):
        page.route(f"**/{file}", lambda route: route.abort())

    with visit(http, chapter, before=refuse) as v:
        v.page.wait_for_function(
            "name => / cannot be (read|loaded): the file /.test("
            "document.querySelector(`.ln-${name}`)?.innerText)",
            arg=name,
        )
