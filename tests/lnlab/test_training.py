"""The training loop: measuring points, checkpoints, and resuming."""

import io
import math
import random

import pytest
import torch

from lnlab import checkpoint
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


@pytest.fixture(scope="module")
def saved(digits, tmp_path_factory):
    """A small checkpoint after one epoch, and its points."""
    file = tmp_path_factory.mktemp("saved") / "run.pt"
    points = without_time(tiny(digits, file, epochs=1))
    return file.read_bytes(), points


TINY = Settings(norm="batch", **SMALL | {"hidden": (4,), "batch_size": 128})


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


def without(*names):
    """A change of the state: a part is missing."""

    def change(state):
        *parents, last = names
        for name in parents:
            state = state[name]
        del state[last]

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (without("model"), "its part 'model' is missing"),
        (without("settings"), "other settings: settings None"),
        (without("model", "0.weight"), "its part 'model' does not fit"),
        (lambda _: [1, 2], "it contains a list, not the parts of a run"),
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


def test_hyperparameters_come_from_settings_not_from_the_checkpoint(digits, tmp_path, saved):
    (tmp_path / "run.pt").write_bytes(saved[0])
    replay = MNISTRun(TINY, digits)
    replay.optimizer.param_groups[0]["lr"] = 0.5
    next(train(replay, epochs=2, checkpoint=tmp_path / "run.pt"))
    assert replay.optimizer.param_groups[0]["lr"] == 0.5
    assert replay.optimizer.state_dict()["state"][0]["step"] == replay.updates_per_epoch
