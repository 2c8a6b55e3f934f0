"""Cloze questions made of two translations, verse by verse."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

ENTITIES = tuple(f"@e{k}" for k in range(12))
BLANK = "@blank"

Verse = tuple[str, int, int]  # book, chapter, verse
Verses = dict[Verse, str]

SEED = 1603
LONGEST = 110  # words of a passage
SHORTEST = 50
WINDOWS = 3  # passages a verse and a name may have
HELD_OUT = 0.12  # of the chapters, for validation, and as many for testing
_TOKEN = re.compile(r"[A-Za-z]+(?:['-][A-Za-z]+)*|\d+|[^\w\s]")
_QUOTES = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "—": "-", "–": "-"})
_OPENS = {".", "?", "!", ":", ";", '"', "'", "(", "-"}  # what a capital may follow in any word


def old(book: str, content: bytes) -> Verses:
    """Read a book of the King James Version: chapters of verses."""
    return {
        (book, int(chapter["chapter"]), int(verse["verse"])): verse["text"]
        for chapter in json.loads(content)["chapters"]
        for verse in chapter["verses"]
    }


def modern(book: str, content: bytes) -> Verses:
    """Read a book of the modern translation: paragraphs and lines, parts of verses."""
    verses: Verses = defaultdict(str)
    for part in json.loads(content):
        if part["type"] in ("paragraph text", "line text"):
            verses[book, part["chapterNumber"], part["verseNumber"]] += f"{part['value']} "
    return dict(verses)


def tokens(text: str) -> list[str]:
    """Return words, numbers and marks, capitals as they are, ``'s`` a word of its own.

    Example:
        >>> tokens("Saul’s son said, “Go.”")
        ['Saul', "'s", 'son', 'said', ',', '"', 'Go', '.', '"']
    """
    return _TOKEN.findall(re.sub(r"'s\b", " 's", text.translate(_QUOTES)).replace(" 's", " ’s"))


def names(texts: Iterable[Sequence[str]], least_count: int = 3) -> set[str]:
    """Return the words that come within sentences with a capital, and never without one."""
    within, small = Counter(), set()
    for text in texts:
        for before, word in zip([".", *text], text, strict=False):
            if word[0].isupper() and before not in _OPENS:
                within[word] += 1
            elif word[0].islower():
                small.add(word)
    return {w for w, n in within.items() if n >= least_count and len(w) > 1 and w.isalpha()
            and w.lower() not in small and not w.isupper()}  # fmt: skip
