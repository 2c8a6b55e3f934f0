"""A class hands in, and nbgrader grades it: right answers as Jupyter runs them, wrong, hostile."""

import csv
import io
import json
import os
import select
import stat
import subprocess
import sys
import zipfile

import nbformat
import pytest

from lnbook import exercises
from lnbook.__main__ import main
from lnbook.classroom import chapters, checks, homework
from lnbook.classroom import grade as grading
from lnbook.classroom.grade import Row, Where, grade, summary, table
from lnbook.classroom.hand_ins import found, read, restore
from tests.cases import hand_ins

LIMITS = Where(seconds=5, total=120)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A homework that a class has handed in and that is graded."""
    folder = tmp_path_factory.mktemp("course")
    released = homework.make(["start"], folder, seed=hand_ins.SEED)
    hand_ins.write(folder / "submitted", released)
    told = []
    graded = grade(folder / "submitted", where=LIMITS, tell=told.append)
    rows = {(row.student, row.exercise): row for row in graded.rows}
    return {"folder": folder, "graded": graded, "rows": rows, "told": told}


def of(course, student):
    """The rows of one student, by exercise."""
    return {name: course["rows"][student, name] for name in hand_ins.NAMES}


# Honest work.


@pytest.mark.parametrize("name", hand_ins.NAMES)
@pytest.mark.parametrize("student", ["Zoë Łuk", "_1+1", "moved"])
def test_a_right_answer_that_runs_in_jupyter_gets_its_point(course, student, name):
    row = of(course, student)[name]
    assert (row.passed, row.points, row.said, row.misconception) == (1, 1, "", ""), row


def test_every_entry_of_the_folder_ends_in_rows_or_in_a_sentence(course):
    entries = {path.name for path in (course["folder"] / "submitted").iterdir()}
    graded = {row.student for row in course["graded"].rows}
    told = "\n".join(course["graded"].sentences)
    for entry in entries:
        student = "_1+1" if entry == "=1+1.zip" else entry.rpartition(".")[0] or entry
        assert student in graded or entry in told, entry
    assert len(graded) + len(course["graded"].sentences) == len(entries)
    assert len(course["graded"].rows) == len(graded) * len(hand_ins.NAMES)


# Wrong answers, and those of others.


def test_a_known_misconception_is_named_in_row_and_feedback(course):
    row = of(course, "wrong")["two-lines"]
    assert row.misconception in exercises.find("two-lines").wrong
    assert "H - 1" in row.misconception
    assert (row.passed, row.points, row.said) == (0, 0, "")
    page = course["folder"] / "feedback" / "wrong" / "homework" / "start.html"
    assert f"Not yet: {row.misconception}" in page.read_text("utf-8")


def test_any_other_wrong_answer_is_told_what_is_wrong_with_it(course):
    rows = of(course, "wrong")
    assert "ZeroDivisionError" in rows["rest-of-the-batch"].said
    assert rows["rest-of-the-batch"].misconception == ""


def test_knowing_the_inputs_of_the_class_by_heart_is_not_enough(course):
    row = of(course, "wrong")["undo"]
    assert row.passed == row.points == 0
    assert row.said.startswith("right on the inputs of the check; for x ")


@pytest.mark.parametrize("name", ["two-lines", "rest-of-the-batch"])
def test_no_reference_solution_can_be_imported_where_work_is_graded(course, name):
    row = of(course, "hostile")[name]
    assert row.points == 0
    assert "ValueError: check: name must be an exercise" in row.error or (
        "No module named 'lnbook.start.exercises'" in row.error
    )


@pytest.mark.parametrize(
    ("name", "error"), [("two-units", "KernelEnded: "), ("small-inputs", "TookTooLong: ")]
)
def test_a_cell_that_ends_python_or_never_ends_costs_its_own_exercise_alone(course, name, error):
    rows = of(course, "hostile")
    assert (rows[name].points, rows["undo"].points) == (0, 1)
    assert rows[name].error.startswith(error)


@pytest.mark.parametrize(
    ("student", "said"),
    [
        ("broken", "start.ipynb is not a notebook"),
        ("list", "list.ipynb is not a notebook"),
        ("linked", "it is empty"),
        ("empty", "it is empty"),
        ("report", "there is no notebook in it, only report.docx"),
        ("torn", "torn.zip cannot be opened: "),
        ("packed", "such archives are not read; unpack it"),
    ],
)
def test_what_cannot_be_graded_says_why_in_row_and_total(course, student, said):
    for row in of(course, student).values():
        assert (row.passed, row.points) == (0, 0)
        assert said in row.error
    (total,) = [total for total in course["graded"].totals if total.student == student]
    assert said in total.problems
    assert total.points == 0


# Tables.


def test_totals_are_the_sums_of_each_students_points(course):
    totals = {total.student: total for total in course["graded"].totals}
    assert totals.keys() == {row.student for row in course["graded"].rows}
    for student, total in totals.items():
        own = of(course, student).values()
        assert total.points == sum(row.points for row in own)
        assert (total.of, total.exercises) == (5, 5)
        assert total.passed == sum(row.passed for row in own)
    assert totals["Zoë Łuk"].points == 5
    assert totals["wrong"].points == 1


@pytest.mark.parametrize("name", ["grades.csv", "totals.csv"])
def test_a_table_on_disk_begins_with_the_byte_order_mark_and_holds_every_row(course, name):
    content = (course["folder"] / name).read_bytes()
    assert content.startswith("\N{ZERO WIDTH NO-BREAK SPACE}Zoë"[:1].encode())
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    graded = course["graded"].rows if name == "grades.csv" else course["graded"].totals
    assert [row["student"] for row in rows] == [row.student for row in graded]
    assert [float(row["points"]) for row in rows] == [row.points for row in graded]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "＝", "\t=", "\r\n=", " +", "|"])
def test_no_text_of_a_student_is_a_formula_or_further_cells(start):
    given = Row("a", "start", "two-units", said=f"{start}cmd()", error=f'x";{start}1;\n{start}2')
    lines = table([given], Row).decode("utf-8-sig").splitlines()
    assert len(lines) == 2
    (back,) = csv.DictReader(io.StringIO("\n".join(lines)))
    assert back["said"].startswith("'")
    assert ";" not in lines[1]  # separates cells where a comma is the decimal sign


def test_the_summary_counts_and_names_what_is_met_most():
    rows = [Row(str(k), "start", "undo", misconception="that way.") for k in range(2)]
    rows += [Row("c", "start", "undo", passed=1), Row("d", "start", "undo", misconception="x.")]
    assert summary(rows) == ["undo: 1 of 4 passed; 2 × that way."]


def test_points_changed_by_hand_in_the_gradebook_are_those_of_the_tables(course, monkeypatch):
    from nbgrader.api import Gradebook

    monkeypatch.setattr(grading.nbgrader, "run", lambda *arguments: "")
    with Gradebook(f"sqlite:///{course['folder'] / 'gradebook.db'}") as gradebook:
        found = gradebook.find_grade("undo-check", "start", "homework", "wrong")
        found.manual_score = 0.5
        gradebook.db.commit()
        try:
            graded = grade(course["folder"] / "submitted", where=LIMITS)
        finally:
            found.manual_score = None
            gradebook.db.commit()
    (total,) = [total for total in graded.totals if total.student == "wrong"]
    assert total.points == 1.5


@pytest.mark.parametrize("left", ["a damaged notebook", "an empty folder"])
def test_a_student_without_a_notebook_has_no_points_of_an_earlier_one(two, monkeypatch, left):
    folder, _ = two
    points = {(student, "start", "two-lines"): 1 for student in ("ada", "bob")}
    monkeypatch.setattr(grading, "_gradebook", lambda course, name: points)
    path = folder / "submitted" / "ada.ipynb"
    if left == "an empty folder":
        path.unlink()
        path.with_suffix("").mkdir()
    else:
        path.write_text('{"cells": [', "utf-8")
    graded = grade(folder / "submitted")
    assert {row.student: row.points for row in graded.rows} == {"ada": 0, "bob": 1}
    assert {total.student: total.points for total in graded.totals} == {"ada": 0, "bob": 1}


# What runs again.


@pytest.fixture
def two(tmp_path, monkeypatch):
    """A homework with two hand-ins, and the notebooks that are run; none is run in truth."""
    ran = []

    def execute(room, book, where, notebooks):
        ran.append(sorted(path.name for path in room.glob("*.ipynb")))
        return ""

    monkeypatch.setattr(grading, "_execute", execute)
    monkeypatch.setattr(grading.nbgrader, "run", lambda *arguments: "")
    make(tmp_path, hand_ins.SEED)
    content = json.loads((tmp_path / "source/homework/start.ipynb").read_text("utf-8"))
    for student in ("ada", "bob"):
        path = tmp_path / "submitted" / f"{student}.ipynb"
        path.write_text(json.dumps(hand_ins.answered(content, hand_ins.RIGHT)), "utf-8")
    grade(tmp_path / "submitted")
    ran.clear()
    return tmp_path, ran


def make(folder, seed):
    """Write a homework without nbgrader's part, which takes seconds."""
    run, homework.nbgrader.run = homework.nbgrader.run, lambda *arguments: ""
    try:
        homework.make(["two-lines"], folder, seed=seed)
    finally:
        homework.nbgrader.run = run


def test_a_hand_in_that_has_run_does_not_run_again(two):
    folder, ran = two
    grade(folder / "submitted")
    assert ran == []


@pytest.mark.parametrize("change", ["seed", "notebook", "file", "limits", "library", "torch"])
def test_a_hand_in_runs_again_when_what_its_grade_depends_on_has_changed(two, change, monkeypatch):
    folder, ran = two
    where, times = Where(), 2
    if change == "seed":
        make(folder, hand_ins.SEED + 1)
    elif change == "notebook":
        path = folder / "submitted" / "ada.ipynb"
        path.write_text(path.read_text("utf-8").replace("mean, var", "mean,  var"), "utf-8")
        times = 1
    elif change == "file":
        (folder / "submitted" / "ada").mkdir()
        (folder / "submitted" / "ada.ipynb").rename(folder / "submitted" / "ada" / "start.ipynb")
        (folder / "submitted" / "ada" / "helper.py").write_text("x = 1")
        times = 1
    elif change == "limits":
        where = Where(seconds=61)
    elif change == "torch":
        version = grading.importlib.metadata.version
        monkeypatch.setattr(
            grading.importlib.metadata, "version", lambda n: "9" if n == "torch" else version(n)
        )
    else:
        before = grading.stripped

        def newer(room):
            book = before(room)
            with (book / "lnlib" / "__init__.py").open("a") as file:
                file.write("\n# newer")
            return book

        monkeypatch.setattr(grading, "stripped", newer)
    grade(folder / "submitted", where=where)
    assert len(ran) == times


def test_an_interrupted_grading_goes_on_where_it_was(two):
    folder, ran = two
    make(folder, 11)

    def interrupt(text):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grade(folder / "submitted", tell=interrupt)
    grade(folder / "submitted")
    assert len(ran) == 2


def test_what_failed_for_want_of_a_package_runs_again(two):
    folder, ran = two
    path = folder / "executed" / "ada" / "homework" / "start.ipynb"
    notebook = nbformat.read(path, 4)
    notebook.cells[1].outputs = [nbformat.v4.new_output("error", ename="ModuleNotFoundError")]
    nbformat.write(notebook, path)
    grade(folder / "submitted")
    assert len(ran) == 1


# Where it runs.


posix = pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell and process groups")


@pytest.fixture
def containers(tmp_path, monkeypatch):
    """Put stand-ins for Docker or Podman on PATH, which note how they are called."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    def install(tool, image="sha256:1", status=0):
        program = tmp_path / "bin" / tool
        program.write_text(
            f"#!/bin/sh\n[ $1 = image ] && {{ echo {image}; exit {status}; }}\n"
            f"[ $1 = pull ] && {{ echo denied >&2; exit {status}; }}\n"
            f'echo "$*" >> {tmp_path}/calls\n'
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    return install


@posix
def test_in_a_container_a_submission_has_no_network_and_sees_no_other(
    two, tmp_path, monkeypatch, containers
):
    folder, _ = two
    monkeypatch.undo()
    monkeypatch.setattr(grading.nbgrader, "run", lambda *arguments: "")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    containers("docker")
    grade(folder / "submitted", where=Where(container="class:1", memory="1g"))
    ran, removed = (tmp_path / "calls").read_text().splitlines()[:2]
    name = removed.split()[-1]
    assert removed == f"rm --force {name}"
    assert ran.startswith(f"run --rm --name {name} --network none --memory 1g ")
    assert " --cap-drop ALL " in ran
    assert " class:1 python -m lnbook.classroom.execute /work --seconds=60 --total=600" in ran
    mounted = [part for part in ran.split() if ":/" in part]
    assert len(mounted) == 2
    assert not any(str(folder) in part for part in mounted)


@posix
@pytest.mark.parametrize(
    ("tool", "user", "mapped"),
    [("podman", 1000, True), ("podman", 0, False), ("docker", 1000, False)],
)
def test_a_rootless_container_of_podman_can_read_the_folder_of_its_submission(
    tmp_path, monkeypatch, containers, tool, user, mapped
):
    monkeypatch.setattr(os, "getuid", lambda: user)
    containers(tool)
    grading._execute(tmp_path, tmp_path, Where(container="class"), 1)
    ran = (tmp_path / "calls").read_text().splitlines()[0]
    assert f"--user {user}:" in ran
    assert ("--userns keep-id" in ran) == mapped


@posix
def test_submissions_run_again_in_an_image_that_was_built_anew_under_its_name(two, containers):
    folder, ran = two
    for image, times in (("sha256:1", 2), ("sha256:1", 2), ("sha256:2", 4)):
        containers("docker", image)
        grade(folder / "submitted", where=Where(container="class"))
        assert len(ran) == times


@posix
def test_an_image_that_cannot_be_had_ends_the_grading_before_any_submission(two, containers):
    folder, ran = two
    containers("docker", status=1)
    with pytest.raises(ValueError, match=r"--container must be an image .* got class: denied"):
        grade(folder / "submitted", where=Where(container="class"))
    assert ran == []


@posix
def test_a_process_that_a_cell_has_started_does_not_outlive_the_run_or_prolong_it():
    held, given = os.pipe()
    program = "import subprocess; subprocess.Popen(['sleep', '600'], close_fds=False)"
    command = [sys.executable, "-c", program]
    said = grading._wait(command, 30, start_new_session=True, pass_fds=[given])
    os.close(given)
    assert said == ""
    assert select.select([held], [], [], 30)[0] == [held]  # its last holder has ended
    os.close(held)


@posix
def test_a_run_that_fails_is_told_by_the_last_line_of_its_errors():
    program = "import sys; print('x' * 20_000, '\\nlast', file=sys.stderr); sys.exit(3)"
    assert grading._wait([sys.executable, "-c", program], 30) == "last"


def test_without_a_word_on_whose_account_nothing_runs(tmp_path, capsys):
    assert main(["grade", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "--container IMAGE" in said
    assert "--trust" in said


def test_what_runs_a_hand_in_has_the_book_without_its_exercises(tmp_path):
    book = grading.stripped(tmp_path / "book")
    found = {path.relative_to(book).as_posix() for path in book.rglob("exercises.py")}
    assert found == {"lnbook/exercises.py"}
    code = "import lnbook.exercises, lnlib.nn; print(lnbook.exercises.names(), lnbook.__file__)"
    env = os.environ | {"PYTHONPATH": str(book)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.stdout.startswith(f"[] {book}"), done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "FOLDER must be a folder of hand-ins, got nowhere"),
        (["."], "must be the folder that homework wrote"),
        ([".", "--course", "../made", "--name", "odd"], "--name must be one of first, second"),
        ([".", "--course", "../made"], "--name must be one of first, second, got None"),
    ],
)
def test_a_wrong_argument_is_one_sentence(tmp_path, monkeypatch, capsys, arguments, said):
    for name in ("here", "made/source/first", "made/source/second"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    assert main(["grade", *arguments, "--trust"]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_name_that_the_console_cannot_write_ends_nothing(two):
    folder, _ = two
    (folder / "submitted" / "ada.ipynb").unlink()
    (folder / "submitted" / "bob.ipynb").rename(folder / "submitted" / "Łukasz 李.txt")
    env = os.environ | {"PYTHONIOENCODING": "cp1252"}
    command = [sys.executable, "-m", "lnbook", "grade", str(folder / "submitted"), "--trust"]
    done = subprocess.run(command, env=env, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"not graded: ?ukasz ?.txt" in done.stdout


# Hand-ins as programs and people lay them out.


@pytest.mark.parametrize(
    ("places", "students"),
    [
        (["ada/start.ipynb", "bob/one/start.ipynb"], ["ada", "bob"]),
        (["start-cy.ipynb", "dan/Untitled.ipynb"], ["cy", "dan"]),
        (["a.zip:start.ipynb", "b/x.zip:deep/down/start.ipynb"], ["a", "b"]),
        (["A_1_assignsubmission_file_/start.ipynb"], ["A_1_assignsubmission_file_"]),
        (
            ["all.zip:A_1_assignsubmission_/s.ipynb", "all.zip:B_2_assignsubmission_/s.ipynb"],
            ["A_1_assignsubmission_", "B_2_assignsubmission_"],
        ),
        (["[x]*?/start.ipynb", "e/start.IPYNB"], ["_x___", "e"]),
    ],
)  # fmt: skip
def test_a_student_is_a_folder_a_notebook_or_an_archive(tmp_path, places, students):
    content = json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    for place in places:
        outer, _, inner = place.partition(":")
        path = tmp_path / outer
        path.parent.mkdir(parents=True, exist_ok=True)
        if inner:
            with zipfile.ZipFile(path, "a") as archive:
                archive.writestr(inner, content)
        else:
            path.write_text(content)
    hand_ins, told = found(tmp_path, "one", {"start": ["two-units"]})
    assert sorted(hand_in.student for hand_in in hand_ins) == students
    assert all(list(hand_in.notebooks) == ["start"] for hand_in in hand_ins)
    assert told == []


def test_of_several_notebooks_for_a_chapter_the_newest_counts(tmp_path):
    for age, name in ((2, "older/start.ipynb"), (1, "start-2.ipynb"), (3, "start.ipynb")):
        path = tmp_path / "ada" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}", "utf-8")
        os.utime(path, (1e9 - age, 1e9 - age))
    ((hand_in,), _) = found(tmp_path, "homework", {"start": []})
    assert str(hand_in.notebooks["start"].path) == "start-2.ipynb"


def test_another_homework_of_the_course_is_not_taken_for_this_one(tmp_path):
    path = tmp_path / "ada" / "second" / "start.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text("{}", "utf-8")
    ((hand_in,), _) = found(tmp_path, "first", {"start": []}, others=["second"])
    assert hand_in.notebooks == {}


@pytest.fixture(scope="module")
def source():
    tasks = list(chapters.tasks("start").values())[:2]
    return nbformat.from_dict(homework.notebook(tasks, 7))


def handed(tmp_path, cells):
    """Read a notebook of these cells as a hand-in."""
    path = tmp_path / "start.ipynb"
    content = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    path.write_text(json.dumps(content))
    ((hand_in,), _) = found(tmp_path, "homework", {"start": ["two-units", "small-inputs"]})
    return read(hand_in.notebooks["start"])


def code(text, grade_id=None):
    meta = {"nbgrader": {"grade_id": grade_id}} if grade_id else {}
    return {"cell_type": "code", "metadata": meta, "source": text, "outputs": [],
            "execution_count": None}  # fmt: skip


A, B = ('checks.check("two-units", prediction)', 'checks.check("small-inputs", eps)')


@pytest.mark.parametrize(
    ("cells", "wanted"),
    [
        ([], ["setup", "A", "B"]),
        ([code("p = 1"), code(A), code("e = 1"), code(B)], ["setup", "p = 1", "A", "e = 1", "B"]),
        ([code("p = 1", "two-units"), code("q"), code("e", "small-inputs")],
         ["setup", "p = 1", "q", "A", "e", "B"]),
        ([code(A), code("p = 2"), code(A), code(B)], ["setup", "p = 2", "A", "B"]),
        ([code("p = 3\n" + A, "two-units-check"), code(B)],
         ["setup", "p = 3\n" + A, "A", "B"]),
        ([code("import x", "setup"), code(A), code(B)], ["setup", "import x", "A", "B"]),
    ],
    ids=["nothing", "no-metadata", "no-checks", "second-attempt", "in-the-check", "in-the-setup"],
)  # fmt: skip
def test_setup_and_tests_stand_where_they_belong_whatever_was_done(tmp_path, source, cells, wanted):
    original = {c["metadata"]["nbgrader"]["grade_id"]: c["source"] for c in source["cells"]}
    known = {original["setup"]: "setup", original["two-units-check"]: "A",
             original["small-inputs-check"]: "B"}  # fmt: skip
    restored = restore(handed(tmp_path, cells), source)
    nbformat.validate(restored)
    assert [known.get(cell.source, cell.source) for cell in restored.cells] == wanted
    tests = [c.metadata.nbgrader.points for c in restored.cells if "points" in str(c.metadata)]
    assert tests == [1, 1]


# Checks as data.


@pytest.mark.parametrize("name", exercises.names())
def test_a_check_made_of_data_says_what_the_exercise_says(name):
    exercise = exercises.find(name, seed=3)
    whole, opened = (
        json.loads(json.dumps(checks.describe(name, seed=3, key=key))) for key in (True, False)
    )
    if isinstance(exercise, exercises.Measured):
        assert checks.fault(opened, (2.0, 2.0)) == exercise.fault((2.0, 2.0))
        return
    function = isinstance(exercise, exercises.Function)
    right = exercise.reference if function else exercise.answer
    assert checks.fault(whole, right) is None
    assert checks.fault(opened, right) is None
    known = [(w, s) for s, w in exercise.wrong.items()] if function else exercise.wrong.items()
    for wrong, said in known:
        if exercise.fault(wrong) == said:
            assert checks.fault(whole, wrong) == said
            assert checks.fault(opened, wrong) == said
    assert "expected" not in opened


def test_a_check_without_its_file_says_where_it_must_lie(tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "HERE", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"checks\.json must lie beside the notebook"):
        checks.check("two-units", 1)
