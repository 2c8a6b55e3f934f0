"""The page of the paper: every equation, section, figure and table, and links to it."""

import pkgutil
import re

from tests.book.around.conftest import BOOK, PAPER
from tests.book.conftest import PHONE


def cards():
    """The number and the text of the card of each equation."""
    return re.findall(r"\(paper-eq-(\d+)\)=\n:::\{div\} ln-eq\n(.*?)\n:::\n", PAPER, re.S)


def test_the_page_of_the_paper_has_all_equations_in_order():
    assert [int(number) for number, _ in cards()] == list(range(1, 36))


def test_every_section_figure_and_table_has_an_anchor_and_an_entry():
    wanted = [f"section-{n}" for n in (1, 2, 3, "3-1", 4, 5, "5-1", "5-2", "5-2-1", "5-2-2", 6)]
    wanted += [*(f"section-6-{n}" for n in range(1, 8)), "section-7", "appendix"]
    wanted += [*(f"figure-{n}" for n in range(1, 7)), *(f"table-{n}" for n in range(1, 4))]
    for name in wanted:
        assert re.search(rf"^\(paper-{name}\)=\n(#+ .+\n\n)?[A-Z*][^\n]+\.?", PAPER, re.M), name


def test_every_name_of_the_library_on_these_pages_exists():
    names = {
        name
        for page in ("equations", "glossary", "about")
        for name in re.findall(r"`(lnlib(?:\.\w+)+)`", (BOOK / f"{page}.md").read_text("utf-8"))
    }
    assert names
    for name in names:
        pkgutil.resolve_name(name)  # also imports modules


def test_formulas_of_the_paper_fit_on_a_phone(visit, built_book):
    with visit(built_book.as_uri(), "equations", viewport=PHONE) as v:
        v.page.evaluate("MathJax.startup.promise")
        cut = v.page.evaluate(
            "() => [...document.querySelectorAll('.ln-eq mjx-container[display]')]"
            ".filter(e => e.scrollWidth > e.clientWidth)"
            ".map(e => e.closest('.ln-eq').textContent.slice(0, 40))"
        )
        assert cut == []
        assert v.complaints == []
