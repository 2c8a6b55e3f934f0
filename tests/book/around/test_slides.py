"""Slides of each track: their content, and their figures in the browser."""

import re
from io import BytesIO

import pytest
from pypdf import PdfReader

from lnbook import __main__ as command
from lnbook.classroom import slides


@pytest.fixture(scope="module")
def made(taught):
    out = taught / "slides"
    assert slides.write(taught / "_build" / "html", taught / "book", out) == out / "index.html"
    return out


def kinds(deck):
    return [(slide.kind, slide.page, slide.title) for slide in deck]


def test_a_chapter_has_slides_with_title_question_figure_and_summary(taught):
    decks = slides.decks(taught / "_build" / "html", taught / "book")
    assert list(decks) == ["Use it"]  # a part without a chapter has no slides
    assert kinds(decks["Use it"]) == [
        ("chapter", "introduction", "Start"),
        ("ask", "introduction", "Predict"),
        ("figure", "introduction", "Raise the bar"),
        ("answer", "introduction", "Answer"),
        ("keep", "introduction", "Summary"),
        ("chapter", "two", "Two bars"),
        ("ask", "two", "Predict"),
        ("figure", "two", "Two bars"),
        ("answer", "two", "Answer"),
        ("keep", "two", "Summary"),
    ]
    lead, ask, figure, answer, keep = decks["Use it"][:5]
    text = "The first is short. The second ends at eight words."
    assert lead.body == f'<p class="topic">one bar</p><p>{text}</p>'
    assert ask.body == "<p>Is 2 even?</p><ol><li>Yes</li><li>No</li></ol>"
    assert answer.body == '<p>a. Yes</p><p class="why">Twice 1.</p>'
    assert (figure.figure.page, figure.figure.state) == ("introduction", "explorer-1&n=3")
    assert "<strong>Move</strong> the slider down; <em>" in figure.notes
    assert re.sub("<[^>]+>", "", keep.body) == r"Keep \(x\) in mind, whatever else you may read."


def test_the_figures_of_a_deck_are_interactive_when_opened_from_a_folder(visit, made):
    with visit(made.as_uri(), "use-it") as v:
        page = v.page
        texts = "Reveal.getCurrentSlide().querySelector('h1, h2').textContent"
        assert page.evaluate(texts) == "Use it"
        for title in ("Start", "Predict", "Raise the bar"):
            page.keyboard.press("ArrowRight")
            assert page.evaluate(texts) == title
        figure = page.frame_locator("section.present iframe:visible")
        figure.locator('.ln-explorer[data-ready="yes"]').wait_for()
        text, slider = figure.locator(".ln-text"), figure.locator("input[type=range]")
        assert text.inner_text() == "The first bar is 3 high."  # the state of the plan
        slider.focus()
        page.keyboard.press("ArrowLeft")  # for the control, not for the deck
        figure.get_by_text("The first bar is 2 high.").wait_for()
        assert page.evaluate(texts) == "Raise the bar"
        slider.focus()
        page.keyboard.press("PageDown")  # keys of a presenter never go to a control
        page.wait_for_function(f"{texts} === 'Answer'")
        page.wait_for_selector("section.present mjx-container")
        page.evaluate("Reveal.slide(...Object.values(Reveal.getIndices(Reveal.getSlides()[8])))")
        figure.locator('.ln-explorer[data-ready="yes"]').wait_for()  # no slide before it loaded it
        assert (v.complaints, v.outside) == ([], [])


@pytest.mark.not_in("firefox", "webkit", reason="Chromium alone prints a PDF")
def test_each_slide_is_printed_on_one_page_with_its_figure(visit, made):
    with visit(made.as_uri(), "use-it", "?print-pdf") as v:
        v.page.wait_for_function("document.documentElement.dataset.printable")
        printed = v.page.pdf(prefer_css_page_size=True, print_background=True)
        assert v.complaints == []
    texts = [" ".join(page.extract_text().split()) for page in PdfReader(BytesIO(printed)).pages]
    assert len(texts) == 1 + 10  # of the track and of two chapters
    figure, answer = texts[3:5]
    assert figure.startswith("Raise the bar")
    assert "The first bar is 3 high." in figure
    assert "Twice 1." in answer
    assert re.search(r"Two bars.*bar", texts[8])


def test_errors_name_what_is_missing_or_in_the_way(taught, tmp_path, capsys, monkeypatch):
    assert command.main(["slides", "--built", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    assert "build the book first, with make book" in capsys.readouterr().err
    built = taught / "_build" / "html"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("dear")
    with pytest.raises(ValueError, match="mine contains other files; name an empty or new folder"):
        slides.write(built, taught / "book", tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "dear"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"reveal\.js is missing: run tools/setup.sh slides"):
        slides.write(built, taught / "book", tmp_path / "out")
