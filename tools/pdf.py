"""Print the built book as one PDF with contents, bookmarks, page numbers and internal links.

Usage: python -m tools.pdf [OUT]     writes _build/book.pdf by default

The browser prints each page with the print styles of the book: figures in their initial state,
playgrounds after training, and answers at the end of the page. pypdf joins the pages in the order
of ``_toc.yml`` and turns links between pages into links within the PDF.
"""

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
SCALE = 0.8  # of the text: 16.5 pixels become 10 points
WIDTH = round((210 - 32) / 25.4 * 96 / SCALE)  # pixels between the margins of A4
TIMEOUT_MS = 120_000  # a limit against hanging, not a measure of speed
# Whether all figures, canvases (with their labels) and formulas have been drawn.
IS_DRAWN = """(figures) => [...document.querySelectorAll(figures)].every((e) =>
    e.dataset.ready === "yes" && !e.querySelector('canvas[aria-label=""]'))
  && (!document.querySelector(".math") || document.querySelector("mjx-container"))"""
# A playground is printed after training, because its networks are equal before.
NUM_UPDATES = 300
CLICK_TRAIN = """() => {
  for (const go of document.querySelectorAll('.ln-playground [data-part="go"]'))
    if (go.closest(".ln-playground").dataset.running !== "yes") go.click(); }"""
IS_TRAINED = """(count) =>
  [...document.querySelectorAll('.ln-playground [data-part="count"]')]
    .every((e) => Number(e.textContent.replace(/\\D/g, "")) >= count)"""
MIN_LINES = 3  # a sheet with fewer lines should be avoided
SCALE_REDUCTIONS = (0, 0.01, 0.02, 0.03, 0.04)  # which are tried to avoid it
# The browser only stores the positions of anchors that the page itself links to.
ADD_LINKS = """(ids) => { for (const id of ids) if (document.getElementById(id)) {
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
class PrintedPage:
    """A printed page of the book.

    Args:
        name: Name in ``_toc.yml``; empty for the title and contents.
        track: Track that starts with this page, or an empty string.
        title: Heading of the page.
        reader: The PDF of the page.
        first: Index of its first sheet in the book.
        destinations: Maps an anchor to its sheet in ``reader`` and its distance from the bottom.
    """

    name: str
    track: str
    title: str
    reader: PdfReader
    first: int = 0
    destinations: dict[str, tuple[int, float | None]] = field(default_factory=dict)

    def __post_init__(self):
        """Read the destinations of the PDF."""
        for name, destination in self.reader.named_destinations.items():
            number = self.reader.get_destination_page_number(destination)
            self.destinations[unquote(name.lstrip("/"))] = number, destination.top


def read_toc(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the name of each page, and the track that starts with it or an empty string."""
    toc = yaml.safe_load(path.read_text("utf-8"))
    yield toc["root"], ""
    for part in toc.get("parts", [{"chapters": toc.get("chapters", [])}]):
        for k, entry in enumerate(part["chapters"]):
            yield entry["file"], "" if k else part.get("caption", "")


def linked_anchors(folder: Path, names: list[str]) -> dict[str, list[str]]:
    """Return the anchors of each page that other pages link to."""
    results: dict[str, list[str]] = {name: [] for name in names}
    for name in names:
        source = (folder / f"{name}.html").read_text("utf-8")
        for page, anchor in re.findall(r'href="(\w+)\.html#([^"&]+)', source):
            if page in results and anchor not in results[page]:
                results[page].append(unquote(anchor))
    return results


def print_page(page: Page, url: str, anchors: list[str]) -> tuple[str, bytes]:
    """Open a page and print it after its figures are drawn; return its title and the PDF."""
    figures = ", ".join(web.selector for web in widgets())
    page.goto(url)
    page.wait_for_function(IS_DRAWN, arg=figures)
    # Also load the fonts of folded formulas, which are unfolded for printing. Fonts that no page
    # uses are not part of the build, so some cannot be loaded.
    page.evaluate(
        "() => Promise.allSettled([...document.fonts].map((f) => f.load())).then(() => {})"
    )
    page.evaluate(ADD_LINKS, anchors)
    page.evaluate(CLICK_TRAIN)
    page.wait_for_function(IS_TRAINED, arg=NUM_UPDATES)
    page.evaluate(CLICK_TRAIN)  # stop
    title = page.evaluate("document.querySelector('h1').firstChild.textContent")
    return title, avoid_short_sheets(page)


def avoid_short_sheets(page: Page) -> bytes:
    """Print the open page, slightly smaller if a sheet would have only a line or two."""
    attempts = []
    for reduction in SCALE_REDUCTIONS:
        made = print_a4(page, margin=MARGIN, scale=SCALE - reduction, outline=True)
        attempts.append((count_short_sheets(PdfReader(BytesIO(made))), made))
        if not attempts[-1][0]:
            break
    return min(attempts, key=lambda pair: pair[0])[1]


def count_short_sheets(reader: PdfReader) -> int:
    """Return the number of sheets with fewer than ``MIN_LINES`` lines and without images."""
    lines = [page.extract_text().strip().splitlines() for page in reader.pages]
    has_image = [bool(page.get("/Resources", {}).get("/XObject")) for page in reader.pages]
    pairs = zip(lines, has_image, strict=True)
    return sum(len(text) < MIN_LINES and not image for text, image in pairs)


def print_a4(page: Page, **options) -> bytes:
    """Return the PDF of the open page on A4."""
    return page.pdf(format="A4", print_background=True, **{"tagged": True, **options})


def contents(browser: Browser, folder: Path, title: str, printed: list[PrintedPage]) -> PdfReader:
    """Print the title and the table of contents."""
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
    made = PdfReader(BytesIO(print_a4(page, margin=MARGIN)))
    page.close()
    return made


def footers(browser: Browser, printed: list[PrintedPage], pages: int) -> list[PageObject]:
    """Print the footer of every sheet: the title of the chapter and the page number."""
    texts = {chapter.first: chapter.title for chapter in printed}
    rows, title = [], ""
    for k in range(pages):
        title = texts.get(k, title)
        number = f"<span>{html.escape(title)}</span><span>{k + 1}</span>" if k else ""
        rows.append(f'<div class="foot"><p>{number}</p></div>')
    page = browser.new_page()
    page.set_content(STYLE + "".join(rows))
    made = PdfReader(BytesIO(print_a4(page, tagged=False)))  # an artifact for screen readers
    page.close()
    return made.pages[:pages]


def join(
    printed: list[PrintedPage],
    folder: Path,
    title: str,
    author: str,
    footer_sheets: list[PageObject],
) -> PdfWriter:
    """Join the pages, with footers, structure tags, internal links and bookmarks."""
    writer = PdfWriter()
    by_name = {chapter.name: chapter for chapter in printed}
    for chapter in printed:
        for sheet in chapter.reader.pages:
            writer.add_page(sheet)
    for sheet, footer in zip(writer.pages, footer_sheets, strict=True):
        sheet.merge_page(footer)
        sheet.compress_content_streams(level=9)
    add_structure_tags(writer, printed)
    for chapter in printed:
        for sheet in writer.pages[chapter.first : chapter.first + len(chapter.reader.pages)]:
            link_internally(writer, sheet, chapter, by_name, folder)
    track = None
    for chapter in printed:
        if chapter.track:
            track = writer.add_outline_item(
                title=chapter.track, page_number=chapter.first, bold=True
            )
        top = writer.add_outline_item(title=chapter.title, page_number=chapter.first, parent=track)
        headings = chapter.reader.outline
        # The first heading is the title of the page, and its sections are nested below it.
        for heading in headings[1] if len(headings) > 1 and isinstance(headings[1], list) else []:
            if not isinstance(heading, list):
                number = chapter.first + chapter.reader.get_destination_page_number(heading)
                half = len(heading.title) // 2  # a heading moved to the next sheet is there twice
                twice = heading.title[:half] == heading.title[half:]
                text = heading.title[:half] if twice else heading.title
                writer.add_outline_item(
                    title=text, page_number=number, parent=top, fit=fit(heading.top)
                )
    metadata = {"/Title": title, "/Author": author, "/Subject": "Layer normalization"}
    writer.add_metadata(metadata)
    writer.root_object[NameObject("/PageMode")] = NameObject("/UseOutlines")
    writer.compress_identical_objects()
    return writer


def add_structure_tags(writer: PdfWriter, printed: list[PrintedPage]) -> None:
    """Join the structure tags of all pages (headings, tables, alt texts) below one root."""
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
        marked = {}  # objects that refer to entries of the parent tree, by id
        for sheet, made in zip(sheets, chapter.reader.pages, strict=True):
            if "/StructParents" in made:  # not copied by add_page
                sheet[NameObject("/StructParents")] = made["/StructParents"]
            links = [link.get_object() for link in sheet.get("/Annots", ())]
            for item in (sheet, *links, *form_xobjects(sheet)):
                marked[item.indirect_reference.idnum] = item
        for item in marked.values():
            for key in {"/StructParents", "/StructParent"} & set(item):
                item[NameObject(key)] = NumberObject(item[key] + used)
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


def form_xobjects(parent: DictionaryObject) -> Iterator[DictionaryObject]:
    """Yield the XObjects of a page, recursively."""
    for item in parent.get("/Resources", {}).get("/XObject", {}).values():
        yield item.get_object()
        yield from form_xobjects(item.get_object())


def simplify(tag: DictionaryObject) -> dict[int, IndirectObject]:
    """Remove tags without meaning, half of all, in place; return what replaces each, by id.

    References to table headers are removed, too, because other chapters have the same names, and
    each header has a scope.
    """
    gone, kids, page = {}, ArrayObject(), _page(tag)
    tag.pop("/ID", None)
    for attribute in _list(tag.get("/A", [])):
        attribute.get_object().pop("/Headers", None)
    for child in _list(tag.get("/K", [])):
        below = child.get_object()
        if not isinstance(below, dict) or "/S" not in below:  # content of a page, not a tag
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
        below.clear()  # removed tags would refer to each other
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
    """Return the tags that replace an entry of the parent tree."""
    if isinstance(owner.get_object(), list):
        return ArrayObject(remaining_tag(item, gone) for item in owner.get_object())
    while not isinstance(owner, NullObject) and owner.idnum in gone:
        owner = gone[owner.idnum]
    return owner


def fit(top: float | None) -> Fit:
    """Return a destination at a height of a sheet, without changing the zoom."""
    return Fit.xyz(left=0, top=top)


def link_internally(
    writer: PdfWriter,
    sheet: PageObject,
    chapter: PrintedPage,
    by_name: dict[str, PrintedPage],
    folder: Path,
) -> None:
    """Make links to other pages internal, and remove links to other files."""
    links = ArrayObject()
    for link in sheet.get("/Annots", ()):
        link = link.get_object()
        url = link.get("/A", {}).get("/URI")
        if url is None:
            target = chapter.destinations.get(unquote(str(link.get("/Dest", "")).lstrip("/")))
            page = chapter
        elif url.startswith("file:"):
            name, _, anchor = url.removeprefix(f"{folder.as_uri()}/").partition("#")
            page = by_name.get(name.removesuffix(".html"))
            target = page and page.destinations.get(unquote(anchor).partition("&")[0], (0, None))
        else:
            links.append(link)
            continue
        if not target:
            link.pop("/A", None)  # a tag may still refer to it
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


def print_book(
    browser: Browser, folder: Path, toc: Path, out: Path, title: str, author: str = ""
) -> int:
    """Print the built book in a folder into a file; return the number of sheets."""
    pages = list(read_toc(toc))
    anchors = linked_anchors(folder, [name for name, _ in pages])
    page = browser.new_page(
        viewport={"width": WIDTH, "height": 1123}, color_scheme="light", reduced_motion="reduce"
    )
    page.set_default_timeout(TIMEOUT_MS)
    page.emulate_media(media="print")
    printed = []
    for name, track in pages:
        text, made = print_page(page, (folder / f"{name}.html").as_uri(), anchors[name])
        printed.append(PrintedPage(name, track, text, PdfReader(BytesIO(made))))
        print(f"  {text}: {len(printed[-1].reader.pages)} pages", flush=True)
    page.close()
    # The contents have the same length with and without page numbers.
    count = len(contents(browser, folder, title, printed).pages)
    for chapter in printed:
        chapter.first, count = count, count + len(chapter.reader.pages)
    printed.insert(0, PrintedPage("", "", title, contents(browser, folder, title, printed)))
    writer = join(printed, folder, title, author, footers(browser, printed, count))
    out.parent.mkdir(parents=True, exist_ok=True)
    writer.write(out)
    return count


def main(out: str = "_build/book.pdf") -> None:
    """Print the book in ``_build/html``."""
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
        count = print_book(browser, folder, toc, path, config["title"], config["author"])
        browser.close()
    print(f"The book on {count} pages, {path.stat().st_size / 1e6:.1f} MB: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
