"""Where the compiled library cannot be built. These hold on every machine."""

import contextlib
import os
import sys

import pytest
import torch

from lnlib.nn.kernels import reference
from lnlib.nn.kernels.cpu import build, recurrent
from lnlib.nn.kernels.spec import Spec


@pytest.fixture
def unbuilt(monkeypatch, tmp_path):
    """A machine on which nothing has been tried yet."""
    monkeypatch.setattr(recurrent, "_library", build.Library(recurrent.SOURCE, recurrent._check))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("LNLIB_COMPILED", raising=False)
    monkeypatch.delenv("CXX", raising=False)
    return monkeypatch


def switched_off(monkeypatch, _):
    monkeypatch.setenv("LNLIB_COMPILED", "0")


def no_compiler(monkeypatch, _):
    monkeypatch.setenv("PATH", "")


def no_tools_on_a_mac(monkeypatch, _):
    monkeypatch.setattr(build.sys, "platform", "darwin")
    monkeypatch.setattr(build.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(build, "_read", lambda *_: pytest.fail("opened a dialog"))
    monkeypatch.setenv("PATH", "")  # xcode-select


def compiler_that_fails(monkeypatch, _):
    monkeypatch.setenv("CXX", "/bin/false")


def compiler_that_is_not_there(monkeypatch, _):
    monkeypatch.setenv("CXX", "no-such-compiler -O1")


def compiler_that_writes_nothing(monkeypatch, _):
    monkeypatch.setenv("CXX", "/bin/true")


def broken_source(monkeypatch, folder):
    (folder / "broken.cpp").write_text("int f( {")
    monkeypatch.setattr(recurrent._library, "source", folder / "broken.cpp")


def no_source(monkeypatch, folder):
    monkeypatch.setattr(recurrent._library, "source", folder / "absent.cpp")


def other_system(monkeypatch, _):
    monkeypatch.setattr(build.sys, "platform", "win32")


def wrong_numbers(monkeypatch, _):
    monkeypatch.setattr(recurrent._library, "_find_or_build", lambda _: (None, ""))
    monkeypatch.setattr(build, "_share_threads", lambda _: None)
    monkeypatch.setattr(recurrent, "run", lambda *a: [2 * y for y in reference.run(*a)])


@pytest.mark.parametrize(
    ("obstacle", "why"),
    [
        (switched_off, "LNLIB_COMPILED=0"),
        (no_compiler, "no C[+][+] compiler found"),
        (no_tools_on_a_mac, "no C[+][+] compiler found"),
        (compiler_that_fails, "/bin/false ended with status 1"),
        (compiler_that_is_not_there, "no-such-compiler"),
        (compiler_that_writes_nothing, "the build failed"),
        (broken_source, "the build failed|no C[+][+] compiler"),
        (no_source, "absent.cpp|no C[+][+] compiler"),
        (other_system, "win32"),
        (wrong_numbers, "the build failed|no C[+][+] compiler"),
    ],
    ids=lambda p: getattr(p, "__name__", ""),
)
def test_an_obstacle_is_told_when_asked(unbuilt, tmp_path, capfd, obstacle, why):
    run = recurrent.run
    obstacle(unbuilt, tmp_path)
    assert recurrent.available() is False
    assert "\n" not in recurrent.reason()
    zeros = torch.zeros(2, 3)
    with pytest.raises(RuntimeError, match=why):
        run(Spec("rnn"), zeros, [2], [zeros], torch.zeros(3, 3), [(None, None)])
    out, err = capfd.readouterr()
    assert out == ""
    assert len(err.splitlines()) <= 1  # that it is being built


def test_a_failed_build_is_not_tried_again(unbuilt, tmp_path):
    compiler_that_fails(unbuilt, tmp_path)
    assert not recurrent.available()
    unbuilt.setattr(build, "_compiler", lambda: pytest.fail("tried again"))
    assert not recurrent.available()


def test_without_a_stderr_nothing_is_said(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    build.notify("to nobody")
    with contextlib.closing(open(os.devnull, "w")) as closed:
        monkeypatch.setattr(sys, "stderr", closed)
    build.notify("to nobody")
