"""Cloze questions: derivation from two translations."""

import hashlib
import json
import lzma

import pytest

from lnlab.datasets import _cloze, fetch
from lnlab.datasets import bible_cloze as bible

WORDS = "and the man of the land went out with all that he had to the field . "


def originals() -> tuple[bytes, bytes]:
    """Return a synthetic book of 20 chapters in both translations."""
    pairs = [("Saul", "David"), ("David", "Ruth"), ("Ruth", "Saul")]
    old, modern = [], [{"type": "paragraph start"}]
    for chapter in range(1, 21):
        verses = []
        for verse in range(1, 7):
            a, b = pairs[(chapter + verse) % 3]
            verses.append({"verse": str(verse), "text": f"{WORDS}So saw {a} the face of {b}."})
            for value in (f"Then “{a}” saw ", f"with {a} the face of {b}."):
                modern.append({"type": "line text", "chapterNumber": chapter, "verseNumber": verse,
                               "value": value})  # fmt: skip
        old.append({"chapter": str(chapter), "verses": verses})
    return json.dumps({"book": "1 Made", "chapters": old}).encode(), json.dumps(modern).encode()


@pytest.fixture
def derived(tmp_path, register, monkeypatch):
    """Return the questions from synthetic books, whose files are in ``tmp_path``."""
    old, modern = originals()
    derived = _cloze.derive(_cloze.old("1Made.json", old), _cloze.modern("1made.json", modern))
    monkeypatch.setattr(fetch, "REGISTRY", {})
    for name, content in (("old/1Made.json", old), ("modern/1made.json", modern)):
        register(f"{bible.NAME}/{name}", content)
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(content)
    register(f"{bible.NAME}/cloze_1603.jsonl", derived)
    register(f"{bible.NAME}/cloze.jsonl", derived[: derived.index(b"\n") + 1])
    return derived


def test_questions_are_verses_with_a_name_replaced_by_a_blank(derived):
    rows = [json.loads(line) for line in derived.splitlines()]
    assert {row["s"] for row in rows} == {"train", "val", "test"}
    for row in rows:
        passage, query = row["c"].split(), row["q"].split()
        assert 50 <= len(passage) <= 110
        assert row["a"] in passage
        assert row["a"] not in query
        assert "@blank" in query
        assert not {"saul", "david", "ruth", "Saul"} & {*passage, *query}
        assert 2 <= len({w for w in passage if w.startswith("@e")}) <= 12
    assert rows[0]["ref"].startswith("1made ")
    chapters = {(row["ref"].split(":")[0], row["s"]) for row in rows}
    assert len(chapters) == len({chapter for chapter, _ in chapters})
    assert len({row["a"] for row in rows}) == 12


def test_windows_are_all_maximal_passages_around_a_verse():
    lengths = [60, 30, 20, 45, 46, 10]  # sums of exactly 50, 110 and 111 tokens
    for verse in range(6):
        expected = {
            (a, b) for a in range(verse + 1) for b in range(verse + 1, 7)
            if 50 <= sum(lengths[a:b]) <= 110 and (b == 6 or sum(lengths[a : b + 1]) > 110)
        }  # fmt: skip
        assert {(w.start, w.stop) for w in _cloze.windows(lengths, verse)} == expected


def test_supplied_questions_have_priority_over_derived_ones(tmp_path, derived):
    result = bible.load(tmp_path)
    assert result.sha256 == hashlib.sha256(derived).hexdigest()
    assert sum(map(len, result.questions.values())) == len(derived.splitlines())
    (tmp_path / "cloze.jsonl.xz").write_bytes(lzma.compress(derived[: derived.index(b"\n") + 1]))
    result = bible.load(tmp_path)
    assert sum(map(len, result.questions.values())) == 1
