"""The page about the book: executions of all chapters, and notebooks for download."""

import re
import zipfile
from datetime import UTC, datetime

import pytest

from tests.book.around.conftest import BOOK, CHAPTERS, rows, when
from tools.live import readers_copy


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_chapter_links_to_the_page_of_the_paper(built_book, name):
    html = (built_book / f"{name}.html").read_text("utf-8")
    targets = set(re.findall(r'href="equations\.html#(paper-[^"]+)"', html))
    assert targets
    ids = set(re.findall(r'id="([^"]+)"', (built_book / "equations.html").read_text("utf-8")))
    assert targets <= ids


def test_the_about_page_lists_the_run_of_every_chapter(built_book):
    html = (built_book / "about.html").read_text("utf-8")
    table = rows(html)
    runs = html[html.index("ln-last-run") :]
    linked = re.findall(r'<td><p><a class="reference internal" href="(\w+)\.html">', runs)
    assert linked == CHAPTERS
    for row in table:
        assert row[1] == "not known" or when(row[1]) <= datetime.now(UTC)
        assert float(row[2]) > 0
        assert row[3] == "ran to its end"
    assert not re.search(r"/work/|/root/|/home/|/tmp/", re.sub(r"<[^>]*>", "", html))


def test_every_notebook_and_the_library_can_be_downloaded(built_book):
    html = (built_book / "about.html").read_text("utf-8")
    files = re.findall(r'<a class="reference download[^"]*" download="" href="([^"]+)">', html)
    wheels = [f"_downloads/{wheel}" for wheel in readers_copy.WHEELS.values()]
    notebooks = [f"_sources/{name}.ipynb" for name in CHAPTERS]
    assert files == [*notebooks, "_downloads/chapters.zip", *wheels]
    with zipfile.ZipFile(built_book / "_downloads" / "chapters.zip") as archive:
        packed = {name: archive.read(name) for name in archive.namelist()}
    assert packed == {
        path.rpartition("/")[2]: (built_book / path).read_bytes() for path in (*notebooks, *wheels)
    }


@pytest.mark.parametrize(("name", "suffix"), [(CHAPTERS[0], ".ipynb"), ("equations", ".md")])
def test_the_download_button_downloads_the_source_of_the_page(visit, built_book, name, suffix):
    with visit(built_book.as_uri(), name) as v:
        v.page.locator(".dropdown-download-buttons > button").click()
        with v.page.context.expect_page() as opened:
            v.page.locator(".btn-download-source-button").click()
        opened.value.wait_for_load_state()
        assert opened.value.url.endswith(f"/_sources/{name}{suffix}")
        shown = opened.value.locator("body").inner_text()
    source = built_book / "_sources" if suffix == ".ipynb" else BOOK
    assert shown.split() == (source / f"{name}{suffix}").read_text("utf-8").split()
