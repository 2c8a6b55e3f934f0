"""Export the glossary as a deck of cards for Anki.

The package contains its own note type, because the names and settings of Anki's note types depend
on the language and the profile.
"""

import html
import re
import tempfile
from pathlib import Path
from typing import NamedTuple

from lnbook.classroom import chapters

NAME = "Layer normalization"
NUMBER = 1_607_064_500  # id of the note type and the deck, by which Anki recognizes them
CSS = """.card { font-family: sans-serif; font-size: 20px; line-height: 1.5; text-align: center; }
small { color: gray; }"""


class Entry(NamedTuple):
    """A term and its definition.

    Args:
        terms: The term, followed by its synonyms.
        text: The definition, in the book's Markdown.
    """

    terms: list[str]
    text: str


def entries() -> list[Entry]:
    """Return the entries of the glossary, in order."""
    page = (chapters.book() / "glossary.md").read_text("utf-8")
    glossary = re.search(r"```\{glossary\}\n(.*?)```", page, re.S)[1]
    results = []
    for block in re.split(r"\n\s*\n", glossary.strip()):
        lines = block.splitlines()
        terms = [line for line in lines if not line.startswith(" ")]
        results.append(Entry(terms, " ".join(line.strip() for line in lines[len(terms) :])))
    return results


def cards() -> list[tuple[str, str, str]]:
    """Return a stable name, the front and the back of each card, as HTML."""
    render = renderer()
    results = []
    for terms, text in entries():
        first, *others = map(html.escape, terms)
        front = first + "".join(f"<br><small>{synonym}</small>" for synonym in others)
        name = "layer-norm-" + re.sub(r"\W+", "-", terms[0].lower())
        results.append((name, front, render(text)))
    return results


def deck() -> bytes:
    """Return the glossary as an Anki package; importing it again updates the cards."""
    import genanki

    face = {"name": "Card", "qfmt": "{{Term}}", "afmt": "{{FrontSide}}<hr id=answer>{{Meaning}}"}
    fields = [{"name": "Term"}, {"name": "Meaning"}]
    model = genanki.Model(NUMBER, NAME, fields=fields, templates=[face], css=CSS)
    anki_deck = genanki.Deck(NUMBER, NAME)
    for name, front, back in cards():
        tags = ["layer-normalization"]
        anki_deck.add_note(genanki.Note(model, [front, back], guid=name, tags=tags))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "deck.apkg")
        genanki.Package(anki_deck).write_to_file(path)
        return path.read_bytes()


def renderer():
    """Return a function that converts a paragraph of the book's Markdown to HTML for Anki."""
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin
    from mdit_py_plugins.myst_role import myst_role_plugin

    parser = MarkdownIt("commonmark").use(myst_role_plugin)
    parser.use(dollarmath_plugin, renderer=lambda text, _: rf"\({html.escape(text.strip())}\)")
    cited, titles = _cited(), _titles()

    def role(self, tokens, index, options, env):
        name, text = tokens[index].meta["name"], tokens[index].content
        term = text.partition("<")[0].strip()
        if name == "doc":
            return f"<i>{html.escape(titles[text])}</i>"
        if name == "cite:t":
            authors, year = cited[text]
            return html.escape(f"{authors} ({year})")
        if name == "cite:p":
            parts = ("{} {}".format(*cited[key]) for key in text.split(","))
            return html.escape(f"({'; '.join(parts)})")
        return html.escape(term)

    parser.add_render_rule("myst_role", role)

    def render(text: str) -> str:
        return re.sub(r"\s+", " ", parser.renderInline(text)).strip()

    return render


def _titles() -> dict[str, str]:
    """Return the title of each page."""
    pages = {path.stem: path for path in chapters.book().glob("*.*") if path.suffix != ".bib"}
    return {name: _title(path) for name, path in pages.items()}


def _title(path: Path) -> str:
    if path.suffix == ".ipynb":
        return re.search(r"^# (.+)$", chapters.cells(path)[0]["source"], re.M)[1]
    result = re.search(r"^# (.+)$", path.read_text("utf-8"), re.M) if path.is_file() else None
    return result[1] if result else path.stem


def _cited() -> dict[str, tuple[str, str]]:
    """Return authors and year of each reference."""
    from pybtex.database import parse_file

    results = {}
    for key, entry in parse_file(str(chapters.book() / "references.bib")).entries.items():
        names = [" ".join(person.last_names) for person in entry.persons.get("author", [])]
        short = names[0] + " et al." if len(names) > 2 else " and ".join(names)
        results[key] = (re.sub(r"[{}\\]", "", short), entry.fields.get("year", ""))
    return results
