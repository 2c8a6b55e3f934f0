"""Copies of the chapters for notebook programs: plain Markdown, folded code, complete."""

import ast
import contextlib
import io
import json
import re
import zipfile
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pytest

from lnbook.classroom import chapters
from tools import live
from tools.live import readers_copy

BOOK = Path(__file__).parents[2] / "book"
CHAPTERS = sorted(path.stem for path in BOOK.glob("*.ipynb"))
LESSONS = [name for name in CHAPTERS if name != "playground"]
MYST = r"^\([\w-]+\)=|\{[a-z:-]+\}`|^`{3,}\{|^:::|^\$\$ \(|^:label:"


def copied(name):
    return readers_copy.copy(BOOK / f"{name}.ipynb")


def stored(name):
    return json.loads((BOOK / f"{name}.ipynb").read_text("utf-8"))


def sources(notebook, kind):
    return ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == kind]


def prose(notebook):
    return "\n\n".join(sources(notebook, "markdown"))


@pytest.mark.parametrize("name", CHAPTERS)
def test_copies_are_valid_notebooks_in_plain_markdown_with_instructions(name):
    notebook = copied(name)
    nbformat.validate(notebook)
    assert re.findall(MYST, prose(notebook), re.M) == []
    assert re.findall(MYST, prose(stored(name)), re.M) or name == "playground"
    title, note = notebook["cells"][0]["source"][:3:2]
    assert title.startswith("# ")
    assert "Run All Cells" in note
    assert "Run All Cells" not in prose(stored(name))


@pytest.mark.parametrize("name", LESSONS)
def test_exercises_of_a_copy_are_followed_by_a_collapsed_solution(name):
    tasks = list(chapters.tasks(name).values())
    cells = copied(name)["cells"]
    checks = [k for k, c in enumerate(cells) if "exercises.check(" in "".join(c["source"])]
    starters = [k for k in checks if cells[k]["cell_type"] == "code"]
    assert len(starters) == len(tasks)
    for k, task in zip(starters, tasks, strict=True):
        below = "".join(cells[k + 1]["source"])
        assert below.startswith("<details><summary>Solution</summary>")
        assert below.endswith("</details>")
        for line in task.solution.splitlines():
            assert line in below
    titles = re.findall(r"^### Exercise (\d+)$", prose(copied(name)), re.M)
    assert titles == [str(k) for k in range(1, len(tasks) + 1)]


@pytest.mark.parametrize("name", LESSONS)
def test_exercise_cells_run_after_a_restart_of_the_kernel(name):
    for source in sources(copied(name), "code"):
        if "exercises.check(" in source:
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(source, name, "exec"), {"__name__": "__main__"})
            assert printed.getvalue().startswith("Not yet"), source


@pytest.mark.parametrize("name", CHAPTERS)
def test_copies_do_not_depend_on_removed_checks(name):
    _, *code = sources(copied(name), "code")  # except the setup cell
    assert chapters.used(ast.parse("\n".join(code)).body) == set()
    assert not [source for source in code if re.match(r"assert ", source, re.M)]


@pytest.mark.parametrize("name", CHAPTERS)
def test_links_of_a_copy_point_to_a_chapter_or_a_heading(name):
    text = prose(copied(name))
    headings = {t.replace(" ", "-") for t in re.findall(r"^#+ (.+)$", text, re.M)}
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", re.sub(r"\$[^$]+\$", "", text)):
        page, _, part = target.partition("#")
        assert page.removesuffix(".ipynb") in CHAPTERS or unquote(part) in headings, target
    with_site = prose(readers_copy.copy(BOOK / f"{name}.ipynb", site="https://book.example/"))
    assert not re.search(r"\]\((?!https?:)[^)]*\.md\)", with_site)


def test_copies_contain_authors_years_and_equation_numbers():
    text = prose(copied("introduction"))
    assert "[Ba et al. (2016)](https://arxiv.org/abs/1607.06450)" in text
    assert "[Ioffe and Szegedy (2015)](https://arxiv.org/abs/1502.03167)" in text
    assert (
        text.index("\\tag{1}") < text.index("\\tag{2}") < text.index("as for (2), is this book's")
    )
    assert readers_copy.decode_tex(r"Ko{\v{c}}isk{\'y}") == "Kočiský"


def test_existing_copies_are_not_overwritten(tmp_path):
    assert sorted(path.stem for path in live.write(tmp_path)) == CHAPTERS
    (tmp_path / "introduction.ipynb").write_text("mine", "utf-8")
    (tmp_path / "playground.ipynb").unlink()
    assert [path.stem for path in live.write(tmp_path)] == ["playground"]
    assert (tmp_path / "introduction.ipynb").read_text("utf-8") == "mine"


def test_the_built_book_offers_the_copies_and_the_library_without_records(built_book):
    wheels = [built_book / "_downloads" / wheel for wheel in readers_copy.WHEELS.values()]
    assert sum(wheel.stat().st_size for wheel in wheels) < 1_500_000
    names = [name for wheel in wheels for name in zipfile.ZipFile(wheel).namelist()]
    assert {"lnlib/__init__.py", "lnbook/widgets/replay/draw/draw.js"} <= set(names)
    assert not [name for name in names if name.startswith("lnlab/recorded/")]
    offered = json.loads((built_book / "_sources" / "introduction.ipynb").read_text("utf-8"))
    assert re.findall(MYST, prose(offered), re.M) == []
