"""Standard streams that are closed, full or broken: a run goes on, and what was asked for fails."""

import errno
import io
import os
import subprocess
import sys

import pytest
from tqdm import tqdm

from lnlab import messages, records
from lnlab.cli import main
from lnlab.experiments.mnist.run import EXPERIMENT, Settings
from lnlab.runner import record_runs
from tests.lnlab.cli.conftest import SHORT

RUN = f"replay weights {SHORT['weights']} --epochs 1 --seeds 0 --threads 1 --device cpu --out runs"


def lnlib(command, redirection, folder):
    """Run a command in a shell with its streams redirected."""
    shell = f"exec {sys.executable} -m lnlib {command} {redirection}"
    out, into = os.pipe()
    os.close(out)  # whoever writes into the pipe is told that nobody reads it
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "redirection",
    ["2>&-", "<&- >&- 2>&-", ">/dev/full 2>/dev/full", ">&PIPE 2>&PIPE"],
    ids=["closed stderr", "all closed", "full", "broken pipes"],
)
def test_a_run_is_recorded_whatever_becomes_of_its_messages(tmp_path, redirection):
    done = lnlib(RUN, redirection, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (path,) = tmp_path.glob("runs/weights/*.json")
    assert records.read(path)["curves"]["epoch"][-1] == 1
    assert not list(tmp_path.glob("runs/**/.checkpoints/*"))


@pytest.mark.parametrize(
    ("redirection", "status", "message"),
    [
        (">/dev/full", 1, "cannot write to standard output: No space left on device\n"),
        (">&PIPE", 141, ""),  # as `| head`
        pytest.param(
            ">&-", 1, "cannot write to standard output: it is closed\n", marks=pytest.mark.slow
        ),
        pytest.param(">&- 2>&-", 1, "", marks=pytest.mark.slow),
    ],
)
def test_a_table_that_cannot_be_printed_is_an_error(tmp_path, redirection, status, message):
    done = lnlib("table weights", redirection, tmp_path)
    assert done.returncode == status
    assert done.stderr == (message and f"lnlab table: {message}")


def test_a_file_opened_where_standard_error_is_closed_is_not_written_to_by_libraries(tmp_path):
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


class Broken(io.StringIO):
    """A stream that refuses to be written to."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def write(self, text):
        raise self.error

    flush = isatty = fileno = lambda self: self.write("")


ERRORS = [
    None,
    *(Broken(OSError(n, os.strerror(n))) for n in (errno.ENOSPC, errno.EPIPE, errno.EIO)),
    Broken(ValueError("I/O operation on closed file")),
]


@pytest.mark.parametrize("stream", ERRORS, ids=lambda stream: repr(getattr(stream, "error", None)))
def test_a_python_program_records_runs_with_standard_streams_that_fail(
    tmp_path, monkeypatch, stream
):
    chosen = [Settings(norm="none", epochs=1, data="digits", hidden=(4,), batch_size=128)]
    runs = {"out": tmp_path, "device": "cpu", "step": "plain"}
    with monkeypatch.context() as broken:
        broken.setattr(sys, "stderr", stream)
        broken.setattr(sys, "stdout", stream)
        (path,) = record_runs(EXPERIMENT, chosen, [0], **runs)
        bad = path.parent / ".checkpoints" / f"{path.stem}.pt"
        bad.write_bytes(b"bad")
        assert record_runs(EXPERIMENT, chosen, [0], again=True, **runs) == [path]
        assert main(["table", "mnist", "--runs", str(tmp_path / "none")]) == 1
    assert records.read(path)["curves"]["epoch"][-1] == 1


def test_a_message_that_the_encoding_lacks_is_written_with_escapes(monkeypatch):
    for name, write in (("stdout", messages.info), ("stderr", messages.warn)):
        content = io.BytesIO()
        monkeypatch.setattr(sys, name, io.TextIOWrapper(content, "ascii"))
        write("3 µs")
        getattr(sys, name).flush()
        assert content.getvalue() == b"3 \\xb5s\n"


def test_a_message_arrives_although_a_bar_ends_meanwhile_in_another_thread(monkeypatch, capsys):
    def fails(*_, **__):
        raise RuntimeError("Set changed size during iteration")

    monkeypatch.setattr(tqdm, "write", fails)
    messages.warn("a word")
    assert capsys.readouterr().err == "a word\n"
