"""Print the built book as one PDF: contents, bookmarks, page numbers, links within.

Usage: python -m tools.pdf [OUT]     _build/book.pdf, if nothing else is said

Each page is printed by the browser with the book's own print styles, its figures drawn as they
stand at the start, playgrounds after training, and its answers at its end; pypdf puts the pages
together, in the order of ``_toc.yml``. What leads from page to page leads to that place in the PDF.
"""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import yaml
from playwright.sync_api import Browser, Page, sync_playwright
from pypdf import PageObject, PdfReader, PdfWriter
from pypdf.generic import (
    ArrayObject,
    BooleanObject,
    DictionaryObject,
    Fit,
    FloatObject,
    IndirectObject,
    NameObject,
    NullObject,
    NumberObject,
    TextStringObject,
)

from lnbook.widgets.base import widgets
from tools.browser import NoBrowserError, launch

ROOT = Path(__file__).parents[1]
MARGIN = {"top": "16mm", "bottom": "20mm", "left": "16mm", "right": "16mm"}
SCALE = 0.8  # of the page's letters: 16.5 pixels become 10 points
WIDTH = round((210 - 32) / 25.4 * 96 / SCALE)  # pixels of the page between the margins of A4
PATIENCE = 120_000  # ms; a limit against hanging, not a measure of speed
# Every figure is there, every canvas has been drawn and described, every formula set.
DRAWN = """(figures) => [...document.querySelectorAll(figures)].every((e) =>
    e.dataset.ready === "yes" && !e.querySelector('canvas[aria-label=""]'))
  && (!document.querySelector(".math") || document.querySelector("mjx-container"))"""
# A playground is printed as it is after training: before, its two networks are alike.
TRAINED = 300  # updates
TRAIN = """() => { for (const go of document.querySelectorAll('.ln-playground [data-part="go"]'))
    if (go.closest(".ln-playground").dataset.running !== "yes") go.click(); }"""
FAR = """(most) => [...document.querySelectorAll('.ln-playground [data-part="count"]')].every((e) =>
    Number(e.textContent.replace(/\\D/g, "")) >= most)"""
FEW = 3  # lines; a page with fewer is not worth its paper
SMALLER = (0, 0.01, 0.02, 0.03, 0.04)  # by which the letters may become smaller to save it
# A place that only other pages lead to: the browser notes where it is if the page links to it.
LINKED = """(ids) => { for (const id of ids) if (document.getElementById(id)) {
  const link = document.createElement("a");
  link.href = "#" + id;
  link.textContent = ".";
  link.style.cssText = "position: absolute; top: 0; left: 0; color: transparent; font-size: 1px";
  document.querySelector("article").append(link);
} }"""
STYLE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Contents</title><style>
body { margin: 0; font: 11pt/1.5 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif;
  font-variant-ligatures: none; }
h1 { margin: 60mm 0 4mm; font-size: 30pt; line-height: 1.15; letter-spacing: -0.015em; }
h2 { margin: 7mm 0 1mm; font-size: 12pt; break-after: avoid; }
.title { break-after: page; } .title svg { width: 26mm; } .title p { max-width: 120mm; }
.line { display: flex; gap: 2mm; align-items: baseline; color: inherit; text-decoration: none; }
.line i { flex: 1; border-bottom: 1px dotted #888; } .line b { font-weight: 400; }
.foot { position: relative; height: 297mm; break-after: page; break-inside: avoid; }
.foot p { position: absolute; bottom: 9mm; left: 16mm; right: 16mm; margin: 0; display: flex;
  justify-content: space-between; font-size: 8.5pt; color: #555; }
</style>"""


@dataclass
class Printed:
    """A page of the book on paper.

    Args:
        name: As ``_toc.yml`` has it; empty for title and contents.
        track: The part of the book that begins with it, or nothing.
        title: Its heading.
        reader: What was printed.
        first: Where it begins in the whole, from 0.
    """

    name: str
    track: str
    title: str
    reader: PdfReader
    first: int = 0
    destinations: dict[str, tuple[int, float | None]] = field(default_factory=dict)

    def __post_init__(self):
        """Find the places that can be linked to: the page, and how high."""
        for name, result in self.reader.named_destinations.items():
            number = self.reader.get_destination_page_number(result)
            self.destinations[unquote(name.lstrip("/"))] = number, result.top


def order(toc: Path) -> Iterator[tuple[str, str]]:
    """Yield the pages in their order, each with the track that begins with it, if one does."""
    result = yaml.safe_load(toc.read_text("utf-8"))
    yield result["root"], ""
    for part in result.get("parts", [{"chapters": result.get("chapters", [])}]):
        for k, entry in enumerate(part["chapters"]):
            yield entry["file"], "" if k else part.get("caption", "")


def wanted(folder: Path, names: list[str]) -> dict[str, list[str]]:
    """Return which places of each page other pages lead to."""
    results: dict[str, list[str]] = {name: [] for name in names}
    for name in names:
        source = (folder / f"{name}.html").read_text("utf-8")
        for page, anchor in re.findall(r'href="(\w+)\.html#([^"&]+)', source):
            if page in results and anchor not in results[page]:
                results[page].append(unquote(anchor))
    return results


def on_paper(page: Page, address: str, anchors: list[str]) -> tuple[str, bytes]:
    """Open a page as wide as the paper, wait for its figures; return its title, and it printed."""
    figures = ", ".join(web.selector for web in widgets())
    page.goto(address)
    page.wait_for_function(DRAWN, arg=figures)
    # Those of a formula in a fold, too, which opens for the printer alone.
    # Fonts that no page uses are not in the build, so not every one can be loaded.
    page.evaluate(
        "() => Promise.allSettled([...document.fonts].map((f) => f.load())).then(() => {})"
    )
    page.evaluate(LINKED, anchors)
    page.evaluate(TRAIN)
    page.wait_for_function(FAR, arg=TRAINED)
    page.evaluate(TRAIN)  # which stops it
    title = page.evaluate("document.querySelector('h1').firstChild.textContent")
    return title, without_thin_pages(page)


def without_thin_pages(page: Page) -> bytes:
    """Print what is open, in slightly smaller letters if a page would have a line or two."""
    tried = []
    for less in SMALLER:
        made = paper(page, margin=MARGIN, scale=SCALE - less, outline=True)
        tried.append((thin(PdfReader(BytesIO(made))), made))
        if not tried[-1][0]:
            break
    return min(tried, key=lambda pair: pair[0])[1]


def thin(reader: PdfReader) -> int:
    """Count the pages with fewer than ``FEW`` lines of text and no picture."""
    lines = [page.extract_text().strip().splitlines() for page in reader.pages]
    drawn = [bool(page.get("/Resources", {}).get("/XObject")) for page in reader.pages]
    return sum(len(text) < FEW and not image for text, image in zip(lines, drawn, strict=True))


def paper(page: Page, **options) -> bytes:
    """Print what is open on A4."""
    return page.pdf(format="A4", print_background=True, **{"tagged": True, **options})


def contents(browser: Browser, folder: Path, title: str, printed: list[Printed]) -> PdfReader:
    """Print the title and the list of chapters with their pages."""
    lines = []
    for chapter in printed:
        head = f"<h2>{html.escape(chapter.track)}</h2>" if chapter.track else ""
        target = (folder / f"{chapter.name}.html").as_uri()
        lines.append(
            f'{head}<a class="line" href="{target}"><span>{html.escape(chapter.title)}</span>'
            f"<i></i><b>{chapter.first + 1}</b></a>"
        )
    page = browser.new_page()
    logo = (folder / "_static" / "logo.svg").read_text("utf-8")
    page.set_content(
        f'{STYLE}<div class="title"><h1>{html.escape(title)}</h1>{logo}'
        "<p>The pages of the book, printed: figures stand as they do before a control is moved, "
        "and the answers to each chapter's questions and exercises stand at its end.</p>"
        "<p>Text and figures: CC BY 4.0. Code: MIT.</p></div>"
        f"<h2>Contents</h2>{''.join(lines)}"
    )
    made = PdfReader(BytesIO(paper(page, margin=MARGIN)))
    page.close()
    return made


def feet(browser: Browser, printed: list[Printed], pages: int) -> list[PageObject]:
    """Print what stands at the foot of every page: the chapter and the number."""
    texts = {chapter.first: chapter.title for chapter in printed}
    rows, title = [], ""
    for k in range(pages):
        title = texts.get(k, title)
        number = f"<span>{html.escape(title)}</span><span>{k + 1}</span>" if k else ""
        rows.append(f'<div class="foot"><p>{number}</p></div>')
    page = browser.new_page()
    page.set_content(STYLE + "".join(rows))
    made = PdfReader(BytesIO(paper(page, tagged=False)))  # a screen reader passes it over
    page.close()
    return made.pages[:pages]


def join(
    printed: list[Printed], folder: Path, title: str, author: str, below: list[PageObject]
) -> PdfWriter:
    """Put the pages together, with bookmarks and links that lead within."""
    writer = PdfWriter()
    by_name = {chapter.name: chapter for chapter in printed}
    for chapter in printed:
        for sheet in chapter.reader.pages:
            writer.add_page(sheet)
    for sheet, foot in zip(writer.pages, below, strict=True):
        sheet.merge_page(foot)
        sheet.compress_content_streams(level=9)
    tag(writer, printed)
    for chapter in printed:
        for sheet in writer.pages[chapter.first : chapter.first + len(chapter.reader.pages)]:
            lead_within(writer, sheet, chapter, by_name, folder)
    track = None
    for chapter in printed:
        if chapter.track:
            track = writer.add_outline_item(
                title=chapter.track, page_number=chapter.first, bold=True
            )
        top = writer.add_outline_item(title=chapter.title, page_number=chapter.first, parent=track)
        headings = chapter.reader.outline
        # The first heading is the page's own; what is nested below it are its sections.
        for heading in headings[1] if len(headings) > 1 and isinstance(headings[1], list) else []:
            if not isinstance(heading, list):
                number = chapter.first + chapter.reader.get_destination_page_number(heading)
                half = len(heading.title) // 2  # a heading moved to the next page is there twice
                twice = heading.title[:half] == heading.title[half:]
                text = heading.title[:half] if twice else heading.title
                writer.add_outline_item(
                    title=text, page_number=number, parent=top, fit=fit(heading.top)
                )
    about = {"/Title": title, "/Author": author, "/Subject": "Layer normalization"}
    writer.add_metadata(about)
    writer.root_object[NameObject("/PageMode")] = NameObject("/UseOutlines")
    writer.compress_identical_objects()
    return writer


def tag(writer: PdfWriter, printed: list[Printed]) -> None:
    """Put the tags of all that was printed under one root: headings, tables, figures' texts."""
    root = DictionaryObject({NameObject("/Type"): NameObject("/StructTreeRoot")})
    whole = DictionaryObject(
        {NameObject("/Type"): NameObject("/StructElem"), NameObject("/S"): NameObject("/Document")}
    )
    whole[NameObject("/P")] = writer._add_object(root)
    root[NameObject("/K")] = writer._add_object(whole)
    parts, owners, used = ArrayObject(), ArrayObject(), 0
    for chapter in printed:
        old = chapter.reader.root_object["/StructTreeRoot"]
        new = old.clone(writer, ignore_fields=("/IDTree",))
        part = new["/K"]
        part[NameObject("/S")] = NameObject("/Part")
        part[NameObject("/P")] = whole.indirect_reference
        parts.append(part.indirect_reference)
        gone = simplify(part)
        numbers = new["/ParentTree"]["/Nums"]
        for number, owner in zip(numbers[::2], numbers[1::2], strict=True):
            owners += [NumberObject(number + used), remaining_tag(owner, gone)]
        sheets = writer.pages[chapter.first : chapter.first + len(chapter.reader.pages)]
        marked = {}  # whatever has a number under which its own tags are found
        for sheet, made in zip(sheets, chapter.reader.pages, strict=True):
            if "/StructParents" in made:  # adding a page leaves it out
                sheet[NameObject("/StructParents")] = made["/StructParents"]
            links = [link.get_object() for link in sheet.get("/Annots", ())]
            for thing in (sheet, *links, *drawings(sheet)):
                marked[thing.indirect_reference.idnum] = thing
        for thing in marked.values():
            for key in {"/StructParents", "/StructParent"} & set(thing):
                thing[NameObject(key)] = NumberObject(thing[key] + used)
        used += old["/ParentTreeNextKey"]
    whole[NameObject("/K")] = parts
    root[NameObject("/ParentTree")] = DictionaryObject({NameObject("/Nums"): owners})
    root[NameObject("/ParentTreeNextKey")] = NumberObject(used)
    writer.root_object.update(
        {
            NameObject("/StructTreeRoot"): root.indirect_reference,
            NameObject("/MarkInfo"): DictionaryObject({NameObject("/Marked"): BooleanObject(True)}),
            NameObject("/Lang"): TextStringObject("en"),
        }
    )


def drawings(within: DictionaryObject) -> Iterator[DictionaryObject]:
    """Yield what is drawn as a whole within a page, and within that."""
    for item in within.get("/Resources", {}).get("/XObject", {}).values():
        yield item.get_object()
        yield from drawings(item.get_object())


def simplify(tag: DictionaryObject) -> dict[int, IndirectObject]:
    """Leave out tags that mean nothing, half of all; return what stands in the place of each.

    Names of a table's heads go, too: other chapters have the same, and each head has a scope.
    """
    gone, kids, page = {}, ArrayObject(), _page(tag)
    tag.pop("/ID", None)
    for attribute in _list(tag.get("/A", [])):
        attribute.get_object().pop("/Headers", None)
    for child in _list(tag.get("/K", [])):
        below = child.get_object()
        if not isinstance(below, dict) or "/S" not in below:  # no tag, but what it has on a page
            kids.append(child)
            continue
        gone |= simplify(below)
        if below["/S"] != "/NonStruct" or "/Alt" in below:
            kids.append(child)
            continue
        gone[below.indirect_reference.idnum] = tag.indirect_reference
        for kid in _list(below.get("/K", [])):
            if isinstance(kid, int) and _page(below) != page:
                if page is None:
                    page = _page(below)
                else:
                    kid = DictionaryObject(
                        {
                            NameObject("/Type"): NameObject("/MCR"),
                            NameObject("/Pg"): _page(below),
                            NameObject("/MCID"): kid,
                        }
                    )
            elif not isinstance(kid, int) and "/S" in kid.get_object():
                kid.get_object()[NameObject("/P")] = tag.indirect_reference
            elif not isinstance(kid, int) and "/Pg" not in kid.get_object():
                kid.get_object()[NameObject("/Pg")] = _page(below)
            kids.append(kid)
        below.clear()  # or what is left out would hold on to each other
    if page is not None:
        tag[NameObject("/Pg")] = page
    if kids:
        tag[NameObject("/K")] = kids
    return gone


def _page(tag: DictionaryObject) -> IndirectObject | None:
    return tag.raw_get("/Pg") if "/Pg" in tag else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def remaining_tag(owner: Any, gone: dict[int, IndirectObject]) -> Any:
    """Return the tag, or the tags, that stand where others have been left out."""
    if isinstance(owner.get_object(), list):
        return ArrayObject(remaining_tag(item, gone) for item in owner.get_object())
    while not isinstance(owner, NullObject) and owner.idnum in gone:
        owner = gone[owner.idnum]
    return owner


def fit(top: float | None) -> Fit:
    """Show a page from this height on, as large as it is."""
    return Fit.xyz(left=0, top=top)


def lead_within(
    writer: PdfWriter,
    sheet: PageObject,
    chapter: Printed,
    by_name: dict[str, Printed],
    folder: Path,
) -> None:
    """Let a page's links lead to where their targets are in the PDF; files have no place there."""
    links = ArrayObject()
    for link in sheet.get("/Annots", ()):
        link = link.get_object()
        address = link.get("/A", {}).get("/URI")
        if address is None:
            target = chapter.destinations.get(unquote(str(link.get("/Dest", "")).lstrip("/")))
            page = chapter
        elif address.startswith("file:"):
            name, _, anchor = address.removeprefix(f"{folder.as_uri()}/").partition("#")
            page = by_name.get(name.removesuffix(".html"))
            target = page and page.destinations.get(unquote(anchor).partition("&")[0], (0, None))
        else:
            links.append(link)
            continue
        if not target:
            link.pop("/A", None)  # a tag may still know it
            continue
        target_page = writer.pages[page.first + target[0]].indirect_reference
        top = NullObject() if target[1] is None else FloatObject(target[1])
        link.pop("/A", None)
        link[NameObject("/Dest")] = ArrayObject(
            [target_page, NameObject("/XYZ"), NullObject(), top, NullObject()]
        )
        links.append(link)
    if "/Annots" in sheet:
        sheet[NameObject("/Annots")] = links


def make(browser: Browser, folder: Path, toc: Path, out: Path, title: str, author: str = "") -> int:
    """Print the book in a folder into a file; return how many pages it has."""
    pages = list(order(toc))
    anchors = wanted(folder, [name for name, _ in pages])
    page = browser.new_page(
        viewport={"width": WIDTH, "height": 1123}, color_scheme="light", reduced_motion="reduce"
    )
    page.set_default_timeout(PATIENCE)
    page.emulate_media(media="print")
    printed = []
    for name, track in pages:
        text, made = on_paper(page, (folder / f"{name}.html").as_uri(), anchors[name])
        printed.append(Printed(name, track, text, PdfReader(BytesIO(made))))
        print(f"  {text}: {len(printed[-1].reader.pages)} pages", flush=True)
    page.close()
    # The list of contents is as long with numbers as without.
    count = len(contents(browser, folder, title, printed).pages)
    for chapter in printed:
        chapter.first, count = count, count + len(chapter.reader.pages)
    printed.insert(0, Printed("", "", title, contents(browser, folder, title, printed)))
    writer = join(printed, folder, title, author, feet(browser, printed, count))
    out.parent.mkdir(parents=True, exist_ok=True)
    writer.write(out)
    return count


def main(out: str = "_build/book.pdf") -> None:
    """Print the book that stands in ``_build/html``."""
    folder = ROOT / "_build" / "html"
    if not (folder / "index.html").exists():
        raise SystemExit("pdf: there is no built book in _build/html; run make book first")
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    path = Path(out).resolve()
    with sync_playwright() as playwright:
        try:
            browser, _ = launch(playwright)
        except NoBrowserError as error:
            raise SystemExit(f"pdf: {error}") from None
        toc = ROOT / "_toc.yml"
        count = make(browser, folder, toc, path, config["title"], config["author"])
        browser.close()
    print(f"The book on {count} pages, {path.stat().st_size / 1e6:.1f} MB: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
