"""Homework from the book's exercises: notebooks for students, and the key.

The folder is laid out as nbgrader has it, and its cells carry nbgrader's metadata::

    release/NAME/start.ipynb         for the students: task, hints, starter, check
    source/NAME/start.ipynb          the key: the same with the book's solution
    submitted/STUDENT/NAME/…         where hand-ins go
    NAME.json                        what the grader reads
    nbgrader_config.py               for those who use nbgrader
"""

import ast
import json
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lnbook import exercises
from lnbook.classroom import chapters
from lnbook.classroom.chapters import Task
from lnbook.exercises import Function
from lnlib import _files

OTHER = 1_000_003  # from the class's seed to that of the inputs that only the grader has
DEFAULT = ("start", "choose_the_axis")
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
ALWAYS = "import numpy as np\n\nimport lnlib\nfrom lnbook import exercises\n"
POINTS = 1
CONFIG = """# For those who use nbgrader; without it, this file does nothing.
c = get_config()
c.ClearSolutions.code_stub = {"python": ""}  # the starter stands above each solution
"""


def make(
    wanted: Sequence[str], folder: str | Path, *, seed: int = 0, name: str = "homework"
) -> Path:
    """Write the notebooks of a homework.

    Args:
        wanted: Exercises, and chapters for all of theirs.
        folder: Where to.
        seed: The class's number: functions are tried on inputs drawn with it.
        name: Of the homework; several may share a folder.

    Returns:
        The file that :func:`lnbook.classroom.grade.grade` reads.

    Raises:
        ValueError: If there is no such exercise, or a name is no name of a folder.
    """
    if not name.replace("-", "").replace("_", "").isalnum():
        raise ValueError(f"name must be letters, digits, - and _, got {name!r}; choose another")
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed must be 0 to 4294967295, got {seed}; choose another")
    chosen = select(wanted)
    for task in chosen:
        for drawn in (seed, seed + OTHER):
            tell_apart(task.name, drawn)
    folder, sheets = Path(folder), {}
    for chapter in dict.fromkeys(task.chapter for task in chosen):
        tasks = [task for task in chosen if task.chapter == chapter]
        for room, key in (("release", False), ("source", True)):
            path = folder / room / name / f"{chapter}.ipynb"
            _write(path, notebook(tasks, seed, key=key))
        sheets[chapter] = {
            "title": tasks[0].title,
            "setup": setup(tasks),
            "exercises": [
                {
                    "name": task.name,
                    "answer": task.answer,
                    "binds": sorted(task.binds),
                    "points": POINTS,
                }
                for task in tasks
            ],
        }
    (folder / "submitted").mkdir(parents=True, exist_ok=True)
    if not (config := folder / "nbgrader_config.py").exists():
        config.write_text(CONFIG, "utf-8")
    manifest = folder / f"{name}.json"
    _write(manifest, {"homework": name, "seed": seed, "notebooks": sheets})
    return manifest


def _write(path: Path, content: dict) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    _files.write(path, text.encode())


def select(wanted: Sequence[str]) -> list[Task]:
    """Return the exercises of a list of exercises and chapters, each once, as the book has them.

    One that stands on another's answer brings that along.
    """
    found: dict[str, Task] = {}
    every = {chapter: chapters.tasks(chapter) for chapter in chapters.in_order()}
    for name in wanted:
        if name in every:
            found |= every[name]
        elif tasks := next((tasks for tasks in every.values() if name in tasks), None):
            needed = chapters.used(ast.parse(tasks[name].solution).body) - tasks[name].binds
            needed -= set().union(*map(chapters.bound, tasks[name].before))
            found |= {other.name: other for other in tasks.values() if other.binds & needed}
            found[name] = tasks[name]
        else:
            exercises.find(name)  # says which name is near
    if not found:
        raise ValueError("exercises must name one at least, got none; name a chapter, as in start")
    order = list(every)
    return sorted(found.values(), key=lambda task: order.index(task.chapter))


def tell_apart(name: str, seed: int) -> None:
    """Hold that with this seed the checker knows right from wrong.

    Raises:
        ValueError: If it does not.
    """
    exercise = exercises.find(name, seed=seed)
    if isinstance(exercise, Function):
        for sentence, wrong in exercise.wrong.items():
            if exercise.fault(wrong) != sentence:
                raise ValueError(
                    f"seed must draw inputs for {name!r} that tell every misconception, got "
                    f"{seed}, which hides: {sentence} Choose another"
                )


def setup(tasks: Sequence[Task]) -> str:
    """Return the code that the exercises of one chapter stand on."""
    lines: dict[str, None] = {}
    for task in tasks:
        for statement in chapters.needs(task.before, f"{task.starter}\n{task.solution}"):
            lines.setdefault(statement)
    known = [line for line in lines if line not in ALWAYS.splitlines()]
    imports = [line for line in known if line.startswith(("import ", "from "))]
    rest = [line for line in known if line not in imports]
    return (ALWAYS + "\n".join(imports) + "\n\n" + "\n".join(rest)).rstrip()


def varies(name: str) -> bool:
    """Whether a class has inputs of its own in this exercise."""
    exercise = exercises.find(name)
    return isinstance(exercise, Function) and exercise.varies


def notebook(tasks: Sequence[Task], seed: int, *, key: bool) -> dict[str, Any]:
    """Return the notebook of one chapter's exercises.

    Args:
        tasks: The exercises.
        seed: Of the class.
        key: Whether with solutions.
    """
    own = [task for task in tasks if varies(task.name)]
    cells = [
        _cell(
            "markdown",
            "head",
            f"# Homework: {tasks[0].title}\n\n"
            "Write each answer into the cell below its task, in place of the `...`, and run the "
            "check below that: it says what is still wrong. Leave the checks as they are; the "
            "grader runs its own. The book must be installed, as it is in the JupyterLab that "
            "`make live` starts.\n\n"
            f"Of {len(tasks)} exercise{'s' * (len(tasks) > 1)}, {len(own)} tr"
            f"{'ies' if len(own) == 1 else 'y'} your function on inputs drawn for your class "
            f"(seed {seed}), and the grader on more of them. The others ask for the same in every "
            "class.",
            locked=True,
        ),
        _cell("code", "setup", setup(tasks), locked=True),
    ]
    for number, task in enumerate(tasks, 1):
        title = task.name.replace("-", " ").capitalize()
        drawn = "inputs of your class" if task in own else "the same for every class"
        text = f"## {number}. {title}\n\n*{drawn.capitalize()}*\n\n{task.text}"
        cells.append(_cell("markdown", f"{task.name}-task", text, locked=True))
        answer = task.starter
        seeded = f", seed={seed}" if task in own else ""
        check = f'exercises.check("{task.name}", {task.answer}{seeded})'
        if key:
            # In the cell, not beside it: nbgrader takes away what stands between these two lines.
            said = [f"# {line}" for line in textwrap.wrap(task.why, 86)]
            solved = "\n".join(["### BEGIN SOLUTION", *said, task.solution.strip()])
            answer = f"{task.starter}\n\n\n{solved}\n### END SOLUTION"
            check += (
                "\n### BEGIN HIDDEN TESTS\n"
                f'assert exercises.fault("{task.name}", {task.answer}{seeded}) is None\n'
                "### END HIDDEN TESTS"
            )
        cells.append(_cell("code", task.name, answer, solution=True))
        cells.append(_cell("code", f"{task.name}-check", check, locked=True, points=POINTS))
    return {
        "cells": cells,
        "metadata": {"kernelspec": KERNEL, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


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
