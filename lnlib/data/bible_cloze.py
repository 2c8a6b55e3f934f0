"""Cloze questions from two translations of the Bible: what section 6.2 is run on.

They stand in for the CNN corpus of Hermann et al. (2015), whose articles may not be passed on, and
are made as that is. The passage is a run of verses of the King James Version of 1769. The query is
one of these verses in the words of another, modern translation, in which a name is blanked, as a
highlight of CNN tells its article in other words. Names are ``@e0`` to ``@e11``, drawn anew for
each question, so that nothing is known of them but the passage; the answer stands in it.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
from dataclasses import dataclass
from typing import NamedTuple

from lnlib.data.download import RemoteFile, home

NAME = "bible_cloze"
ENTITIES = tuple(f"@e{k}" for k in range(12))
BLANK = "@blank"
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


_SHARED = RemoteFile(
    name="cloze.jsonl.xz",
    size=1_021_684,
    sha256="449a22bc3b13922c28194ee922123c83f120fddebd271c466886d3d69edc64cd",
)


def load(folder: str | os.PathLike | None = None) -> Cloze:
    """Load the questions."""
    where = home(NAME, [_SHARED], folder)
    return _read(lzma.decompress(where.get(_SHARED, [])))


def _read(content: bytes) -> Cloze:
    questions: dict[str, list[Question]] = {split: [] for split in SPLITS}
    for line in content.splitlines():
        row = json.loads(line)
        one = Question(tuple(row["c"].split()), tuple(row["q"].split()), row["a"], row["ref"])
        questions[row["s"]].append(one)
    return Cloze(NAME, questions, hashlib.sha256(content).hexdigest())
