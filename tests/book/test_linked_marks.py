"""Words and numbers in sentences are highlighted with the marks of a figure they refer to."""

import pytest

PAGES = {"introduction": 5, "normalization_axes": 6, "pre_norm_post_norm": 4}
# How many parts are lit, and how many of a word and its marks are not.
LIT = """(word) => [document.querySelectorAll(".ln-lit").length,
  [word, ...document.querySelectorAll(word.dataset.lights)].filter(
    (part) => !part.matches(".ln-lit")).length]"""


@pytest.mark.parametrize(("name", "least"), PAGES.items())
def test_numbers_and_their_marks_are_highlighted_together(visit, built_book, name, least):
    with visit(built_book.as_uri(), name) as v:
        v.explorers()
        linked = v.page.locator("article [data-lights][tabindex]").all()
        assert len(linked) >= least
        assert min(word.evaluate(LIT)[1] for word in linked) >= 2  # with at least one mark
        word = next(word for word in linked if word.is_visible())
        mark = v.page.locator(word.get_attribute("data-lights")).first
        for part in (word, mark):
            part.hover()
            assert word.evaluate(LIT)[1] == 0
            v.page.mouse.move(1, 1)
            assert word.evaluate(LIT)[0] == 0
        word.focus()
        assert word.evaluate(LIT)[1] == 0
        assert v.complaints == []
