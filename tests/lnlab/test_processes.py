"""Ranks as real processes: killed and left alone."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from lnlab import distributed, records
from lnlab.cli import main
from lnlab.experiments.mnist import run as mnist
from lnlab.runner import record_runs

PATIENCE = 60  # seconds: far more than a signal needs
# Both ranks are at work before either goes on, and each measurement takes a moment longer, so that
# a signal meets runs under way without any work for the processor.
SLOW = """
import os, sys, time
from pathlib import Path
from lnlab.cli import main
from lnlab.experiments.mnist import run as mnist

measure, out = mnist.Run.measure, Path(sys.argv[-1])

def slow(self):
    out.with_name(f"at-work-{os.environ['RANK']}").touch()
    while len(list(out.parent.glob("at-work-*"))) < 2:
        time.sleep(0.01)
    time.sleep(0.1)
    return measure(self)

mnist.Run.measure = slow
raise SystemExit(main(sys.argv[1:]))
"""
LONG = 600  # seconds: a busy machine takes half a minute to import torch
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
    stored = {path.name: records.read(path) for path in out.glob("*/*.json")}
    for run in stored.values():
        del run["curves"]["wall_s"], run["provenance"]
    return stored


def checkpoints(out):
    return list(out.glob("*/.checkpoints/*.pt"))


@pytest.fixture
def start():
    """Start a command; what still runs at the end of the test is killed."""
    started = []

    def one(*command, **variables):
        process = subprocess.Popen(
            [sys.executable, *map(str, command)],
            env=os.environ | {"OMP_NUM_THREADS": "1"} | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield one
    for process in started:
        process.terminate()  # torchrun then ends its ranks
        if not process.stdout.closed:
            try:
                process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate(timeout=60)


@pytest.fixture
def start_two(start):
    """Start two ranks as a cluster's own launcher would: nobody ends one when the other dies."""

    def two(*command):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        return [start(*command, RANK=rank, LOCAL_RANK=rank, **shared) for rank in "01"]

    return two


def wait_for(true, *processes):
    deadline = time.monotonic() + LONG
    while not true():
        assert time.monotonic() < deadline
        if any(p.poll() is not None for p in processes):
            for p in processes:  # one may wait for the other
                p.kill()
            pytest.fail("ended too early: " + "\n".join(str(p.communicate()) for p in processes))
        time.sleep(0.01)


def children(pid):
    return [int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def environment(pid):
    pairs = Path(f"/proc/{pid}/environ").read_text().rstrip("\0").split("\0")
    return dict(pair.split("=", 1) for pair in pairs)


@pytest.mark.slow
def test_a_rank_that_is_killed_loses_nothing_and_the_next_call_completes(
    tmp_path, unbroken, start, start_two
):
    script, out = tmp_path / "slow.py", tmp_path / "out"
    script.write_text(SLOW)
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    torchrun = start(*launch, script, *RUNS, out)
    wait_for(lambda: len(checkpoints(out)) == 2, torchrun)
    (victim,) = (pid for pid in children(torchrun.pid) if environment(pid).get("RANK") == "1")
    os.kill(victim, signal.SIGKILL)
    _, text = torchrun.communicate(timeout=LONG)
    assert torchrun.returncode != 0
    assert text.count("the same command goes on from there") == 1
    recorded = len(curves(out))
    assert recorded < 3, "it ended before it was broken off"

    first, second = start_two("-m", "lnlab", *RUNS, out)
    (text, bar), (quiet, noise) = first.communicate(timeout=LONG), second.communicate(timeout=LONG)
    assert (first.returncode, second.returncode) == (0, 0), (bar, noise)
    assert curves(out) == unbroken
    assert not list(out.glob("*/.checkpoints/*"))
    assert f"{3 - recorded} runs on 2 ranks, rank 0 on CPU" in text
    assert "100%" in bar
    assert not quiet
    assert "update" not in noise, "a second bar"


@pytest.mark.slow
def test_ranks_end_soon_after_the_launcher_that_was_killed(tmp_path, start):
    # Runs of hours: nothing else ends them.
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    runs = [*RUNS[:-1], "--epochs", "100000", "--out", tmp_path]
    torchrun = start(*launch, "-m", "lnlab", *runs)
    wait_for(lambda: len(checkpoints(tmp_path)) == 2, torchrun)
    ranks_ = children(torchrun.pid)
    assert len(ranks_) == 2
    torchrun.kill()
    killed = time.monotonic()
    try:
        while any(map(lives, ranks_)):
            assert time.monotonic() < killed + PATIENCE
            time.sleep(0.05)
    finally:
        for pid in filter(lives, ranks_):
            os.kill(pid, signal.SIGKILL)
    _, text = torchrun.communicate(timeout=LONG)
    assert text.count("the launcher is gone. Checkpoints are kept") >= 1
    assert len(checkpoints(tmp_path)) == 2


def lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
def test_when_the_writer_is_killed_the_next_call_completes_the_records(
    tmp_path, unbroken, start_two
):
    script, out = tmp_path / "slow.py", tmp_path / "out"
    script.write_text(SLOW)
    writer, other = start_two(script, *RUNS, out)
    wait_for(lambda: len(checkpoints(out)) == 2, writer, other)
    writer.kill()
    _, text = other.communicate(timeout=LONG)
    assert other.returncode == 1
    assert "rank 1 can no longer reach rank 0" in text
    assert len(curves(out)) < 3, "it ended before it was broken off"
    assert main([*RUNS, str(out)]) == 0
    assert curves(out) == unbroken
    assert not list(out.glob("*/.checkpoints/*"))


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
