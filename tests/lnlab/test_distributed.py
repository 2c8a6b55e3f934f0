"""Ranks: who trains what, who writes, what is left when one of them is lost."""

import io
import os
import re
import signal
import threading
import time

import numpy as np
import pytest
import torch
import torch.distributed as dist
from tqdm import tqdm

from lnlab import distributed
from lnlab.training import Diverged

CPU = torch.device("cpu")
PATIENCE = 60  # seconds: far more than threads of one process need
RECORD = {
    "format": 2,
    "experiment": "mnist",
    "paper": {"section": "6.6"},
    "settings": {"norm": "layer"},
    "seed": 0,
    "data": {"name": "digits", "sha256": "0" * 64, "cases": {"train": 10}},
    "curves": {"x": "epoch", "epoch": [0.0]},
    "arrays": {"kept": np.array([[1.5, -2.0]], np.float32)},
    "units": {"epoch": "epochs", "kept": "m"},
    "provenance": dict.fromkeys(("lnlib", "commit", "python", "torch", "numpy", "command"), "any")
    | {"device": "CPU", "threads": 1, "date": "2026-11-20T12:00:00+00:00", "wall_s": 1.0},
}


class Game:
    """Several ranks in threads of one process, their store in its memory, their work pretended."""

    def __init__(self, folder, *, runs, size, silence=60, fails=()):
        paths = [folder / f"run-{n}.json" for n in range(runs)]
        self.runs = [(None, 0, path) for path in paths]
        self.store, self.fails = dist.HashStore(), fails
        self.teams = [
            distributed.DistributedRunner(CPU, self.store, rank, size, heartbeat_timeout=silence)
            for rank in range(size)
        ]
        self.bar = tqdm(file=io.StringIO())
        self.trained, self.written, self.message = [], [], None

    def train(self, run, count):
        *_, path = run
        self.trained.append(path.name)
        time.sleep(0.01)
        count(10)
        if path.stem in self.fails:
            raise Diverged("the training loss is nan")
        yield RECORD

    def on_disk(self, path):
        assert path.exists(), "the checkpoint would go before the record is there"
        self.written.append(path.name)

    def start(self, rank):
        bar = tqdm(disable=True)
        work = self.teams[rank].work
        return Bounded(work, self.runs, self.train, self.on_disk, bar)

    def play(self, *others):
        """Let rank 0 work, and ``others`` beside it, to the end."""
        threads = [self.start(rank) for rank in others]
        try:
            work = self.teams[0].work
            Bounded(work, self.runs, self.train, self.on_disk, self.bar).join()
        except RuntimeError as error:
            self.message = str(error)
        for thread in threads:
            thread.join()


class Bounded:
    """A call in a thread that is waited for, but not for ever."""

    def __init__(self, call, *args):
        self.error = None

        def run():
            try:
                call(*args)
            except BaseException as error:
                self.error = error

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def join(self):
        """Wait for the call's end; raise what it raised."""
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive(), f"still at work after {PATIENCE} s"
        if self.error is not None:
            raise self.error


def until(true):
    """Wait until something is true, but not for ever."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, f"not true after {PATIENCE} s"
        time.sleep(0.01)


def names(folder):
    return sorted(path.name for path in folder.glob("*.json"))


def test_every_run_is_trained_once_and_recorded_once(tmp_path):
    game = Game(tmp_path, runs=12, size=4)
    game.play(1, 2, 3)
    assert sorted(game.trained) == sorted(game.written) == names(tmp_path)
    assert len(names(tmp_path)) == 12
    assert game.message is None
    assert game.bar.n == 120, "the bar counts the updates of all ranks"


def test_a_run_that_fails_is_named_when_the_others_are_done(tmp_path):
    game = Game(tmp_path, runs=6, size=2, fails=("run-1", "run-4"))
    game.play(1)
    assert names(tmp_path) == [f"run-{n}.json" for n in (0, 2, 3, 5)]
    assert sorted(game.written) == names(tmp_path), "the checkpoint of a failed run stays"
    assert "2 of 6 runs have no record yet" in game.message
    for name in ("run-1", "run-4"):
        assert f"{name}: the training loss is nan" in game.message


def test_a_process_alone_trains_the_others_where_a_run_fails(tmp_path):
    game = Game(tmp_path, runs=4, size=1, fails=("run-2",))
    with pytest.raises(RuntimeError, match=r"1 of 4 runs .*\n  run-2: the training loss is nan"):
        distributed.SingleProcess(CPU).work(game.runs, game.train, game.on_disk, game.bar)
    assert names(tmp_path) == [f"run-{n}.json" for n in (0, 1, 3)]
    assert sorted(game.written) == names(tmp_path)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError("No space left on device")])
def test_a_process_alone_stops_at_once_where_no_run_is_at_fault(tmp_path, error):
    game = Game(tmp_path, runs=3, size=1)

    def train(run, count):
        game.trained.append(run)
        raise error
        yield

    with pytest.raises(error if isinstance(error, type) else OSError):
        distributed.SingleProcess(CPU).work(game.runs, train, game.on_disk, game.bar)
    assert len(game.trained) == 1


def test_a_rank_that_falls_silent_is_given_up_and_its_run_named(tmp_path):
    game = Game(tmp_path, runs=4, size=2, silence=0.3)
    game.store.add("taken", 1)  # rank 1 takes the first run, and is never heard of again
    game.play()
    assert names(tmp_path) == [f"run-{n}.json" for n in (1, 2, 3)]
    assert "1 of 4 runs have no record yet" in game.message
    assert "run-0: its rank was lost" in game.message


def test_a_rank_keeps_its_checkpoint_until_rank_0_has_written(tmp_path):
    game = Game(tmp_path, runs=1, size=2)
    other = game.start(1)
    until(lambda: game.store.check(["message/1/0"]))
    time.sleep(3 * distributed.HEARTBEAT_S / 10)  # it looks for an answer, and there is none
    assert game.trained == ["run-0.json"]
    assert not game.written
    game.play()
    other.join()
    assert game.written == ["run-0.json"]


def test_a_record_that_does_not_fit_is_the_fault_of_its_run_alone(tmp_path):
    game = Game(tmp_path, runs=2, size=2)

    def train(run, count):
        yield RECORD | ({"seed": -1} if run[2].stem == "run-0" else {})

    game.train = train
    game.play(1)
    assert names(tmp_path) == ["run-1.json"]
    assert re.search("run-0: run-0.json: .*seed does not fit", game.message)


def test_a_rank_that_has_lost_rank_0_ends_in_the_middle_of_its_run(tmp_path, monkeypatch):
    monkeypatch.setattr(distributed, "HEARTBEAT_S", 0.01)
    game, broken = Game(tmp_path, runs=1, size=2), []

    class Gone:
        """The store of rank 0, and from some time on a connection that is lost."""

        def __getattr__(self, name):
            if broken:
                raise dist.DistNetworkError("connection reset by peer")
            return getattr(game.store, name)

    game.teams[1].store = Gone()

    def endless(run, count):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            count(1)
            broken.append(True)
            time.sleep(0.01)
        yield RECORD

    game.train = endless
    with pytest.raises(RuntimeError, match=r"rank 1 can no longer reach rank 0.*goes on from the"):
        game.start(1).join()
    assert len(broken) < 1000, "it trained to the end of the run"


@pytest.mark.parametrize("ends", [True, False], ids=["by itself", "not by itself"])
def test_a_rank_whose_launcher_is_gone_is_told_to_end_and_then_ended(monkeypatch, capsys, ends):
    parents, done = iter([7, 7, 1]), []
    monkeypatch.setattr(distributed.os, "getppid", lambda: next(parents))
    monkeypatch.setattr(distributed.os, "kill", lambda *what: done.append(what))
    monkeypatch.setattr(distributed.os, "_exit", done.append)
    monkeypatch.setattr(distributed.time, "sleep", done.append)
    monkeypatch.setenv("RANK", "3")
    distributed._wait_for_launcher(7)
    assert done == [distributed.HEARTBEAT_S] * 2 + [
        (os.getpid(), signal.SIGTERM),
        distributed.GRACE_S,
        1,
    ]
    assert 2 * distributed.HEARTBEAT_S + distributed.GRACE_S < 10
    assert "rank 3: the launcher is gone. Checkpoints are kept" in capsys.readouterr().err


@pytest.mark.parametrize("variables", [{}, {"WORLD_SIZE": "1"}, {"RANK": "1", "WORLD_SIZE": "2"}])
def test_a_process_that_no_launcher_has_started_is_alone(monkeypatch, variables):
    # Some clusters set a few of these for every process.
    complete = {"RANK": "0", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    if variables.get("WORLD_SIZE") == "1":
        variables = complete | variables
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert isinstance(distributed.join(CPU), distributed.SingleProcess)
