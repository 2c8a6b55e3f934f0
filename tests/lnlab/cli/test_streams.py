"""Closed, full or broken standard streams: runs continue, but requested output fails."""

import os
import subprocess
import sys

import pytest


def lnlib(command, redirection, folder):
    """Run a command in a shell with its streams redirected."""
    shell = f"exec {sys.executable} -m lnlib {command} {redirection}"
    out, into = os.pipe()
    os.close(out)  # writing into the pipe fails with SIGPIPE
    try:
        return subprocess.run(
            ["bash", "-c", shell.replace("PIPE", str(into))],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            pass_fds=[into],
        )
    finally:
        os.close(into)


@pytest.mark.parametrize(
    ("redirection", "status", "message"),
    [
        (">/dev/full", 1, "cannot write to standard output: No space left on device\n"),
        (">&PIPE", 141, ""),  # like `| head`
        pytest.param(
            ">&-", 1, "cannot write to standard output: it is closed\n", marks=pytest.mark.slow
        ),
        pytest.param(">&- 2>&-", 1, "", marks=pytest.mark.slow),
    ],
)
def test_tables_that_cannot_be_printed_raise_an_error(tmp_path, redirection, status, message):
    done = lnlib("table weights", redirection, tmp_path)
    assert done.returncode == status
    assert done.stderr == (message and f"lnlab table: {message}")


def test_closed_standard_error_does_not_corrupt_files(tmp_path):
    code = (
        "import os; from lnlab import messages; messages.open_closed_descriptors()\n"
        "kept = open('kept', 'w'); os.write(2, b'a warning in C'); kept.write('mine')"
    )
    done = subprocess.run(
        ["bash", "-c", f'exec {sys.executable} -c "$CODE" 2>&- <&-'],
        cwd=tmp_path,
        env=os.environ | {"CODE": code},
        check=False,
    )
    assert done.returncode == 0
    assert (tmp_path / "kept").read_text() == "mine"
