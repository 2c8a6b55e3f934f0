"""Building a small library with a compiler that counts its calls, and loading it."""

import os
import signal
import subprocess
import sys
import time

import pytest
import torch

from lnlib.nn.kernels.cpu import build, recurrent

SOURCE = 'extern "C" void lnlib_use(void*, void*) {}\nextern "C" int answer() { return %s; }\n'
PROCESS = (
    "import sys; from pathlib import Path; from lnlib.nn.kernels.cpu import build;"
    "library, why = build.Library(Path(sys.argv[1]), lambda: None).load();"
    "print(library and library.answer(), why, 'setuptools' in sys.modules)"
)


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A folder with a source, a compiler that counts, and an empty cache folder."""
    compiler = build._compiler()[0]
    if build.shutil.which(compiler) is None:
        pytest.skip("no C++ compiler here")
    log = f'case "$*" in *.so*) echo >>{tmp_path}/log; sleep ${{SLOW:-0}};; esac'
    (tmp_path / "cxx").write_text(f'#!/bin/sh\n{log}\nexec {compiler} "$@"\n')
    (tmp_path / "cxx").chmod(0o700)
    (tmp_path / "tiny.cpp").write_text(SOURCE % 42)
    monkeypatch.setenv("CXX", str(tmp_path / "cxx"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("LNLIB_COMPILED", raising=False)
    return tmp_path


def library(machine, check=lambda: None, **options):
    return build.Library(machine / "tiny.cpp", check, **options)


def builds(machine):
    return len((machine / "log").read_text().splitlines())


def cached(machine):
    return sorted((machine / "cache" / "lnlib" / "compiled").glob("*.so"))


def in_script(machine, line):
    script = machine / "cxx"
    script.write_text(script.read_text().replace("#!/bin/sh\n", f"#!/bin/sh\n{line}\n"))


def test_library_is_built_once_with_one_line_and_then_loaded_silently(machine, capfd):
    for err in (f"lnlib: building tiny.cpp with {machine}/cxx for this processor, once; ", ""):
        loaded, where = library(machine).load()
        assert loaded.answer() == 42
        assert where == f"built with {machine}/cxx, in {cached(machine)[0]}"
        printed = capfd.readouterr()
        assert (printed.out, printed.err.partition("it takes")[0]) == ("", err)
    assert builds(machine) == 1


def another_header(machine, monkeypatch):
    (machine / "new.h").write_text("")
    monkeypatch.setattr(build, "HEADERS", machine)


@pytest.mark.parametrize(
    "change",
    [
        lambda machine, _: (machine / "tiny.cpp").write_text(SOURCE % "40 + 2"),
        another_header,
        lambda _, monkeypatch: monkeypatch.setattr(build, "FLAGS", (*build.FLAGS, "-DNEW")),
        lambda _, monkeypatch: monkeypatch.setenv("CXX", f"{os.environ['CXX']} -DNEW"),
        lambda machine, _: in_script(machine, 'case "$*" in *-dM*) echo "#define __NEW__";; esac'),
        lambda _, monkeypatch: monkeypatch.setattr(torch, "__version__", "0.0"),
    ],
    ids=["source", "header", "flags", "options", "compiler or processor", "PyTorch"],
)
def test_name_depends_on_what_the_library_depends_on(machine, monkeypatch, change):
    library(machine).load()
    change(machine, monkeypatch)
    assert library(machine).load()[0].answer() == 42
    assert builds(machine) == 2
    assert len(cached(machine)) == 2  # the other one is kept


def test_compiler_that_does_not_support_the_processor_builds_without_its_flag(machine):
    in_script(machine, 'case "$*" in *-march=native*) echo "error: unknown" >&2; exit 1;; esac')
    assert library(machine).load()[0].answer() == 42


def test_library_is_stored_in_the_cache_folder_of_the_user(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert build._cache_folder() == tmp_path / ".cache" / "lnlib" / "compiled"


@pytest.mark.parametrize(
    ("obstacle", "reason"),
    [
        (lambda _, m: m.setenv("LNLIB_COMPILED", "0"), "switched off by LNLIB_COMPILED=0"),
        (lambda _, m: m.setattr(sys, "platform", "win32"), "only on Linux and macOS"),
        (lambda _, m: (m.setenv("CXX", ""), m.setenv("PATH", "")), "no C++ compiler c++"),
        (lambda _, m: m.setenv("CXX", "no-such-compiler -O1"), "no C++ compiler no-such-compiler"),
        (lambda _, m: m.setenv("CXX", "/bin/false"), "/bin/false ended with status 1"),
        (lambda _, m: m.setenv("CXX", "/bin/true"), "the build failed (FileNotFoundError)"),
        (lambda p, _: (p / "tiny.cpp").write_text("int f( {\n"), "tiny.cpp:1"),
        (lambda p, _: (p / "tiny.cpp").unlink(), "tiny.cpp"),
        (lambda p, _: (p / "cache").write_text(""), "Not a directory"),
        (lambda _, m: m.setattr(build, "TIMEOUT_S", 0), "TimeoutExpired"),
    ],
)
def test_obstacle_leads_to_no_library_and_one_sentence(machine, monkeypatch, obstacle, reason):
    obstacle(machine, monkeypatch)
    tried = library(machine)
    loaded, why = tried.load()
    assert loaded is None
    assert reason in why
    assert "\n" not in why
    monkeypatch.setattr(build, "_compiler", lambda: pytest.fail("tried again"))
    assert tried.load() == (None, why)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content[:999] + bytes([content[999] ^ 1]) + content[1000:],
    ],
    ids=["truncated", "changed"],
)
def test_damaged_library_is_not_loaded_but_built_again(machine, damage):
    path = library(machine)._find_or_build(build._compiler())
    path.write_bytes(damage(path.read_bytes()))
    assert library(machine).load()[0].answer() == 42
    assert builds(machine) == 2


def start(machine, seconds):
    return subprocess.Popen(
        [sys.executable, "-c", PROCESS, str(machine / "tiny.cpp")],
        env=os.environ | {"SLOW": str(seconds)},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.slow
def test_of_two_processes_one_builds_while_the_other_waits(machine):
    for process in [start(machine, 3) for _ in range(2)]:
        out, _ = process.communicate(timeout=600)
        assert out == f"42 built with {machine}/cxx, in {cached(machine)[0]} False\n"
    assert builds(machine) == 1


@pytest.mark.slow
def test_a_process_killed_during_the_build_does_not_block_the_next_one(machine):
    process = start(machine, 600)
    while not (machine / "log").exists() and process.poll() is None:
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert library(machine).load()[0].answer() == 42


@pytest.mark.parametrize(
    "within",
    [
        torch.inference_mode,
        lambda: torch.autocast("cpu"),
        lambda: torch.autograd.graph.saved_tensors_hooks(pytest.fail, pytest.fail),
    ],
    ids=["inference", "autocast", "hooks"],
)
def test_check_is_independent_of_the_context_of_the_first_call(built, monkeypatch, within):
    monkeypatch.setattr(recurrent, "_library", build.Library(recurrent.SOURCE, recurrent._check))
    with within():
        assert recurrent.available(), recurrent.reason()


def test_library_with_wrong_results_is_refused_and_random_numbers_stay(machine):
    def check():
        torch.rand(9)
        assert tried.load()[0].answer() == 42
        raise RuntimeError("the results\ndiffer")

    tried = library(machine, check)
    state = torch.get_rng_state()
    assert tried.load() == (None, "the build failed (RuntimeError): the results differ")
    assert torch.equal(torch.get_rng_state(), state)
