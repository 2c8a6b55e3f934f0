"""The line under the title of a chapter: track, position and minutes."""

import html
import sys
from pathlib import Path
from types import SimpleNamespace

import yaml

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
import tracks  # noqa: E402


def body(page):
    """The HTML below the title of a page that contains only a title."""
    config = SimpleNamespace(external_toc_path=ROOT / "_toc.yml")
    context = {"body": "<h1>Title</h1>"}
    app = SimpleNamespace(srcdir=ROOT / "book", config=config)
    tracks.add_line(app, page, "page.html", context, doctree=object())
    return context["body"]


def test_every_chapter_shows_its_position_in_its_track():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    first = [{"file": toc["root"]}]  # the first page belongs to the first track
    for part in toc["parts"]:
        pages = [entry["file"] for entry in [*first, *part["chapters"]]]
        pages = [page for page in pages if (ROOT / "book" / f"{page}.ipynb").exists()]
        for place, page in enumerate(pages, 1):
            line = f"<b>{html.escape(part['caption'])}</b> · {place} of {len(pages)} · "
            assert line in body(page), page
        first = []


def test_pages_other_than_chapters_have_no_such_line():
    assert body("about") == "<h1>Title</h1>"
