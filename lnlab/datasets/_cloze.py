"""Derivation of cloze questions from two translations of the Bible."""

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

ENTITIES = tuple(f"@e{k}" for k in range(12))
BLANK = "@blank"

Verse = tuple[str, int, int]  # book, chapter, verse
Verses = dict[Verse, str]

LONGEST, SHORTEST = 110, 50  # maximum and minimum number of tokens of a passage
QUESTIONS = 20_000  # sample size, close to that of the book's records
WINDOWS = 3  # maximum number of passages per verse and name
HELD_OUT = 12  # chapters of 100 for validation, and as many for testing
_TOKEN = re.compile(r"[A-Za-z]+|\d+|[^\w\s]")
_PLAIN = str.maketrans("‘’“”", "''\"\"")
_BEFORE_ANY = frozenset(".?!:;\"'(-—")  # a word after these may be capitalized


def old(book: str, content: bytes) -> Verses:
    """Parse a book of the King James Version, by the name of its file, into verses by chapter."""
    return {
        (_book(book), int(chapter["chapter"]), int(verse["verse"])): verse["text"]
        for chapter in json.loads(content)["chapters"]
        for verse in chapter["verses"]
    }


def modern(book: str, content: bytes) -> Verses:
    """Parse a book of the modern translation, whose paragraphs and lines are parts of verses."""
    verses: Verses = defaultdict(str)
    for part in json.loads(content):
        if part["type"] in ("paragraph text", "line text"):
            verses[_book(book), part["chapterNumber"], part["verseNumber"]] += f"{part['value']} "
    return dict(verses)


def _book(file: str) -> str:
    return file.removesuffix(".json").lower()


def tokens(text: str) -> list[str]:
    """Split a text into words, numbers and punctuation marks; case is unchanged.

    Example:
        >>> tokens("Saul’s son said, “Go!”")
        ['Saul', "'", 's', 'son', 'said', ',', '"', 'Go', '!', '"']
    """
    return _TOKEN.findall(text.translate(_PLAIN))


def names(texts: Iterable[Sequence[str]], min_count: int = 3) -> set[str]:
    """Return the words that are capitalized within sentences and never occur in lower case.

    Args:
        texts: Tokens of each verse.
        min_count: Minimum number of capitalized occurrences.
    """
    within, small = Counter(), set()
    for text in texts:
        small.update(word for word in text if word.islower())
        for before, word in zip([".", *text], text, strict=False):
            if word.istitle() and len(word) > 1 and before not in _BEFORE_ANY:
                within[word] += 1
    return {w for w, n in within.items() if n >= min_count and w.lower() not in small}


def windows(lengths: Sequence[int], verse: int) -> list[range]:
    """Return the ranges of verses that contain ``verse`` and form passages of maximum length.

    Args:
        lengths: Number of tokens of each verse of a chapter.
        verse: Index of the verse that must be in the passage.
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

    A name is a word that is capitalized in both translations. For each verse and each name that
    both translations of it contain, up to three passages are drawn that contain at least two names,
    and at most twelve together with the query. Chapters for validation and testing are drawn at
    random, as are 20,000 of all questions.

    Args:
        old: Verses of the passages.
        modern: Verses of the queries, with the same keys.
        seed: Seed of Python's ``random``.

    Returns:
        Lines of JSON in ASCII: ``s`` split, ``ref`` verse, ``c`` passage, ``q`` query and ``a``
        answer.
    """
    rng = random.Random(seed)
    passages = {verse: tokens(text) for verse, text in old.items()}
    queries = {verse: tokens(modern[verse]) for verse in old if verse in modern}
    known = names(passages.values()) & names(queries.values())
    chapters: dict[tuple[str, int], list[Verse]] = defaultdict(list)
    for verse in passages:
        chapters[verse[:2]].append(verse)
    order = sorted(chapters)
    rng.shuffle(order)
    parts = (len(order) * HELD_OUT // 100, len(order) * HELD_OUT // 50)
    split = {c: "test" if k < parts[0] else "val" if k < parts[1] else "train"
             for k, c in enumerate(order)}  # fmt: skip
    lines = []
    for chapter, verses in chapters.items():
        lengths = [len(passages[verse]) for verse in verses]
        for k, verse in enumerate(verses):
            query = queries.get(verse, [])
            for answer in sorted(known & {*passages[verse]} & {*query}):
                result = windows(lengths, k)
                for window in rng.sample(result, min(WINDOWS, len(result))):
                    passage = [word for v in window for word in passages[verses[v]]]
                    present = sorted(known & {*passage, *query})
                    if len(known & {*passage}) < 2 or len(present) > len(ENTITIES):
                        continue
                    new_names = dict(zip(present, rng.sample(ENTITIES, len(present)), strict=True))
                    blanked = new_names | {answer: BLANK}
                    row = {
                        "s": split[chapter],
                        "ref": f"{verse[0]} {verse[1]}:{verse[2]}",
                        "c": " ".join(new_names.get(word, word.lower()) for word in passage),
                        "q": " ".join(blanked.get(word, word.lower()) for word in query),
                        "a": new_names[answer],
                    }
                    lines.append(json.dumps(row))
    rng.shuffle(lines)
    return "".join(f"{line}\n" for line in lines[:QUESTIONS]).encode()
