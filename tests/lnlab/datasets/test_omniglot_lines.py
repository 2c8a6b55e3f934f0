"""Lines of pen strokes, composed of letters."""

import hashlib
import io
import random
import zipfile

import pytest

from lnlab.datasets import omniglot_lines as omniglot

TEXT = ("To be, or not to be: that's the question.\nWhether 'tis nobler in the mind " * 9).encode()
FEW = {"train": 19, "val_seen": 3, "val_new": 4, "test_new": 2}


def letters():
    """A file in Omniglot's format, in which each writer draws each letter as two short strokes."""
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


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(omniglot, "COUNTS", FEW)


def test_lines_contain_consecutive_words_by_writers_of_their_split():
    result = omniglot._read(omniglot.compose(LETTERS, TEXT))
    assert {split: len(lines) for split, lines in result.splits.items()} == FEW
    running = "to be or not to be thats the question whether tis nobler in the mind "
    words = (running * 9).split()
    # The first four fifths are for training; after the last word, the first one follows again.
    running = {"train": " ".join(words[:108] * 2)}
    rest = " ".join(words[108:] * 2)
    writers = {s: {line.writer for line in lines} for s, lines in result.splits.items()}
    assert writers["val_new"] == {"drawer 14", "drawer 17"}
    assert writers["test_new"] == {"drawer 2", "drawer 5"}
    assert len(writers["train"]) == 16
    assert not (writers["train"] | writers["val_seen"]) & (writers["val_new"] | writers["test_new"])
    for split, lines in result.splits.items():
        for line in lines:
            assert line.text in running.get(split, rest)
            assert 16 <= len(line.text) <= 30


def test_supplied_lines_have_priority_over_composed_ones(tmp_path, register):
    composed = omniglot.compose(LETTERS, TEXT)
    register(f"{omniglot.NAME}/strokes_background_small1.zip", LETTERS)
    register("tiny_shakespeare/input.txt", TEXT)
    register(f"{omniglot.NAME}/lines.npz", composed + b"\0")
    register(f"{omniglot.NAME}/prepared_lines.npz", composed)
    (tmp_path / "strokes_background_small1.zip").write_bytes(LETTERS)
    (tmp_path / "input.txt").write_bytes(TEXT)
    assert omniglot.load(tmp_path).sha256 == hashlib.sha256(composed).hexdigest()
    (tmp_path / "lines.npz").write_bytes(composed + b"\0")
    assert omniglot.load(tmp_path).sha256 == hashlib.sha256(composed + b"\0").hexdigest()
