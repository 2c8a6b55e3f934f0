"""Printed outputs of a chapter in the book equal those stored in its notebook."""

import nbformat
import pytest

from tests.book.test_notebooks import CHAPTERS, notebooks


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_outputs_of_the_book_equal_the_stored_ones(built_book, path):
    stored = nbformat.read(path, as_version=4)
    ran = nbformat.read(built_book.parent / "jupyter_execute" / path.name, as_version=4)
    assert notebooks.differences(stored, ran) == []


def notebook(*outputs, source="print(1)"):
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source, outputs=[*outputs])])


def printed(text, name="stdout"):
    return nbformat.v4.new_output("stream", name=name, text=text)


def shown(text, **more):
    return nbformat.v4.new_output("display_data", {"text/plain": text} | more)


@pytest.mark.parametrize(
    "ran",
    [
        notebook(),
        notebook(printed("2\n")),
        notebook(printed("1\n", "stderr")),
        notebook(printed("1"), printed("\n", "stderr")),
        notebook(printed("1\n"), source="print(2)"),
    ],
    ids=["nothing", "another number", "a warning", "a warning after it", "other code"],
)
def test_different_outputs_are_reported(ran):
    assert len(notebooks.differences(notebook(printed("1\n")), ran)) == 1


def test_split_streams_and_rich_outputs_are_not_differences():
    stored = notebook(printed("1\n2\n"), shown("a figure"))
    ran = notebook(printed("1\n"), printed("2\n"), shown("a figure", **{"text/html": "<p>"}))
    assert notebooks.differences(stored, ran) == []
