"""Every chapter's widgets, without a browser: whole, without anywidget, without ipywidgets."""

import ast
import sys
from pathlib import Path

import ipywidgets
import nbformat
import pytest
import torch

from lnbook.show import Explorer
from tests.cases.page import parts
from tests.lnbook.conftest import names

BOOK = Path(__file__).parents[3] / "book"
WITHOUT = (  # an explorer
    "playground",
    "error_messages",
    "troubleshooting",
    "nan_overflow",
    "train_eval_mode",
    "loading_checkpoints",
    "mixed_precision",
)
CHAPTERS = [path for path in sorted(BOOK.glob("*.ipynb")) if path.stem not in WITHOUT]
PLOTLY = "application/vnd.plotly.v1+json"


def cells(path):
    """A chapter's code, but for hidden checks that set nothing needed later."""
    chosen, wanted = [], set()
    for cell in reversed(nbformat.read(path, as_version=4).cells):
        if cell.cell_type == "code":
            sets, reads = names(cell.source)
            if sets & wanted or "remove-cell" not in cell.metadata.get("tags", ()):
                chosen.insert(0, cell.source)
                wanted = wanted - sets | reads
    return chosen


@pytest.fixture(scope="module", params=CHAPTERS, ids=lambda path: path.stem)
def shown(request):
    """What the cells of a chapter display, run as IPython runs them."""
    space, result, threads = {"__name__": "__main__"}, [], torch.get_num_threads()
    for source in cells(request.param):
        tree = ast.parse(source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, request.param.name, "exec"), space)
        if last:
            value = eval(compile(ast.Expression(last.value), request.param.name, "eval"), space)
            result += [value] * hasattr(value, "widget")
    torch.set_num_threads(threads)
    assert any(isinstance(thing, Explorer) for thing in result)
    return result


@pytest.fixture
def no_anywidget(monkeypatch):
    """An environment without anywidget, whatever was imported before."""
    monkeypatch.setitem(sys.modules, "anywidget", None)


def says(box, words):
    # In a widget the words are HTML.
    words = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    texts = [text.value for text in parts(box, ipywidgets.HTML) if 'role="status"' in text.value]
    return any(words in text.replace("&#x27;", "'").replace("&quot;", '"') for text in texts)


@pytest.mark.slow
def test_without_anywidget_every_explorer_shows_what_plotly_displays(shown, no_anywidget):
    for thing in shown:
        box = thing.widget()
        if isinstance(thing, Explorer):
            outputs = [output.outputs[0]["data"] for output in parts(box, ipywidgets.Output)]
            types = [[trace["type"] for trace in data[PLOTLY]["data"]] for data in outputs]
            figures = thing.figures(**thing.start)
            assert types == [[trace.type for trace in figure.data] for figure in figures]
            assert says(box, thing.describe(**thing.start))


@pytest.mark.slow
def test_every_control_moves_the_figure_or_the_sentence_without_anywidget(shown, no_anywidget):
    def rendered(box):
        return [text.value for text in parts(box, ipywidgets.HTML)] + [
            output.outputs for output in parts(box, ipywidgets.Output)
        ]

    for thing in shown:
        if not isinstance(thing, Explorer):
            continue
        for number, control in enumerate(thing.controls.values()):
            box = thing.widget()
            kinds = (ipywidgets.Dropdown, ipywidgets.SelectionSlider)
            kinds += (ipywidgets.FloatSlider, ipywidgets.IntSlider)
            moved, start = parts(box, kinds)[number], rendered(box)
            if control.live:
                moved.value = control.live[1 if control.live[1] != moved.value else 0]
            else:
                moved.index = 0 if control.start else len(control.values) - 1
            assert rendered(box) != start, f"{thing.title}: {control.label} changes nothing"
            assert not says(box, "could not be drawn")
