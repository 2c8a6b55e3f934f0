"""Pen lines: how they are composed of letters, and where they are looked for."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import random
import zipfile

import numpy as np
import pooch
import pytest

from lnlib.data import load
from lnlib.data import omniglot_lines as omniglot
from lnlib.data.download import RemoteFile

TEXT = ("To be, or not to be: that's the question.\nWhether 'tis nobler in the mind " * 9).encode()
FEW = {"train": 19, "val_seen": 3, "val_new": 4, "test_new": 2}


def letters():
    """A file as Omniglot's: each drawer draws each letter as two short strokes."""
    rng = random.Random(4)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as held:
        for number in range(26):
            for drawer in range(20):
                lines = ["START"]
                for _ in range(2):
                    x, y = 40 + 20 * rng.random(), -60 + 20 * rng.random()
                    for k in range(7):
                        x, y = x + 5 * rng.random(), y + 8 * rng.random() - 3
                        lines.append(f"{x:f},{y:f},{k}")
                    lines.append("BREAK")
                name = f"s/Latin/character{number + 1:02d}/0{number}_{drawer + 1:02d}.txt"
                held.writestr(name, "\n".join(lines) + "\n")
        held.writestr("s/Greek/character01/01_01.txt", "START\nnot a number\nBREAK\n")
    return content.getvalue()


LETTERS = letters()


def remote(name, content):
    return RemoteFile(name, len(content), hashlib.sha256(content).hexdigest())


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(omniglot, "COUNTS", FEW)


@pytest.fixture
def source(serve):
    prepared = omniglot.prepare(LETTERS, TEXT)
    mirror = serve("well")
    mirror.bodies = {"/letters.zip": LETTERS, "/text.txt": TEXT}
    made = omniglot._Source(
        remote("lines.npz", prepared[:-1] + b"\0"),
        remote("prepared_lines.npz", prepared),
        (remote("letters.zip", LETTERS), mirror.url),
        (remote("text.txt", TEXT), mirror.url),
    )
    return made, prepared, mirror.asked


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "cache" / project)
    return tmp_path / "cache" / "lnlib" / omniglot.NAME


def test_lines_are_of_running_words_by_drawers_of_their_own_split():
    found = omniglot._read(omniglot.prepare(LETTERS, TEXT))
    assert {split: len(lines) for split, lines in found.splits.items()} == FEW
    running = "to be or not to be thats the question whether tis nobler in the mind "
    words = (running * 9).split()
    # The first four fifths are for training; behind the last word comes the first again.
    running = {"train": " ".join(words[:108] * 2)}
    rest = " ".join(words[108:] * 2)
    writers = {s: {line.writer for line in lines} for s, lines in found.splits.items()}
    assert writers["val_new"] == {"drawer 14", "drawer 17"}
    assert writers["test_new"] == {"drawer 2", "drawer 5"}
    assert len(writers["train"]) == 16
    assert not (writers["train"] | writers["val_seen"]) & (writers["val_new"] | writers["test_new"])
    for split, lines in found.splits.items():
        for line in lines:
            assert line.text in running.get(split, rest)
            assert 16 <= len(line.text) <= 30


def test_each_letter_is_its_drawers_thinned_with_the_ends_of_its_strokes():
    found = omniglot._read(omniglot.prepare(LETTERS, TEXT))
    drawn = omniglot._drawn(LETTERS)
    for line in found.splits["val_new"]:
        own = drawn[int(line.writer.split()[1])]
        places = np.cumsum(line.strokes[:, :2], 0)
        assert line.strokes[0, :2].tolist() == [0, 0]
        for k, character in enumerate(line.text):
            mine = line.characters == k
            if character == " ":
                assert not mine.any()
                continue
            assert line.strokes[mine, 2].sum() == 2
            assert line.strokes[mine, 2][-1] == 1
            ends = [j for j, (*_, end) in enumerate(own[character]) if end]
            kept = {phase: sorted({*range(phase, 14, 4), *ends}) for phase in range(4)}
            assert mine.sum() in {len(which) for which in kept.values()}
            # Turned, stretched, slanted and bent: still nearly the letter, up to an affine map.
            best = min(
                affine_error(places[mine], np.array(own[character])[which, :2])
                for which in kept.values()
                if len(which) == mine.sum()
            )
            assert best < 0.06


def affine_error(found, letter):
    ones = np.c_[letter, np.ones(len(letter))]
    return float(np.abs(ones @ np.linalg.lstsq(ones, found, rcond=None)[0] - found).max())


def test_letters_stand_on_the_line_or_hang_below_it():
    for one in omniglot._drawn(LETTERS):
        for letter, points in one.items():
            heights = [y for _, y, _ in points]
            if letter in "gpqy":
                assert max(heights) == pytest.approx(1)
            elif letter != "j":
                assert min(heights) == pytest.approx(0)
        median = np.median([max(y for _, y, _ in one[c]) for c in "acemnorsuvwxz"])
        assert median == pytest.approx(1)


def test_the_originals_are_fetched_once_and_prepared_in_the_cache(source, cache):
    made, prepared, asked = source
    for _ in range(2):
        assert omniglot._gather(None, made) == (cache, prepared)
        assert len(asked) == 2
    assert gzip.decompress((cache / "prepared_lines.npz.gz").read_bytes()) == prepared


def test_what_is_prepared_otherwise_is_refused_and_not_kept(source, cache, monkeypatch):
    made, _, _ = source
    monkeypatch.setattr(omniglot, "COUNTS", FEW | {"train": 5})
    with pytest.raises(ValueError, match=r"as prepared must be .*; this Python draws or NumPy"):
        omniglot._gather(None, made)
    assert not list(cache.glob("prepared*"))


@pytest.mark.parametrize("name", ["lines.npz", "prepared_lines.npz"])
def test_either_set_is_used_where_lnlib_data_says(source, tmp_path, monkeypatch, name):
    made, prepared, asked = source
    content = prepared if name.startswith("prep") else prepared[:-1] + b"\0"
    (tmp_path / omniglot.NAME).mkdir()
    (tmp_path / omniglot.NAME / name).write_bytes(content)
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    assert omniglot._gather(None, made) == (tmp_path / omniglot.NAME, content)
    assert not asked


def test_where_lnlib_data_has_the_originals_they_are_prepared_and_nothing_written(
    source, tmp_path, monkeypatch
):
    made, prepared, asked = source
    (tmp_path / "letters.zip").write_bytes(LETTERS)
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    with pytest.raises(
        FileNotFoundError, match=r"where lines\.npz must lie, gzipped or not, in it"
    ):
        omniglot._gather(None, made)
    (tmp_path / "text.txt.gz").write_bytes(gzip.compress(TEXT))
    assert omniglot._gather(None, made) == (tmp_path, prepared)
    assert {path.name for path in tmp_path.iterdir()} == {"letters.zip", "text.txt.gz"}
    assert not asked


def test_the_originals_are_at_fixed_commits():
    for file, mirror in (omniglot._OMNIGLOT.letters, omniglot._OMNIGLOT.text):
        host, _, _, commit, *_ = mirror.removeprefix("https://").split("/")
        assert host == "raw.githubusercontent.com"
        assert len(commit) == 40
        assert mirror.endswith("/")
        assert file.size > 10**6


@pytest.mark.needs_data("omniglot_lines")
def test_the_data_set_is_found_where_lnlib_data_says():
    assert omniglot.fetch().is_relative_to(os.environ["LNLIB_DATA"])
    found = load(omniglot.NAME)
    assert str(found) == (
        "2,000 train + 160 val_seen + 160 val_new + 160 test_new lines of 1,588,643 points"
    )
    line = found.splits["train"][0]
    assert line.text == "and like to show them that"
    # A point belongs to a letter, and none to a space.
    assert {line.text[k] for k in line.characters} == set(line.text) - {" "}
