"""Grading of synthetic submissions with nbgrader: right, wrong and hostile answers."""

import codecs
import csv
import functools
import io
import json
import os
import zipfile

import nbformat
import pytest

from lnbook import exercises
from lnbook.classroom import chapters, checks, homework
from lnbook.classroom import grade as grading
from lnbook.classroom.grade import ExerciseResult, Sandbox, grade, table
from lnbook.classroom.submissions import find_submissions, read, restore
from tests.cases import submissions

LIMITS = Sandbox(seconds=5, total=120)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A homework with submissions that has been graded."""
    folder = tmp_path_factory.mktemp("course")
    released = homework.make(["introduction"], folder, seed=submissions.SEED)
    submissions.write(folder / "submitted", released)
    messages = []
    graded = grade(folder / "submitted", sandbox=LIMITS, tell=messages.append)
    rows = {(row.student, row.exercise): row for row in graded.rows}
    return {"folder": folder, "graded": graded, "rows": rows, "told": messages}


def of(course, student):
    """The rows of one student, by exercise."""
    return {name: course["rows"][student, name] for name in submissions.NAMES}


@pytest.mark.parametrize("name", submissions.NAMES)
@pytest.mark.parametrize("student", ["Zoë Łuk", "_1+1", "moved"])
def test_correct_answers_that_run_in_jupyter_get_a_point(course, student, name):
    row = of(course, student)[name]
    assert (row.passed, row.points, row.feedback, row.misconception) == (1, 1, "", ""), row


@pytest.mark.parametrize(
    ("name", "misconception", "feedback"),
    [
        ("two-lines", "H − 1", ""),
        ("rest-of-the-batch", "", "ZeroDivisionError"),
        ("undo", "", "right on the inputs of the check; for x "),  # whose outputs it has memorized
    ],
)
def test_wrong_answers_get_feedback_on_their_misconception_or_error(
    course, name, misconception, feedback
):
    row = of(course, "wrong")[name]
    assert (row.passed, row.points) == (0, 0)
    assert misconception in row.misconception
    assert bool(row.misconception) == bool(misconception)
    assert feedback in row.feedback


@pytest.mark.parametrize(
    ("student", "reason"),
    [
        ("broken", "introduction.ipynb is not a notebook"),
        ("list", "list.ipynb is not a notebook"),
        ("linked", "it is empty"),
        ("empty", "it is empty"),
        ("report", "there is no notebook in it, only report.docx"),
        ("torn", "torn.zip cannot be opened: "),
        ("packed", "such archives are not read; unpack it"),
    ],
)
def test_submissions_that_cannot_be_graded_have_a_reason(course, student, reason):
    for row in of(course, student).values():
        assert (row.passed, row.points) == (0, 0)
        assert reason in row.error
    (total,) = [total for total in course["graded"].totals if total.student == student]
    assert reason in total.problems
    assert total.points == 0


@pytest.mark.parametrize(("name", "table"), [("grades.csv", "rows"), ("totals.csv", "totals")])
def test_csv_files_begin_with_a_byte_order_mark_and_contain_every_row(course, name, table):
    content, graded = (course["folder"] / name).read_bytes(), getattr(course["graded"], table)
    assert content.startswith(codecs.BOM_UTF8)
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    wanted = [(row.student, row.points) for row in graded]
    assert [(row["student"], float(row["points"])) for row in rows] == wanted


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "＝", "\t=", "\r\n=", " +", "|"])
def test_texts_of_students_cannot_become_formulas_or_cells(start):
    given = ExerciseResult("a", "introduction", "two-units", feedback=f'{start}cmd()";{start}1')
    lines = table([given], ExerciseResult).decode("utf-8-sig").splitlines()
    (back,) = csv.DictReader(lines)
    assert back["feedback"].startswith("'")
    assert ";" not in lines[1]  # separates cells if the decimal sign is a comma


@pytest.mark.slow
def test_manually_changed_points_appear_in_the_tables(course, monkeypatch):
    monkeypatch.setattr(grading.nbgrader, "run", lambda *arguments: "")
    with grading.nbgrader.gradebook(course["folder"]) as gradebook:
        result = gradebook.find_grade("undo-check", "introduction", "homework", "wrong")
        result.manual_score = 0.5
        gradebook.db.commit()
        try:
            graded = grade(course["folder"] / "submitted", sandbox=LIMITS)
        finally:
            result.manual_score = None
            gradebook.db.commit()
    (total,) = [total for total in graded.totals if total.student == "wrong"]
    assert total.points == 1.5


@pytest.mark.parametrize(
    ("places", "students"),
    [
        (["ada/introduction.ipynb", "bob/one/introduction.ipynb"], ["ada", "bob"]),
        (["introduction-cy.ipynb", "dan/Untitled.ipynb"], ["cy", "dan"]),
        (["a.zip:introduction.ipynb", "b/x.zip:deep/down/introduction.ipynb"], ["a", "b"]),
        (
            ["all.zip:A_1_assignsubmission_/s.ipynb", "all.zip:B_2_assignsubmission_/s.ipynb"],
            ["A_1_assignsubmission_", "B_2_assignsubmission_"],
        ),
        (["[x]*?/introduction.ipynb", "e/introduction.IPYNB"], ["_x___", "e"]),
    ],
)
def test_submissions_can_be_folders_notebooks_or_archives(tmp_path, places, students):
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
    submissions, messages = find_submissions(tmp_path, "one", {"introduction": ["two-units"]})
    assert sorted(submission.student for submission in submissions) == students
    assert all(list(submission.notebooks) == ["introduction"] for submission in submissions)
    assert messages == []


def test_the_newest_of_several_notebooks_counts(tmp_path):
    names = ("second/introduction.ipynb", "introduction-2.ipynb", "older/introduction.ipynb")
    for name, age in zip(names, (0, 2, 3), strict=True):
        path = tmp_path / "ada" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}", "utf-8")
        os.utime(path, (1e9 - age, 1e9 - age))
    find = functools.partial(find_submissions, tmp_path, "first", {"introduction": []})
    ((submission,), _) = find(others=["second"])  # of another homework
    assert str(submission.notebooks["introduction"].path) == "introduction-2.ipynb"


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
def test_setup_and_tests_are_restored_in_place(tmp_path, cells, wanted):
    tasks = list(chapters.tasks("introduction").values())[:2]
    source = nbformat.from_dict(homework.notebook(tasks, 7))
    original = {c["metadata"]["nbgrader"]["grade_id"]: c["source"] for c in source["cells"]}
    known = {original["setup"]: "setup", original["two-units-check"]: "A",
             original["small-inputs-check"]: "B"}  # fmt: skip
    path = tmp_path / "introduction.ipynb"
    path.write_text(
        json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
    )
    names = {"introduction": ["two-units", "small-inputs"]}
    ((submission,), _) = find_submissions(tmp_path, "homework", names)
    restored = restore(read(submission.notebooks["introduction"]), source)
    nbformat.validate(restored)
    assert [known.get(cell.source, cell.source) for cell in restored.cells] == wanted


@pytest.mark.parametrize("name", exercises.names())
def test_data_only_checks_give_the_same_feedback_as_the_exercise(name):
    exercise = exercises.find(name, seed=3)
    whole, opened = (
        json.loads(json.dumps(checks.describe(name, seed=3, key=key))) for key in (True, False)
    )
    assert "expected" not in opened
    if isinstance(exercise, exercises.Measured):
        assert checks.feedback(opened, (2.0, 2.0)) == exercise.feedback((2.0, 2.0))
        return
    if isinstance(exercise, exercises.Function):
        right, wrong = exercise.reference, exercise.misconceptions.values()
    else:
        right, wrong = exercise.answer, exercise.misconceptions
    for answer in (right, *wrong):
        feedback = exercise.feedback(answer)
        assert checks.feedback(whole, answer) == checks.feedback(opened, answer) == feedback


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("two-lines", "ValueError: check: name must be an exercise"),  # reads the solutions
        ("rest-of-the-batch", "No module named 'lnbook.chapters.introduction.exercises'"),
        ("two-units", "KernelEnded: "),
        ("small-inputs", "TookTooLong: "),
    ],
)
def test_cells_that_crash_hang_or_read_solutions_only_affect_their_own_exercise(
    course, name, error
):
    rows = of(course, "hostile")
    assert (rows[name].points, rows["undo"].points) == (0, 1)
    assert error in rows[name].error


def test_every_entry_of_the_folder_yields_rows_or_a_message_and_totals_are_sums(course):
    rows, totals = course["graded"].rows, {t.student: t for t in course["graded"].totals}
    entries = list((course["folder"] / "submitted").iterdir())
    assert len(totals) + len(course["graded"].sentences) == len(entries)
    assert totals.keys() == {row.student for row in rows}
    for student, total in totals.items():
        own = of(course, student).values()
        assert total.points == sum(row.points for row in own)
        assert total.passed == sum(row.passed for row in own)
    assert totals["Zoë Łuk"].points == totals["Zoë Łuk"].of == 5
    assert totals["wrong"].points == 1
