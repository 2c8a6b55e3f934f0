"""Novels: splitting e-books into sentences, and priority of two files."""

import hashlib
import lzma

from lnlab.datasets import gutenberg_prose as prose

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


AUTHORS = {"it": "A. Body | d. 1900"}


def test_e_books_are_split_into_sentences_without_contents_and_license(monkeypatch):
    monkeypatch.setattr(prose, "AUTHORS", AUTHORS)
    assert prose.to_sentences({"it": E_BOOK}, min_sentences=3).decode() == EXPECTED.decode()


def test_sentences_are_derived_and_read_by_book_and_chapter(tmp_path, register, monkeypatch):
    monkeypatch.setattr(prose, "AUTHORS", AUTHORS)
    monkeypatch.setattr(prose.to_sentences, "__kwdefaults__", {"min_sentences": 3})
    first = b"=== it | A. Body | d. 1900\nOne.\n=== b | C | d. 1\nA.\n"
    for name, content in (("it", E_BOOK), ("prose", first), ("prose_own", EXPECTED)):
        register(f"{prose.NAME}/{name}.txt", content)
    (tmp_path / "it.txt").write_bytes(E_BOOK)
    result = prose.load(tmp_path)
    assert result.sha256 == hashlib.sha256(EXPECTED).hexdigest()
    assert [len(chapter) for chapter in result.books[0].chapters] == [5, 3]
    assert result.books[0].chapters[1] == ("One.", "Two?", "3 is more.")
    # A supplied file has priority over a derived one.
    (tmp_path / "prose.txt.xz").write_bytes(lzma.compress(first))
    it, b = prose.load(tmp_path).books
    assert (it.key, it.author, it.chapters) == ("it", "A. Body, d. 1900", (("One.",),))
    assert (b.key, b.chapters) == ("b", (("A.",),))
