"""What is near to what was typed is suggested, and help says what there is to choose from."""

import re

import pytest

from lnlab import datasets, messages
from lnlab.cli import main
from lnlab.datasets import fetch

DOWNLOADS = {name.partition("/")[0] for name, entry in fetch.REGISTRY.items() if entry.urls}


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("replya mnist", "replay"),
        ("replay minst", "mnist"),
        ("replay Order-Embeddings", "order_embeddings"),
        ("data minst", "mnist"),
        ("replay mnist --norm layr", "layer"),
        ("replay mnist --norm none Batch", "batch"),
        ("replay sequence --cell GRU", "gru"),
        ("replay convnet --scale papr", "paper"),
    ],
)
def test_a_word_that_is_near_is_suggested(typed, meant, refused):
    assert f"; did you mean '{meant}'?" in refused([*typed.split()])


@pytest.mark.parametrize("typed", ["train", "data letters", "replay mnist --norm -", "table 6.6"])
def test_a_word_that_is_near_to_nothing_is_only_refused(typed, refused):
    assert "did you mean" not in refused(typed.split())


def test_a_data_set_that_is_loaded_by_a_wrong_name_is_suggested_as_well():
    with pytest.raises(ValueError, match=r"got 'minst'; did you mean 'mnist'\?"):
        datasets.load("minst")
    assert messages.suggestion("x", []) == ""


def help_of(*command, capsys):
    with pytest.raises(SystemExit, match="0"):
        main([*command, "--help"])
    return capsys.readouterr().out


def listed(text):
    """The entries of a list at the end of a help, from a name to what it says."""
    entries = re.findall(
        r"^  (\w+) {2,}(\S.*(?:\n {24}.*)*)", text.partition("--runs")[2] or text, re.M
    )
    return {name: " ".join(guidance.split()) for name, guidance in entries}


def test_the_help_of_data_says_of_each_set_what_is_downloaded_and_its_licence(capsys):
    result = listed(help_of("data", capsys=capsys))
    assert result.keys() >= set(datasets.NAMES)
    for name in datasets.NAMES:
        what, size, licence = result[name].split("; ")
        assert len(what) > 10
        assert re.search(r"CC BY|MIT|BSD|PSF|public domain|research", licence)
        # fashion_small is selected from Fashion-MNIST.
        assert bool(re.match(r"\d+ MB", size)) == (name in DOWNLOADS | {"fashion_small"}), name
