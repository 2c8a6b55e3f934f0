"""Homework generated with nbgrader: no solutions, inputs by seed, complete setup."""

import json
import re

import nbformat
import pytest

from lnbook import exercises
from lnbook.__main__ import main
from lnbook.classroom import chapters, checks, homework, nbgrader

TASKS = {t.name: t for chapter in exercises.chapters() for t in chapters.tasks(chapter).values()}
DRAWN = [name for name in TASKS if homework.varies(name)]


def read(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


@pytest.fixture(
    scope="module", params=[["introduction"], pytest.param(None, marks=pytest.mark.slow)], ids=str
)
def everything(request, tmp_path_factory):
    """Homework of one chapter, or of all."""
    folder = tmp_path_factory.mktemp("all")
    homework.make(request.param or exercises.chapters(), folder, seed=11)
    return folder


def released(folder):
    """The released notebooks of a folder."""
    return sorted((folder / "release" / "homework").glob("*.ipynb"))


def pairs(folder):
    """Pairs of the released notebook and the teacher's."""
    for path in released(folder):
        yield read(path), read(folder / "source" / "homework" / path.name)


def set_here(folder):
    """The exercises that the students of a folder get."""
    cells = [cell.source for path in released(folder) for cell in read(path).cells]
    return re.findall(r'^checks\.check\("([\w-]+)', "\n".join(cells), re.M)


def test_every_exercise_can_be_part_of_a_homework(everything):
    chosen = {path.stem for path in released(everything)}
    assert sorted(TASKS) == sorted(exercises.names())
    assert sorted(set_here(everything)) == sorted(n for n in TASKS if TASKS[n].chapter in chosen)


def test_students_files_contain_no_line_of_a_solution(everything):
    for notebook, key in pairs(everything):
        given = "\n".join(cell.source for cell in notebook.cells)
        assert "SOLUTION" not in given
        assert "HIDDEN" not in given
        assert "checks.mark(" not in given
        for cell in key.cells:
            if "BEGIN SOLUTION" in cell.source:
                starter, solved = cell.source.split("### BEGIN SOLUTION")
                for line in solved.splitlines()[:-1]:
                    signature = line.lstrip().startswith("def ")  # reveals nothing
                    if len(line) > 20 and line not in starter and not signature:
                        assert line not in given


def test_students_files_contain_no_answers(everything):
    path = everything / "release" / "homework" / "checks.json"
    every = json.loads(path.read_text("utf-8"))
    for name in set_here(everything):
        if name in DRAWN:  # examples, while the hidden test uses others
            hidden = checks.describe(name, seed=11 + homework.HIDDEN_SEED_OFFSET, key=True)
            assert every[name]["cases"] != hidden["cases"]
        else:
            revealed = {"expected", "on_success", "hint"} & every[name].keys()
            assert not revealed or "results" in every[name], name


def test_nbgrader_finds_a_test_with_points_for_each_exercise(everything):
    for given, whole in pairs(everything):
        tests = [c for c in whole.cells if c.metadata.nbgrader.grade]
        assert [c.metadata.nbgrader.points for c in tests] == [1] * len(tests)
        assert all("### BEGIN HIDDEN TESTS" in c.source for c in tests)
        ids = [c.metadata.nbgrader.grade_id for c in whole.cells]
        assert ids == [c.metadata.nbgrader.grade_id for c in given.cells]
        assert len(ids) == len(set(ids))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Object of type:sqlalchemy.exc.SAWarning")  # from nbgrader
def test_the_seed_can_be_changed_before_and_after_submissions(tmp_path):
    cells = set()
    for seed in (1, 2):
        homework.make(["two-lines"], tmp_path, seed=seed)
        with nbgrader.gradebook(tmp_path) as book:
            cells.add(book.find_source_cell("two-lines-check", "introduction", "homework").source)
            book.update_or_create_student("ada")
            book.update_or_create_submission("homework", "ada")
    assert len(cells) == 2


# These train for seconds; the notebooks run them.
@pytest.mark.parametrize("name", sorted(TASKS.keys() - {"unseen", "why-post-norm-stalls"}))
def test_solutions_only_need_the_setup_cell_and_pass_with_other_seeds(name):
    task = TASKS[name]
    names = {}
    exec(homework.setup([task]), names)
    exec(task.starter, names)
    assert exercises.feedback(name, eval(task.answer, names), seed=5)
    for one in homework.select([name]):  # with an exercise that it depends on, if any
        exec(one.solution, names)
    assert exercises.feedback(name, eval(task.answer, names), seed=5) is None


def test_the_command_creates_the_homework_and_prints_the_next_steps(tmp_path, capsys):
    out = tmp_path / "class"
    assert main(["homework", "undo", "--seed", "3", "--out", str(out)]) == 0
    assert f"python -m lnbook grade {out / 'submitted'}" in capsys.readouterr().out
    (path,) = released(out)
    assert path.name == "introduction.ipynb"
    (check,) = [c.source for c in read(path).cells if "check(" in c.source]
    assert check == 'checks.check("undo", undo)'


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["two-unit"], "did you mean 'two-units'"),
        (["introduction", "--seed", "-1"], "seed must be 0 to"),
        (["introduction", "--name", "../up"], "name must be letters"),
    ],
)
def test_invalid_arguments_write_nothing(tmp_path, capsys, arguments, message):
    assert main(["homework", *arguments, "--out", str(tmp_path / "out")]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", DRAWN)
def test_a_seed_distinguishes_all_misconceptions(name):
    exercise = exercises.find(name, seed=1)
    assert exercise.feedback(exercise.reference) is None
    homework.check_distinguishes(name, 1)
