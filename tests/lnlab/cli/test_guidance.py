"""Suggestions for misspelled words, and choices in help texts."""

import re

import pytest

from lnlab import datasets
from lnlab.cli import main


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("replya mnist", "replay"),
        ("replay minst", "mnist"),
        ("replay Order-Embeddings", "order_embeddings"),
        ("replay mnist --norm layr", "layer"),
        ("replay sequence --cell GRU", "gru"),
    ],
)
def test_similar_words_are_suggested(typed, meant, refused):
    assert f"; did you mean '{meant}'?" in refused([*typed.split()])


def test_the_help_of_data_lists_all_data_sets(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["data", "--help"])
    text = capsys.readouterr().out
    assert all(re.search(rf"^  {name} {{2,}}\S", text, re.M) for name in datasets.NAMES)
