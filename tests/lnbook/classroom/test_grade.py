"""A class hands in, hostile notebooks among the rest: each gets its lines and nobody else's."""

import csv
import itertools
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import pytest

from lnbook import exercises
from lnbook.__main__ import main
from lnbook.classroom import child, homework, wire
from lnbook.classroom.cell_process import CellProcess, Ended, Limits
from lnbook.classroom.grade import Row, grade, judge, summary, table
from lnbook.classroom.hand_ins import found, plan
from lnbook.exercises import Function
from tests.cases import hand_ins

SEED = 7
LIMITS = Limits(seconds=2, total=20, memory=300, file_size=1)
POSIX = pytest.mark.skipif(os.name != "posix", reason="the kernel's limits are POSIX's")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A graded homework: the grading was interrupted after three hand-ins, and went on."""
    folder = tmp_path_factory.mktemp("course")
    homework.make(["two-units", "two-lines"], folder, seed=SEED)
    released = folder / "release" / "homework" / "start.ipynb"
    victim = hand_ins.write(folder / "submitted", released, SEED)
    before = victim.read_bytes()
    told = []

    def interrupt(text):
        told.append(text)
        if len(told) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        grade(folder / "submitted", limits=LIMITS, tell=interrupt)
    first = len(rows(folder))
    with (folder / "grades.progress.jsonl").open("a") as log:
        log.write('["cut off in the mid\n')  # as by a power cut
    grade(folder / "submitted", limits=LIMITS, tell=told.append)
    return {"folder": folder, "told": told, "first": first, "same": victim.read_bytes() == before}


def rows(folder):
    with (folder / "grades.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def of(course, student):
    """The rows of one student, by exercise."""
    found = [row for row in rows(course["folder"]) if row["student"] == student]
    assert [row["exercise"] for row in found] == ["two-units", "two-lines"]
    return {row["exercise"]: row for row in found}


def test_every_student_has_a_line_an_exercise(course):
    students = sorted(path.name for path in (course["folder"] / "submitted").iterdir())
    assert len(students) > 12
    wanted = list(itertools.product(students, ["two-units", "two-lines"]))
    assert [(row["student"], row["exercise"]) for row in rows(course["folder"])] == wanted


def test_right_answers_pass_and_say_nothing(course):
    for row in of(course, "right").values():
        assert (row["passed"], row["points"]) == ("1", "1")
        assert row["misconception"] == row["said"] == row["error"] == ""


def test_points_are_given_for_what_is_passed_and_for_nothing_else(course):
    given = {(row["passed"], row["points"]) for row in rows(course["folder"])}
    assert given == {("1", "1"), ("0", "0")}


def test_of_several_notebooks_for_a_chapter_the_newest_counts(tmp_path):
    told = {"homework": "homework", "notebooks": {"start": {"exercises": []}}}
    for age, name in ((2, "older/start.ipynb"), (1, "start-2.ipynb"), (3, "start.ipynb")):
        path = tmp_path / "ada" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}", "utf-8")
        os.utime(path, (1e9 - age, 1e9 - age))
    assert [*found(tmp_path, told)] == [("ada", "start", tmp_path / "ada" / "start-2.ipynb")]


def test_what_a_student_has_not_touched_is_told(course):
    assert "still `...`" in of(course, "starter")["two-units"]["said"]
    assert "still returns `...`" in of(course, "starter")["two-lines"]["said"]


def test_a_misconception_is_told_by_the_checkers_sentence(course):
    row = of(course, "unbiased")["two-lines"]
    known = exercises.find("two-lines").wrong
    assert row["misconception"] in known
    assert "H - 1" in row["misconception"]
    assert (row["passed"], row["said"]) == ("0", "")


@pytest.mark.parametrize("student", hand_ins.HOSTILE)
def test_a_hostile_cell_gets_its_line_and_the_next_exercise_passes(course, student):
    found = of(course, student)
    assert hand_ins.HOSTILE[student][1] in found["two-units"]["error"]
    assert [row["passed"] for row in found.values()] == ["0", "1"]


def test_a_hand_in_that_overwrites_the_checker_is_judged_by_another(course):
    found = of(course, "lies")
    assert found["two-units"]["said"] == "the answer must be an array of numbers, got a Yes."
    assert [row["passed"] for row in found.values()] == ["0", "1"]


def test_knowing_the_inputs_of_the_class_by_heart_is_not_enough(course):
    said = of(course, "by-heart")["two-lines"]["said"]
    assert said.startswith("right on the inputs of the class; for x ")


def test_an_answer_in_the_cell_of_the_check_counts(course):
    assert [row["passed"] for row in of(course, "again").values()] == ["1", "1"]


def test_removed_cells_cost_what_they_held(course):
    found = of(course, "removed")
    assert "NameError: name 'prediction' is not defined" in found["two-units"]["error"]
    assert found["two-lines"]["passed"] == "1"  # without its check


@pytest.mark.parametrize(
    ("student", "said"),
    [
        ("broken", "no notebook: not JSON"),
        ("list", "JSON, but no notebook"),
        ("linked", "a link or no file"),
        ("nothing", "not handed in"),
    ],
)
def test_what_is_no_notebook_says_so(course, student, said):
    for row in of(course, student).values():
        assert said in row["error"]


def test_no_other_hand_in_is_touched_and_nothing_is_left_behind(course):
    assert course["same"]
    names = {path.name for path in course["folder"].iterdir()}
    wanted = {"release", "source", "submitted", "homework.json", "nbgrader_config.py"}
    assert names == wanted | {"grades.csv", "grades.progress.jsonl"}


def test_an_interrupted_run_keeps_its_lines_and_goes_on(course):
    assert course["first"] == 2 * 3
    assert len(course["told"]) == len({line.split(": ")[1] for line in course["told"]})
    assert len(course["told"]) == len(list((course["folder"] / "submitted").iterdir()))


def test_only_a_hand_in_that_has_changed_runs_again(course):
    path = course["folder"] / "submitted" / "starter" / "start.ipynb"
    before, told = path.read_text("utf-8"), []
    path.write_text(before.replace("eps):", "eps ):"), "utf-8")
    grade(course["folder"] / "submitted", limits=LIMITS, tell=told.append)
    assert [line.split(": ")[1] for line in told] == ["starter, start"]


CHECK = 'exercises.check("a", a)'


def cell(source, grade_id=None, kind="code"):
    return {"kind": kind, "id": grade_id, "source": source}


@pytest.mark.parametrize(
    ("cells", "wanted"),
    [
        ([cell("a = 1", "a"), cell(CHECK, "a-check")], ["a = 1", "ask a"]),
        ([cell("a = 1", "a"), cell("b = 1", "b")], ["a = 1", "ask a", "b = 1", "ask b"]),
        ([cell("text", "a-task", "markdown"), cell("a = 1")], ["a = 1", "ask a"]),
        (
            [cell("a = 1", "a"), cell(CHECK, "a-check"), cell("a = 2"), cell(CHECK, "a-check")],
            ["a = 1", "ask a", "a = 2", "ask a"],
        ),
        (
            [cell("a = 1", "a"), cell('a = 2\nexercises.check("a", a)'), cell(CHECK, "a-check")],
            ["a = 1", 'a = 2\nexercises.check("a", a)', "ask a"],
        ),
        ([cell('a = 1\nexercises.check("a", a)')], ['a = 1\nexercises.check("a", a)', "ask a"]),
        ([cell("import numpy", "setup")], ["import numpy"]),
    ],
    ids=["usual", "no-check", "answer-new", "second-attempt", "own-check", "no-metadata", "none"],
)
def test_an_answer_is_asked_for_where_its_exercise_is_done(cells, wanted):
    known = [{"name": n, "answer": n, "binds": [n]} for n in ("a", "b")]
    steps = plan(cells, {"exercises": known})
    done = [s["run"] if "run" in s else f"ask {s['ask']}" for s in steps if "forget" not in s]
    assert done == wanted


# A notebook alone, and folders as other programs make them.


def test_hand_ins_are_found_as_nbgrader_and_moodle_lay_them_out(tmp_path):
    homework.make(["two-units"], tmp_path, name="one")
    released = (tmp_path / "source" / "one" / "start.ipynb").read_text("utf-8")
    places = ["Ann Lee_42_assignsubmission_file_/start.ipynb", "bob/one/start.ipynb"]
    for place in [*places, "start-cy.ipynb", "dan/Untitled.ipynb"]:
        path = tmp_path / "submitted" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(released, "utf-8")
    grade(tmp_path / "submitted", limits=LIMITS)
    passed = {row["student"]: row["passed"] for row in rows(tmp_path)}
    assert passed == dict.fromkeys(
        ["Ann Lee_42_assignsubmission_file_", "bob", "cy", "dan"], "1"
    )  # each is the key


def test_many_cells_that_hang_end_together_in_time_and_each_exercise_has_its_line(tmp_path):
    homework.make(["two-units", "two-lines"], tmp_path)
    content = json.loads((tmp_path / "release" / "homework" / "start.ipynb").read_text("utf-8"))
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            cell["source"] = "import time\ntime.sleep(60)"
    (tmp_path / "submitted" / "slow.ipynb").write_text(json.dumps(content), "utf-8")
    grade(tmp_path / "submitted", limits=Limits(seconds=0.5, total=1))
    errors = [row["error"] for row in rows(tmp_path)]
    assert len(errors) == 2
    assert all(error.startswith("stopped: ") for error in errors)


def test_the_summary_counts_and_names_what_is_met_most(course):
    units, lines = summary(course["folder"] / "grades.csv")
    students = len(list((course["folder"] / "submitted").iterdir()))
    assert units.startswith(f"two-units: 4 of {students} passed")
    assert f"of {students} passed; 1 × the variance is divided by H - 1" in lines


def test_a_table_holds_no_formula_and_no_line_break():
    text = table([Row("=cmd()", "start", "two-units", said="@a\n\x1b[2J\ud800")])
    assert text.splitlines()[1] == "'=cmd(),start,two-units,0,0,,'@a �[2J?,"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["grade", "nowhere"], "FOLDER must be a folder of hand-ins, got nowhere"),
        (["grade", "."], "must lie one homework's file, got 0; name it by --homework"),
        (["grade", ".", "--homework", "none.json"], "cannot read none.json"),
        (["grade", ".", "--homework", "odd.json"], "odd.json must be the file that homework wrote"),
    ],
)
def test_a_wrong_argument_is_one_sentence(tmp_path, monkeypatch, capsys, arguments, said):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "here" / "odd.json").write_text('{"homework": 1}')
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


# Each fence by itself.


def alone(code, folder):
    """Run code that sets up one fence of ``guard``, and return what it prints."""
    lines = ["import os, pathlib", "from lnbook.classroom import guard"]
    program = "\n".join([*lines, f"folder = pathlib.Path({str(folder)!r})", code])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    return done.stdout.strip() or done.stderr[-300:]


TRY = """
def try_(what):
    try: what(); print("done")
    except (OSError, MemoryError) as error: print(type(error).__name__)
"""


@POSIX
def test_the_kernel_alone_limits_memory_files_and_their_size(tmp_path):
    said = alone(
        TRY
        + "import numpy as np\nguard.limit(50 << 20, 1000, 60)\nos.chdir(folder)\n"
        + "try_(lambda: np.ones(10**6)); try_(lambda: np.ones(10**8))\n"
        + "try_(lambda: open('a', 'wb').write(b'0' * 1000))\n"
        + "try_(lambda: open('b', 'wb', buffering=0).write(b'0' * 1001) == 1000 or 1 / 0)\n"
        + "try_(lambda: [open('a') for _ in range(200)])",
        tmp_path,
    )
    assert said.split() == ["done", "MemoryError", "done", "done", "OSError"]
    assert (tmp_path / "b").stat().st_size == 1000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Landlock is Linux's")
def test_landlock_alone_keeps_writing_within_the_folder(tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("as it was")
    (tmp_path / "own").mkdir()
    said = alone(
        TRY
        + f"landed = guard.land(folder); out = {str(outside)!r}; own = folder / 'a'\n"
        + "if not landed: print('none here'); raise SystemExit\n"
        + "try_(lambda: own.write_text('mine')); try_(own.unlink)\n"
        + "try_(lambda: open(out, 'w')); try_(lambda: os.remove(out))\n"
        + "try_(lambda: os.mkdir(out + '2')); try_(lambda: os.truncate(out, 0))\n"
        + "try_(lambda: open(os.devnull, 'w')); try_(lambda: open(out).read())",
        tmp_path / "own",
    )
    if said == "none here":
        pytest.skip("this kernel has no Landlock")
    refused = ["PermissionError"] * 4
    assert said.split() == ["done", "done", *refused, "done", "done"]
    assert outside.read_text() == "as it was"


def test_a_process_that_has_ended_says_why_and_its_folder_is_gone():
    with CellProcess("", LIMITS, []) as process:
        with pytest.raises(Ended, match="exit status 5"):
            process.ask({"run": "import os; os._exit(5)", "name": "a", "forget": []})
        assert not os.path.exists(process.folder)
    assert process.folder.startswith(tempfile.gettempdir())


@POSIX
@pytest.mark.parametrize(
    "line",
    ["[]", '{"refused": []}', '{"error": null}', '{"refused": "all", "error": null}',
     '{"refused": [], "error": 3}', '{"refused": [], "error": null}'],
)  # fmt: skip
def test_what_a_cell_writes_is_no_reply(line):
    cell = hand_ins.WRITES.replace("LINE", repr(line))
    messages = [{"run": cell, "name": "a", "forget": []},
                {"ask": "two-units", "answer": "1", "seeds": [1, 2]}]  # fmt: skip
    says = pytest.raises(Ended, match="the cell wrote into the grader's channel")
    with CellProcess("", LIMITS, []) as process, says:
        list(map(process.ask, messages))


def test_what_fails_in_the_grader_is_one_students_line_and_is_graded_again(tmp_path, monkeypatch):
    homework.make(["two-units"], tmp_path)
    released = (tmp_path / "release" / "homework" / "start.ipynb").read_text("utf-8")
    for student in ("ada", "bob"):
        (tmp_path / "submitted" / f"{student}.ipynb").write_text(released, "utf-8")

    left = [1]

    def fails(cells, sheet):
        if left:
            raise RuntimeError(f"odd\n{left.pop()}")
        return plan(cells, sheet)

    monkeypatch.setattr("lnbook.classroom.grade.plan", fails)
    for error in ("not graded: RuntimeError: odd 1; grade again", ""):
        grade(tmp_path / "submitted", limits=LIMITS)
        assert [(row["student"], row["error"]) for row in rows(tmp_path)] == [
            ("ada", error),
            ("bob", ""),
        ]


def test_an_answer_on_which_the_checker_fails_is_told(monkeypatch):
    def fails(*given, **more):
        raise RuntimeError("too odd")

    monkeypatch.setattr(exercises, "fault", fails)
    row = Row("ada", "start", "two-units")
    judge(row, {"value": wire.pack(1)}, 7)
    assert row.error == "the answer cannot be read: too odd"


# Answers as data.


@pytest.mark.parametrize(
    "value",
    [
        None,
        ...,
        True,
        -3,
        2.5,
        float("inf"),
        "text",
        [1, (2.0, "three"), {"four": [5]}],
        np.arange(6.0).reshape(2, 3).T,
        np.array([[True], [False]]),
        np.float32(0.1),
        np.zeros((0, 3), np.int8),
    ],
    ids=repr,
)
def test_data_comes_back_as_it_was(value):
    back = wire.unpack(json.loads(json.dumps(wire.pack(value))))
    assert type(back) is type(value)
    if isinstance(value, np.ndarray):
        assert (back.dtype, back.shape) == (value.dtype, value.shape)
    assert np.array_equal(back, value) if isinstance(value, np.ndarray) else back == value


@pytest.mark.parametrize(
    "data", [{}, [], {"kind": "array", "type": "O"}, {"kind": "list", "value": 3}, {"kind": "x"}]
)
def test_what_is_no_answer_is_refused(data):
    with pytest.raises(ValueError, match="not an answer as pack writes it"):
        wire.unpack(data)


def functions():
    return [name for name in exercises.names() if isinstance(exercises.find(name), Function)]


@pytest.mark.parametrize("name", functions())
def test_a_stand_in_is_judged_as_the_function_itself(name):
    exercise = exercises.find(name, seed=3)
    (sentence, wrong), *_ = exercise.wrong.items()
    for function, said in ((exercise.reference, None), (wrong, sentence)):
        stand = wire.unpack(wire.pack(function))
        stand.runs = json.loads(json.dumps([child.packed(run) for run in exercise.run(function)]))
        assert exercise.fault(stand) == said


def test_a_stand_in_writes_into_its_input_and_raises_as_the_function_did():
    def spoils(x, eps):
        x -= 1
        return x

    def raises(x, eps):
        raise np.linalg.LinAlgError("singular")

    exercise = exercises.find("two-lines")
    for function in (spoils, raises):
        stand = wire.unpack(wire.pack(function))
        stand.runs = [child.packed(run) for run in exercise.run(function)]
        said = exercise.fault(function).partition(" at `")[0]
        assert exercise.fault(stand).startswith(said)
        assert "writes into its input x" in said or "LinAlgError (singular)" in said
