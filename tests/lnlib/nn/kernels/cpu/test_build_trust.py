"""What is loaded: nothing that is damaged or that others may have written."""

import os
import subprocess
import sys

import pytest

from tests.cases.build import FOREIGN, OURS, builds, cached, digest, folder, load


@pytest.mark.parametrize(
    ("umask", "folder_exists"),
    [(0, False), (0, True), (0o077, True)],
    ids=["0", "0, data sets", "077"],
)
def test_it_is_built_once_and_nobody_else_can_write_it_whatever_the_umask(
    machine, umask, folder_exists
):
    before = os.umask(umask)
    try:
        if folder_exists:
            folder(machine).mkdir(parents=True)
        for _ in range(2):
            assert load(machine)[0] == OURS
    finally:
        os.umask(before)
    assert builds(machine) == 1
    assert cached(machine).stat().st_mode & 0o777 == 0o600
    assert folder(machine).stat().st_mode & 0o022 == 0


# In place, as ``truncate`` and ``cp`` do: what is loaded is a copy.


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


@pytest.mark.slow
@pytest.mark.parametrize("damage", [truncated, emptied, flipped, longer])
def test_damage_to_the_file_does_not_reach_a_process_that_has_loaded_it(machine, damage):
    load(machine)
    code = (
        "import sys; from pathlib import Path; from lnlib.nn.kernels.cpu import build;"
        "library, where = build.Library(Path(sys.argv[1]), lambda: None).load();"
        "print(where.rpartition(' ')[2], flush=True); input(); print(library.answer())"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(machine / "tiny.cpp")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == f"{cached(machine)}\n"
    damage(cached(machine))
    out, _ = process.communicate("\n", timeout=120)
    assert (out, process.returncode) == (f"{OURS}\n", 0)


@pytest.mark.parametrize("damage", [truncated, emptied, flipped, longer, of_another_name])
def test_a_damaged_library_is_not_loaded_but_built_again(machine, capfd, damage):
    load(machine)
    damage(cached(machine))
    damaged = cached(machine)
    capfd.readouterr()
    assert load(machine)[0] == OURS
    text = capfd.readouterr().err.splitlines()
    assert text[0] == f"lnlib: {damaged} is damaged: it is not loaded but built again"
    assert len(text) == 2
    assert cached(machine).stem.endswith(digest(cached(machine)))
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
        result = real(file)
        if (result.st_ino, result.st_mtime_ns) != (this.st_ino, this.st_mtime_ns):
            return result
        return os.stat_result((*result[:4], result.st_uid + 1, *result[5:]))

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
        (a_fifo, "is not a regular file"),
    ],
)
def test_a_file_that_others_may_have_written_is_not_loaded(
    foreign, machine, monkeypatch, capfd, change, says
):
    change(foreign, monkeypatch)
    capfd.readouterr()
    assert load(machine)[0] == OURS
    text = capfd.readouterr().err.splitlines()
    assert text[0].startswith(f"lnlib: {foreign} {says}")
    assert text[0].endswith("it is not loaded but built again")
    assert len(text) == 2
    assert cached(machine) != foreign
    assert load(machine)[0] == OURS
    assert capfd.readouterr().err == ""


def test_a_folder_of_another_user_is_not_used(foreign, machine, monkeypatch, capfd):
    real = os.stat

    def foreign_stat(path, **options):
        result = real(path, **options)
        if path != folder(machine):
            return result
        return os.stat_result((*result[:4], result.st_uid + 1, *result[5:]))

    before = sorted(folder(machine).iterdir())
    monkeypatch.setattr(os, "stat", foreign_stat)
    capfd.readouterr()
    answer, where = load(machine)
    text = capfd.readouterr().err.splitlines()
    assert answer == OURS
    says = f"{folder(machine)} cannot be used, it belongs to another user"
    assert text[0].startswith(f"lnlib: {says}")
    assert len(text) == 2
    assert where.startswith(f"built with {machine}/cxx, in memory alone, as {says}")
    assert sorted(folder(machine).iterdir()) == before


@pytest.mark.parametrize("mode", [0o770, 0o702], ids=oct)
def test_a_folder_that_others_could_write_is_closed_to_them(foreign, machine, mode):
    folder(machine).chmod(mode)
    assert load(machine)[0] == FOREIGN  # the file is the user's own
    assert folder(machine).stat().st_mode & 0o777 == 0o700
