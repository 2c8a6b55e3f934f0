"""What is near to what was typed is suggested, and help says what there is to choose from."""

import re

import pytest

from lnlab import datasets, experiments, messages
from lnlab.cli import main
from lnlab.config import MAX_POINTS, field_specs
from lnlab.datasets import fetch

EXPERIMENTS = experiments.names()
DOWNLOADS = {name.partition("/")[0] for name, entry in fetch.REGISTRY.items() if entry.urls}


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("replya mnist", "replay"),
        ("tabel mnist", "table"),
        ("claim", "claims"),
        ("replay minst", "mnist"),
        ("replay Order-Embeddings", "order_embeddings"),
        ("table handwritting", "handwriting"),
        ("data minst", "mnist"),
        ("data MNIST", "mnist"),
        ("data tiny-shakespear", "tiny_shakespeare"),
        ("replay mnist --norm layr", "layer"),
        ("replay mnist --norm none Batch", "batch"),
        ("replay mnist --data digit", "digits"),
        ("replay sequence --cell GRU", "gru"),
        ("replay convnet --scale papr", "paper"),
        ("replay mnist --step plan", "plain"),
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


def test_the_help_of_table_says_what_each_experiment_is(capsys):
    result = listed(help_of("table", capsys=capsys))
    assert result.keys() >= set(EXPERIMENTS)
    for name in EXPERIMENTS:
        assert result[name] == experiments.find(name).about


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_experiment_has_the_papers_scale_or_says_why_not(name, refused, capsys):
    experiment = experiments.find(name)
    if "paper" in experiment.scales:
        assert "paper: --" in " ".join(help_of("replay", name, capsys=capsys).split())
    elif "scale" in field_specs(experiment.settings):
        text = refused(["replay", name, "--scale", "paper"])
        assert "--scale must be a positive number" in text
        assert "the paper does not have this experiment" in text
    else:
        text = refused(["replay", name, "--scale", "paper"])
        assert "the paper does not have this experiment" in text
        assert experiment.about.startswith("ours")


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("points", [0, MAX_POINTS + 1, 10**9, 10**30, -1])
def test_the_points_of_the_first_epoch_are_bounded(name, points, refused):
    text = refused(["replay", name, f"--first-epoch-points={points}", "--device", "cpu"])
    assert f"--first-epoch-points must be a whole number from 1 to {MAX_POINTS:,}, got" in text
