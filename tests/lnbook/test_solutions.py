"""Solutions and starters of the chapters, run against the checker with what they need of theirs."""

import copy
import functools
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest

from lnbook import exercises
from lnlab import records
from tests.lnbook.conftest import names

CHAPTERS = sorted((Path(__file__).parents[2] / "book").glob("*.ipynb"))
READ = functools.cache(records.read_all)  # no chapter changes what it reads
CHECK = re.compile(r"exercises\.check\(\s*\"([^\"]+)\"")


def code(path):
    """Each code cell's source, and whether it stands in a solution."""
    inside, result = False, []
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            result.append((cell.source, inside))
        for end in re.findall(r"{solution-(start|end)}", cell.source):
            inside = end == "start"
    return result


CELLS = {path.stem: code(path) for path in CHAPTERS}
CHECKS = {
    (name, solved): (chapter, i)
    for chapter, cells in CELLS.items()
    for i, (source, solved) in reversed(list(enumerate(cells)))
    for name in CHECK.findall(source)
}


def needed(chapter, last):
    """The cells of a chapter that one of them needs, itself the last."""
    cells = [source for source, _ in CELLS[chapter]]
    chosen, wanted = [cells[last]], names(cells[last])[1]
    for source in reversed(cells[:last]):
        sets, reads = names(source)
        if sets & wanted:
            chosen.insert(0, source)
            wanted = wanted - sets | reads
    return chosen


@functools.lru_cache(maxsize=2)  # a starter and its solution need mostly the same
def prepared(sources):
    """What cells have set."""
    namespace = {}
    for source in sources:
        exec(compile(source, "cell", "exec"), namespace)
    return namespace


def printed(name, solved, capsys):
    """What the cell with the check of an exercise prints."""
    *before, last = needed(*CHECKS[name, solved])
    namespace = {
        k: copy.deepcopy(v) if isinstance(v, np.random.Generator) else v
        for k, v in prepared(tuple(before)).items()
    }
    capsys.readouterr()
    exec(compile(last, "cell", "exec"), namespace)
    return [line for line in capsys.readouterr().out.splitlines() if line.startswith(STARTS)]


STARTS = ("Right. ", "Not yet: ")


def test_every_exercise_has_a_starter_and_a_solution():
    assert sorted(CHECKS) == sorted(
        (name, solved) for name in exercises.names() for solved in (0, 1)
    )


@pytest.mark.parametrize("name", exercises.names())
def test_the_starter_is_a_starter_still_and_the_solution_is_right(name, capsys, monkeypatch):
    monkeypatch.setattr(records, "read_all", READ)
    (line,) = printed(name, False, capsys)
    assert line.startswith("Not yet: ")
    assert "`...`" in line
    assert printed(name, True, capsys) == [f"Right. {exercises.find(name).right}"]
