"""Stored chapters: template, text outputs only, and a check for every number in the text."""

import ast
import builtins
import calendar
import json
import re
import symtable
import sys
from pathlib import Path

import nbformat
import pytest

import lnbook.exercises

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "book" / "_ext")]
import notebooks  # noqa: E402
from reading_time import measures, minutes  # noqa: E402
from tracks import read_tracks  # noqa: E402

CHAPTERS = sorted((ROOT / "book").glob("*.ipynb"))
# Chapters with questions and exercises.
LOOKED_UP = (
    "error_messages",
    "troubleshooting",
    "nan_overflow",
    "train_eval_mode",
    "loading_checkpoints",
)
LESSONS = [path for path in CHAPTERS if path.stem not in ("playground", *LOOKED_UP)]
PATHS = (ROOT / "book" / "chapters.md").read_text("utf-8")
SECTIONS = ["Summary", "Quiz", "Exercises", "Notes"]


@pytest.fixture(params=CHAPTERS, ids=lambda path: path.stem)
def notebook(request):
    return nbformat.read(request.param, as_version=4)


@pytest.fixture(params=LESSONS, ids=lambda path: path.stem)
def lesson(request):
    return nbformat.read(request.param, as_version=4)


def hidden(cell):
    return "remove-cell" in cell.metadata.get("tags", []) and cell.id != notebooks.CELL


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def prose(notebook):
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def test_every_chapter_is_in_one_track():
    placed = [name for _, track in read_tracks(ROOT / "_toc.yml") for name in track]
    assert len(placed) == len(set(placed))
    assert {path.stem for path in CHAPTERS} <= set(placed)


def minutes_of(names):
    pages = [nbformat.read(ROOT / f"book/{name}.ipynb", as_version=4) for name in names]
    return sum(minutes(measures(page))[0] for page in pages)


@pytest.mark.parametrize("name", ["Use it", "Understand it"])
def test_tracks_take_about_the_stated_time(name):
    promised = re.search(rf"\*{name}\* .*? takes about (\d+) minutes", PATHS)[1]
    assert minutes_of(dict(read_tracks(ROOT / "_toc.yml"))[name]) == pytest.approx(
        int(promised), abs=10
    )


def test_the_one_hour_path_takes_an_hour():
    path = re.search(r"^\*\*If you have one hour,\*\* (.*)$", PATHS, re.M)[1]
    names = re.findall(r"\((\w+)\.ipynb\)", path)
    assert len(names) == 5
    assert 50 <= minutes_of(names) <= 60


def test_only_text_outputs_are_stored_and_cells_ran_in_order(notebook):
    assert notebooks.folded(notebooks.text_only(json_copy(notebook))) == notebook
    counts = [cell.execution_count for cell in code(notebook)]
    assert counts == list(range(1, len(counts) + 1))


def json_copy(notebook):
    return nbformat.from_dict(json.loads(json.dumps(notebook)))


def test_every_chapter_follows_the_template(lesson):
    titles = re.findall(r"^## (.+)$", prose(lesson), re.M)
    sections = [name for name in SECTIONS if name != "Exercises" or exercises(lesson)]
    assert titles[-len(sections) :] == sections
    assert len(re.findall(r"^# ", prose(lesson), re.M)) == 1


def test_quizzes_have_three_to_five_questions_of_several_kinds(lesson):
    quizzes = [
        node
        for cell in code(lesson)
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Quiz"
    ]
    kinds = [question.func.id for quiz in quizzes for question in quiz.args]
    assert 3 <= len(kinds) <= 5
    assert set(kinds) == {"choose", "number", "order"}


# Numbers that are labels or dates need no check; single digits are mostly counts.
MONTHS = "|".join(calendar.month_name[1:])
PLACES = (
    rf"\b(?:\d{{1,2}} )?(?:{MONTHS}) \d{{4}}\b|"
    r"(?:[Ee]qs?\.|\b[Ss]ections?|\b[Ff]igures?|\b[Tt]ables?|\b[Cc]hapters?|\b[Hh]int|arXiv:)"
    r"\s*\d[\d.]*(?:(?:,| to| and| or|–|-|−)\s*\d[\d.]*)*"
)
NUMBER = r"(?<![\w.^/-])[−-]?\d[\d,]*(?:\.\d+)?(?:e[−-]?\d+)?"


def numbers(text):
    """All numbers in a text as floats, without signs."""
    results = set()
    for number in re.findall(NUMBER, text.replace("_", "")):
        plain = number.lstrip("−-").rstrip(",").replace(",", "").replace("−", "-")
        results.add(abs(float(plain)))
    return results


def test_every_number_in_the_prose_is_computed_in_its_section(lesson):
    claimed, known, section = {}, {}, ""
    for cell in lesson.cells:
        if cell.cell_type == "code":
            known.setdefault(section, set()).update(numbers(cell.source))
            for output in cell.outputs:
                text = output.get("text") or output.get("data", {}).get("text/plain", "")
                known[section] |= numbers("".join(text))
            continue
        for part in re.split(r"^(?=## )", cell.source, flags=re.M):
            if title := re.match(r"## (.+)", part):
                section = title[1]
            text = re.sub(r"^#.*$|^:label:.*$", " ", part, flags=re.M)
            text = re.sub(
                r"\$\$.*?\$\$|\$[^$]*\$|`+[^`]*`+|\]\([^)]*\)|<[^>]+>", " ", text, flags=re.S
            )
            text = re.sub(PLACES, " ", re.sub(r"\b[PM]\d+\b", " ", text))
            claimed.setdefault(section, set()).update(n for n in numbers(text) if n > 9 or n % 1)
    # The summary repeats what the sections showed.
    everything = set().union(*known.values())
    missing = {
        section: sorted(left)
        for section, result in claimed.items()
        if (left := result - (known.get(section) or everything))
    }
    assert missing == {}


def test_cells_are_short(notebook):
    for cell in code(notebook):
        imports = {
            number
            for node in ast.parse(cell.source).body
            if isinstance(node, ast.Import | ast.ImportFrom)
            for number in range(node.lineno, node.end_lineno + 1)
        }
        lines = [
            line
            for number, line in enumerate(cell.source.splitlines(), 1)
            if line.strip() and number not in imports
        ]
        # An explorer's call may list its controls; anything else longer belongs in lnlib.
        limit = 20 if re.search(r"Explorer\(|LiveRun\(", cell.source) or hidden(cell) else 12
        if cell.source.startswith("Quiz("):  # text in a Python call
            limit = 120
        assert len(lines) <= limit, cell.source


def test_every_section_with_output_has_a_hidden_check(lesson):
    section, printed = "", {}
    for cell in lesson.cells:
        if cell.cell_type == "markdown":
            for title in re.findall(r"^## (.+)$", cell.source, re.M):
                section = title
        elif hidden(cell):
            assert "assert" in cell.source
            printed[section] = False
        elif cell.outputs and "Playground(" not in cell.source:  # see test_playground_page.py
            printed[section] = True
    left = [section for section, open_ in printed.items() if open_]
    assert left == [], "these sections show results that no hidden cell asserts"


def exercises(notebook):
    """Maps a label to the cells of the exercise and those of its solution."""
    result, room = {}, None
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for line in cell.source.splitlines():
                if label := re.fullmatch(r":label: (\S+)", line):
                    room = result.setdefault(label[1], ([], []))[0]
                elif label := re.search(r"{solution-start} (\S+)$", line):
                    room = result[label[1]][1]
                elif line.startswith("## "):
                    room = None
        if room is not None:
            room.append(cell)
    return result


def test_exercises_have_graded_hints(lesson):
    for label, (task, _) in exercises(lesson).items():
        text = "\n".join(cell.source for cell in task if cell.cell_type == "markdown")
        assert re.findall(r"<summary>Hint (\d)</summary>", text)[:2] == ["1", "2"], label


def test_chapters_begin_with_the_setup_cell(notebook):
    first = code(notebook)[0]
    assert first.id == notebooks.CELL
    sources = json.loads(re.search(r"^SOURCES = (\{.*?\})", first.source, re.M)[1])
    assert first.source == notebooks.setup_cell(sources)


def test_code_that_a_page_does_not_show_is_folded_in_jupyterlab_notebook_and_colab(notebook):
    solution = False
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            ends = re.findall(r"{solution-(start|end)}", cell.source)
            solution = ends[-1] == "start" if ends else solution
            continue
        shown = not {"hide-input", "remove-input", "remove-cell"} & set(
            cell.metadata.get("tags", [])
        )
        hidden = cell.metadata.get("jupyter", {})
        assert hidden.get("source_hidden", False) == (solution or not shown), cell.source
        assert hidden.get("outputs_hidden", False) == solution, cell.source
        assert ("cellView" in cell.metadata) == ("source_hidden" in hidden)


def used_and_defined(source):
    """The names that a cell uses from other cells or builtins, and those that it defines."""
    cell = symtable.symtable(source, "cell", "exec")
    tables = [cell]
    for table in tables:
        tables += table.get_children()
    used = {
        symbol.get_name()
        for table in tables
        for symbol in table.get_symbols()
        if symbol.is_referenced() and (table is cell or symbol.is_global())
    }
    defined = {
        symbol.get_name()
        for symbol in cell.get_symbols()
        if symbol.is_assigned() or symbol.is_imported()
    }
    return used - defined, defined


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_visible_code_is_self_contained(path):
    """Names come from visible code, or a comment says that a folded cell computed them."""
    notebook = nbformat.read(path, as_version=4)
    known = {*dir(builtins), "exercises"}  # for checking answers
    for cell in code(notebook):
        if {"hide-input", "remove-input", "remove-cell"} & set(cell.metadata.get("tags", [])):
            continue
        used, defined = used_and_defined(cell.source)
        comments = " ".join(re.findall(r"#(.*)", cell.source))
        known |= defined | set(re.findall(r"\w+", comments))
        assert used - known == set(), cell.source


def test_the_starter_fails_the_checker_and_the_solution_passes_it(lesson):
    for label, (task, solution) in exercises(lesson).items():
        (starter,) = (cell for cell in task if cell.cell_type == "code")
        assert "exercises.check(" in starter.source, label
        assert printed(starter).startswith("Not yet"), label
        checked = [c for c in solution if c.cell_type == "code" and "exercises.check(" in c.source]
        assert checked, label
        assert all("Right." in printed(cell) for cell in checked), label


def test_every_exercise_occurs_in_one_chapter():
    source = "\n".join(
        cell.source for path in CHAPTERS for cell in code(nbformat.read(path, as_version=4))
    )
    checked = re.findall(r"exercises\.check\(\s*\"([^\"]+)\"", source)
    assert all(checked.count(name) >= 2 for name in lnbook.exercises.names())  # starter, solution
    assert set(checked) == set(lnbook.exercises.names())


def printed(cell):
    return "".join(output.get("text", "") for output in cell.outputs)
