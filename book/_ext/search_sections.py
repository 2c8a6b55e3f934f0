"""Sphinx extension: a search index of sections, in place of Sphinx's index of pages.

``_static/search/sections.js`` contains the text of each section and of each glossary entry. It is
a script instead of JSON, because a page that is opened as a file cannot fetch other files.
``_static/search/search.js`` ranks the sections and shows the sentence with the words.
"""

import itertools
import json
import re
import unicodedata
from pathlib import Path

from bs4 import BeautifulSoup

# Elements without prose: images, content that scripts fill in, answers to questions.
EXCLUDED = (
    "details.above-input > summary, "
    ".headerlink, .ln-where, .ln-quiz, .ln-numbers, .ln-controls, .solution, .copybtn, .hidden, "
    "script, style, svg, noscript, button, select, template, .ln-still, figure img, .linenos, .eqno"
)
# The heading of a section; that of a folded section is in the summary of the fold.
HEADING = ":scope > :is(h1, h2, h3, h4, h5, h6), :scope > details > summary > h3"
BLOCK_ELEMENTS = "p, li, td, th, tr, div, dt, dd, summary, pre, br, label, legend"
SYMBOLS = {
    "cdot": "·",
    "times": "×",
    "leq": "≤",
    "geq": "≥",
    "approx": "≈",
    "sum": "Σ",
    "sqrt": "√",
}


def latex_symbol(name):
    """Return the Unicode symbol of a LaTeX command, or "" for other commands."""
    size = "SMALL" if name.islower() else "CAPITAL"
    greek_name = name.upper().replace("LAMBDA", "LAMDA")  # the spelling in Unicode names
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {greek_name}")
    except KeyError:
        return SYMBOLS.get(name, "")


def latex_to_text(formula):
    r"""Return a LaTeX formula as a line of text.

    Example:
        >>> latex_to_text(r"\(\hat{a}_i = (a_i - \mu) / \sigma\)")
        'â_i = (a_i - μ) / σ'
    """
    text = re.sub(r"\\[()\[\]]|\\(begin|end)\{\w+\*?\}", "", formula)
    text = re.sub(r"\\hat\s*\{?\s*(\w)\s*\}?", "\\1\u0302", text)
    text = re.sub(r"\\([a-zA-Z]+)", lambda match: latex_symbol(match[1]), text)
    text = re.sub(r"[{}\\&]", "", text)
    return unicodedata.normalize("NFC", re.sub(r"\s+", " ", text).strip())


def sections(source):
    """Yield the anchor, the title and the text of each section, without its subsections.

    Args:
        source: HTML of a page of the built book.

    Yields:
        ``(anchor, title, text)``. Each entry of a glossary is a section, with the term and its
        synonyms as the title.
    """
    article = BeautifulSoup(source, "html.parser").select_one("article.bd-article")
    if article is None:
        return
    for part in article.select(EXCLUDED):
        part.decompose()
    for formula in article.select(".math"):
        formula.string = latex_to_text(formula.get_text())
    for text in article.select("dl.glossary > dd"):
        terms = list(itertools.takewhile(lambda e: e.name == "dt", previous_elements(text)))[::-1]
        yield terms[0]["id"], ", ".join(map(one_line, terms)), one_line(text)
    for element in article.select("dl.glossary"):
        element.decompose()
    results = []
    for section in reversed(article.select("section[id]")):  # the inner ones first
        if heading := section.select_one(HEADING):
            title = one_line(heading.extract())
            results.append((section["id"], title, one_line(section)))
            section.decompose()
    yield from reversed(results)


def previous_elements(element):
    """Yield the previous siblings that are elements, the nearest first."""
    yield from (sibling for sibling in element.previous_siblings if sibling.name)


def one_line(element):
    """Return the text of an element in one line, with spaces between blocks."""
    for block in element.select(BLOCK_ELEMENTS):
        block.insert_after(" ")
    return re.sub(r"\s+", " ", element.get_text()).strip()


def write_index(app, exception):
    """Write the search index."""
    if exception or app.builder.format != "html":
        return
    results = []
    for name in sorted(app.env.found_docs):
        page = Path(app.outdir, f"{name}.html")
        if page.exists():
            entries = list(sections(page.read_text("utf-8")))
            results.append({"page": name, "title": app.env.titles[name].astext(), "parts": entries})
    folder = Path(app.outdir, "_static", "search")
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, ensure_ascii=False, separators=(",", ":"))
    (folder / "sections.js").write_text(f"lnSearch({text});\n", "utf-8")


def disable_sphinx_search(app):
    """Keep Sphinx from writing its own index."""
    app.builder.search = False


def setup(app):
    """Connect the event handlers."""
    app.connect("builder-inited", disable_sphinx_search)
    app.connect("build-finished", write_index)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
