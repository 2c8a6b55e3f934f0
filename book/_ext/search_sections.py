"""Sphinx extension: a search that finds sections, and shows the sentence that holds the words.

Sphinx's own search finds pages. Here each section of a page and each entry of the glossary is one
line of ``_static/search/sections.js``, which only the search page loads, as a script: a page that
is opened as a file may fetch nothing. ``_static/search/search.js`` ranks them.
"""

import itertools
import json
import re
import unicodedata
from pathlib import Path

from bs4 import BeautifulSoup

# What is no prose: pictures, what a browser fills in later, answers that spoil a question.
LEFT_OUT = (
    "details.above-input > summary, "
    ".headerlink, .ln-where, .ln-quiz, .ln-numbers, .ln-controls, .solution, .copybtn, .hidden, "
    "script, style, svg, noscript, button, select, template, .ln-still, figure img, .linenos, .eqno"
)
BLOCKS = "p, li, td, th, tr, div, dt, dd, summary, pre, br, label, legend"
SIGNS = {"cdot": "·", "times": "×", "leq": "≤", "geq": "≥", "approx": "≈", "sum": "Σ", "sqrt": "√"}


def sign(name):
    """Return the sign that a command of LaTeX stands for; nothing for a layout."""
    size = "SMALL" if name.islower() else "CAPITAL"
    greek_name = name.upper().replace("LAMBDA", "LAMDA")  # Unicode spells it so
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {greek_name}")
    except KeyError:
        return SIGNS.get(name, "")


def plain(formula):
    r"""Return a formula in LaTeX as text to be read in a line.

    Example:
        >>> plain(r"\(\hat{a}_i = (a_i - \mu) / \sigma\)")
        'â_i = (a_i - μ) / σ'
    """
    text = re.sub(r"\\[()\[\]]|\\(begin|end)\{\w+\*?\}", "", formula)
    text = re.sub(r"\\hat\s*\{?\s*(\w)\s*\}?", "\\1\u0302", text)
    text = re.sub(r"\\([a-zA-Z]+)", lambda match: sign(match[1]), text)
    text = re.sub(r"[{}\\&]", "", text)
    return unicodedata.normalize("NFC", re.sub(r"\s+", " ", text).strip())


def sections(source):
    """Yield the anchor, the title and the text of each section of a page, its own text alone.

    Args:
        source: the HTML of a page of the built book.

    Yields:
        (anchor, title, text); of a glossary each entry is a section, with the term and its
            synonyms as the title.
    """
    article = BeautifulSoup(source, "html.parser").select_one("article.bd-article")
    if article is None:
        return
    for part in article.select(LEFT_OUT):
        part.decompose()
    for formula in article.select(".math"):
        formula.string = plain(formula.get_text())
    for text in article.select("dl.glossary > dd"):
        terms = list(itertools.takewhile(lambda element: element.name == "dt", before(text)))[::-1]
        yield terms[0]["id"], ", ".join(map(flat, terms)), flat(text)
    for element in article.select("dl.glossary"):
        element.decompose()
    results = []
    for section in reversed(article.select("section[id]")):  # the inner ones first
        if heading := section.find(re.compile("^h[1-6]$"), recursive=False):
            title = flat(heading.extract())
            results.append((section["id"], title, flat(section)))
            section.decompose()
    yield from reversed(results)


def before(element):
    """Yield the elements before one, the nearest first, within the same parent."""
    yield from (sibling for sibling in element.previous_siblings if sibling.name)


def flat(element):
    """Return the text of an element in one line; what stands in a block of its own keeps apart."""
    for block in element.select(BLOCKS):
        block.insert_after(" ")
    return re.sub(r"\s+", " ", element.get_text()).strip()


def write(app, exception):
    """Write what the search page looks through."""
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


def leave_out_the_index(app):
    """Keep Sphinx from writing an index of its own; the search page is one of the book's."""
    app.builder.search = False


def setup(app):
    """Connect the writer of the index."""
    app.connect("builder-inited", leave_out_the_index)
    app.connect("build-finished", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
