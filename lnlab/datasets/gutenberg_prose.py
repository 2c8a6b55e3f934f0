"""24 novels split into sentences, the data of section 6.3 in place of the paper's BookCorpus.

The data set is one file. A line ``=== key | author | d. year`` starts a book, an empty line ends a
chapter, and every other line is a sentence, in reading order. There are two versions of this file,
of the same books. ``prose.txt`` can be supplied in ``LNLIB_DATA``; the program that generated it
was not kept. ``prose_own.txt`` is derived by :func:`to_sentences` from Project Gutenberg's plain
texts as of January 2025. Project Gutenberg occasionally corrects its texts; one that has changed
since is taken from a copy of that time, in a public repository at a fixed commit. Nearly all
sentences are in both versions, and the SHA-256 in a run's record shows which of them was read.

All texts are in the public domain: they were first published before 1931, and their authors died
more than 70 years ago. They are Project Gutenberg's e-books, here without its name, header and
license, as it requests for texts that are redistributed without its terms.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lnlab.datasets import fetch

NAME = "gutenberg_prose"
# Author and year of death of each book, in the order of the files.
AUTHORS = {
    "alice_in_wonderland": "Lewis Carroll | d. 1898",
    "anne_of_green_gables": "L. M. Montgomery | d. 1942",
    "christmas_carol": "Charles Dickens | d. 1870",
    "cranford": "Elizabeth Gaskell | d. 1865",
    "dorian_gray": "Oscar Wilde | d. 1900",
    "dracula": "Bram Stoker | d. 1912",
    "frankenstein": "Mary Shelley | d. 1851",
    "great_expectations": "Charles Dickens | d. 1870",
    "jane_eyre": "Charlotte Bronte | d. 1855",
    "jekyll_and_hyde": "R. L. Stevenson | d. 1894",
    "little_women": "Louisa May Alcott | d. 1888",
    "middlemarch": "George Eliot | d. 1880",
    "moby_dick": "Herman Melville | d. 1891",
    "pride_and_prejudice": "Jane Austen | d. 1817",
    "sherlock_holmes": "A. Conan Doyle | d. 1930",
    "study_in_scarlet": "A. Conan Doyle | d. 1930",
    "tale_of_two_cities": "Charles Dickens | d. 1870",
    "time_machine": "H. G. Wells | d. 1946",
    "tom_sawyer": "Mark Twain | d. 1910",
    "wonderful_wizard_of_oz": "L. Frank Baum | d. 1919",
    "wuthering_heights": "Emily Bronte | d. 1848",
    "blue_castle": "L. M. Montgomery | d. 1942",
    "enchanted_april": "E. von Arnim | d. 1941",
    "carmilla": "J. S. Le Fanu | d. 1873",
}


@dataclass(frozen=True)
class Book:
    """A book.

    Attributes:
        key: Short name of the book.
        author: The author and the year of death, as in the file.
        chapters: The sentences of each chapter, in reading order.
    """

    key: str
    author: str
    chapters: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Prose:
    """Books, split into sentences.

    Attributes:
        name: Name of the data set, as for :func:`lnlab.datasets.load`.
        books: The books, in the order of the file.
        sha256: SHA-256 of the prepared file, uncompressed.
    """

    name: str
    books: tuple[Book, ...]
    sha256: str

    def __str__(self) -> str:
        """Return the size of the data set in words."""
        chapters = [chapter for book in self.books for chapter in book.chapters]
        return (
            f"{sum(map(len, chapters)):,} sentences in {len(chapters):,} chapters of "
            f"{len(self.books)} books"
        )


def load(folder: str | os.PathLike | None = None) -> Prose:
    """Load the books, from ``prose.txt`` if it is supplied.

    Folder and errors are as for :func:`lnlab.datasets.fetch.get_or_derive`.
    """

    def derive() -> bytes:
        return to_sentences({key: fetch.get(f"{NAME}/{key}.txt", folder) for key in AUTHORS})

    names = [f"{NAME}/prose.txt", f"{NAME}/prose_own.txt"]
    return _read(fetch.get_or_derive(names, derive, folder))


_ASCII = str.maketrans({
    "\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'", "\u2014": "--", "\u2013": "-",
    "\u2026": "...", "\u00a0": " ", "_": None, "\ufeff": None,
})  # fmt: skip
_HEADING = re.compile(
    r"(chapter|stave|letter|book|volume|part|prelude|finale|epilogue|etymology|extracts|preface)\b"
    r"[^a-z]*$|(chapter|stave|book)\s+([ivxlc]+|\d+|the \w+)\b.{0,80}$|[ivxlc]+\.?$"
    r"|([ivxlc]+|\d+)\. .{0,60}$",
    re.IGNORECASE,
)
_SHORT = (
    r"\b(?:Mr|Mrs|Ms|Dr|St|Esq|Messrs|Mme|Mlle|Rev|Hon|Capt|Col|Gen|Lieut|Sergt|Jr|Sr|vs|No|[A-Z])"
)
_END = re.compile(r"(?:(?<!--)[.!?]+[\"')\]]*)(?=\s+[\"'(\[]*[A-Z0-9])")
_NO_END = re.compile(rf"{_SHORT}\.$")


def sentences(paragraph: str) -> Iterator[str]:
    """Split a paragraph after ``.``, ``!`` and ``?`` where a capital or a digit follows.

    Abbreviations such as Mr., and initials, are no ends.

    Example:
        >>> list(sentences('"Oh dear!" said Mr. Hyde. He left.'))
        ['"Oh dear!" said Mr. Hyde.', 'He left.']
    """
    first = 0
    for end in _END.finditer(paragraph):
        if not _NO_END.search(paragraph[first : end.end()]):
            yield paragraph[first : end.end()].strip()
            first = end.end()
    if rest := paragraph[first:].strip():
        yield rest


def to_sentences(books: Mapping[str, bytes], *, min_sentences: int = 20) -> bytes:
    """Return the content of the data set's file, derived from the e-books.

    Only the text between the lines ``*** START OF`` and ``*** END OF`` is used. Typographic quotes
    and dashes are replaced by ASCII; underscores and notes on illustrations are removed. A
    paragraph that is a heading, or all in capitals, starts a chapter. Chapters with fewer than
    ``min_sentences`` sentences, such as tables of contents and title pages, are left out.

    Args:
        books: The e-books, in UTF-8, by the keys of :data:`AUTHORS`.
        min_sentences: Minimum number of sentences of a chapter.
    """
    lines = []
    for key, content in books.items():
        lines.append(f"=== {key} | {AUTHORS[key]}")
        text = content.decode("utf-8-sig").replace("\r", "").translate(_ASCII)
        text = re.split(r"^\*\*\* ?(?:START|END) OF.*$", text, flags=re.M)[1]
        text = re.sub(r"\[(?:Illustration|Footnote|Transcriber)[^\]]*\]", "", text)
        chapter: list[str] = []
        for paragraph in [*re.split(r"\n\s*\n", text), "CHAPTER"]:
            paragraph = " ".join(paragraph.split())
            if _HEADING.match(paragraph) or not re.search("[a-z]", paragraph):
                if len(chapter) >= min_sentences:
                    lines += [*chapter, ""]
                    chapter = []
                elif re.search(r"\w", paragraph):
                    chapter = []
            else:
                chapter += sentences(paragraph)
    return "".join(f"{line}\n" for line in lines).encode()


def _read(content: bytes) -> Prose:
    books: list[tuple[str, str, list[list[str]]]] = []
    for line in content.decode().split("\n"):
        if line.startswith("=== "):
            key, author, died = line[4:].split(" | ")
            books.append((key, f"{author}, {died}", [[]]))
        elif line:
            books[-1][2][-1].append(line)
        elif books:
            books[-1][2].append([])
    results = tuple(
        Book(key, author, tuple(tuple(chapter) for chapter in chapters if chapter))
        for key, author, chapters in books
    )
    return Prose(NAME, results, hashlib.sha256(content).hexdigest())
