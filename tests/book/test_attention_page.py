"""The attention replay in a browser: numbers of the records, controls, colors."""

import numpy as np
import pytest

from lnbook.widgets.replay.attention import packed, unpacked
from lnlab import records

COLUMN = """(el) => ({
  bars: [...el.querySelectorAll("li i")].map((bar) => parseFloat(bar.style.width)),
  right: [...el.querySelectorAll("[data-word]:has(.ln-attention-right)")].map((word) =>
    Number(word.dataset.word)),
  framed: [...el.querySelectorAll("li b")].map((b) => b.matches(".ln-attention-right")) })"""
SHADE = """(el) => [Number(el.style.getPropertyValue('--much')),
                    getComputedStyle(el).backgroundColor]"""


@pytest.fixture(scope="module")
def recorded():
    """The header, the probabilities and the attention."""
    runs = records.read_all("attentive_reader", epochs=10)
    with_attention = [run for run in runs if run["seed"] == 0 and "attention" in run["arrays"]]
    return unpacked(packed(with_attention))


@pytest.mark.every_browser
def test_controls_change_update_question_and_networks(visit, built_book, recorded):
    header, chances, attention = recorded
    last = len(header["updates"]) - 1

    with visit(built_book.as_uri(), "attentive_reader", reduced_motion="reduce") as v:
        page = v.page
        page.wait_for_function("document.querySelector('.ln-attention')?.dataset.ready === 'yes'")
        whole = page.locator(".ln-attention")
        columns = whole.locator(".ln-attention-arm")
        question = whole.locator("[data-part='asked']")

        def shows(arms, chosen, point):
            one = header["questions"][chosen]
            right = chr(65 + one["right"])
            says = whole.locator("[data-part='says']").inner_text()
            after = f"After {header['updates'][point]:,} updates, answers for {one['verse']}"
            assert says.startswith(f"{after}, where {right} is missing: ")
            assert question.input_value() == str(chosen)
            query = whole.locator("[data-part='query']").inner_text()
            assert query.count("?") >= one["query"].count("@blank")
            present = sorted({int(w[2:]) for w in one["passage"] if w.startswith("@e")})
            for place, arm in enumerate(arms):
                column = columns.nth(place)
                answer = int(np.argmax(chances[arm, point, chosen]))
                held = "correct" if answer == one["right"] else "wrong"
                caption = column.locator("[data-part='answer']").inner_text()
                error = header["arms"][arm]["errors"][point]
                assert caption.startswith(f"predicts {chr(65 + answer)}: {held}")
                assert f"{100 * error:.0f}%" in caption
                bars = column.locator("li").all_inner_texts()
                assert [bar.split()[0] for bar in bars] == [chr(65 + k) for k in present]
                for k, bar in zip(present, bars, strict=True):
                    percent = float(bar.split()[1].rstrip("%"))
                    assert percent == pytest.approx(100 * chances[arm, point, chosen, k], abs=0.51)
                    assert ("✓" in bar) == (k == one["right"])
                looks = column.evaluate(COLUMN)
                expected = 100 * chances[arm, point, chosen, present]
                assert looks["bars"] == pytest.approx(expected, abs=1e-3)
                assert looks["framed"] == [k == one["right"] for k in present]
                named = [k for k, w in enumerate(one["passage"]) if w == f"@e{one['right']}"]
                assert looks["right"] == named
                words = column.locator("[data-word]")
                assert words.count() == len(one["passage"])
                much, _ = words.nth(1).evaluate(SHADE)
                expected = min(1, attention[arm, point, chosen, 1] / 0.5) ** 0.5
                assert much == pytest.approx(expected, abs=2e-3)

        shown, first = header["shown"], header["first"]
        shows(shown, first, last)

        # By keyboard: the beginning of training, the next point, another question, another network.
        whole.locator("[data-part='point']").focus()
        page.keyboard.press("Home")
        shows(shown, first, 0)
        page.keyboard.press("ArrowRight")
        shows(shown, first, 1)
        question.focus()
        page.keyboard.press("Home")
        shows(shown, 0, 1)
        question.select_option(str(first))
        columns.first.locator("select").focus()
        page.keyboard.press("ArrowDown")
        shows([shown[0] + 1, *shown[1:]], first, 1)
        columns.first.locator("select").select_option(str(shown[0]))

        # Play continues from the current point and stops at the end.
        whole.locator("[data-part='point']").focus()
        page.keyboard.press("End")
        page.keyboard.press("ArrowLeft")
        page.get_by_role("button", name="Train").click()
        assert page.get_by_role("button", name="Stop").get_attribute("aria-pressed") == "true"
        page.wait_for_function(
            "document.querySelector('.ln-attention [data-part=play]').ariaPressed === 'false'"
        )
        shows(shown, first, last)
        page.wait_for_function(
            "document.querySelector('.ln-attention [role=status]').textContent"
            ".includes('After 4,840')"
        )
        assert not v.complaints
        assert not v.outside
