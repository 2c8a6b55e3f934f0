"""Chapters as stored: the template kept, text outputs alone, a check behind every claim."""

import ast
import json
import re
import sys
from pathlib import Path

import nbformat
import pytest

import lnlib.exercises

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from notebooks import text_only  # noqa: E402

CHAPTERS = sorted((ROOT / "book").glob("*.ipynb"))
LESSONS = [path for path in CHAPTERS if path.stem != "playground"]  # with questions and exercises
SECTIONS = ["Check yourself", "Exercises", "Summary", "In the paper, in practice"]


@pytest.fixture(params=CHAPTERS, ids=lambda path: path.stem)
def notebook(request):
    return nbformat.read(request.param, as_version=4)


@pytest.fixture(params=LESSONS, ids=lambda path: path.stem)
def lesson(request):
    return nbformat.read(request.param, as_version=4)


def hidden(cell):
    return "remove-cell" in cell.metadata.get("tags", [])


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def prose(notebook):
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def test_the_table_of_contents_has_every_chapter():
    toc = (ROOT / "_toc.yml").read_text()
    files = re.findall(r"(?:root|file): (\S+)", toc)
    assert {path.stem for path in CHAPTERS} <= set(files)


def test_only_text_is_stored_and_every_cell_ran_in_order(notebook):
    assert text_only(json_copy(notebook)) == notebook
    counts = [cell.execution_count for cell in code(notebook)]
    assert counts == list(range(1, len(counts) + 1))


def json_copy(notebook):
    return nbformat.from_dict(json.loads(json.dumps(notebook)))


def test_the_template_is_kept(lesson):
    titles = re.findall(r"^## (.+)$", prose(lesson), re.M)
    assert titles[-4:] == SECTIONS
    assert len(re.findall(r"^# ", prose(lesson), re.M)) == 1
    head = prose(lesson).partition("\n## ")[0]
    assert re.search(r"minutes", head), "say how long it takes"


def test_the_questions_are_three_to_five_of_every_kind(lesson):
    quizzes = [
        node
        for cell in code(lesson)
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Quiz"
    ]
    kinds = [question.func.id for quiz in quizzes for question in quiz.args]
    assert 3 <= len(kinds) <= 5
    assert set(kinds) == {"choose", "number", "order"}


def test_a_chapter_is_short(lesson):
    inside = [cell for room in exercises(lesson).values() for part in room for cell in part]
    cells = [cell for cell in lesson.cells if not any(cell is other for other in inside)]
    assert len(cells) <= 45
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    words = re.sub(r"<[^>]+>|\$\$.*?\$\$|`{3,}.*", " ", text, flags=re.S).split()
    assert len(words) < 2200


def test_cells_are_short(notebook):
    for cell in code(notebook):
        lines = [line for line in cell.source.splitlines() if line.strip()]
        # An explorer's call may list its controls; anything else longer belongs in lnlib.
        limit = 20 if re.search(r"Explorer\(|LiveRun\(", cell.source) or hidden(cell) else 12
        if cell.source.startswith("Quiz("):  # prose in Python's brackets
            limit = 120
        assert len(lines) <= limit, cell.source


def test_every_section_that_prints_has_a_hidden_check(lesson):
    section, printed = "", {}
    for cell in lesson.cells:
        if cell.cell_type == "markdown":
            for title in re.findall(r"^## (.+)$", cell.source, re.M):
                section = title
        elif hidden(cell):
            assert "assert" in cell.source
            printed[section] = False
        elif cell.outputs and "Playground(" not in cell.source:  # test_playground_page.py's
            printed[section] = True
    left = [section for section, open_ in printed.items() if open_]
    assert left == [], "these sections show results that no hidden cell asserts"


def exercises(notebook):
    """From label to the cells of the exercise and those of its solution."""
    found, room = {}, None
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for line in cell.source.splitlines():
                if label := re.fullmatch(r":label: (\S+)", line):
                    room = found.setdefault(label[1], ([], []))[0]
                elif label := re.search(r"{solution-start} (\S+)$", line):
                    room = found[label[1]][1]
                elif line.startswith("## "):
                    room = None
        if room is not None:
            room.append(cell)
    return found


def test_exercises_are_four_with_graded_hints(lesson):
    found = exercises(lesson)
    assert len(found) >= 4
    for label, (task, _) in found.items():
        text = "\n".join(cell.source for cell in task if cell.cell_type == "markdown")
        assert re.findall(r"<summary>Hint (\d)</summary>", text)[:2] == ["1", "2"], label


def test_the_starter_fails_the_checker_and_the_solution_passes_it(lesson):
    for label, (task, solution) in exercises(lesson).items():
        (starter,) = (cell for cell in task if cell.cell_type == "code")
        assert "exercises.check(" in starter.source, label
        assert printed(starter).startswith("Not yet"), label
        checked = [c for c in solution if c.cell_type == "code" and "exercises.check(" in c.source]
        assert checked, label
        assert all("Right." in printed(cell) for cell in checked), label


def test_every_exercise_of_the_library_is_set_in_one_chapter():
    source = "\n".join(
        cell.source for path in CHAPTERS for cell in code(nbformat.read(path, as_version=4))
    )
    asked = re.findall(r"exercises\.check\(\s*\"([^\"]+)\"", source)
    assert all(asked.count(name) >= 2 for name in lnlib.exercises.names())  # starter, solution
    assert set(asked) == set(lnlib.exercises.names())


def printed(cell):
    return "".join(output.get("text", "") for output in cell.outputs)


def test_no_machine_is_named(notebook):
    text = json.dumps(notebook)
    assert not re.search(r"/work/|/root/|/home/|/tmp/", text)
