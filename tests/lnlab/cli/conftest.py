"""Short commands for tests, and a helper for rejected commands."""

import re

import pytest

from lnlab import datasets
from lnlab.cli import main

SHORT = {  # settings of runs that take a tenth of a second
    "attentive_reader": "--norm layer --gain 1 --batch-size 40 --hidden 4 --word-size 3",
    "mnist": "--data digits --norm batch --batch-size 400 --hidden 8 --step plain",
    "noise": "--data digits --norm batch --batch-size 300 --hidden 8 --step plain",
    "order_embeddings": "--norm layer --batch-size 40 --hidden 4 --word-size 3",
    "sequence": "--cell rnn --norm layer --batch-size 400 --hidden 8",
    "transformer": "--norm layer --place pre --depth 1 --width 8 --length 8 --updates-an-epoch 2 "
    "--windows 2 --warm-up 0 --data python_topics",
    "weights": "--norm layer --optimizer sgd --scale 1 --batch-size 400 --hidden 8",
}


@pytest.fixture
def short(monkeypatch, cloze, layouts):
    """``short(experiment, folder)``: the command of a short run on data without downloads."""
    load, made_up = datasets.load, {of.name: of for of in (cloze, layouts)}
    monkeypatch.setattr(datasets, "load", lambda name: made_up.get(name) or load(name))

    def typed(experiment, out, *more):
        always = f"replay {experiment} {SHORT[experiment]} --epochs 1 --seeds 0 --device cpu"
        one = "--threads 1 --first-epoch-points 1"
        return [*always.split(), *one.split(), "--out", str(out), *more]

    return typed


@pytest.fixture
def refused(capsys):
    """Run a command that must fail; return its error message of one sentence."""

    def said_of(arguments):
        try:
            status = main(arguments)
        except SystemExit as end:
            status = end.code
        text = capsys.readouterr()
        assert status == (2 if "; see python -m lnlab" in text.err else 1)
        assert text.out == ""
        assert re.fullmatch(r"lnlab[ :][^\n]+\n", text.err), text.err
        return text.err

    return said_of
