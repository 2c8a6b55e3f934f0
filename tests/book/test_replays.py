"""What a slider of a widget says to a screen reader is what stands beside it."""

import pytest

SLIDERS = {
    "draw": ("draw", {"glimpse": lambda k: f"{k} of 8", "point": None}),
    "handwriting": ("handwriting", {"pen": lambda k: f"point {k} of 450", "point": None}),
    "attention": ("attentive_reader", {"point": None}),
    "sentence-neighbors": ("skip_thoughts", {"point": None}),
    "activation-maps": ("convnet", {"point": None, "channel": None}),
}


@pytest.mark.parametrize("name", SLIDERS)
def test_a_slider_says_what_stands_beside_it(visit, built_book, name):
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
        assert not v.complaints
