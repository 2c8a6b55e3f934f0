"""Novels: how an e-book becomes sentences, which of two files is used, where they are looked up."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import lzma
import re

import pooch
import pytest

from lnlib.data import gutenberg_prose as prose
from lnlib.data import load
from lnlib.data.download import RemoteFile

E_BOOK = (
    "\ufeffThe Project Gutenberg eBook\r\n*** START OF THE PROJECT GUTENBERG EBOOK IT ***\r\n"
    "IT, a novel\r\n\r\nCONTENTS\r\n\r\nCHAPTER I. One\r\nCHAPTER II. Two\r\n\r\n"
    "CHAPTER I.\r\nThe first\r\n\r\n"
    "\u201cOh _dear_!\u201d said Mr. Hyde\u2014he was  tired.\r\nHe left at 9 a.m. in haste."
    " \u2018Why?\u2019 Nobody asked W. Hyde.\r\n\r\n[Illustration: Mr. Hyde.\r\nHe leaves.]\r\n\r\n"
    "He came back\u2026 and stayed!\r\n\r\n"
    "II. An Early Fright\r\n\r\nOne. Two? 3 is more.\r\n\r\nIII\r\n\r\nToo short.\r\n"
    "*** END OF THE PROJECT GUTENBERG EBOOK IT ***\r\nLicence. Much. Of. It.\r\n"
).encode()
EXPECTED = (
    b"=== it | A. Body | d. 1900\n"
    b'"Oh dear!" said Mr. Hyde--he was tired.\nHe left at 9 a.m. in haste.\n'
    b"'Why?'\nNobody asked W. Hyde.\nHe came back... and stayed!\n\n"
    b"One.\nTwo?\n3 is more.\n\n"
)


def remote(name: str, content: bytes) -> RemoteFile:
    return RemoteFile(name, len(content), hashlib.sha256(content).hexdigest())


@pytest.fixture
def source(serve, monkeypatch):
    """One book, served by a mirror, and both files that will do."""
    monkeypatch.setattr(prose.prepare, "__kwdefaults__", {"least": 3})
    mirror = serve("well")
    mirror.bodies = {"/it.txt": E_BOOK}
    book = prose.Original("A. Body", 1900, remote("it.txt", E_BOOK), (mirror.url,))
    first = remote("prose.txt", b"=== it | A. Body | d. 1900\nOne.\n")
    return prose._Source(first, remote("prose_own.txt", EXPECTED), (book,)), mirror


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """What stands in for the user's cache."""
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "cache" / project)
    return tmp_path / "cache" / "lnlib" / prose.NAME


def test_an_e_book_becomes_its_chapters_sentences_without_contents_and_licence(source):
    (book,) = source[0].books
    assert prose.prepare({book: E_BOOK}, least=3).decode() == EXPECTED.decode()


def test_a_file_is_read_by_book_and_chapter():
    found = prose._read(EXPECTED + b"=== b | C | d. 1\nA.\n")
    it, b = found.books
    assert (it.key, it.author, b.chapters) == ("it", "A. Body, d. 1900", (("A.",),))
    assert [len(chapter) for chapter in it.chapters] == [5, 3]
    assert it.chapters[1] == ("One.", "Two?", "3 is more.")
    assert str(found) == "9 sentences in 3 chapters of 2 books"


def test_the_books_are_fetched_once_and_prepared_in_the_cache(source, cache):
    made, mirror = source
    for _ in range(2):
        assert prose._gather(None, made) == (cache, EXPECTED)
        assert len(mirror.asked) == 1
    assert gzip.decompress((cache / "prose_own.txt.gz").read_bytes()) == EXPECTED


def test_the_file_that_was_first_comes_before_all_others(source, tmp_path, monkeypatch):
    made, mirror = source
    (tmp_path / prose.NAME).mkdir()
    first = b"=== it | A. Body | d. 1900\nOne.\n"
    (tmp_path / prose.NAME / "prose_own.txt").write_bytes(EXPECTED)
    (tmp_path / prose.NAME / "prose.txt.xz").write_bytes(lzma.compress(first))
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    assert prose._gather(None, made) == (tmp_path / prose.NAME, first)
    (tmp_path / prose.NAME / "prose.txt.xz").unlink()
    assert prose._gather(None, made) == (tmp_path / prose.NAME, EXPECTED)
    assert not mirror.asked


def test_a_folder_of_the_users_that_lacks_it_is_named_and_nothing_fetched(
    source, tmp_path, monkeypatch
):
    made, mirror = source
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"where prose\.txt must lie"):
        prose._gather(None, made)
    assert not mirror.asked
    (tmp_path / "it.txt").write_bytes(E_BOOK)
    assert prose._gather(None, made) == (tmp_path, EXPECTED)
    assert [path.name for path in tmp_path.iterdir()] == ["it.txt"]


def test_what_is_prepared_otherwise_is_refused_and_not_kept(source, cache):
    other = dataclasses.replace(source[0], own=remote("prose_own.txt", b"other"))
    with pytest.raises(ValueError, match=r"as prepared must be .*; let LNLIB_DATA name"):
        prose._gather(None, other)
    assert not (cache / "prose_own.txt.gz").exists()


def test_a_damaged_xz_file_is_refused(source, tmp_path, monkeypatch):
    (tmp_path / "prose.txt.xz").write_bytes(lzma.compress(EXPECTED)[:-40])
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="must be a whole xz file"):
        prose._gather(None, source[0])


@pytest.mark.needs_data("gutenberg_prose")
def test_the_novels_are_24():
    found = load(prose.NAME)
    assert str(found) == "130,379 sentences in 1,073 chapters of 24 books"
    assert found.books[0].chapters[0][3] == "Oh dear!"


def test_a_text_that_was_corrected_since_is_taken_from_its_copy(source, serve, cache):
    made, copies = source
    corrected = serve("well")
    corrected.bodies = {"/11/pg11.txt": E_BOOK.replace(b"Hyde", b"Jekyll")}
    (book,) = made.books
    book = dataclasses.replace(book, mirrors=(f"{corrected.url}11/pg11.txt", *book.mirrors))
    made = dataclasses.replace(made, books=(book,))
    assert prose._gather(None, made) == (cache, EXPECTED)
    assert (len(corrected.asked), len(copies.asked)) == (1, 1)


def test_every_book_has_an_address_at_project_gutenberg_and_a_copy():
    for book in prose._PROSE.books:
        original, copy = book.mirrors
        assert re.fullmatch(r"https://www\.gutenberg\.org/cache/epub/(\d+)/pg\1\.txt", original)
        assert copy.endswith("/")
    assert len({book.mirrors[0] for book in prose._PROSE.books}) == 24
