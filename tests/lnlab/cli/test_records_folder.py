"""The folder of records: `replay` prints it, and `table` and `claims` find it by default."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from lnlab import records
from lnlab.cli import main


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(text):
    return len(text.partition("\n\n")[0].splitlines()) - 1  # claims come after them


@pytest.mark.slow
@pytest.mark.parametrize("out", ["runs", "my runs", "-x"])
def test_replay_ends_with_commands_that_read_its_records(out, here, short, capsys):
    flags = short("weights", "ignored")[:-2]
    assert main([*flags, f"--out={out}"]) == 0
    *_, text, table, claims = capsys.readouterr().out.splitlines()
    assert str(Path(out, "weights")) in text
    assert len(list(Path(out, "weights").glob("*.json"))) == 1
    assert ("--runs" in table) == ("--runs" in claims) == (out != "runs")
    for command in (table, claims):
        python, m, lnlib, *arguments = shlex.split(command)
        assert [python, m, lnlib] == ["python", "-m", "lnlab"]
        assert main(arguments) == 0
        read = capsys.readouterr()
        assert "book" not in read.err.partition(";")[0]
    assert main(shlex.split(table)[3:]) == 0
    assert rows(capsys.readouterr().out) == 1


def test_without_own_records_those_of_the_book_are_used(here, capsys):
    assert main(["table", "weights"]) == 0
    book = capsys.readouterr()
    assert rows(book.out) == 17
    assert str(records.folder()) in book.err
    # Records of other experiments do not count.
    shutil.copytree(records.folder() / "noise", "runs/noise")
    assert main(["table", "weights"]) == 0
    assert capsys.readouterr() == book
    assert main(["table", "noise"]) == 0
    assert "showing records of noise from runs;" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["table", "weights"], ["claims"], ["claims", "--json"]])
@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("gone", "it does not exist"),
        ("file", "it is not a folder"),
        ("empty", "it has none"),
        ("", "an empty name"),
    ],
)
def test_folders_without_records_raise_an_error_with_the_reason(command, named, why, here, refused):
    Path("file").touch()
    Path("empty").mkdir()
    text = refused([*command, "--runs", named])
    assert text.startswith(f"lnlab {command[0]}: --runs must be a folder with records of ")
    assert f"got {named!r} ({why}" in text
    assert re.search(r"python -m lnlab replay (weights|book) writes records", text)
