"""Ranks as real processes."""

import os
import socket
import subprocess
import sys

import pytest
import torch

from lnlab import distributed
from lnlab.cli import main
from lnlab.experiments.mnist import run as mnist
from lnlab.runner import record_runs
from tests.cases.points import read_without_time

RUNS = ["replay", "mnist", "--data", "digits", "--batch-size", "16", "--epochs", "4"]
RUNS += ["--norm", "layer", "batch", "none", "--seeds", "0", "--threads", "1"]
RUNS += ["--device", "cpu", "--step", "plain", "--out"]


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """The records of one process."""
    out = tmp_path_factory.mktemp("unbroken")
    assert main([*RUNS, str(out)]) == 0
    return curves(out)


def curves(out):
    return {path.name: read_without_time(path) for path in out.glob("*/*.json")}


@pytest.mark.slow
def test_two_ranks_record_together_what_one_process_records_alone(tmp_path, unbroken):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-m", "lnlab", *RUNS, tmp_path],
            env=os.environ | shared | {"RANK": rank, "LOCAL_RANK": rank},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in "01"
    ]
    (text, bar), (quiet, noise) = (rank.communicate(timeout=600) for rank in ranks)
    assert [rank.returncode for rank in ranks] == [0, 0], (bar, noise)
    assert curves(tmp_path) == unbroken
    assert "3 runs on 2 ranks, rank 0 on CPU" in text
    assert "100%" in bar
    assert not quiet
    assert "update" not in noise, "a second bar"


def weights(out, *more):
    one = ["--norm", "layer", "--optimizer", "sgd", "--scale", "1", "--epochs", "1", "--seeds", "0"]
    return main(["replay", "weights", *one, "--threads", "1", "--out", str(out), *more])


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ([], "at the speed of the book's own CPU runs they take 0:00:01 (h:mm:ss)"),
        (["--learning-rate", "0.05"], "the bar says within a minute how long the CPU takes"),
        (["--device", "cpu"], None),  # it was asked for
    ],
)
def test_what_it_means_that_there_is_no_gpu_is_said_once(tmp_path, capsys, monkeypatch, more, says):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert weights(tmp_path, *more) == 0
    text = capsys.readouterr().out
    assert text.count("No GPU was found: ") == (says is not None)
    assert says is None or says in text


def test_a_rank_that_was_asked_for_other_runs_refuses(tmp_path, monkeypatch):
    class Misled(distributed.SingleProcess):
        def agree(self, decide, n):
            decision, *rest = decide()
            return [decision + 1, *rest]

    monkeypatch.setattr(distributed, "join", Misled)
    with pytest.raises(ValueError, match="asked for other runs than rank 0; start all ranks with"):
        record_runs(
            mnist.EXPERIMENT, [mnist.Settings(data="digits")], [0], out=tmp_path, device="cpu"
        )
