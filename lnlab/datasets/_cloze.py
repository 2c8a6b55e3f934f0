"""How cloze questions are made of two translations, verse by verse."""

from __future__ import annotations

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

ENTITIES = tuple(f"@e{k}" for k in range(12))
BLANK = "@blank"

Verse = tuple[str, int, int]  # book, chapter, number
Verses = dict[Verse, str]

LONGEST, SHORTEST = 110, 50  # tokens of a passage
QUESTIONS = 20_000  # of all that there are, about as many as in the set of the book's records
WINDOWS = 3  # passages that a verse and a name have at most
HELD_OUT = 12  # of 100 chapters, for validation, and as many for testing
_TOKEN = re.compile(r"[A-Za-z]+|\d+|[^\w\s]")
_PLAIN = str.maketrans("‘’“”", "''\"\"")
_BEFORE_ANY = frozenset(".?!:;\"'(-—")  # a word behind these may have a capital


def old(book: str, content: bytes) -> Verses:
    """Read a book, by the name of its file, of the King James Version: chapters of verses."""
    return {
        (_book(book), int(chapter["chapter"]), int(verse["verse"])): verse["text"]
        for chapter in json.loads(content)["chapters"]
        for verse in chapter["verses"]
    }


def modern(book: str, content: bytes) -> Verses:
    """Read a book of the modern translation: paragraphs and lines, parts of verses."""
    verses: Verses = defaultdict(str)
    for part in json.loads(content):
        if part["type"] in ("paragraph text", "line text"):
            verses[_book(book), part["chapterNumber"], part["verseNumber"]] += f"{part['value']} "
    return dict(verses)


def _book(file: str) -> str:
    return file.removesuffix(".json").lower()


def tokens(text: str) -> list[str]:
    """Return words, numbers and marks, one a token, capitals as they are.

    Example:
        >>> tokens("Saul’s son said, “Go!”")
        ['Saul', "'", 's', 'son', 'said', ',', '"', 'Go', '!', '"']
    """
    return _TOKEN.findall(text.translate(_PLAIN))


def names(texts: Iterable[Sequence[str]], least_count: int = 3) -> set[str]:
    """Return words that come within sentences with a capital, and never without one.

    Args:
        texts: Tokens of each verse.
        least_count: How often they must.
    """
    within, small = Counter(), set()
    for text in texts:
        small.update(word for word in text if word.islower())
        for before, word in zip([".", *text], text, strict=False):
            if word.istitle() and len(word) > 1 and before not in _BEFORE_ANY:
                within[word] += 1
    return {w for w, n in within.items() if n >= least_count and w.lower() not in small}


def windows(lengths: Sequence[int], verse: int) -> list[range]:
    """Return the runs of verses around one that are a passage and cannot grow at their end.

    Args:
        lengths: Tokens of the verses of a chapter.
        verse: Which of them must be in it.
    """
    results = []
    for first in range(verse, -1, -1):
        if sum(lengths[first : verse + 1]) > LONGEST:
            break
        last = verse + 1
        while last < len(lengths) and sum(lengths[first : last + 1]) <= LONGEST:
            last += 1
        if sum(lengths[first:last]) >= SHORTEST:
            results.append(range(first, last))
    return results


def derive(old: Verses, modern: Verses, *, seed: int = 1603) -> bytes:
    """Return the questions.

    A name is a word that has a capital in both translations. For each verse and each name that
    both tell in it, up to three passages are drawn in which at least two names come, and at most
    twelve with those of the query. Chapters are drawn for validation and testing, and of all
    questions 20,000.

    Args:
        old: Verses of the passages.
        modern: Verses of the queries, by the same numbers.
        seed: Of Python's ``random``.

    Returns:
        Lines of JSON in ASCII: ``s`` the split, ``ref`` the verse, ``c`` passage, ``q`` query and
        ``a`` answer.
    """
    rng = random.Random(seed)
    told = {verse: tokens(text) for verse, text in old.items()}
    retold = {verse: tokens(modern[verse]) for verse in old if verse in modern}
    known = names(told.values()) & names(retold.values())
    chapters: dict[tuple[str, int], list[Verse]] = defaultdict(list)
    for verse in told:
        chapters[verse[:2]].append(verse)
    order = sorted(chapters)
    rng.shuffle(order)
    parts = (len(order) * HELD_OUT // 100, len(order) * HELD_OUT // 50)
    split = {c: "test" if k < parts[0] else "val" if k < parts[1] else "train"
             for k, c in enumerate(order)}  # fmt: skip
    lines = []
    for chapter, verses in chapters.items():
        lengths = [len(told[verse]) for verse in verses]
        for k, verse in enumerate(verses):
            query = retold.get(verse, [])
            for answer in sorted(known & {*told[verse]} & {*query}):
                result = windows(lengths, k)
                for window in rng.sample(result, min(WINDOWS, len(result))):
                    passage = [word for v in window for word in told[verses[v]]]
                    there = sorted(known & {*passage, *query})
                    if len(known & {*passage}) < 2 or len(there) > len(ENTITIES):
                        continue
                    called = dict(zip(there, rng.sample(ENTITIES, len(there)), strict=True))
                    blanked = called | {answer: BLANK}
                    row = {
                        "s": split[chapter],
                        "ref": f"{verse[0]} {verse[1]}:{verse[2]}",
                        "c": " ".join(called.get(word, word.lower()) for word in passage),
                        "q": " ".join(blanked.get(word, word.lower()) for word in query),
                        "a": called[answer],
                    }
                    lines.append(json.dumps(row))
    rng.shuffle(lines)
    return "".join(f"{line}\n" for line in lines[:QUESTIONS]).encode()
