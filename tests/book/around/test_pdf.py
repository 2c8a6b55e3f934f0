"""The book as one PDF, printed from two small chapters and a page for teachers."""

import re

import pytest
from pypdf import PdfReader

from tools import pdf

pytestmark = [
    pytest.mark.slow,
    pytest.mark.not_in("firefox", "webkit", reason="Chromium alone prints a PDF"),
]


@pytest.fixture(scope="module")
def printed(taught, browser):
    out = taught / "book.pdf"
    built = taught / "_build" / "html"
    count = pdf.print_book(browser, built, taught / "_toc.yml", out, "Two pages", "Ada and Bob")
    reader = PdfReader(out)
    assert count == len(reader.pages)
    assert (reader.metadata.title, reader.metadata.author) == ("Two pages", "Ada and Bob")
    return reader


def texts(reader):
    return [" ".join(page.extract_text().split()) for page in reader.pages]


def bookmarks(reader, items=None, depth=0):
    for item in reader.outline if items is None else items:
        if isinstance(item, list):
            yield from bookmarks(reader, item, depth + 1)
        else:
            yield depth, item.title, reader.get_destination_page_number(item)


def links(reader, number):
    """Internal targets and external URLs of the links of a page."""
    results = [a.get_object() for a in reader.pages[number].get("/Annots", ())]
    inside = [reader.get_page_number(a["/Dest"][0].get_object()) for a in results if "/Dest" in a]
    return inside, [a["/A"]["/URI"] for a in results if "/A" in a]


def test_bookmarks_point_to_tracks_chapters_and_sections(printed):
    text = texts(printed)
    marks = list(bookmarks(printed))
    assert [(depth, name) for depth, name, _ in marks] == [
        (0, "Two pages"),
        (0, "Start: one bar"),
        (1, "Summary"),
        (0, "Use it"),
        (1, "Two bars"),
        (2, "Summary"),
        (2, "Answers"),
        (0, "Look it up"),
        (1, "Teach"),
    ]
    for _, name, number in marks:
        if name not in ("Use it", "Look it up"):
            assert name in text[number]


def test_pages_are_numbered_and_the_contents_list_the_numbers_of_chapters(printed):
    message = texts(printed)
    starts = {name: number for _, name, number in bookmarks(printed)}
    for number, text in enumerate(message[1:], 1):
        chapter = [name for name, first in starts.items() if first <= number and name in text]
        assert chapter
        assert text.endswith(f"{chapter[0]} {number + 1}") or f" {number + 1}" in text[-40:]
    for name in ("Start: one bar", "Two bars", "Teach"):
        assert re.search(rf"{name} {starts[name] + 1}\b", message[1])
    assert sorted(links(printed, 1)[0]) == sorted(
        starts[name] for name in ("Start: one bar", "Two bars", "Teach")
    )


def test_links_point_into_the_pdf_or_to_the_web_but_never_to_a_file(printed, taught):
    starts = {name: number for depth, name, number in bookmarks(printed) if name != "Summary"}
    inside, outside = links(printed, starts["Start: one bar"])
    assert starts["Two bars"] in inside
    assert "https://arxiv.org/abs/1607.06450" in outside
    assert all(address.startswith("https://") for address in outside)
    raw = (taught / "book.pdf").read_bytes()
    assert b"file:" not in raw
    assert str(taught).encode() not in raw


def tags(reader):
    """Every tag with its path from the root."""
    waiting = [(reader.root_object["/StructTreeRoot"]["/K"], ())]
    while waiting:
        one, path = waiting.pop()
        path = (*path, one["/S"])
        yield path, one
        below = one.get("/K", [])
        for child in reversed(below if isinstance(below, list) else [below]):
            child = child.get_object()
            if isinstance(child, dict) and "/S" in child:
                waiting.append((child, path))


def test_the_pdf_has_tags_for_headings_tables_and_alt_texts(printed):
    results = list(tags(printed))
    assert all(path[0] == "/Document" for path, _ in results)
    assert [path for path, _ in results].count(("/Document", "/Part")) == 4  # contents, three pages
    kinds = [path[-1] for path, _ in results]
    assert {"/H1", "/H2", "/Link", "/Table", "/TH", "/TD"} <= set(kinds)
    assert any("bar" in one.get("/Alt", "") for _, one in results if one["/S"] == "/Figure")
    assert printed.root_object["/Lang"] == "en"


def test_figures_are_printed_in_their_initial_state_and_answers_at_the_end(printed):
    text = texts(printed)
    starts = {name: number for _, name, number in bookmarks(printed)}
    start = "".join(text[starts["Start: one bar"] : starts["Two bars"]])
    assert "The first bar is 1 high." in start
    assert "go.Figure" not in start  # code is folded, as in the browser
    two = "".join(text[starts["Two bars"] : starts["Teach"]])
    questions, answers = two.split("Answers", 1)
    assert "Is 2 even?" in questions
    assert "Twice 1." not in questions
    for words in ("Twice 1.", "You counted to 3.", "It is one."):
        assert words in answers
    assert "On this page" not in "".join(text)
