"""Many runs: which are repeated, the progress bar and the first message, and signals."""

import datetime
import itertools
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import torch

import lnlib
from lnlab import checkpoint, parallel, records, runner, training
from lnlab.cli import main
from lnlab.experiments.mnist import run as mnist
from lnlab.experiments.mnist.run import Settings
from lnlab.progress import Progress
from lnlab.runner import record_runs
from tests.cases.points import read_without_time

SMALL = {"batch_size": 16, "data": "digits", "hidden": (24,)}


def test_records_contain_date_device_and_duration(tmp_path, monkeypatch):
    """Each call of the clock takes 100 s, so that no two points have the same time."""
    clock = itertools.count(0, 100)
    monkeypatch.setattr(training.time, "perf_counter", lambda: float(next(clock)))
    before = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    chosen = [Settings(norm="none", epochs=1, **SMALL)]
    (path,) = record_runs(mnist.EXPERIMENT, chosen, [0], out=tmp_path, device="cpu", step="plain")
    record = records.read(path)
    made, seconds = record["provenance"], record["curves"]["wall_s"]
    assert len(set(seconds)) == len(seconds) == len(record["curves"]["epoch"])
    assert made["wall_s"] == seconds[-1] == max(seconds)
    date = datetime.datetime.fromisoformat(made["date"])
    assert before <= date <= datetime.datetime.now(datetime.UTC)
    assert (made["lnlib"], made["torch"]) == (lnlib.__version__, torch.__version__)
    assert made["threads"] == torch.get_num_threads()
    assert made["device"].startswith("CPU: ")
    assert record["data"]["cases"] == {"train": 1437, "test": 360}


class Bar(Progress):
    """A progress bar that remembers its arguments."""

    def __init__(self, **options):
        super().__init__(**options)
        self.skipped, self.messages, Bar.last = 0, [], self

    def skip(self, n):
        super().skip(n)
        self.skipped += n

    def set_description(self, text):
        self.messages.append(text)


def test_runs_of_another_command_are_awaited_and_not_repeated(tmp_path, monkeypatch):
    chosen = [Settings(norm=norm, epochs=1, **SMALL) for norm in ("none", "layer")]
    options = {"device": "cpu", "step": "plain"}
    other = record_runs(mnist.EXPERIMENT, chosen[:1], [0], out=tmp_path / "other", **options)
    record = records.read(other[0])
    record["curves"]["wall_s"][0] = 1e6  # unlike any run here
    first = tmp_path / "mnist" / other[0].name
    live = checkpoint.path_of(first).with_name(f"{first.stem}.pt.{os.getppid()}.part")
    monkeypatch.setattr(runner, "Progress", Bar)
    Bar.last = None
    second = threading.Thread(
        target=record_runs,
        args=(mnist.EXPERIMENT, chosen, [0]),
        kwargs={"out": tmp_path, **options},
        daemon=True,
    )
    with checkpoint.acquire_lock(first, print):
        live.write_bytes(b"what it is writing")
        second.start()
        deadline = time.monotonic() + 60
        while not (Bar.last and Bar.last.messages):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert Bar.last.messages == [f"waiting for another command that trains {first.stem}"]
        records.write(record, first)
    second.join(60)
    assert not second.is_alive()
    assert records.read(first)["curves"]["wall_s"][0] == 1e6
    assert len(list(tmp_path.glob("mnist/*.json"))) == 2
    assert list(live.parent.iterdir()) == [live], "a checkpoint or a lock is left"
    assert Bar.last.n == Bar.last.total
    # Updates of the other command are not in the rate, and neither is the first update of a run.
    assert Bar.last.skipped == 1437 // 16 + 1


def test_several_processes_start_with_the_longest_runs(tmp_path, monkeypatch):
    begun = []
    monkeypatch.setattr(parallel, "run_all", lambda function, calls, **_: begun.extend(calls) or ())
    monkeypatch.setattr(runner, "Progress", Bar)
    chosen = [Settings(norm=n, epochs=e, **SMALL) for n, e in (("none", 1), ("layer", 3))]
    record_runs(mnist.EXPERIMENT, chosen, [0, 1], out=tmp_path, device="cpu", jobs=2)
    assert [settings.epochs for *_, settings, _, _ in begun] == [3, 3, 1, 1]
    # 1,437 examples, 16 at a time, without the last, smaller batch; two seeds.
    assert Bar.last.total == 2 * (1 + 3) * (1437 // 16)


def command(out, *more):
    flags = ["--norm", "layer", "--batch-size", "16", "--hidden", "24", "--epochs", "3"]
    flags += ["--seeds", "0", "--data", "digits", "--threads", "1", *more]
    return ["replay", "mnist", *flags, "--out", str(out)]


# If there is a checkpoint, a measurement takes some time, so that a signal interrupts a run without
# using the CPU.
SLOW = """
import sys, time
from pathlib import Path
from lnlab.cli import main
from lnlab.experiments.mnist import run as mnist

measure = mnist.MNISTRun.measure

def slow(self):
    time.sleep(10 * any(Path(sys.argv[-1]).glob("*/.checkpoints/*.pt")))
    return measure(self)

mnist.MNISTRun.measure = slow
raise SystemExit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """The record of a command that is not interrupted."""
    out = tmp_path_factory.mktemp("unbroken")
    assert main(command(out)) == 0
    return comparable(out)


def comparable(out):
    (path,) = out.glob("*/*.json")
    return path.name, read_without_time(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1], ids=lambda how: how.name
)
def test_interrupted_commands_can_be_resumed_to_the_same_record(tmp_path, unbroken, how):
    script, broken = tmp_path / "slow.py", tmp_path / "broken"
    script.write_text(SLOW)
    # The process that started the tests can ignore Ctrl-C, and child processes inherit that.
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [sys.executable, script, *command(broken)], stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    signal.signal(signal.SIGINT, heard)
    deadline = time.monotonic() + 120
    while not list(broken.glob("*/.checkpoints/*.pt")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(how)
    _, text = process.communicate(timeout=60)
    assert not list(broken.glob("*/*.json")), "it ended before it was broken off"
    if how == signal.SIGKILL:
        assert process.returncode == -how
    else:
        assert process.returncode == 128 + how
        assert b"run the same command to resume" in text
    assert main(command(broken)) == 0
    assert comparable(broken) == unbroken
    assert not list(broken.glob("*/.checkpoints/*")), "a checkpoint was left behind"


def test_records_of_other_settings_are_not_overwritten(tmp_path, capsys):
    assert main(command(tmp_path)) == 0
    (path,) = tmp_path.glob("*/*.json")
    before = path.read_bytes()
    assert main(command(tmp_path, "--epochs", "4")) == 1
    text = capsys.readouterr().err
    assert "recorded with other settings" in text
    assert "add --again to replace it" in text
    assert path.read_bytes() == before
