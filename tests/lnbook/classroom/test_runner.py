"""Which submissions a grading runs, which it runs again, and where."""

import json
import os
import select
import shutil
import stat
import subprocess
import sys

import nbformat
import pytest

from lnbook.__main__ import main
from lnbook.classroom import grade as grading
from lnbook.classroom import homework, runner
from lnbook.classroom.grade import Sandbox, grade
from tests.cases import submissions


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The folder of a homework with two submissions, with hand-made results of a grading."""
    folder = tmp_path_factory.mktemp("graded")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "execute", lambda *arguments: "")
        patch.setattr(grading.nbgrader, "run", lambda *arguments: "")
        make(folder, submissions.SEED)
        content = json.loads((folder / "source/homework/introduction.ipynb").read_text("utf-8"))
        for student in ("ada", "bob"):
            path = folder / "submitted" / f"{student}.ipynb"
            path.write_text(json.dumps(submissions.answered(content, submissions.RIGHT)), "utf-8")
        grade(folder / "submitted")
    return folder


@pytest.fixture
def two(graded, tmp_path, monkeypatch):
    """A copy of it, and the list of notebooks that would be run."""
    ran = []

    def execute(room, book, sandbox, notebooks):
        ran.append(sorted(path.name for path in room.glob("*.ipynb")))
        return ""

    monkeypatch.setattr(runner, "execute", execute)
    monkeypatch.setattr(grading.nbgrader, "run", lambda *arguments: "")
    return shutil.copytree(graded, tmp_path, dirs_exist_ok=True), ran


def make(folder, seed):
    """Write a homework without the part of nbgrader, which takes seconds."""
    run, homework.nbgrader.run = homework.nbgrader.run, lambda *arguments: ""
    try:
        homework.make(["two-lines"], folder, seed=seed)
    finally:
        homework.nbgrader.run = run


def replace_spaces(folder):
    path = folder / "submitted" / "ada.ipynb"
    path.write_text(path.read_text("utf-8").replace("mean, var", "mean,  var"), "utf-8")


def fail_for_want_of_a_package(folder):
    path = folder / "executed" / "ada" / "homework" / "introduction.ipynb"
    notebook = nbformat.read(path, 4)
    notebook.cells[1].outputs = [nbformat.v4.new_output("error", ename="ModuleNotFoundError")]
    nbformat.write(notebook, path)


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("change", "sandbox", "times"),
    [
        pytest.param(lambda folder: None, Sandbox(), 0, id="nothing"),
        pytest.param(fail_for_want_of_a_package, Sandbox(), 1, id="package"),
        pytest.param(lambda f: make(f, submissions.SEED + 1), Sandbox(), 2, id="seed", marks=SLOW),
        pytest.param(replace_spaces, Sandbox(), 1, id="notebook", marks=SLOW),
        pytest.param(lambda folder: None, Sandbox(seconds=61), 2, id="limits", marks=SLOW),
    ],
)
def test_submissions_only_run_again_if_relevant_inputs_have_changed(two, change, sandbox, times):
    folder, ran = two
    change(folder)
    grade(folder / "submitted", sandbox=sandbox)
    assert len(ran) == times


@pytest.mark.slow
def test_points_of_removed_notebooks_do_not_count(two, monkeypatch):
    folder, _ = two
    points = {(student, "introduction", "two-lines"): 1 for student in ("ada", "bob")}
    monkeypatch.setattr(grading, "_gradebook", lambda course, name: points)
    (folder / "submitted" / "ada.ipynb").write_text('{"cells": [', "utf-8")
    graded = grade(folder / "submitted")
    assert {row.student: row.points for row in graded.rows} == {"ada": 0, "bob": 1}
    assert {total.student: total.points for total in graded.totals} == {"ada": 0, "bob": 1}


posix = pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell and process groups")


@pytest.fixture
def docker(tmp_path, monkeypatch):
    """Put a fake Docker program on PATH, which records how it is called."""
    program = tmp_path / "bin" / "docker"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n[ $1 = image ] && { echo sha256:1; exit 0; }\n"
        f'echo "$*" >> {tmp_path}/calls\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


@posix
def test_containers_have_no_network_and_no_access_to_other_submissions(
    two, tmp_path, monkeypatch, docker
):
    folder, _ = two
    monkeypatch.undo()
    monkeypatch.setattr(grading.nbgrader, "run", lambda *arguments: "")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    grade(folder / "submitted", sandbox=Sandbox(container="class:1", memory="1g"))
    ran, removed = (tmp_path / "calls").read_text().splitlines()[:2]
    name = removed.split()[-1]
    assert removed == f"rm --force {name}"
    assert ran.startswith(f"run --rm --name {name} --network none --memory 1g ")
    assert " --cap-drop ALL " in ran
    mounted = [part for part in ran.split() if ":/" in part]
    assert len(mounted) == 2
    assert not any(str(folder) in part for part in mounted)


@posix
def test_child_processes_do_not_outlive_or_prolong_the_run():
    held, given = os.pipe()
    program = "import subprocess; subprocess.Popen(['sleep', '600'], close_fds=False)"
    command = [sys.executable, "-c", program]
    text = runner._wait(command, 30, start_new_session=True, pass_fds=[given])
    os.close(given)
    assert text == ""
    assert select.select([held], [], [], 30)[0] == [held]  # its last holder has ended
    os.close(held)


@pytest.mark.slow
def test_the_copy_of_the_book_for_grading_contains_no_exercises(tmp_path):
    book = runner.stripped(tmp_path / "book")
    results = {path.relative_to(book).as_posix() for path in book.rglob("exercises.py")}
    assert results == {"lnbook/exercises.py"}
    code = "import lnbook.exercises, lnlib.nn; print(lnbook.exercises.names(), lnbook.__file__)"
    env = os.environ | {"PYTHONPATH": str(book)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.stdout.startswith(f"[] {book}"), done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["."], "--container IMAGE"),
        (["nowhere", "--trust"], "FOLDER must be a folder of submissions, got nowhere"),
        ([".", "--trust"], "must be a course folder written by homework"),
        ([".", "--trust", "--course", "../made"], "--name must be one of first, second, got None"),
    ],
)
def test_invalid_arguments_give_one_sentence(tmp_path, monkeypatch, capsys, arguments, message):
    for name in ("here", "made/source/first", "made/source/second"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    assert main(["grade", *arguments]) == 1
    assert message in capsys.readouterr().err
