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
def test_sliders_announce_their_text_and_canvases_follow_the_theme(use, name):
    chapter, parts = SLIDERS[name]
    with use(chapter, name, reduced_motion="no-preference") as w:
        for part, wanted in parts.items():
            slider = w.part(part)
            low, high = (int(slider.get_attribute(end)) for end in ("min", "max"))
            texts = []
            for k in (low, (low + high) // 2, high):
                slider.fill(str(k))
                readout = w.text(f"{part}-told")
                texts.append(slider.get_attribute("aria-valuetext"))
                assert texts[-1].endswith(readout)
                assert wanted is None or readout == wanted(k)
            assert len(set(texts)) == 3, "places that are told apart"
        pictures = []
        for theme in ("light", "dark"):
            w.page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
            w.page.wait_for_timeout(100)
            canvases = w.root.locator("canvas:visible")
            pictures.append(canvases.evaluate_all("all => all.map((e) => e.toDataURL())"))
        assert all(light != dark for light, dark in zip(*pictures, strict=True))


FILES = {name: (chapter, "packed.js") for name, (chapter, _) in SLIDERS.items()} | {
    "activation-maps": ("convnet", "mnist-0.js"),
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
