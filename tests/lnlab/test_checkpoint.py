"""Which checkpoints are removed, and which are resumed."""

import errno
import fcntl
import os
import shutil

import pytest

from lnlab import checkpoint, records
from lnlab.experiments.mnist import run as mnist
from lnlab.experiments.mnist.run import Settings
from lnlab.runner import record_runs
from tests.cases.points import read_without_time

SMALL = {"batch_size": 128, "data": "digits", "hidden": (4,)}
OLD, NEW = 1, 4e9  # file times: long ago, and in the future


def runs(out, epochs, **more):
    """Record one run and return its path."""
    chosen = [Settings(norm="none", epochs=epochs, **SMALL)]
    (path,) = record_runs(mnist.EXPERIMENT, chosen, [0], out=out, device="cpu", **more)
    return path


@pytest.fixture
def interrupt(monkeypatch):
    """Interrupt the next runs at the start of an epoch, or not at all; list the epochs."""
    advance, trained = mnist.MNISTRun.advance, []

    def to(epoch):
        def advance_until(self, now, *more):
            if now == epoch:
                raise KeyboardInterrupt
            trained.append(now)
            return advance(self, now, *more)

        trained.clear()
        monkeypatch.setattr(mnist.MNISTRun, "advance", advance_until)
        return trained

    return to


def set_times(folder, **seconds):
    for suffix, time in seconds.items():
        for path in folder.rglob(f"*.{suffix}"):
            os.utime(path, (time, time))


TIMES = pytest.mark.parametrize("times", [{"json": OLD, "pt": NEW}, {"json": NEW, "pt": OLD}])


@TIMES
def test_checkpoints_of_longer_runs_are_kept_for_any_file_times(tmp_path, interrupt, times):
    unbroken = read_without_time(runs(tmp_path / "unbroken", 3))
    runs(tmp_path / "out", 1)
    interrupt(2)
    with pytest.raises(KeyboardInterrupt):
        runs(tmp_path / "out", 3, again=True)
    shutil.copytree(tmp_path / "out", tmp_path / "copy")
    set_times(tmp_path / "copy", **times)
    trained = interrupt(None)
    runs(tmp_path / "copy", 1)  # is recorded
    assert trained == []
    assert read_without_time(runs(tmp_path / "copy", 3, again=True)) == unbroken
    assert trained == [2]


@TIMES
@pytest.mark.parametrize("epochs", [1, 3], ids=["of a part", "of all"])
def test_recorded_checkpoints_are_removed_with_a_message(
    tmp_path, monkeypatch, capsys, times, epochs
):
    # The state after a process was killed between writing the record and removing the checkpoint.
    saved, save = [], checkpoint.save
    monkeypatch.setattr(
        checkpoint, "save", lambda *args: save(*args) or saved.append(args[0].read_bytes())
    )
    path = runs(tmp_path, 3)
    checkpoint.path_of(path).write_bytes(saved[epochs - 1])
    set_times(tmp_path, **times)
    capsys.readouterr()
    runs(tmp_path, 3)
    text = capsys.readouterr().out
    assert text.startswith(f"{path.stem}: removed its checkpoint")
    assert "1 of 1 runs are recorded already" in text
    assert not checkpoint.path_of(path).exists()


def test_unreadable_checkpoints_are_not_removed(tmp_path):
    left = checkpoint.path_of(runs(tmp_path, 1))
    left.write_bytes(b"of whatever")
    os.utime(left, (OLD, OLD))
    runs(tmp_path, 1)
    assert left.read_bytes() == b"of whatever"


@pytest.mark.parametrize("at", [(1, 0), (1, 4), (3, 0)], ids="interrupted at {0[0]}, {0[1]}".format)
def test_a_record_lists_the_conditions_under_which_its_parts_were_trained(
    tmp_path, monkeypatch, at
):
    monkeypatch.setattr("lnlab.training.CHECKPOINT_S", 0)
    now, made, save = {"threads": 1}, records.conditions, checkpoint.save
    monkeypatch.setattr(records, "conditions", lambda device: made(device) | now)
    per_epoch = []

    def killed(path, run, progress):
        save(path, run, progress)
        if (progress.epochs, progress.updates) == at:
            per_epoch.append(run.updates_per_epoch)
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        runs(tmp_path, 3, step="plain")
    monkeypatch.setattr(checkpoint, "save", save)
    now |= {"threads": 7, "torch": "9.9", "device": "GPU: another"}
    result = records.read(runs(tmp_path, 3, step="plain"))["provenance"]
    if at == (3, 0):  # everything was trained under the first conditions
        assert (result["threads"], "segments" in result) == (1, False)
        return
    assert (result["threads"], result["torch"], result["device"]) == (7, "9.9", "GPU: another")
    first, last = result["segments"]
    assert first["epochs"] == pytest.approx(at[0] + at[1] / per_epoch[0])
    assert (first["threads"], last["epochs"]) == (1, 3)
    assert last == {**{name: result[name] for name in last if name != "epochs"}, "epochs": 3}
    assert first["torch"] != "9.9"


def test_without_file_locks_runs_are_trained_with_a_warning(tmp_path, monkeypatch, capsys):
    def none(*_, **__):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(fcntl, "flock", none)
    path = runs(tmp_path, 1)
    assert records.read(path)["curves"]["epoch"][-1] == 1
    folder = checkpoint.path_of(path).parent
    expected = f"the file system of {folder} does not support locks (no locks)"
    assert expected in capsys.readouterr().err


def test_unavailable_locks_raise_an_error_with_advice(tmp_path, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(checkpoint.FileLock, "acquire", refused)
    says = "cannot lock .*seed0.lock: Permission denied; ask its owner to delete it, or .* --out"
    with pytest.raises(OSError, match=says):
        runs(tmp_path, 1)
