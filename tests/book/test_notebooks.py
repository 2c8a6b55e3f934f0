"""Chapters as stored: the template kept, text outputs alone, a check behind every claim."""

import json
import re
import sys
from pathlib import Path

import nbformat
import pytest
import yaml

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from notebooks import text_only  # noqa: E402

CHAPTERS = sorted((ROOT / "book").glob("*.ipynb"))
SECTIONS = ["Check yourself", "Exercises", "Summary", "In the paper, in practice"]


@pytest.fixture(params=CHAPTERS, ids=lambda path: path.stem)
def notebook(request):
    return nbformat.read(request.param, as_version=4)


def hidden(cell):
    return "remove-cell" in cell.metadata.get("tags", [])


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def prose(notebook):
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def test_the_table_of_contents_has_every_chapter():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    files = [toc["root"], *(entry["file"] for entry in toc["chapters"])]
    assert {path.stem for path in CHAPTERS} <= set(files)


def test_only_text_is_stored_and_every_cell_ran_in_order(notebook):
    assert text_only(json_copy(notebook)) == notebook
    counts = [cell.execution_count for cell in code(notebook)]
    assert counts == list(range(1, len(counts) + 1))


def json_copy(notebook):
    return nbformat.from_dict(json.loads(json.dumps(notebook)))


def test_the_template_is_kept(notebook):
    titles = re.findall(r"^## (.+)$", prose(notebook), re.M)
    assert titles[-4:] == SECTIONS
    assert len(re.findall(r"^# ", prose(notebook), re.M)) == 1
    assert re.search(r"minutes", notebook.cells[0].source), "say how long it takes"
    assert 3 <= len(re.findall(r"^\*\*\d+\. ", prose(notebook), re.M)) <= 5, "3 to 5 questions"


def test_a_chapter_is_short(notebook):
    assert len(notebook.cells) <= 45
    words = re.sub(r"<[^>]+>|\$\$.*?\$\$|`{3,}.*", " ", prose(notebook), flags=re.S).split()
    assert len(words) < 2200


def test_cells_are_short(notebook):
    for cell in code(notebook):
        lines = [line for line in cell.source.splitlines() if line.strip()]
        # An explorer's call may list its controls; anything else longer belongs in lnlib.
        limit = 20 if re.search(r"Explorer\(|LiveRun\(", cell.source) or hidden(cell) else 12
        assert len(lines) <= limit, cell.source


def test_every_section_that_prints_has_a_hidden_check(notebook):
    section, printed = "", {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for title in re.findall(r"^## (.+)$", cell.source, re.M):
                section = title
        elif hidden(cell):
            assert "assert" in cell.source
            printed[section] = False
        elif cell.outputs:
            printed[section] = True
    left = [section for section, open_ in printed.items() if open_]
    assert left == [], "these sections show results that no hidden cell asserts"


def test_every_exercise_has_a_solution_that_runs(notebook):
    text = prose(notebook)
    exercises = re.findall(r"{exercise-start}\n:label: (\S+)", text)
    assert len(exercises) >= 2
    assert sorted(re.findall(r"{solution-start} (\S+)\n", text)) == sorted(exercises)
    inside, solutions = False, 0
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            inside = "{solution-start}" in cell.source
        solutions += inside and cell.cell_type == "code"
    assert solutions >= len(exercises)


def test_no_machine_is_named(notebook):
    text = json.dumps(notebook)
    assert not re.search(r"/work/|/root/|/home/|/tmp/", text)
