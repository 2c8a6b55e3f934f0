"""The training loop: measuring points, checkpoints, and resuming."""

import dataclasses
import errno
import io
import math
import os
import random

import pytest
import torch

from lnlab import checkpoint, training
from lnlab.experiments.mnist.run import MNISTRun, Settings
from lnlab.training import BadCheckpoint, train
from tests.cases.points import without_time

SMALL = {"batch_size": 64, "data": "digits", "hidden": (8,)}


def run(digits, *, epochs=3, checkpoint=None, again=False, norm="batch", seed=0, **settings):
    chosen = Settings(norm=norm, epochs=epochs, **(SMALL | settings))
    replay = MNISTRun(chosen, digits, seed=seed)
    return train(replay, epochs=epochs, first_epoch_points=4, checkpoint=checkpoint, again=again)


def test_checkpoints_past_the_end_give_the_requested_points(digits, tmp_path):
    file = tmp_path / "run.pt"
    list(run(digits, epochs=3, checkpoint=file))
    assert without_time(run(digits, epochs=2, checkpoint=file)) == without_time(
        run(digits, epochs=2)
    )


class Ends(MNISTRun):
    """Measures one quantity only at the end."""

    measures_at_end, optional_measures = True, ("test_nll",)

    def measure(self):
        result = super().measure()
        return result | ({} if self.at_end else {"test_nll": math.nan})


def ends(digits, epochs, checkpoint=None, again=False):
    replay = Ends(Settings(norm="batch", epochs=epochs, **SMALL), digits)
    return without_time(
        train(replay, epochs=epochs, first_epoch_points=2, checkpoint=checkpoint, again=again)
    )


@pytest.mark.parametrize(("saved_points", "epochs"), [(1, 1), (1, 3), (2, 3), (3, 1), (3, 2)])
def test_end_measures_are_only_taken_at_the_end(digits, tmp_path, capsys, saved_points, epochs):
    whole, file = ends(digits, epochs), tmp_path / "run.pt"
    assert [point["test_nll"] is None for point in whole] == [True] * (len(whole) - 1) + [False]
    ends(digits, saved_points, file)
    if saved_points > epochs:
        before = file.read_bytes()
        says = (
            rf"run.pt is at epoch {saved_points}, past --epochs {epochs},.*; add --again to start"
        )
        with pytest.raises(BadCheckpoint, match=says):
            ends(digits, epochs, file)
        assert file.read_bytes() == before
        assert ends(digits, epochs, file, again=True) == whole
        assert "this run starts over" in capsys.readouterr().err
    assert ends(digits, epochs, file) == whole


@pytest.mark.parametrize("breaks", [(3, 7), (3, 5, 17), (23, 30)])
def test_training_time_is_counted_once_despite_interruptions(digits, tmp_path, monkeypatch, breaks):
    """Each update takes a second, and each process has its own clock."""
    monkeypatch.setattr(training, "CHECKPOINT_S", 0)  # a checkpoint after each update
    file, clock, taken = tmp_path / "run.pt", [0.0], [0]

    def work(until):
        clock[0] = 1000.0 * until

        def update(count):
            taken[0] += count
            clock[0] += count
            if taken[0] > until:
                raise KeyboardInterrupt  # before the checkpoint, so that the update is repeated

        replay = MNISTRun(Settings(norm="none", epochs=2, **SMALL), digits, step="plain")
        taken[0] = 0
        return list(
            train(
                replay, epochs=2, first_epoch_points=4, checkpoint=file, on_update=update,
                on_resume=lambda count: taken.__setitem__(0, count),
            )
        )  # fmt: skip

    monkeypatch.setattr(training.time, "perf_counter", lambda: clock[0])
    for at in breaks:
        with pytest.raises(KeyboardInterrupt):
            work(at)
    points = work(10**6)
    per_epoch = taken[0] // 2
    assert [p["wall_s"] for p in points] == [round(p["epoch"] * per_epoch) for p in points]


@pytest.fixture(scope="module")
def saved(digits, tmp_path_factory):
    """A small checkpoint after one epoch, and its points."""
    file = tmp_path_factory.mktemp("saved") / "run.pt"
    points = without_time(tiny(digits, file, epochs=1))
    return file.read_bytes(), points


TINY = Settings(norm="batch", **SMALL | {"hidden": (4,), "batch_size": 128})
GONE = object()


def tiny(digits, file, **more):
    return run(digits, checkpoint=file, **({"hidden": (4,), "batch_size": 128} | more))


def refuse(digits, file, says, **more):
    """Check that the file is rejected with one sentence, and that ``again`` starts over."""
    with pytest.raises(BadCheckpoint, match=says) as raised:
        next(tiny(digits, file, **more))
    text = str(raised.value)
    assert text.startswith(f"the checkpoint {file} ")
    assert text.endswith("; add --again to start this run over")
    assert "\n" not in text


def assert_again_starts_over(digits, file, capsys, **more):
    expected = without_time(tiny(digits, None, **more))
    assert without_time(tiny(digits, file, again=True, **more)) == expected
    assert f"the checkpoint {file} " in capsys.readouterr().err
    assert without_time(tiny(digits, file, **more)) == expected, "the new one is not good"


def test_flipped_bits_in_a_checkpoint_are_detected(digits, tmp_path, saved):
    file, (content, _) = tmp_path / "run.pt", saved
    replay = MNISTRun(TINY, digits)
    rng = random.Random(0)
    # In the header, and anywhere.
    bits = [8 * k + rng.randrange(8) for k in range(0, 110, 4)]
    bits += [rng.randrange(8 * len(content)) for _ in range(72)]
    for bit in bits:
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        file.write_bytes(flipped)
        with pytest.raises(BadCheckpoint, match="its checksum does not match"):
            checkpoint.load(file, replay, 3)
    file.write_bytes(content)
    assert checkpoint.load(file, replay, 3).epochs == 1


OLD = io.BytesIO()
torch.save({"settings": {}, "model": {}}, OLD)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\x1b[2J" * 100, "is damaged or not a checkpoint"),
        (OLD.getvalue(), "is of an older lnlib, without a checksum"),
    ],
    ids=["foreign", "old"],
)
def test_invalid_checkpoints_raise_an_error(digits, tmp_path, capsys, content, says):
    file = tmp_path / "run.pt"
    file.write_bytes(content)
    refuse(digits, file, says)
    broken = tiny(digits, file, again=True)
    next(broken)
    broken.close()
    assert not file.exists(), "the next call would meet it once more"
    file.write_bytes(content)
    assert_again_starts_over(digits, file, capsys, epochs=1)


def changed(content, change):
    """A checkpoint with changed content and a matching checksum."""
    state = torch.load(io.BytesIO(content[len(checkpoint.HEADER % bytes(64)) :]), weights_only=True)
    state = change(state) or state
    out = io.BytesIO()
    torch.save(state, out)
    return checkpoint.with_checksum(out.getvalue())


def put(value, *path):
    """A change of the state: a part has another value, or is missing if ``value`` is ``GONE``."""

    def change(state):
        *parents, last = path
        for key in parents:
            state = state[key]
        state[last] = value
        if value is GONE:
            del state[last]

    return change


def measured_at(epoch, done=1):
    def change(state):
        state["done"] = done
        for point in state["points"]:
            point["epoch"] = epoch

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        *(
            (put(GONE, part), f"its part '{part}' is missing")
            for part in ("model", "optimizer", "points", "done", "wall_s")
        ),
        *(
            (put(GONE, part), f"other settings: {part} None")
            for part in ("settings", "seed", "step")
        ),
        (put("1", "done"), "its part 'done' does not fit"),
        (put([], "points"), "its part 'points' does not fit"),
        (put(GONE, "points", 0, "epoch"), "its part 'points' does not fit"),
        (put("low", "points", 1, "test_nll"), "its part 'points' does not fit"),
        (put(GONE, "model", "0.weight"), "its part 'model' does not fit"),
        (put(torch.zeros(4).double(), "model", "1.running_var"), "'model' does not fit"),
        (put({}, "optimizer"), "its part 'optimizer' does not fit"),
        (put(torch.zeros(3), "optimizer", 0, "exp_avg"), "its part 'optimizer' does not fit"),
        (put(torch.zeros(1), "optimizer", 0, "step"), "its part 'optimizer' does not fit"),
        (lambda _: [1, 2], "it holds a list, not the parts of a run"),
        (put({"a": 1}, "state"), "its part 'state' does not fit"),
        (put([], "state"), "its part 'state' does not fit"),
        (put(1.0, "updates"), "its part 'updates' does not fit"),
        # Valid types with impossible values: an epoch has 11 updates.
        (put(99, "done"), "cannot be at epoch 99, update 0, when it was measured 5 times, last"),
        (put(11, "updates"), "cannot be at epoch 1, update 11"),
        (put(3, "updates"), "cannot be at epoch 1, update 3"),  # without a loss
        (put(3, "loss_count"), "cannot be at epoch 1, update 0"),
        (put(math.nan, "loss_sum"), "its loss is nan"),
        (put(0.9, "points", 4, "epoch"), "was measured 5 times, last at epoch 0.9"),
        (put(math.nan, "points", 1, "epoch"), "cannot be at epoch 1"),
        (measured_at(math.inf, done=0), "cannot be at epoch 0"),
        (put(0.0, "wall_s"), "cannot have taken 0.0 s"),
        (put(-1.0, "points", 0, "wall_s"), "cannot have taken"),
    ],
)
def test_incomplete_checkpoints_raise_an_error(digits, tmp_path, saved, change, says):
    (tmp_path / "run.pt").write_bytes(changed(saved[0], change))
    refuse(digits, tmp_path / "run.pt", says)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"momentum": 0.3}, "other settings: settings .*'momentum': 0.1"),
        ({"seed": 1}, "other settings: seed 0, not 1"),
    ],
)
def test_checkpoints_of_other_runs_raise_an_error(digits, tmp_path, saved, capsys, other, says):
    file = tmp_path / "run.pt"
    file.write_bytes(saved[0])
    refuse(digits, file, says, **other)
    assert_again_starts_over(digits, file, capsys, epochs=1, **other)


def test_valid_checkpoints_are_resumed_also_with_again(digits, tmp_path, saved):
    # An interrupted repetition is resumed, not started again.
    (tmp_path / "run.pt").write_bytes(changed(saved[0], put(0.125, "points", 0, "test_nll")))
    first = next(tiny(digits, tmp_path / "run.pt", again=True))
    assert first["test_nll"] == 0.125


def test_hyperparameters_come_from_settings_not_from_the_checkpoint(digits, tmp_path, saved):
    (tmp_path / "run.pt").write_bytes(saved[0])
    replay = MNISTRun(TINY, digits)
    replay.optimizer.param_groups[0]["lr"] = 0.5
    next(train(replay, epochs=2, checkpoint=tmp_path / "run.pt"))
    assert replay.optimizer.param_groups[0]["lr"] == 0.5
    assert replay.optimizer.state_dict()["state"][0]["step"] == replay.updates_per_epoch


@pytest.mark.parametrize("more", [{"seed": 1}, {"learning_rate": 0.5}, {}])
def test_progress_is_only_read_from_valid_checkpoints_of_the_run(tmp_path, saved, more):
    path, seed = tmp_path / "run.json", more.pop("seed", 0)
    own = seed == 0 and not more
    chosen = dataclasses.replace(TINY, epochs=9, **more)
    assert checkpoint.progress(chosen, seed, path) == (0, 0)
    saved_points = checkpoint.path_of(path)
    saved_points.parent.mkdir()
    saved_points.write_bytes(saved[0])
    assert checkpoint.progress(chosen, seed, path) == (1 if own else 0, 0)
    saved_points.write_bytes(saved[0][:-1] + b"\1")
    assert checkpoint.progress(chosen, seed, path) == (0, 0)


def test_measures_without_a_unit_raise_an_error(digits, monkeypatch):
    measure = MNISTRun.measure
    monkeypatch.setattr(MNISTRun, "measure", lambda self: measure(self) | {"luck": 1.0})
    with pytest.raises(TypeError, match=r"mnist: measurements must be among .* got luck"):
        next(tiny(digits, None))


def test_a_full_disk_keeps_the_old_checkpoint_and_raises_an_error(
    digits, tmp_path, saved, monkeypatch
):
    file = tmp_path / "run.pt"
    file.write_bytes(saved[0])

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    size = f"{len(saved[0]):,}"[:-4]  # up to a few hundred bytes
    with pytest.raises(OSError, match=rf"cannot write {file}: .*{size},\d+ bytes are needed"):
        list(tiny(digits, file))
    assert file.read_bytes() == saved[0]
    assert list(tmp_path.iterdir()) == [file]


def test_every_update_is_counted_once_as_taken_or_as_resumed(digits, tmp_path):
    file, counted = tmp_path / "run.pt", []
    for epochs in (1, 2, 2, 1):  # the last time, the checkpoint is past the requested end
        taken, resumed = [], []
        replay = MNISTRun(TINY, digits)
        given = {"epochs": epochs, "checkpoint": file, "on_update": taken.append}
        list(train(replay, **given, on_resume=resumed.append))
        counted.append((sum(taken), sum(resumed)))
    n = replay.updates_per_epoch
    assert counted == [(n, 0), (n, n), (0, 2 * n), (0, n)]
