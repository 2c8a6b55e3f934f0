"""The loop: where it measures, what it keeps, how it goes on after a break."""

import math
import os
import signal
import subprocess
import sys
import time

import pytest
import torch

from lnlib import data
from lnlib.replay import record
from lnlib.replay.mnist import Replay, Settings
from lnlib.replay.train import Diverged, measuring_points, resolve_device, train

SMALL = {"batch_size": 16, "data": "digits", "hidden": (24,)}


@pytest.fixture(scope="module")
def digits():
    return data.load("digits")


def without_time(points):
    # batch_nll is NaN before the first update, and NaN is not equal to itself.
    return [
        {k: None if v != v else v for k, v in point.items() if k != "wall_s"} for point in points
    ]


def run(digits, *, epochs=3, checkpoint=None, norm="batch", seed=0, **settings):
    chosen = Settings(norm=norm, epochs=epochs, **(SMALL | settings))
    replay = Replay(chosen, digits, seed=seed)
    return train(replay, epochs=epochs, first_epoch_points=4, checkpoint=checkpoint)


def test_measuring_points_are_dense_at_the_start_and_end_with_the_epoch():
    points = measuring_points(13_750, 20)
    assert points[0] == round(13_750 / 400)
    assert points[-1] == 13_750
    assert len(points) == 20
    assert points == sorted(set(points))


def test_measuring_points_of_a_tiny_epoch_fall_together():
    assert measuring_points(3, 20) == [1, 2, 3]


def test_points_run_from_the_start_to_the_last_epoch(digits):
    epochs = [p["epoch"] for p in run(digits)]
    assert epochs[0] == 0
    assert epochs[-3:] == [1, 2, 3]
    assert len(epochs) == 1 + 4 + 2


def test_batch_nll_is_the_mean_loss_since_the_last_point(digits):
    chosen = Settings(norm="none", epochs=1, **SMALL)
    replay, seen = Replay(chosen, digits), []
    loss = replay.loss

    def spy(batch):
        seen.append(loss(batch))
        return seen[-1]

    replay.loss = spy
    points = list(train(replay, epochs=1, first_epoch_points=1))
    assert points[1]["batch_nll"] == pytest.approx(torch.stack(seen).double().mean().item())


def test_one_seed_gives_one_curve_and_another_seed_another(digits):
    assert without_time(run(digits)) == without_time(run(digits))
    assert without_time(run(digits)) != without_time(run(digits, seed=1))


@pytest.mark.parametrize("norm", ["none", "batch", "layer", "weight"])
@pytest.mark.parametrize("stop_after", [2, 5, 6])  # within epoch 1, after epoch 1, after epoch 2
def test_a_run_broken_off_goes_on_to_the_identical_curve(digits, tmp_path, norm, stop_after):
    whole = without_time(run(digits, norm=norm))
    file = tmp_path / "run.pt"
    broken = run(digits, norm=norm, checkpoint=file)
    for _ in range(stop_after):
        next(broken)
    broken.close()
    assert without_time(run(digits, norm=norm, checkpoint=file)) == whole


def test_a_finished_run_can_be_lengthened(digits, tmp_path):
    file = tmp_path / "run.pt"
    list(run(digits, epochs=1, checkpoint=file))
    assert without_time(run(digits, epochs=3, checkpoint=file)) == without_time(run(digits))


def test_wall_time_adds_up_over_a_break(digits, tmp_path):
    file = tmp_path / "run.pt"
    spent = list(run(digits, epochs=1, checkpoint=file))[-1]["wall_s"]
    times = [p["wall_s"] for p in run(digits, epochs=2, checkpoint=file)]
    assert times == sorted(times)
    assert times[-1] > spent


def test_a_checkpoint_of_other_settings_is_refused(digits, tmp_path):
    list(run(digits, epochs=1, checkpoint=tmp_path / "run.pt"))
    with pytest.raises(ValueError, match="belongs to other settings"):
        next(run(digits, checkpoint=tmp_path / "run.pt", learning_rate=0.01))


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", b"PK\x03\x04 torn"])
def test_a_damaged_checkpoint_says_what_to_do(digits, tmp_path, content):
    file = tmp_path / "run.pt"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"cannot be read .* delete it to start this run over"):
        next(run(digits, checkpoint=file))


def test_a_loss_that_is_not_finite_stops_the_run(digits):
    with pytest.raises(Diverged, match="a smaller learning rate is the likely cure"):
        list(run(digits, norm="none", learning_rate=1e20))


def test_on_update_counts_every_update_once(digits, tmp_path):
    chosen = Settings(norm="layer", epochs=2, **SMALL)
    file, counted = tmp_path / "run.pt", []
    for epochs in (1, 2):
        counted.append(0)

        def add(n):
            counted[-1] += n

        replay = Replay(chosen, digits)
        list(train(replay, epochs=epochs, checkpoint=file, on_update=add))
    per_epoch = replay.updates_per_epoch
    # The second call counts the first epoch as done, so that a bar over both starts half full.
    assert counted == [per_epoch, 2 * per_epoch]


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_asking_for_a_gpu_that_is_not_there_says_so():
    with pytest.raises(ValueError, match="PyTorch sees no GPU"):
        resolve_device("cuda")


def test_an_unknown_device_is_refused():
    with pytest.raises(ValueError, match="device must be auto, cpu, cuda"):
        resolve_device("gpu please")


def command(out, *more):
    flags = ["--norm", "layer", "--batch-size", "4", "--epochs", "3", "--seeds", "0", *more]
    start = [sys.executable, "-m", "lnlib", "replay", "mnist", "--data", "digits", "--threads", "1"]
    return [*start, *flags, "--out", str(out)]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["kill", "ctrl-c"])
def test_the_command_broken_off_by_a_signal_ends_in_the_record_of_an_unbroken_run(tmp_path, how):
    long = ["--epochs", "40"]  # so that the signal arrives before the end
    subprocess.run(command(tmp_path / "whole", *long), check=True, capture_output=True)
    broken = tmp_path / "broken"
    process = subprocess.Popen(
        command(broken, *long), stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    deadline = time.monotonic() + 120
    while not list(broken.glob(".checkpoints/*.pt")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(how)
    _, said = process.communicate(timeout=60)
    assert not list(broken.glob("*.json")), "it ended before it was broken off"
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert b"the same command goes on from there" in said
    subprocess.run(command(broken, *long), check=True, capture_output=True)
    (name,) = [p.name for p in (tmp_path / "whole").glob("*.json")]
    whole, resumed = (record.read(tmp_path / where / name) for where in ("whole", "broken"))
    for kept in (whole, resumed):
        del kept["curves"]["wall_s"], kept["provenance"]
    assert whole == resumed
    assert not list(broken.glob(".checkpoints/*")), "a checkpoint was left behind"


def test_a_recorded_run_is_not_run_again(tmp_path):
    subprocess.run(command(tmp_path), check=True, capture_output=True)
    (path,) = tmp_path.glob("*.json")
    before = path.read_bytes(), os.stat(path).st_mtime_ns
    done = subprocess.run(command(tmp_path), check=True, capture_output=True, text=True)
    assert "1 of 1 runs are recorded already" in done.stdout
    assert (path.read_bytes(), os.stat(path).st_mtime_ns) == before


def test_a_record_of_other_settings_is_not_overwritten(tmp_path):
    subprocess.run(command(tmp_path), check=True, capture_output=True)
    more = [*command(tmp_path), "--epochs", "4"]
    done = subprocess.run(more, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "recorded with other settings" in done.stderr
    assert "add --again to replace it" in done.stderr
    assert math.isclose(record.read(next(tmp_path.glob("*.json")))["settings"]["epochs"], 3)
