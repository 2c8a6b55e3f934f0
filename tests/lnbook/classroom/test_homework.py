"""Homework from the exercises: nothing of a solution, numbers by seed, all that a cell needs."""

import ast
import json
import re

import nbformat
import numpy as np
import pytest

from lnbook import exercises
from lnbook.__main__ import main
from lnbook.classroom import chapters, homework
from lnbook.exercises import Function

TASKS = {t.name: t for chapter in exercises.chapters() for t in chapters.tasks(chapter).values()}
DRAWN = [name for name in TASKS if homework.varies(name)]
SEEDS = (1, 2)


def test_most_exercises_have_inputs_of_their_own_for_a_class():
    assert 2 * len(DRAWN) > len(TASKS)  # so says book/teach.md


def read(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """Homework of all exercises."""
    folder = tmp_path_factory.mktemp("all")
    homework.make(exercises.chapters(), folder, seed=11)
    return folder


def pairs(folder):
    """Each notebook as the students get it, and its key."""
    for path in sorted((folder / "release" / "homework").iterdir()):
        yield read(path), read(folder / "source" / "homework" / path.name)


def test_every_exercise_of_the_book_can_be_set(everything):
    assert sorted(TASKS) == sorted(exercises.names())
    asked = re.findall(r'exercises\.check\(\\"([\w-]+)', str(
        [path.read_text("utf-8") for path in (everything / "release" / "homework").iterdir()]
    ).replace("\\\\", "\\"))  # fmt: skip
    assert sorted(asked) == sorted(exercises.names())


def test_what_students_get_holds_no_line_of_a_solution(everything):
    for released, key in pairs(everything):
        given = "\n".join(cell.source for cell in released.cells)
        assert "SOLUTION" not in given
        assert "HIDDEN" not in given
        for cell in key.cells:
            if "BEGIN SOLUTION" in cell.source:
                starter, solved = cell.source.split("### BEGIN SOLUTION")
                for line in solved.splitlines()[:-1]:
                    if len(line) > 20 and line not in starter:
                        assert line not in given


def test_the_key_is_the_same_but_for_what_nbgrader_takes_away(everything):
    for released, key in pairs(everything):
        for given, solved in zip(released.cells, key.cells, strict=True):
            bare = re.sub(r"\n*### BEGIN (.*?)###[^\n]*END [A-Z ]+$", "", solved.source, flags=re.S)
            assert bare == given.source
            assert solved.metadata == given.metadata


def test_metadata_keeps_the_rules_of_nbgraders_third_schema(everything):
    for released, _ in pairs(everything):
        meta = [cell.metadata.nbgrader for cell in released.cells]
        ids = [m.grade_id for m in meta]
        assert len(ids) == len(set(ids))
        for cell, m in zip(released.cells, meta, strict=True):
            assert re.fullmatch(r"[a-zA-Z0-9_\-]+", m.grade_id)
            assert {m.schema_version, m.task} == {3, False}
            assert ("points" in m) == m.grade
            assert not (m.locked and m.solution)
            assert cell.cell_type == "code" or not (m.grade or m.solution)
            assert m.grade == m.grade_id.endswith("-check")


# The starter of "unseen" trains for seconds; test_solutions.py lets it.
@pytest.mark.parametrize("name", sorted(TASKS.keys() - {"unseen"}))
def test_a_solution_stands_on_the_cell_above_alone_and_passes_with_another_seed(name):
    task = TASKS[name]
    names = {}
    exec(homework.setup([task]), names)
    exec(task.starter, names)
    assert exercises.fault(name, eval(task.answer, names), seed=5)
    for one in homework.select([name]):  # with what it stands on, if that is another exercise
        exec(one.solution, names)
    assert exercises.fault(name, eval(task.answer, names), seed=5) is None


def test_an_exercise_brings_along_the_one_it_stands_on():
    assert [task.name for task in homework.select(["padding-safe"])] == [
        "normalize",
        "padding-safe",
    ]
    alone = [len(homework.select([name])) for name in TASKS if name != "padding-safe"]
    assert set(alone) == {1}


def test_a_first_cell_imports_and_computes_nothing_of_another_exercise(everything):
    for released, _ in pairs(everything):
        (first,) = [c for c in released.cells if c.metadata.nbgrader.grade_id == "setup"]
        solved = {n for task in TASKS.values() for n in task.binds if task.name in DRAWN}
        made = set().union(*map(chapters.bound, ast.parse(first.source).body))
        assert {"np", "lnlib", "exercises"} <= made
        assert not solved & made - {"normalize", "layer_norm"}, first.source


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("seed", SEEDS)
def test_any_seed_tells_right_from_every_misconception(name, seed):
    exercise = exercises.find(name, seed=seed)
    assert exercise.fault(exercise.reference) is None
    homework.tell_apart(name, seed)


@pytest.mark.parametrize("name", [n for n in TASKS if n not in DRAWN])
def test_where_no_seed_changes_anything_the_notebook_says_so(name, everything):
    task = TASKS[name]
    text = (everything / "release" / "homework" / f"{task.chapter}.ipynb").read_text("utf-8")
    cells = {c["id"]: c["source"] for c in json.loads(text)["cells"]}
    assert "*The same for every class*" in cells[f"{name}-task"]
    assert "seed=" not in cells[f"{name}-check"]
    if isinstance(exercises.find(name), Function):
        some, other = (exercises.find(name, seed=s)._cases() for s in SEEDS)
        assert repr(some) == repr(other)


@pytest.mark.parametrize("name", DRAWN)
def test_another_seed_gives_other_inputs(name, everything):
    some, other = (exercises.find(name, seed=s)._cases() for s in SEEDS)

    def same(a, b):
        return isinstance(a, np.ndarray | float) and np.array_equal(a, b)

    pairs_ = [(a, b) for x, y in zip(some, other, strict=False) for a, b in zip(x, y, strict=True)]
    assert len(some) != len(other) or not all(same(a, b) for a, b in pairs_)
    text = (everything / "release" / "homework" / f"{TASKS[name].chapter}.ipynb").read_text("utf-8")
    assert f'exercises.check(\\"{name}\\", ' in text
    assert re.search(rf'check\(\\"{name}\\", .*, seed=11\)', text)


def test_a_check_with_a_seed_shows_the_numbers_of_that_seed(capsys):
    for seed in (0, 0, 4):
        exercises.check("which-norm", lambda x, y: "rms", seed=seed)
        exercises.check("rms-norm-backward", lambda dy, x, gain: x, seed=seed)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == lines[2:4]
    assert lines[1] != lines[5]


def test_text_of_a_task_shows_as_it_is_in_any_notebook(everything):
    for released, _ in pairs(everything):
        for cell in released.cells:
            if cell.cell_type == "markdown":
                assert not re.search(r"\{[a-z:]+\}`|^:[a-z]+:|`{4}", cell.source, re.M), cell.source


def test_one_command_makes_it_and_says_what_to_do_next(tmp_path, capsys):
    out = tmp_path / "class"
    assert main(["homework", "undo", "one_example", "--seed", "3", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert f"python -m lnbook grade {out / 'submitted'}" in said
    names = sorted(path.name for path in (out / "release" / "homework").iterdir())
    assert names == ["one_example.ipynb", "start.ipynb"]
    told = json.loads((out / "homework.json").read_text("utf-8"))
    assert told["seed"] == 3
    assert [e["name"] for e in told["notebooks"]["start"]["exercises"]] == ["undo"]


def test_the_list_names_every_exercise_once(capsys):
    assert main(["homework", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line.split()[1] for line in lines) == sorted(exercises.names())
    assert {line.split()[1] for line in lines if line.endswith("by seed")} == set(DRAWN)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["two-unit"], "got 'two-unit'; did you mean 'two-units'"),
        (["start", "--seed", "-1"], "seed must be 0 to 4294967295, got -1"),
        (["start", "--name", "../up"], "name must be letters, digits, - and _, got '../up'"),
    ],
)
def test_a_wrong_argument_is_one_sentence_and_writes_nothing(tmp_path, capsys, arguments, said):
    assert main(["homework", *arguments, "--out", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_without_the_chapters_the_command_says_where_they_are(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(exercises, "HERE", tmp_path / "lnbook")
    assert main(["homework", "start", "--out", str(tmp_path / "out")]) == 1
    assert "run it in a clone of the book" in capsys.readouterr().err
