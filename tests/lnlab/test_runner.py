"""Many runs: which are repeated, the progress bar, and the first message."""

import datetime
import itertools
import os
import platform
import threading
import time

import torch

import lnlib
from lnlab import checkpoint, records, training
from lnlab.cli import main
from lnlab.experiments.mnist import run as mnist
from lnlab.experiments.mnist.run import Settings
from lnlab.progress import Progress
from lnlab.runner import record_runs

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
    assert record["data"]["name"] == "digits"
    assert record["data"]["cases"] == {"train": 1437, "test": 360}


def test_runs_of_another_command_are_awaited_and_not_repeated(tmp_path, monkeypatch, capsys):
    chosen = [Settings(norm=norm, epochs=1, **SMALL) for norm in ("none", "layer")]
    options = {"device": "cpu", "step": "plain"}
    other = record_runs(mnist.EXPERIMENT, chosen[:1], [0], out=tmp_path / "other", **options)
    record = records.read(other[0])
    record["curves"]["wall_s"][0] = 1e6  # unlike any run here
    first = tmp_path / "mnist" / other[0].name
    live = checkpoint.path_of(first).with_name(f"{first.stem}.pt.{os.getppid()}.part")
    messages = []
    monkeypatch.setattr(Progress, "set_description", lambda bar, text: messages.append(text))
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
        while not messages:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert messages == [f"waiting for another command that trains {first.stem}"]
        records.write(record, first)
        owner = f"process {os.getpid()} on {platform.node()}"
        lock = checkpoint.path_of(first).with_name(f"{first.stem}.lock")
        assert (
            f"{first.stem} is being trained by {owner}, which holds the lock {lock}; if that "
            "process is no longer running, delete the file\n"
        ) in capsys.readouterr().err
    second.join(60)
    assert not second.is_alive()
    assert records.read(first)["curves"]["wall_s"][0] == 1e6
    assert len(list(tmp_path.glob("mnist/*.json"))) == 2
    assert list(live.parent.iterdir()) == [live], "a checkpoint or a lock is left"


def command(out, *more):
    flags = ["--norm", "layer", "--batch-size", "16", "--hidden", "24", "--epochs", "3"]
    flags += ["--seeds", "0", "--data", "digits", "--threads", "1", *more]
    return ["replay", "mnist", *flags, "--out", str(out)]


def test_records_of_other_settings_are_not_overwritten(tmp_path, capsys):
    assert main(command(tmp_path)) == 0
    (path,) = tmp_path.glob("*/*.json")
    before = path.read_bytes()
    assert main(command(tmp_path, "--epochs", "4")) == 1
    text = capsys.readouterr().err
    assert "recorded with other settings" in text
    assert "add --again to replace it" in text
    assert path.read_bytes() == before
