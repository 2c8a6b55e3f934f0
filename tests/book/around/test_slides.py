"""Slides of each track: their content, and their figures in the browser."""

import functools
import re
from io import BytesIO

import pytest
import yaml
from bs4 import BeautifulSoup
from pypdf import PdfReader

from lnbook import __main__ as command
from lnbook.classroom import slides
from tests.book.conftest import PATIENCE, ROOT


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
        ("keep", "introduction", "To keep"),
        ("chapter", "two", "Two bars"),
        ("ask", "two", "Predict"),
        ("figure", "two", "Two bars"),
        ("answer", "two", "Answer"),
        ("keep", "two", "To keep"),
    ]
    lead, ask, figure, answer, keep = decks["Use it"][:5]
    text = "The first is short. The second ends at eight words."
    assert lead.body == f'<p class="topic">one bar</p><p>{text}</p>'
    assert ask.body == "<p>Is 2 even?</p><ol><li>Yes</li><li>No</li></ol>"
    assert ask.notes.index("Twice 1.") < ask.notes.index("You <em>counted</em> to 3.")
    assert answer.body == '<p>a. Yes</p><p class="why">Twice 1.</p>'
    assert (figure.figure.page, figure.figure.state) == ("introduction", "explorer-1&n=3")
    assert "<strong>Move</strong> the slider down; <em>" in figure.notes
    assert "has x^2." in figure.notes
    assert not re.search("<svg|<a |href|Is 2 even", figure.notes)
    assert re.sub("<[^>]+>", "", keep.body) == r"Keep \(x\) in mind, whatever else you may read."
    assert "Forget the rest." in keep.notes
    assert decks["Use it"][7].figure.state == ""  # not in a plan


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A norm (eq. 4) has all of five means. More.", "A norm (eq. 4) has all of five means."),
        ("Short. But the next one is long enough. No.", "Short. But the next one is long enough."),
        ('Is <a href="x">it 2.5</a> or is it much more? No.', "Is it 2.5 or is it much more?"),
        ("No end at all", "No end at all"),
    ],
)  # fmt: skip
def test_slides_have_one_sentence_or_two_short_ones(text, expected):
    paragraph = BeautifulSoup(f"<p>{text}</p>", "html.parser").p
    assert slides.choose.sentence(paragraph) == expected


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
        page.keyboard.press("Escape")  # focus the deck again
        page.keyboard.press("ArrowRight")
        page.wait_for_function(f"{texts} === 'Answer'")
        page.keyboard.press("ArrowLeft")
        page.wait_for_function(f"{texts} === 'Raise the bar'")
        assert text.inner_text() == "The first bar is 2 high."  # unchanged
        slider.focus()
        page.keyboard.press("PageDown")  # keys of a presenter never go to a control
        page.wait_for_function(f"{texts} === 'Answer'")
        page.wait_for_selector("section.present mjx-container")
        assert (v.complaints, v.outside) == ([], [])


def test_figures_fill_the_slide_and_follow_the_dark_mode_of_the_deck(visit, made):
    with visit(made.as_uri(), "use-it", "#/introduction-3", color_scheme="light") as v:
        frame = v.page.locator("section.present iframe[data-fits]")
        frame.wait_for()
        card = frame.content_frame.locator('.ln-explorer[data-ready="yes"]')
        card.wait_for()
        inside, around = card.bounding_box(), frame.bounding_box()
        room = v.page.locator("section.present .frame").bounding_box()
        for one in (inside, around):
            assert one["y"] >= room["y"] - 1
            assert one["y"] + one["height"] <= room["y"] + room["height"] + 1
            assert one["width"] <= room["width"] + 1
        letters = float(frame.get_attribute("data-fits")) * v.page.evaluate("Reveal.getScale()")
        assert letters > 1.2
        theme = "document.documentElement.dataset.theme"
        v.page.keyboard.press("d")
        assert v.page.evaluate(theme) == "dark"
        (inner,) = [f for f in v.page.frames if "figures/introduction" in f.url]
        inner.wait_for_function(f"{theme} === 'dark'")
        assert v.complaints == []


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


def test_speaker_notes_open_offline_and_follow_the_slides(visit, made):
    with visit(made.as_uri(), "use-it", "#/introduction-2") as v:
        with v.page.expect_popup() as popup:
            v.page.keyboard.press("s")
        notes = popup.value.locator(".speaker-controls-notes .value")
        popup.value.get_by_text("Twice 1.").wait_for(timeout=PATIENCE)
        v.page.keyboard.press("ArrowRight")
        notes.get_by_text("the slider down").wait_for()
        assert v.outside == []


def test_each_track_has_a_deck_and_each_slide_links_to_its_source(built_book, monkeypatch):
    read = functools.cache(slides.choose.read)  # each page once
    monkeypatch.setattr(slides.choose, "read", read)
    decks = slides.decks(built_book, ROOT / "book")
    assert list(decks) == ["Use it", "Understand it", "Audit the paper"]
    shown = {slide.page for deck in decks.values() for slide in deck}
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    parts = [part["chapters"] for part in toc["parts"] if part["caption"] in decks]
    named = [toc["root"], *(entry["file"] for part in parts for entry in part)]
    assert shown == {name for name in named if (ROOT / "book" / f"{name}.ipynb").exists()}
    for deck in decks.values():
        for slide in deck:
            words = re.sub("<[^>]+>", " ", slide.body).split()
            assert len(words) <= 75, f"{slide.page}: too much for a slide: {slide.body}"
            assert words or slide.kind == "figure"
            if slide.figure:
                assert read(built_book, slide.figure.page).select_one(slide.figure.css_selector)
                assert slide.notes, f"{slide.page}: a figure without a note: {slide.title}"
        at = [k for k, slide in enumerate(deck) if slide.kind == "figure"]
        assert len(at) >= len({slide.page for slide in deck})
        questions = [deck[k - 1].kind == "ask" for k in at]
        assert all(questions), [deck[k].title for k, a in zip(at, questions, strict=True) if not a]
        answered = {deck[k - 1].title: deck[k + 1].kind for k in at}
        assert set(answered.values()) == {"answer"}, answered


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
