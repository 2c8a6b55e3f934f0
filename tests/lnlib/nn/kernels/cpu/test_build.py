"""What is built of a source, and where it lies."""

import errno
import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from lnlib.nn.kernels.cpu import build, recurrent
from tests.cases.build import OURS, SOURCE, builds, cached, folder, load


def test_it_is_built_once_with_one_line_and_then_loaded_without_a_word(machine, capfd):
    answer, where = load(machine)
    out, err = capfd.readouterr()
    assert answer == OURS
    assert where == f"built with {machine}/cxx, in {cached(machine)}"
    assert (out, err) == (
        "",
        f"lnlib: building tiny.cpp with {machine}/cxx for this processor, once; "
        "it takes some seconds ...\n",
    )
    assert load(machine) == (answer, where)
    assert capfd.readouterr() == ("", "")
    assert builds(machine) == 1


def another_source(machine, _):
    (machine / "tiny.cpp").write_text(SOURCE % OURS + "// new\n")


def another_header(machine, monkeypatch):
    (machine / "new.h").write_text("")
    monkeypatch.setattr(build, "HEADERS", machine)


def other_flags(_, monkeypatch):
    monkeypatch.setattr(build, "FLAGS", (*build.FLAGS, "-DNEW"))


def another_compiler(machine, _):
    script = machine / "cxx"
    version = 'case "$*" in --version) echo 99.9; exit;; esac'
    script.write_text(script.read_text().replace("#!/bin/sh\n", f"#!/bin/sh\n{version}\n"))


def another_processor(_, monkeypatch):
    monkeypatch.setattr(build, "_cpu_description", lambda: "another")


@pytest.mark.parametrize(
    "change",
    [another_source, another_header, other_flags, another_compiler, another_processor],
)
def test_what_it_depends_on_is_in_its_name(machine, monkeypatch, change):
    load(machine)
    change(machine, monkeypatch)
    assert load(machine)[0] == OURS
    assert builds(machine) == 2
    assert len(list(folder(machine).glob("*.so"))) == 2  # the other is kept


def test_the_processor_is_named_by_what_its_code_depends_on(monkeypatch):
    text = "processor : 7\nmodel name : fast\nMHz : 3000\nflags : avx2 fma\nFeatures : sve\n"
    monkeypatch.setattr(Path, "read_text", lambda path: text)
    name = build._cpu_description()
    assert all(part in name for part in ("model name : fast", "flags : avx2 fma", "Features : sve"))
    assert not any(part in name for part in ("MHz", "7"))


def test_options_may_follow_the_compilers_name(machine, monkeypatch):
    (machine / "tiny.cpp").write_text(SOURCE.replace("%d", "ANSWER"))
    (machine / "with space").symlink_to(machine / "cxx")
    monkeypatch.setenv("CXX", f"'{machine}/with space' -DANSWER=7")
    assert load(machine)[0] == 7


@pytest.mark.parametrize("installed", [["g++", "clang++", "c++"], ["clang++", "c++"], ["c++"], []])
def test_the_first_compiler_that_is_found_is_taken(tmp_path, monkeypatch, installed):
    for name in installed:
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    for unset in (lambda: monkeypatch.delenv("CXX", raising=False), lambda: setenv(monkeypatch)):
        unset()
        assert build._compiler() == ([str(tmp_path / installed[0])] if installed else None)


def setenv(monkeypatch):
    monkeypatch.setenv("CXX", "")


def test_a_compiler_that_does_not_know_the_processor_builds_without_it(machine):
    script = machine / "cxx"
    refuse = 'case "$*" in *-march=native*) echo "error: no such arch" >&2; exit 1;; esac'
    script.write_text(script.read_text().replace("#!/bin/sh\n", f"#!/bin/sh\n{refuse}\n"))
    assert load(machine)[0] == OURS


def test_a_compiler_that_hangs_is_not_waited_for_without_end(machine, monkeypatch):
    (machine / "cxx").write_text("#!/bin/sh\nexec sleep 60\n")
    monkeypatch.setattr(build, "COMPILE_TIMEOUT_S", 0.2)
    library, why = build.Library(machine / "tiny.cpp", lambda: None).load()
    assert library is None
    assert "TimeoutExpired" in why


def test_what_the_compiler_says_is_the_reason(machine):
    (machine / "tiny.cpp").write_text("int f( {\n")
    library, why = build.Library(machine / "tiny.cpp", lambda: None).load()
    assert library is None
    assert "tiny.cpp:1" in why
    assert "error" in why
    assert "\n" not in why


@pytest.mark.parametrize(("base", "expected"), [("x/y", "x/y"), ("", "home/.cache")])
def test_it_lies_in_the_users_cache_folder(monkeypatch, tmp_path, base, expected):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / base) if base else "")
    assert build._cache_folder() == tmp_path / expected / "lnlib" / "compiled"


@pytest.mark.parametrize(("value", "off"), [("0", True), ("1", False), ("", False), (None, False)])
def test_it_is_switched_off_by_0_alone(monkeypatch, value, off):
    monkeypatch.delenv("LNLIB_COMPILED", raising=False)
    if value is not None:
        monkeypatch.setenv("LNLIB_COMPILED", value)
    assert build.is_switched_off() is off


def test_a_link_to_a_folder_of_the_user_alone_is_followed(machine):
    (machine / "disk").mkdir(mode=0o700)
    (machine / "cache" / "lnlib").mkdir(parents=True)
    folder(machine).symlink_to(machine / "disk")
    assert load(machine)[0] == OURS
    assert list((machine / "disk").glob("*.so"))


def test_a_folder_that_cannot_be_made_is_no_obstacle(machine, capfd):
    (machine / "cache").write_text("")
    answer, where = load(machine)
    assert answer == OURS
    assert "cannot be used, Not a directory" in where
    assert len(capfd.readouterr().err.splitlines()) == 2
    assert builds(machine) == 1


def test_where_memory_may_not_be_run_a_file_takes_its_place(machine, monkeypatch):
    def refuse(name):
        raise PermissionError

    monkeypatch.setattr(os, "memfd_create", refuse, raising=False)
    for _ in range(2):
        assert load(machine)[0] == OURS
    assert builds(machine) == 1


def test_a_user_without_a_home_is_no_obstacle(machine, monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    assert load(machine)[0] == OURS


def test_a_full_disk_is_said_and_leaves_nothing_behind(machine, monkeypatch, capfd):
    real, calls = os.fsync, []

    def full(file):
        calls.append(file)
        if len(calls) == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(file)

    monkeypatch.setattr(os, "fsync", full)
    assert load(machine)[0] == OURS
    assert "cannot be used, No space left on device" in capfd.readouterr().err
    assert builds(machine) == 1
    assert not [p for p in folder(machine).iterdir() if p.suffix != ".lock"]


def test_what_dead_processes_were_writing_is_swept(machine):
    cache = folder(machine)
    cache.mkdir(parents=True, mode=0o700)
    done = subprocess.Popen(["true"])
    done.wait()
    dead, alive = done.pid, os.getpid()
    old = [cache / f"a-0.{pid}.part" for pid in (dead, alive, "no-pid", 10**30)]
    for path in old:
        path.write_text("")
        os.utime(path, (1e9, 1e9))
    young = cache / f"b-0.{dead}.part"
    young.write_text("")
    load(machine)
    assert set(cache.glob("*.part")) == {old[1], young}


def test_what_a_process_of_another_user_is_writing_is_not_swept(tmp_path, monkeypatch):
    part = tmp_path / "a-0.77.part"
    part.write_text("")
    os.utime(part, (1e9, 1e9))

    def kill(pid, signal):
        assert (pid, signal) == (77, 0)
        raise PermissionError

    monkeypatch.setattr(os, "kill", kill)
    build._remove_stale_parts(tmp_path)
    assert part.exists()


def test_a_part_of_its_own_that_was_left_is_written_over(machine):
    load(machine)
    cache, content = folder(machine), cached(machine).read_bytes()
    left = cache / f"other-{hashlib.sha256(content).hexdigest()[:32]}.{os.getpid()}.part"
    left.write_text("left")
    assert build._write(cache, "other", content).read_bytes() == content
    assert not left.exists()


# Processes.


@pytest.mark.slow
def test_of_processes_started_together_one_builds_and_the_others_wait(machine):
    code = (
        "import sys; from pathlib import Path; from lnlib.nn.kernels.cpu import build;"
        "library, why = build.Library(Path(sys.argv[1]), lambda: None).load();"
        "print(library and library.answer(), why)"
    )
    together = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", code, str(machine / "tiny.cpp")],
            env=os.environ | {"SLOW": "3"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    results = [p.communicate(timeout=120) for p in together]
    for out, _ in results:
        assert out == f"{OURS} built with {machine}/cxx, in {cached(machine)}\n"
    assert builds(machine) == 1
    assert sorted(len(err.splitlines()) for _, err in results) == [0, 1]


def test_a_lock_that_is_never_released_is_not_waited_for_without_end(machine, monkeypatch):
    load(machine)
    cached(machine).unlink()
    (lock,) = folder(machine).glob("*.lock")
    monkeypatch.setattr(build, "LOCK_TIMEOUT_S", 0.1)
    with open(lock, "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert load(machine)[0] == OURS
    assert cached(machine).exists()


def test_without_locks_it_is_built_all_the_same(machine, monkeypatch):
    def refuse(*args, **options):
        raise NotImplementedError

    monkeypatch.setattr(build.FileLock, "acquire", refuse)
    assert load(machine)[0] == OURS
    assert cached(machine).exists()


# The check.


@pytest.mark.parametrize(
    "within",
    [
        torch.inference_mode,
        torch.no_grad,
        lambda: torch.autocast("cpu"),
        lambda: torch.device("meta"),
        lambda: torch.autograd.graph.saved_tensors_hooks(pytest.fail, pytest.fail),
    ],
    ids=["inference", "no_grad", "autocast", "device", "hooks"],
)
def test_the_check_does_not_mind_what_the_first_caller_is_doing(monkeypatch, within):
    if not recurrent.available():
        pytest.skip(f"no compiled library here: {recurrent.reason()}")
    monkeypatch.setattr(recurrent, "_library", build.Library(recurrent.SOURCE, recurrent._check))
    with within():
        assert recurrent.available(), recurrent.reason()


def test_the_check_leaves_the_users_random_numbers_alone(machine):
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    library, _ = build.Library(machine / "tiny.cpp", lambda: torch.rand(9)).load()
    assert library is not None
    assert torch.equal(torch.rand(4), expected)


def test_a_check_that_fails_is_said(machine):
    def check():
        raise RuntimeError("the numbers\ndiffer")

    library, why = build.Library(machine / "tiny.cpp", check).load()
    assert library is None
    assert why == "the build failed (RuntimeError): the numbers differ"
