"""Generate homework from the book's exercises, as a course folder of nbgrader.

::

    source/NAME/introduction.ipynb          for the teacher, with solutions and hidden tests
    source/NAME/checks.json          data for the open checks; nbgrader copies it to release
    release/NAME/                    for the students; nbgrader generates it from source
    submitted/STUDENT/NAME/…         for the submissions
    nbgrader_config.py, gradebook.db

See https://nbgrader.readthedocs.io for what else nbgrader can do with such a folder.
"""

import ast
import json
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lnbook import exercises
from lnbook.classroom import chapters, checks, nbgrader
from lnbook.classroom.chapters import Task
from lnbook.exercises import Function
from lnbook.renamed import NEW_NAMES
from lnlab import atomic_write, messages

HIDDEN_SEED_OFFSET = 1_000_003  # added to the class's seed for the hidden inputs of the grader
DEFAULT = ("introduction", "normalization_axes")
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
IMPORTS = "import numpy as np\n\nimport lnlib\nfrom lnbook.classroom import checks\n"
POINTS = 1
CONFIG = """c = get_config()
c.CourseDirectory.course_id = "layer_normalization"
c.ClearSolutions.code_stub = {"python": ""}  # the starter precedes each solution
"""


def make(
    names: Sequence[str], folder: str | Path, *, seed: int = 0, name: str = "homework"
) -> Path:
    """Write a homework assignment into a course folder and generate the students' version.

    Args:
        names: Exercises, or chapters, which stand for all of their exercises.
        folder: The course folder; it may contain other homework.
        seed: The seed of the class, with which the inputs of functions are drawn.
        name: The name of the homework.

    Returns:
        The folder for the students.

    Raises:
        ValueError: If there is no such exercise, if a name is not a valid folder name, or if
            nbgrader fails, for example because other exercises were submitted under this name.
    """
    if not name.replace("-", "").replace("_", "").isalnum():
        raise ValueError(f"name must be letters, digits, - and _, got {name!r}; choose another")
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed must be 0 to 4294967295, got {seed}; choose another")
    chosen = select(names)
    for task in chosen:
        for drawn in (seed, seed + HIDDEN_SEED_OFFSET):
            check_distinguishes(task.name, drawn)
    nbgrader.required()
    folder = Path(folder)
    source = folder / "source" / name
    source.mkdir(parents=True, exist_ok=True)
    tasks_by_chapter = {chapter: [] for chapter in dict.fromkeys(task.chapter for task in chosen)}
    for task in chosen:
        tasks_by_chapter[task.chapter].append(task)
    for path in source.glob("*.ipynb"):
        if path.stem not in tasks_by_chapter:
            path.unlink()
    for chapter, tasks in tasks_by_chapter.items():
        _write(source / f"{chapter}.ipynb", notebook(tasks, seed))
    opened = {t.name: checks.describe(t.name, seed=seed, key=varies(t.name)) for t in chosen}
    _write(source / checks.FILE, opened)
    (folder / "submitted").mkdir(exist_ok=True)
    if not (config := folder / "nbgrader_config.py").exists():
        config.write_text(CONFIG, "utf-8")
    nbgrader.run(folder, "generate_assignment", name, "--force")
    return folder / "release" / name


def _write(path: Path, content: dict) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    atomic_write.write(path, text.encode())


def select(names: Sequence[str]) -> list[Task]:
    """Return the selected exercises, each once, in the order of the book.

    An exercise that needs the answer of another one includes that one.
    """
    results: dict[str, Task] = {}
    tasks_by_chapter = {chapter: chapters.tasks(chapter) for chapter in chapters.in_order()}
    for name in (NEW_NAMES.get(name, name) for name in names):
        if name in tasks_by_chapter:
            results |= tasks_by_chapter[name]
        elif tasks := next((tasks for tasks in tasks_by_chapter.values() if name in tasks), None):
            needed = chapters.used(ast.parse(tasks[name].solution).body) - tasks[name].binds
            needed -= set().union(*map(chapters.bound, tasks[name].before))
            results |= {
                prerequisite.name: prerequisite
                for prerequisite in tasks.values()
                if prerequisite.binds & needed
            }
            results[name] = tasks[name]
        else:
            known = [*tasks_by_chapter, *exercises.names()]
            raise ValueError(
                f"exercises must be names of exercises or chapters, got {name!r}"
                f"{messages.suggestion(name, known) or '; --list prints all of them'}"
            )
    if not results:
        raise ValueError(
            "exercises must contain at least one name; add a chapter, such as introduction"
        )
    order = list(tasks_by_chapter)
    return sorted(results.values(), key=lambda task: order.index(task.chapter))


def check_distinguishes(name: str, seed: int) -> None:
    """Check that the checker distinguishes right from wrong answers for this seed.

    Raises:
        ValueError: If it does not.
    """
    exercise = exercises.find(name, seed=seed)
    if isinstance(exercise, Function):
        for sentence, wrong in exercise.misconceptions.items():
            if exercise.feedback(wrong) != sentence:
                raise ValueError(
                    f"seed must draw inputs for {name!r} that reveal every misconception, got "
                    f"{seed}, which hides: {sentence} Choose another"
                )


def setup(tasks: Sequence[Task]) -> str:
    """Return the setup code for the exercises of a chapter."""
    lines: dict[str, None] = {}
    for task in tasks:
        for statement in task.needs:
            lines.setdefault(statement)
    known = [line for line in lines if line not in IMPORTS.splitlines()]
    imports = [line for line in known if line.startswith(("import ", "from "))]
    rest = [line for line in known if line not in imports]
    return (IMPORTS + "\n".join(imports) + "\n\n" + "\n".join(rest)).rstrip()


def varies(name: str) -> bool:
    """Return whether the inputs of this exercise depend on the seed of the class."""
    exercise = exercises.find(name)
    return isinstance(exercise, Function) and exercise.varies


def notebook(tasks: Sequence[Task], seed: int) -> dict[str, Any]:
    """Return the teacher's notebook with the exercises of a chapter."""
    own = [task for task in tasks if varies(task.name)]
    head = (
        f"# Homework: {tasks[0].title}\n\n"
        "Write each answer into the cell below its task, in place of the `...`, and run the check "
        "below that. Hand in this notebook. It needs the book's Python packages, and the file "
        f"`{checks.FILE}` beside it. To work in the JupyterLab that `make live` starts, copy this "
        "folder into `live/`.\n\n"
        f"In {len(own)} of {len(tasks)} exercises your answer is a function. The check tries it on "
        f"inputs drawn for your class (seed {seed}), and the grader on more of them. In the others "
        "the check knows common mistakes, and whether an answer is right is decided in grading."
    )
    cells = [
        _cell("markdown", "head", head, locked=True),
        _cell("code", "setup", setup(tasks), locked=True),
    ]
    for number, task in enumerate(tasks, 1):
        title = task.name.replace("-", " ").capitalize()
        drawn = "inputs of your class" if task in own else "the same for every class"
        text = f"## {number}. {title}\n\n*{drawn.capitalize()}*\n\n{task.text}"
        reasons = [f"# {line}" for line in textwrap.wrap(task.why, 86)]
        solved = "\n".join(["### BEGIN SOLUTION", *reasons, task.solution.strip()])
        answer = f"{task.starter}\n\n\n{solved}\n### END SOLUTION"
        cells += [
            _cell("markdown", f"{task.name}-task", text, locked=True),
            _cell("code", task.name, answer, solution=True),
            _cell("code", f"{task.name}-check", test(task, seed), locked=True, points=POINTS),
        ]
    return {
        "cells": cells,
        "metadata": {"kernelspec": KERNEL, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def test(task: Task, seed: int) -> str:
    """Return the cell that checks an answer; nbgrader removes the hidden test for students."""
    hidden = checks.describe(task.name, seed=seed + HIDDEN_SEED_OFFSET, key=True)
    if varies(task.name):
        hidden["wrong"] = []  # the open check reports them
    return (
        f'checks.check("{task.name}", {task.answer})\n'
        "### BEGIN HIDDEN TESTS\n"
        f'checks.mark("{task.name}", {task.answer}, "{checks.seal(hidden)}")\n'
        "### END HIDDEN TESTS"
    )


def _cell(
    kind: str,
    grade_id: str,
    source: str,
    *,
    locked: bool = False,
    solution: bool = False,
    points: float | None = None,
) -> dict[str, Any]:
    """Return a cell with nbgrader's metadata, version 3."""
    meta = {
        "grade": points is not None,
        "grade_id": grade_id,
        "locked": locked,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }
    if points is not None:
        meta["points"] = points
    cell = {
        "cell_type": kind,
        "id": grade_id[:64],
        "metadata": {"nbgrader": meta},
        "source": source,
    }
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})
