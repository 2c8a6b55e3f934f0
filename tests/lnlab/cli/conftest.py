"""Short commands for tests, and a helper for rejected commands."""

import re

import pytest

from lnlab.cli import main

SHORT = {  # settings of runs that take a tenth of a second
    "mnist": "--data digits --norm batch --batch-size 400 --hidden 8 --step plain",
    "sequence": "--cell rnn --norm layer --batch-size 400 --hidden 8",
    "weights": "--norm layer --optimizer sgd --scale 1 --batch-size 400 --hidden 8",
}


@pytest.fixture
def short():
    """``short(experiment, folder)``: the command of a short run on data without downloads."""

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
