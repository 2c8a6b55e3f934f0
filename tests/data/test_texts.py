"""Texts: where tiny Shakespeare is looked for and how it is split, and the text without network."""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
from pydoc_data.topics import topics

import pooch
import pytest

from lnlib.data import Text, load, python_topics
from lnlib.data import tiny_shakespeare as shakespeare
from lnlib.data.download import RemoteFile

FILE = shakespeare._SHAKESPEARE.file
CONTENT = ("ROMEO:\nIs the day so young?\n" * 9 + "é").encode()


@pytest.fixture
def mirror(serve):
    made = serve("well")
    made.bodies = {"/input.txt": CONTENT}
    return made


@pytest.fixture
def source(mirror):
    file = RemoteFile("input.txt", len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
    return shakespeare._Source(file, mirror.url)


def test_a_text_is_split_after_nine_tenths_of_its_characters():
    text = Text.split("any", "0123456789é")
    assert (text.train, text.val) == ("012345678", "9é")
    assert text.sha256 == hashlib.sha256("0123456789é".encode()).hexdigest()
    assert str(text) == "9 training and 2 validation characters, 11 different"


def test_it_is_downloaded_once_to_the_cache(source, mirror, tmp_path, monkeypatch):
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / project)
    cache = tmp_path / "lnlib" / "tiny_shakespeare"
    for _ in range(2):
        assert shakespeare._gather(None, source) == (cache, CONTENT)
    assert len(mirror.asked) == 1
    (cache / "input.txt").write_bytes(b"damaged")
    assert shakespeare._gather(None, source) == (cache, CONTENT)
    assert len(mirror.asked) == 2


def test_another_text_is_not_used(source, mirror, tmp_path):
    mirror.bodies = {"/input.txt": CONTENT[:-1] + b"?"}
    with pytest.raises(
        OSError, match=r"cannot download input\.txt:\n.*SHA-256 of the uncompressed"
    ):
        shakespeare._gather(tmp_path, source)
    assert not (tmp_path / "input.txt").exists()


@pytest.mark.parametrize("inner", ["", "tiny_shakespeare"])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzipped"])
def test_what_lies_where_lnlib_data_says_is_used_and_nothing_written(
    source, mirror, tmp_path, monkeypatch, inner, packed
):
    folder = tmp_path / inner
    folder.mkdir(exist_ok=True)
    name, content = ("input.txt.gz", gzip.compress(CONTENT)) if packed else ("input.txt", CONTENT)
    (folder / name).write_bytes(content)
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    assert shakespeare._gather(None, source) == (folder, CONTENT)
    assert [path.name for path in folder.iterdir()] == [name]
    assert mirror.asked == []


def test_where_lnlib_data_lacks_it_the_file_is_named_and_none_downloaded(
    source, mirror, tmp_path, monkeypatch
):
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    with pytest.raises(
        FileNotFoundError, match=r"where input\.txt must lie, .* folder tiny_shakes"
    ):
        shakespeare._gather(None, source)
    assert mirror.asked == []


def test_the_source_is_at_a_fixed_commit():
    host, owner, name, commit, *_ = shakespeare._SHAKESPEARE.mirror.split("/")[2:]
    assert (host, owner, name) == ("raw.githubusercontent.com", "karpathy", "char-rnn")
    assert len(commit) == 40
    assert shakespeare._SHAKESPEARE.mirror.startswith("https://")


@pytest.mark.needs_data("tiny_shakespeare")
def test_the_text_is_found_where_lnlib_data_says():
    assert shakespeare.fetch().is_relative_to(os.environ["LNLIB_DATA"])
    text = load("tiny_shakespeare")
    assert text.name == "tiny_shakespeare"
    assert text.train.startswith("First Citizen:\nBefore we proceed any further")
    assert (len(text.train), len(text.val)) == (1_003_854, 111_540)
    assert text.sha256 == FILE.sha256
    assert str(text).endswith(", 65 different")


def test_every_python_has_a_text_that_is_long_enough_to_learn_from():
    text = load("python_topics")
    whole = text.train + text.val
    assert text.name == "python_topics"
    assert len(whole) > 300_000
    assert len(text.val) == len(whole) - len(whole) * 9 // 10
    places = [whole.index(topics[name]) for name in sorted(topics)]
    assert len(whole) == sum(len(said) + 1 for said in topics.values()) - 1
    assert places[0] == 0


def test_a_python_without_its_manual_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydoc_data.topics", None)
    with pytest.raises(
        ValueError, match=r"python_topics: the text must come with Python, this one"
    ):
        python_topics.load()
