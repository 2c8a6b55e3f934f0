"""Atomic writing of files."""

import errno
import os
import time

import pytest

from lnlab import atomic_write

ENDED = 2**22 + 1  # beyond the largest process number of Linux


def test_write_replaces_a_file_and_leaves_nothing_else(tmp_path):
    for content in (b"old", b"new" * 10_000, b""):
        atomic_write.write(tmp_path / "deep" / "file", content)
        assert (tmp_path / "deep" / "file").read_bytes() == content
    assert os.listdir(tmp_path / "deep") == ["file"]


def test_content_is_synced_before_the_file_is_renamed(tmp_path, monkeypatch):
    path, done = tmp_path / "file", []
    fsync, replace = os.fsync, os.replace

    def logged_fsync(file):
        done.append(("fsync", os.fstat(file).st_size, path.exists()))
        fsync(file)

    def logged_replace(part, to):
        done.append(("rename", os.path.getsize(part), to))
        replace(part, to)

    monkeypatch.setattr(os, "fsync", logged_fsync)
    monkeypatch.setattr(os, "replace", logged_replace)
    atomic_write.write(path, b"12345")
    assert done == [("fsync", 5, False), ("rename", 5, path)]


@pytest.mark.parametrize("where", ["fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EIO])
def test_failed_writes_keep_the_old_file_and_report_the_needed_space(
    tmp_path, monkeypatch, where, number
):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fails(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, where, fails)
    full = number in (errno.ENOSPC, errno.EDQUOT)
    says = r"12,345 bytes are needed and [\d,]+ are free; make room" if full else "fix that, or"
    with pytest.raises(
        OSError, match=f"cannot write {path}: {os.strerror(number)}; {says}"
    ) as warned:
        atomic_write.write(path, bytes(12_345))
    assert warned.value.errno == number
    assert "\n" not in str(warned.value)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_interruptions_leave_no_partial_file(tmp_path, monkeypatch):
    def stopped(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", stopped)
    with pytest.raises(KeyboardInterrupt):
        atomic_write.write(tmp_path / "file", b"new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "seconds", "goes"),
    [
        (f"a.json.{ENDED}.part", 3600, True),
        (f"a.json.{ENDED}.part", 10, False),  # the process can be running on another machine
        ("a.json.OWN.part", 3600, False),
        ("a.json.OWN.part", 90_000, True),  # another process has the same number now
        ("a.json.1.part", 3600, False),  # belongs to another user
        (f"a.json.{10**30}.part", 3600, True),
        (f"a.pt.{ENDED}.part", 3600, False),
        ("a.json.part", 90_000, False),
        ("a.json.x.part", 90_000, False),
        ("a.json", 90_000, False),
    ],
)
def test_partial_files_of_ended_processes_are_removed(tmp_path, name, seconds, goes):
    left = tmp_path / name.replace("OWN", str(os.getpid()))  # xdist compares the ids
    left.touch()
    os.utime(left, (time.time() - seconds,) * 2)
    atomic_write.remove_stale(tmp_path, "*.json")
    atomic_write.remove_stale(tmp_path / "not there", "*.json")
    assert left.exists() != goes


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_paths_that_are_not_files_raise_an_error(tmp_path, kind):
    path = tmp_path / "x"
    make = {"pipe": os.mkfifo, "device": lambda path: path.symlink_to(os.devnull),
            "folder": os.mkdir}  # fmt: skip
    make[kind](path)
    with pytest.raises(ValueError, match=f"{path}: must be a file, is a {kind}"):
        atomic_write.check_regular(path)
