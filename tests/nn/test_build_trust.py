"""What is loaded: nothing that is damaged or that others may have written."""

import os
from pathlib import Path

import pytest

from lnlib.nn.kernels import build
from tests.cases.build import FOREIGN, OURS, builds, digest, kept, load


def test_nobody_else_can_write_what_is_kept_whatever_the_umask(machine):
    before = os.umask(0)
    try:
        load(machine)
    finally:
        os.umask(before)
    path = kept(machine)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def truncated(path):
    os.truncate(path, path.stat().st_size // 2)


def emptied(path):
    os.truncate(path, 0)


def flipped(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)


def longer(path):
    path.write_bytes(path.read_bytes() + b"\0")


def of_another_name(path):
    path.rename(path.with_name(f"{path.stem.rpartition('-')[0]}-{'0' * 32}.so"))


@pytest.mark.parametrize("damage", [truncated, emptied, flipped, longer, of_another_name])
def test_a_damaged_library_is_not_loaded_but_built_again(machine, capfd, damage):
    load(machine)
    damage(kept(machine))
    damaged = kept(machine)
    capfd.readouterr()
    assert load(machine)[0] == OURS
    said = capfd.readouterr().err.splitlines()
    assert said[0] == f"lnlib: {damaged} is damaged: it is not loaded but built again"
    assert len(said) == 2
    assert kept(machine).stem.endswith(digest(kept(machine)))
    assert load(machine)[0] == OURS
    assert builds(machine) == 2


def test_a_library_without_its_hash_is_not_loaded(foreign, machine):
    foreign.rename(foreign.with_name(foreign.stem.rpartition("-")[0] + ".so"))
    assert load(machine)[0] == OURS


def test_a_library_of_the_user_alone_is_loaded(foreign, machine):
    # The hash is against damage: it is owner and permissions that the next tests change.
    assert load(machine)[0] == FOREIGN


def owned_by_another(path, monkeypatch):
    real, this = os.fstat, path.stat()

    def fstat(file):
        found = real(file)
        if (found.st_ino, found.st_mtime_ns) != (this.st_ino, this.st_mtime_ns):
            return found
        return os.stat_result((*found[:4], found.st_uid + 1, *found[5:]))

    monkeypatch.setattr(os, "fstat", fstat)


def written_by_the_group(path, _):
    path.chmod(0o660)


def written_by_all(path, _):
    path.chmod(0o602)


def a_link(path, _):
    elsewhere = path.parent.parent / "elsewhere.so"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def a_fifo(path, _):
    path.unlink()
    os.mkfifo(path, 0o600)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (owned_by_another, "belongs to another user"),
        (written_by_the_group, "can be written by others"),
        (written_by_all, "can be written by others"),
        (a_link, "is a link"),
        (a_fifo, "is no file"),
    ],
)
def test_a_file_that_others_may_have_written_is_not_loaded(
    foreign, machine, monkeypatch, capfd, change, says
):
    change(foreign, monkeypatch)
    capfd.readouterr()
    assert load(machine)[0] == OURS
    said = capfd.readouterr().err.splitlines()
    assert said[0].startswith(f"lnlib: {foreign} {says}")
    assert said[0].endswith("it is not loaded but built again")
    assert len(said) == 2
    assert kept(machine) != foreign
    assert load(machine)[0] == OURS
    assert capfd.readouterr().err == ""


def folder_of_another(folder, monkeypatch):
    real = os.stat

    def foreign_stat(path, **options):
        found = real(path, **options)
        if path != folder:
            return found
        return os.stat_result((*found[:4], found.st_uid + 1, *found[5:]))

    monkeypatch.setattr(os, "stat", foreign_stat)


def folder_of_the_group(folder, _):
    folder.chmod(0o770)


def folder_of_all(folder, _):
    folder.chmod(0o702)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (folder_of_another, "it belongs to another user"),
        (folder_of_the_group, "it can be written by others"),
        (folder_of_all, "it can be written by others"),
    ],
)
def test_from_a_folder_that_others_can_write_nothing_is_loaded(
    foreign, machine, monkeypatch, capfd, change, says
):
    folder = foreign.parent
    before = sorted(folder.iterdir())
    change(folder, monkeypatch)
    capfd.readouterr()
    answer, where = load(machine)
    said = capfd.readouterr().err.splitlines()
    assert answer == OURS
    assert said[0].startswith(f"lnlib: {folder} cannot be used, {says}")
    assert said[0].endswith("a private folder takes its place, for this process")
    assert len(said) == 2
    assert f"memory alone, as {folder} cannot be used, {says}" in where
    assert sorted(folder.iterdir()) == before


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="loaded by its path")
def test_what_is_loaded_is_what_was_hashed(foreign, machine, monkeypatch):
    foreign.rename(foreign.parent.parent / "swap.so")
    load(machine)
    real = build._open

    def swapped(file, path):
        os.replace(foreign.parent.parent / "swap.so", path)
        return real(file, path)

    monkeypatch.setattr(build, "_open", swapped)
    assert load(machine)[0] == OURS
