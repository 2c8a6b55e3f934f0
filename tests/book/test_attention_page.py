"""The attention replay in a browser: numbers of the records, controls, colors."""

import numpy as np
import pytest

from lnbook.widgets.replay.attention import packed, unpacked
from lnlab import records

COLUMN = """(el) => ({
  bars: [...el.querySelectorAll("li i")].map((bar) => parseFloat(bar.style.width)),
  right: [...el.querySelectorAll("[data-word]:has(.ln-attention-right)")].map((word) =>
    Number(word.dataset.word)),
  much: [...el.querySelectorAll("[data-word]")].map((word) =>
    Number(word.style.getPropertyValue("--much"))),
  framed: [...el.querySelectorAll("li b")].map((b) => b.matches(".ln-attention-right")) })"""


@pytest.fixture(scope="module")
def recorded():
    """The header, the probabilities and the attention."""
    runs = records.read_all("attentive_reader", epochs=10)
    with_attention = [run for run in runs if run["seed"] == 0 and "attention" in run["arrays"]]
    return unpacked(packed(with_attention))


@pytest.mark.every_browser
def test_controls_change_update_question_and_networks(use, recorded):
    header, chances, attention = recorded
    last = len(header["updates"]) - 1

    def shows(arms, chosen, point):
        one = header["questions"][chosen]
        right = chr(65 + one["right"])
        after = f"After {header['updates'][point]:,} updates, answers for {one['verse']}"
        assert w.text("says").startswith(f"{after}, where {right} is missing: ")
        assert w.part("asked").input_value() == str(chosen)
        assert w.text("query").count("?") >= one["query"].count("@blank")
        present = sorted({int(word[2:]) for word in one["passage"] if word.startswith("@e")})
        for place, arm in enumerate(arms):
            column = columns.nth(place)
            answer = int(np.argmax(chances[arm, point, chosen]))
            held = "correct" if answer == one["right"] else "wrong"
            caption, error = w.texts("answer")[place], header["arms"][arm]["errors"][point]
            assert caption.startswith(f"predicts {chr(65 + answer)}: {held}")
            assert f"{100 * error:.0f}%" in caption
            expected = 100 * chances[arm, point, chosen, present]
            for k, percent, bar in zip(
                present, expected, column.locator("li").all_inner_texts(), strict=True
            ):
                name, number = bar.split()[:2]
                assert name == chr(65 + k)
                assert float(number.rstrip("%")) == pytest.approx(percent, abs=0.51)
                assert ("✓" in bar) == (k == one["right"])
            looks = column.evaluate(COLUMN)
            assert looks["bars"] == pytest.approx(expected, abs=1e-3)
            assert looks["framed"] == [k == one["right"] for k in present]
            named = [k for k, word in enumerate(one["passage"]) if word == f"@e{one['right']}"]
            assert looks["right"] == named
            shade = np.minimum(1, attention[arm, point, chosen, : len(one["passage"])] / 0.5) ** 0.5
            assert looks["much"] == pytest.approx(shade, abs=2e-3)

    with use("attentive_reader", "attention") as w:
        columns = w.root.locator(".ln-attention-arm")
        network = columns.first.locator("select")
        shown, first = header["shown"], header["first"]
        shows(shown, first, last)
        w.press("point", "Home")
        shows(shown, first, 0)
        w.press("point", "ArrowRight")
        shows(shown, first, 1)
        w.press("asked", "Home")
        shows(shown, 0, 1)
        w.part("asked").select_option(str(first))
        network.press("ArrowDown")
        shows([shown[0] + 1, *shown[1:]], first, 1)
        network.select_option(str(shown[0]))
        w.press("point", "End", "ArrowLeft")
        w.play("Train", "point")
        shows(shown, first, last)
        w.announces("After 4,840")
