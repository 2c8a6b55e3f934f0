"""Cloze questions: what is prepared of two translations, and where it is looked for."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import json
import lzma

import pooch
import pytest

from lnlib.data import _cloze
from lnlib.data import bible_cloze as bible
from lnlib.data.download import RemoteFile

WORDS = "and the man of the land went out with all that he had to the field . "


def remote(name: str, content: bytes) -> RemoteFile:
    return RemoteFile(name, len(content), hashlib.sha256(content).hexdigest())


def originals() -> tuple[bytes, bytes]:
    """Return one made-up book of 20 chapters in both translations, as the originals are."""
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
def source(serve):
    """Where the made-up books are served, what is prepared of them, and how often was asked."""
    old, modern = originals()
    prepared = _cloze.prepare(_cloze.old("1Made.json", old), _cloze.modern("1made.json", modern))
    mirrors = []
    for name, content in (("1Made.json", old), ("1made.json", modern)):
        mirrors.append((serve("well"), (remote(name, content),)))
        mirrors[-1][0].bodies[f"/{name}"] = content
    recorded = prepared[: prepared.index(b"\n") + 1]
    made = bible._Source(
        recorded=remote("cloze.jsonl", recorded),
        prepared=remote("cloze_1603.jsonl", prepared),
        old=(mirrors[0][1], mirrors[0][0].url),
        modern=(mirrors[1][1], mirrors[1][0].url),
    )
    return made, prepared, recorded, lambda: sum(len(m.asked) for m, _ in mirrors)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache")
    return tmp_path / "cache" / bible.NAME


def test_a_question_is_a_verse_retold_with_a_name_of_its_passage_left_out(source):
    _, prepared, _, _ = source
    rows = [json.loads(line) for line in prepared.splitlines()]
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


def test_names_have_a_capital_within_sentences_and_never_none():
    texts = [_cloze.tokens(t) for t in ("Then Saul saw Zion. The King", "and Saul, the king",
                                        "But Saul. Zion was", "so Ai I")]  # fmt: skip
    assert _cloze.names(texts, 3) == {"Saul"}
    assert _cloze.names(texts, 1) == {"Saul", "Zion", "Ai"}


def test_windows_are_all_runs_around_a_verse_that_are_long_enough_and_not_too_long():
    lengths = [60, 30, 20, 45, 70, 10]  # three are just 110 together, two just 50
    for verse in range(6):
        expected = {
            (a, b) for a in range(verse + 1) for b in range(verse + 1, 7)
            if 50 <= sum(lengths[a:b]) <= 110 and (b == 6 or sum(lengths[a : b + 1]) > 110)
        }  # fmt: skip
        assert {(w.start, w.stop) for w in _cloze.windows(lengths, verse)} == expected


def test_the_books_are_fetched_once_and_prepared_in_the_cache(source, cache):
    made, prepared, _, asked = source
    for _ in range(2):
        assert bible._gather(None, made) == (cache, prepared)
        assert asked() == 2
    assert gzip.decompress((cache / "cloze_1603.jsonl.gz").read_bytes()) == prepared


def test_what_is_prepared_otherwise_is_refused_and_not_kept(source, cache):
    made, _, _, _ = source
    other = dataclasses.replace(made, prepared=remote("cloze_1603.jsonl", b"other"))
    with pytest.raises(ValueError, match=r"as prepared must be .*; this Python draws other"):
        bible._gather(None, other)
    assert not (cache / "cloze_1603.jsonl.gz").exists()


def test_where_lnlib_data_says_the_questions_of_the_records_come_first(
    source, tmp_path, monkeypatch
):
    made, prepared, recorded, asked = source
    folder = tmp_path / bible.NAME
    folder.mkdir()
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"where cloze\.jsonl must lie"):
        bible._gather(None, made)
    (folder / "cloze_1603.jsonl").write_bytes(prepared)
    assert bible._gather(None, made) == (folder, prepared)
    (folder / "cloze.jsonl.xz").write_bytes(lzma.compress(recorded))
    _, first = bible._gather(None, made)
    assert first == recorded
    found = bible._read(first)
    assert sum(map(len, found.questions.values())) == 1
    assert found.sha256 == hashlib.sha256(first).hexdigest()
    assert asked() == 0


def test_the_originals_are_all_books_of_both_at_fixed_commits():
    for files, mirror in (bible._BIBLES.old, bible._BIBLES.modern):
        assert len({f.name.lower() for f in files}) == 66
        assert mirror.startswith("https://raw.githubusercontent.com/")
        assert len(mirror.split("/")[5]) == 40
