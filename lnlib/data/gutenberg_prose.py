"""24 novels, sentence by sentence: what section 6.3 is run on, in place of the paper's BookCorpus.

One file: a line ``=== key | author | d. year`` opens a book, an empty line ends a chapter, every
other line is a sentence, in reading order. There are two of them, of the same books. ``FIRST`` may
lie where ``LNLIB_DATA`` says; of the rules that made it only the outcome is kept. ``OWN`` is what
:func:`prepare` makes of Project Gutenberg's plain texts as they were in January 2025. Project
Gutenberg corrects its texts now and then: one that has changed since is taken from a copy of that
time, in a public repository at a fixed commit.
Nearly all sentences are in both, but they are not the same, and a run's record says by its SHA-256
which of the two it has read.

All texts are in the public domain: first published before 1931, their authors dead for more than
70 years. They are Project Gutenberg's e-books, here without its name, header and licence, as it
asks for where a text is passed on without its terms.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lnlib.data.download import RemoteFile, home

NAME = "gutenberg_prose"
_GUTENBERG = "https://www.gutenberg.org/cache/epub/{number}/pg{number}.txt"
# Compared with their checksums below: the copies of January 2025, all 24 of them. What Project
# Gutenberg sends today is compared when it is downloaded.
_COPIES = (
    "https://raw.githubusercontent.com/jhacksman/arxiv2025/"
    "8782bb4e8a336d6319ab47696bc17968ed7e54f4/library/content/literature/"
)
# E-book number, folder of the copy, key, author, year of death, bytes, SHA-256.
_BOOKS = (
    (11, "classics", "alice_in_wonderland", "Lewis Carroll", 1898, 174357,
     "4deb43eb6df5b445c63532e1aae1731267c7da41361c9d6c6099b4d2e3359e44"),
    (45, "classics", "anne_of_green_gables", "L. M. Montgomery", 1942, 606739,
     "d16207514638181010cfe77f66384b5850689dca00a37d1c1d2c608d737eb95c"),
    (46, "classics", "christmas_carol", "Charles Dickens", 1870, 182294,
     "42c0b47983d1cccfdc2df95b21c3c87d063a88fb3349486560f4e72b03152ca8"),
    (394, "classics", "cranford", "Elizabeth Gaskell", 1865, 421633,
     "9ef78211215fb192934a0bbc325867b1bc6ed97898162d3328bedcfedc09f8d8"),
    (174, "classics", "dorian_gray", "Oscar Wilde", 1900, 465857,
     "68e6844e4a2695376cec0afef85b7d91f60afd0fc89c79f8cfddf296867f0852"),
    (345, "classics", "dracula", "Bram Stoker", 1912, 890394,
     "da18ba5f58739e0ed8ef60c48c71fca4ea154f7ef62d90f27cb6db5d3807b760"),
    (84, "classics", "frankenstein", "Mary Shelley", 1851, 448928,
     "74d701a8bec280786ce691bc6193cc521c898f6be5ce8faa4608417cc7b130ab"),
    (1400, "classics", "great_expectations", "Charles Dickens", 1870, 1058246,
     "4c3169053eddf9a693cbdb658ab7cd1f27b673632e575c0358b4078d2f9832a5"),
    (1260, "classics", "jane_eyre", "Charlotte Bronte", 1855, 1084843,
     "2dcdfb3b3c3eea4ff916f713d7b26dfa5626285aff27af6bd68db7ae8474418c"),
    (43, "classics", "jekyll_and_hyde", "R. L. Stevenson", 1894, 163531,
     "6e56345200ac33e8527b9a9cf77fec6757226f1f877e065966829e7eb141bac2"),
    (514, "classics", "little_women", "Louisa May Alcott", 1888, 1071450,
     "e47f112c1d44653e55d1e883b6511562fc6f72100cb464412f2f7551a48b6681"),
    (145, "classics", "middlemarch", "George Eliot", 1880, 1865724,
     "7e99bfca3b21cc46f2383b2f42ca16b27e586e47f1e8195f9d432c782feac99b"),
    (2701, "classics", "moby_dick", "Herman Melville", 1891, 1276288,
     "da8f3a16bc604c926a734bd4c15d734721c1070e362f21488957c2b066b34017"),
    (1342, "classics", "pride_and_prejudice", "Jane Austen", 1817, 772419,
     "fbc1dcf3cc780bf12ccb3c910ddbef21a87068f82fcafd80123668101d3cc9e1"),
    (1661, "classics", "sherlock_holmes", "A. Conan Doyle", 1930, 607648,
     "d84bd85daca37b953747e31dc70eacf6a1a89b5a8aba08a3887a12fac5505c98"),
    (244, "classics", "study_in_scarlet", "A. Conan Doyle", 1930, 268823,
     "4f014012d3b09d46006bc8b41095d10da4e23b6c9e0081ff1acc715c5e55f5ba"),
    (98, "classics", "tale_of_two_cities", "Charles Dickens", 1870, 807248,
     "f03efb939a44cefce6f53fb4249e32cf495e976404257a2bb4d5c18a6bdfcfe5"),
    (35, "science_fiction", "time_machine", "H. G. Wells", 1946, 204427,
     "2e7ed8df13ee5459b49b2b69ec294f75974974f05becce630a5a308240b3e9f4"),
    (74, "classics", "tom_sawyer", "Mark Twain", 1910, 434401,
     "b1ea2ee203549b843955b0164c433832cff5416caf2c5ce14ca5b966081bfa78"),
    (55, "childrens_literature", "wonderful_wizard_of_oz", "L. Frank Baum", 1919, 237278,
     "0a31e67c4d3a584b52c1beb71df4072eca5f45b8b135c56b0b6d4b2aa3a5a236"),
    (768, "classics", "wuthering_heights", "Emily Bronte", 1848, 693877,
     "dbe1c6019e3f89bb0ca9bee768e385a91522a717cbae8ef1d99d5c66de36de81"),
    (67979, "classics", "blue_castle", "L. M. Montgomery", 1942, 428211,
     "73d4df6812c6e8079ef63c9a6f1085806b5e1ecba9c9d6b443c4ac55348d888c"),
    (16389, "classics", "enchanted_april", "E. von Arnim", 1941, 476465,
     "b816045eaeb5c5056f808c016604a2b6255e4db826c450a254d8819980689508"),
    (10007, "classics", "carmilla", "J. S. Le Fanu", 1873, 181112,
     "5536e463bead15c5c635bb72283a6d675cb87d47b4ba34e27452e32eb80995f0"),
)  # fmt: skip


@dataclass(frozen=True)
class Original:
    """A book as it is downloaded.

    Attributes:
        author: With first name.
        died: In which year.
        file: The e-book.
        mirrors: Its addresses, as for :func:`lnlib.data.download.download`.
    """

    author: str
    died: int
    file: RemoteFile
    mirrors: tuple[str, ...]

    @property
    def key(self) -> str:
        """Its short name."""
        return self.file.name.removesuffix(".txt")


@dataclass(frozen=True)
class _Source:
    """The prepared files that will do, and what the second is prepared from."""

    first: RemoteFile
    own: RemoteFile
    books: tuple[Original, ...]


_PROSE = _Source(
    first=RemoteFile(
        name="prose.txt",
        size=13_466_157,
        sha256="a6b5235a2d1c041d62f20df6cf2651cf9ea975c41a6362b1b946521b1ce168ba",
    ),
    own=RemoteFile(
        name="prose_own.txt",
        size=13_591_723,
        sha256="69e3396998dfee93e7d84ba6e0742c82bcd3cea8e01536a0dd582a346c273a4f",
    ),
    books=tuple(
        Original(
            author,
            died,
            RemoteFile(f"{key}.txt", size, sha256),
            (_GUTENBERG.format(number=number), f"{_COPIES}{folder}/"),
        )
        for number, folder, key, author, died, size, sha256 in _BOOKS
    ),
)


@dataclass(frozen=True)
class Book:
    """A book.

    Attributes:
        key: Its short name.
        author: With the year of death, as the file has it.
        chapters: The sentences of each, in reading order.
    """

    key: str
    author: str
    chapters: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Prose:
    """Books, sentence by sentence.

    Attributes:
        name: As given to :func:`lnlib.data.load`.
        books: In the order of the file.
        sha256: Of the prepared file, uncompressed.
    """

    name: str
    books: tuple[Book, ...]
    sha256: str

    def __str__(self) -> str:
        """Say how much there is."""
        chapters = [chapter for book in self.books for chapter in book.chapters]
        return (
            f"{sum(map(len, chapters)):,} sentences in {len(chapters):,} chapters of "
            f"{len(self.books)} books"
        )


def fetch(folder: str | os.PathLike | None = None) -> Path:
    """Make sure that one of the two prepared files is there and right, and say where.

    Without ``folder``, what the environment variable ``LNLIB_DATA`` names, or the folder of the
    data set's name in it, is used as it is and never written to; without that, the texts are
    downloaded to the user's cache and prepared there.

    Args:
        folder: Where it is to lie, compressed or not. The texts are downloaded if it does not and
            they do not either; what lies there is never replaced.

    Returns:
        The folder.

    Raises:
        OSError: If a file is missing and cannot be downloaded or written.
        ValueError: If a file is another.
    """
    return _gather(folder, _PROSE)[0]


def load(folder: str | os.PathLike | None = None) -> Prose:
    """Load the books, from where :func:`fetch` puts or finds them.

    Args:
        folder: As for :func:`fetch`.

    Raises:
        OSError: As for :func:`fetch`.
        ValueError: As for :func:`fetch`.
    """
    return _read(_gather(folder, _PROSE)[1])


def _gather(folder: str | os.PathLike | None, source: _Source) -> tuple[Path, bytes]:
    """Return the folder, and the content of the prepared file."""
    files = [source.first, source.own]
    where = home(NAME, [*files, *(book.file for book in source.books)], folder)

    def made() -> bytes:
        return prepare(
            {book: bytes(where.get(book.file, book.mirrors, suffix="")) for book in source.books}
        )

    return where.folder, where.prepared(files, made)


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


def prepare(books: Mapping[Original, bytes], *, least: int = 20) -> bytes:
    """Make the data set's one file of the e-books.

    What stands between the lines ``*** START OF`` and ``*** END OF`` is taken. Typographic quotes
    and dashes become ASCII, underscores and notes on illustrations go. A paragraph that is a
    heading, or all in capitals, begins a chapter; what has fewer sentences than ``least`` is none:
    tables of contents, title pages.

    Args:
        books: The e-books, in UTF-8.
        least: Sentences of a chapter.
    """
    lines = []
    for book, content in books.items():
        lines.append(f"=== {book.key} | {book.author} | d. {book.died}")
        text = content.decode("utf-8-sig").replace("\r", "").translate(_ASCII)
        text = re.split(r"^\*\*\* ?(?:START|END) OF.*$", text, flags=re.M)[1]
        text = re.sub(r"\[(?:Illustration|Footnote|Transcriber)[^\]]*\]", "", text)
        chapter: list[str] = []
        for paragraph in [*re.split(r"\n\s*\n", text), "CHAPTER"]:
            paragraph = " ".join(paragraph.split())
            if _HEADING.match(paragraph) or not re.search("[a-z]", paragraph):
                if len(chapter) >= least:
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
    told = tuple(
        Book(key, author, tuple(tuple(chapter) for chapter in chapters if chapter))
        for key, author, chapters in books
    )
    return Prose(NAME, told, hashlib.sha256(content).hexdigest())
