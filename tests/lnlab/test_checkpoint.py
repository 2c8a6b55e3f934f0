"""Which checkpoints are removed, and which are gone on from."""

import errno
import fcntl
import os
import platform
import shutil
import threading

import pytest

from lnlab import checkpoint, records
from lnlab.datasets import load
from lnlab.experiments.mnist import run as mnist
from lnlab.experiments.mnist.run import Settings
from lnlab.runner import record_runs
from lnlab.training import train
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
    """Let the next runs be interrupted at the start of an epoch, or not at all; list epochs."""
    advance, trained = mnist.Run.advance, []

    def to(epoch):
        def advance_until(self, now, *more):
            if now == epoch:
                raise KeyboardInterrupt
            trained.append(now)
            return advance(self, now, *more)

        trained.clear()
        monkeypatch.setattr(mnist.Run, "advance", advance_until)
        return trained

    return to


def set_times(folder, **seconds):
    for suffix, time in seconds.items():
        for path in folder.rglob(f"*.{suffix}"):
            os.utime(path, (time, time))


TIMES = pytest.mark.parametrize("times", [{"json": OLD, "pt": NEW}, {"json": NEW, "pt": OLD}])


@TIMES
def test_the_checkpoint_of_a_longer_run_survives_a_copy_with_any_file_times(
    tmp_path, interrupt, times
):
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
def test_a_checkpoint_that_the_record_holds_is_removed_with_a_word(
    tmp_path, monkeypatch, capsys, times, epochs
):
    # As a rank leaves it that is killed after the record is written, before it is told so.
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


def test_a_checkpoint_that_cannot_be_read_or_is_of_other_settings_is_not_removed(tmp_path):
    path = runs(tmp_path, 1)
    left = checkpoint.path_of(path)
    other = runs(tmp_path / "other", 2)
    chosen = [Settings(norm="none", epochs=1, **SMALL | {"learning_rate": 0.5})]
    keeps, checkpoint_drop = [], checkpoint.drop
    try:
        checkpoint.drop = lambda *args: keeps.append(checkpoint.path_of(args[2]).read_bytes())
        record_runs(mnist.EXPERIMENT, chosen, [0], out=tmp_path / "more", device="cpu")
    finally:
        checkpoint.drop = checkpoint_drop
    for content in (b"of whatever", *keeps):
        left.write_bytes(content)
        os.utime(left, (OLD, OLD))
        runs(tmp_path, 1)
        assert left.read_bytes() == content
    assert other.exists()


# On what a run was trained.


@pytest.mark.parametrize("again", [1, 2, 3], ids="resumed after epoch {}".format)
def test_a_record_lists_the_conditions_under_which_its_parts_were_trained(
    tmp_path, interrupt, monkeypatch, again
):
    now = {"threads": 1}

    def conditions(device, made=records.conditions):
        return made(device) | now

    monkeypatch.setattr(records, "conditions", conditions)
    save = checkpoint.save

    def killed(path, run, at):
        save(path, run, at)
        if at.epochs == again:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        runs(tmp_path, 3)
    monkeypatch.setattr(checkpoint, "save", save)
    now |= {"threads": 7, "torch": "9.9", "device": "GPU: another"}
    made = records.read(runs(tmp_path, 3))["provenance"]
    if again == 3:  # all was trained under the first
        assert (made["threads"], "segments" in made) == (1, False)
        return
    assert (made["threads"], made["torch"], made["device"]) == (7, "9.9", "GPU: another")
    first, last = made["segments"]
    assert (first["threads"], first["epochs"], last["epochs"]) == (1, again, 3)
    assert last == {**{name: made[name] for name in last if name != "epochs"}, "epochs": 3}
    assert first["torch"] != "9.9"


@pytest.mark.parametrize(("epoch", "updates"), [(1, 4), (1, 10)])
def test_a_part_that_ends_within_an_epoch_ends_where_it_was_broken_off(
    tmp_path, monkeypatch, epoch, updates
):
    monkeypatch.setattr("lnlab.training.CHECKPOINT_S", 0)
    save, per_epoch, now = checkpoint.save, [], {"threads": 1}
    made = records.conditions
    monkeypatch.setattr(records, "conditions", lambda device: made(device) | now)

    def killed(path, run, at):
        save(path, run, at)
        if (at.epochs, at.updates) == (epoch, updates):
            per_epoch.append(run.updates_per_epoch)
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        runs(tmp_path, 2, step="plain")
    monkeypatch.setattr(checkpoint, "save", save)
    now["threads"] = 7
    first, last = records.read(runs(tmp_path, 2, step="plain"))["provenance"]["segments"]
    assert first["epochs"] == pytest.approx(epoch + updates / per_epoch[0])
    assert (first["threads"], last["threads"], last["epochs"]) == (1, 7, 2)


def test_a_run_that_is_resumed_under_the_same_conditions_has_no_list_of_them(tmp_path, interrupt):
    interrupt(1)
    with pytest.raises(KeyboardInterrupt):
        runs(tmp_path, 3)
    interrupt(None)
    assert "segments" not in records.read(runs(tmp_path, 3))["provenance"]


# What a record holds.


@pytest.fixture
def saved(tmp_path):
    """A checkpoint of a run of two epochs, as it is read, and that run's record."""
    chosen, file = Settings(norm="none", epochs=2, **SMALL), tmp_path / "run.pt"
    run = mnist.Run(chosen, load("digits"))
    points = list(train(run, epochs=2, first_epoch_points=2, checkpoint=file))
    curves = records.curves(points, "epoch")
    recorded = {"settings": chosen.as_dict(), "seed": 0, "curves": curves}
    return checkpoint.OLD_DEFAULTS | checkpoint.read(file), recorded


@pytest.mark.parametrize(
    ("change", "contained"),
    [
        (lambda state: None, True),
        (lambda state: state.update(seed=1), False),
        (lambda state: state["settings"].update(norm="layer"), False),
        (lambda state: state.update(done=3), False),
        (lambda state: state.update(updates=1), False),
        (lambda state: state["points"].pop(), True),
        (lambda state: state["points"][1].update(test_nll=0.5), False),
        (lambda state: state["points"][0].update(wall_s=9.0), False),
        (lambda state: state.update(points=[]), False),
    ],
    ids=["none", "seed", "setting", "epoch", "update", "a point less", "value", "time", "empty"],
)
def test_a_checkpoint_is_removed_only_if_the_record_holds_each_part_of_it(saved, change, contained):
    state, recorded = saved
    change(state)
    assert checkpoint._is_contained(state, recorded) == contained


# Locks.


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP], ids=os.strerror)
def test_where_the_file_system_has_no_locks_a_run_is_trained_and_that_is_said(
    tmp_path, monkeypatch, capsys, number
):
    def none(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", none)
    path = runs(tmp_path, 1)
    assert records.read(path)["curves"]["epoch"][-1] == 1
    text = capsys.readouterr().err
    folder = checkpoint.path_of(path).parent
    assert f"the file system of {folder} does not support locks ({os.strerror(number)})" in text


def test_a_lock_that_cannot_be_had_is_named_with_a_way_on(tmp_path, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(checkpoint.FileLock, "acquire", refused)
    says = "cannot lock .*seed0.lock: Permission denied; ask its owner to delete it, or .* --out"
    with pytest.raises(OSError, match=says):
        runs(tmp_path, 1)


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_link_or_a_pipe_in_the_place_of_the_owners_name_is_not_written_to(tmp_path, kind):
    path, victim = tmp_path / "mnist" / "run.json", tmp_path / "victim"
    owner = checkpoint.path_of(path).with_name("run.owner")
    owner.parent.mkdir(parents=True)
    victim.write_text("mine")
    owner.symlink_to(victim) if kind == "link" else os.mkfifo(owner)
    held = threading.Event()

    def hold():
        with checkpoint.acquire_lock(path, print):
            assert "process" in owner.read_text()
            held.set()

    threading.Thread(target=hold, daemon=True).start()
    assert held.wait(60)
    assert victim.read_text() == "mine"


def test_whoever_waits_is_told_the_owner_the_file_and_that_it_can_be_deleted(tmp_path, capsys):
    path = tmp_path / "mnist" / "run.json"
    file = checkpoint.path_of(path).with_name("run.lock")
    with checkpoint.acquire_lock(path, print):
        assert file.with_suffix(".owner").read_text() == (
            f"process {os.getpid()} on {platform.node()}"
        )
        file.with_suffix(".owner").write_text("process 12 on a far host")
        reported = threading.Event()

        def wait():
            with checkpoint.acquire_lock(path, lambda _: reported.set()):
                pass

        waits = threading.Thread(target=wait, daemon=True)
        waits.start()
        assert reported.wait(60)
        file.unlink()
        waits.join(60)
        assert not waits.is_alive()
    text = capsys.readouterr().err
    assert text == (
        f"run is being trained by process 12 on a far host, which holds the lock {file}; if that "
        "process is no longer running, delete the file\n"
    )
    assert not list(file.parent.iterdir())


# Records that are not those of the run.
