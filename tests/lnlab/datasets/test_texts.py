"""Texts: splitting, and the text that needs no network."""

import hashlib
import sys
from pydoc_data.topics import topics

import pytest

from lnlab.datasets import Text, load, python_topics


def test_a_text_is_split_after_nine_tenths_of_its_characters():
    text = Text.split("any", "0123456789é")
    assert (text.train, text.val) == ("012345678", "9é")
    assert text.sha256 == hashlib.sha256("0123456789é".encode()).hexdigest()
    assert str(text) == "9 training and 2 validation characters, 11 different"


def test_the_text_of_every_python_is_long_enough():
    text = load("python_topics")
    whole = text.train + text.val
    assert len(whole) > 300_000
    assert whole == "\n".join(topics[name] for name in sorted(topics))


def test_a_python_without_its_manual_raises_an_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydoc_data.topics", None)
    with pytest.raises(ValueError, match=r"python_topics: the text must come with Python, this"):
        python_topics.load()
