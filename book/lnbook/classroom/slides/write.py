"""Write the slides: a deck for each track, a page for each figure, and their assets."""

import html
import importlib.util
import re
import shutil
from pathlib import Path

from bs4 import BeautifulSoup

from lnbook.classroom.slides.choose import Slide, decks, read
from lnbook.widgets.base import widgets

HERE = Path(__file__).parent
REVEAL = ("dist/reveal.js", "dist/reveal.css", "plugin/notes/notes.js", "LICENSE")
OURS = ("deck.css", "deck.js", "figure.css", "figure.js")
KEYS = "→ next, ← back, Esc overview, S speaker notes, F full screen, D dark mode, Ctrl-P print."
Names = dict[tuple[str, str], str]  # maps the page and the selector of a figure to its file
HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
"""


def write(built: str | Path, source: str | Path, out: str | Path) -> Path:
    """Write the slides of every track.

    Args:
        built: The folder of the built pages.
        source: The folder of the chapters.
        out: The output folder; slides from an earlier call are replaced.

    Returns:
        The page to open.

    Raises:
        ValueError: If the book is not built, ``out`` contains other files, or reveal.js is missing.
    """
    built, out = Path(built), Path(out)
    written = decks(built, Path(source))
    clear(out)
    for name in REVEAL:
        copy_once(reveal() / name, out / "reveal" / Path(name).name)
    for name in OURS:
        copy_once(HERE / name, out / name)
    copy_once(built / "_static" / "logo.svg", out / "logo.svg")
    copy_once(built / "_static" / "colors.css", out / "_static" / "colors.css")
    book = BeautifulSoup((built / "index.html").read_text("utf-8"), "html.parser").title.get_text()
    figures: Names = {}
    for track, slides in written.items():
        text = deck(track, book, slides, figures, mathjax(built, slides, out))
        (out / f"{slug(track)}.html").write_text(text, "utf-8")
    for (page, css_selector), name in figures.items():
        (out / "figures" / name).parent.mkdir(exist_ok=True)
        (out / "figures" / name).write_text(figure_page(built, page, css_selector, out), "utf-8")
    links = "".join(
        f'<li><a href="{slug(track)}.html">{html.escape(track)}</a> '
        f"<span>{len(slides)} slides</span></li>"
        for track, slides in written.items()
    )
    index = out / "index.html"
    index.write_text(
        f'{HEAD.format(title=f"Slides: {book}")}<link rel="stylesheet" href="_static/colors.css">'
        f'<link rel="stylesheet" href="deck.css"></head><body class="start"><main>'
        f'<img src="logo.svg" alt=""><h1>{html.escape(book)}</h1><ul>{links}</ul>'
        f"<p>{KEYS}</p></main></body></html>\n",
        "utf-8",
    )
    return index


def clear(out: Path) -> None:
    """Empty the output folder, if it contains only slides."""
    if out.exists() and any(out.iterdir()):
        if not (out / "deck.js").exists():
            raise ValueError(f"{out} contains other files; name an empty or new folder with OUT=…")
        shutil.rmtree(out)
    out.mkdir(parents=True, exist_ok=True)


def reveal() -> Path:
    """Return the folder of reveal.js in the package that contains it, without importing it."""
    result = importlib.util.find_spec("sphinx_revealjs")
    if result is None or result.origin is None:
        raise ValueError("reveal.js is missing: run tools/setup.sh slides")
    return Path(result.origin).parent / "_static" / "revealjs"


def copy_once(path: Path, to: Path) -> None:
    """Copy a file or a folder, unless it was already copied."""
    if not to.exists():
        to.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if path.is_dir() else shutil.copy2)(path, to)


def slug(track: str) -> str:
    """Return a track's name as a file name, such as ``use-it``."""
    return re.sub(r"\W+", "-", track.lower()).strip("-")


def mathjax(built: Path, slides: list[Slide], out: Path) -> str:
    """Copy MathJax for a deck with formulas, and return the HTML that loads it."""
    if not any('class="math' in slide.body for slide in slides):
        return ""
    copy_once(built / "_static" / "mathjax", out / "_static" / "mathjax")
    return formulas(read(built, slides[0].page).head)


def formulas(head) -> str:
    """Return the scripts of a page that typeset formulas, without attributes that delay them."""
    loaded = (script["src"] for script in head.select('script[src*="mathjax/"]'))
    return "".join(f'<script defer src="{name}"></script>\n' for name in loaded)


def deck(track: str, book: str, slides: list[Slide], figures: Names, math: str) -> str:
    """Return the HTML of a deck, and add its figures and their file names to ``figures``."""
    chapters: dict[str, list[str]] = {}
    for slide in slides:
        number = len(chapters.setdefault(slide.page, [])) + 1
        chapters[slide.page].append(section(slide, f"{slide.page}-{number}", figures))
    body = "\n".join(f"<section>{''.join(parts)}</section>" for parts in chapters.values())
    first = (
        f'<section class="track"><img src="logo.svg" alt=""><h1>{html.escape(track)}</h1>'
        f'<p>{html.escape(book)}</p><p class="keys">{KEYS}</p><p class="plain-print">'
        "To print the figures, press Ctrl-P in the slides.</p></section>"
    )
    return (
        f"{HEAD.format(title=f'{track}: {book}')}"
        '<link rel="icon" href="logo.svg"><link rel="stylesheet" href="reveal/reveal.css">\n'
        '<link rel="stylesheet" href="_static/colors.css"><link rel="stylesheet" href="deck.css">\n'
        f'{math}</head><body><div class="reveal"><div class="slides">\n{first}\n{body}\n'
        "</div></div>\n"
        '<script src="reveal/reveal.js"></script><script src="reveal/notes.js"></script>\n'
        '<script src="deck.js"></script></body></html>\n'
    )


def section(slide: Slide, section_id: str, figures: Names) -> str:
    """Return the HTML of a slide."""
    shown = ""
    if slide.figure:
        key = slide.figure.page, slide.figure.css_selector
        name = re.sub(r"\W+", "-", f"{key[0]} {key[1]}").strip("-") + ".html"
        figures[key] = name
        state = f"#{html.escape(slide.figure.state)}" if slide.figure.state else ""
        shown = (
            f'<div class="frame"><iframe data-page="figures/{name}{state}" '
            f'title="{html.escape(slide.title)}"></iframe></div>'
        )
    notes = f'<aside class="notes">{slide.notes}</aside>' if slide.notes else ""
    return (
        f'<section id="{section_id}" class="{slide.kind}"><h2>{html.escape(slide.title)}</h2>'
        f"{slide.body}{shown}{notes}</section>\n"
    )


def figure_page(built: Path, page: str, css_selector: str, out: Path) -> str:
    """Write a figure as a page of its own, and copy the assets that it loads."""
    whole = read(built, page)
    figure = whole.select_one(css_selector)
    if figure is None:
        raise ValueError(
            f"{page} has no figure {css_selector}: build the book again, with make book"
        )
    here = [web.name for web in widgets() if web.on(str(figure))]
    others = tuple(f"_static/{web.name}/" for web in widgets() if web.name not in here)
    links = [link["href"] for link in whole.head.select('link[rel="stylesheet"]')]
    styles = [name for name in links if not name.startswith(others)]
    ours = tuple(f"_static/{name}/" for name in here)
    scripts = [s for s in whole.head.select("script[src]") if s["src"].startswith(ours)]
    math = formulas(whole.head) if 'class="math' in str(figure) else ""
    loaded = [f"_static/{name}" for name in here]
    loaded += ["_static/basic.css", *(name.partition("?")[0] for name in styles)]
    loaded += ["_static/plotly"] * ('class="ln-explorer"' in str(figure))
    loaded += ["_static/mathjax"] * bool(math)
    for data in figure.select(".ln-data[data-file]"):
        loaded.append("_static/" + data["data-file"].partition("?")[0])
    for name in loaded:
        copy_once(built / name, out / name)
    head = "".join(f'<link rel="stylesheet" href="{name}">\n' for name in styles)
    head += math + "".join(f"{script}\n" for script in scripts)
    head = re.sub(r'((?:href|src)=")(?=_static/)', r"\1../", head)
    return (
        f"{HEAD.format(title=html.escape(whole.title.get_text()))}"
        f'<script src="../figure.js"></script>\n{head}'
        '<link rel="stylesheet" href="../figure.css"></head><body><main class="bd-main">'
        '<div class="bd-content"><div class="bd-article-container"><article class="bd-article">'
        f"{figure}</article></div></div></main></body></html>\n"
    )
