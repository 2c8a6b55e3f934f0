"""An explorer and a live run for tests, and helpers to inspect them."""

import json
import threading

import anywidget
import ipywidgets
import numpy as np
import plotly.graph_objects as go

from lnbook.show import Explorer, LiveRun, choice, slider
from tests.cases.page import parts, unpack

PATIENCE = 30  # seconds; a limit against hanging, not a measure of speed


TABLE = np.random.default_rng(0).normal(1e4, 3, (5, 7))
X = np.linspace(0, 1, 50)


def draw(n, scale):
    heat = go.Figure(go.Heatmap(z=TABLE[:n] * scale), layout={"title": {"text": f"{n} rows"}})
    lines = go.Figure([go.Scatter(x=X, y=X**n), go.Scatter(x=X, y=np.sin(X) * scale)])
    return [heat, lines]


def describe(n, scale):
    return f"{n} rows <times> {scale}."


CONTROLS = {
    "n": slider("Rows", range(1, 6), start=3),
    "scale": choice("Scale", {"small": 1e-3, "as it is": 1.0, "minus": -2.0}, start="as it is"),
}


def explorer(**changes):
    return Explorer(draw, CONTROLS, **({"title": "Rows", "describe": describe} | changes))


def payload(thing):
    source = thing.to_html()
    return unpack(source.split('class="ln-data">')[1].split("</script>")[0])


# Live widgets.


def panels(box):
    return [widget for widget in parts(box, anywidget.AnyWidget) if widget.figure]


def drawn(box):
    """The figures of a card, as sent to the page."""
    return [go.Figure(json.loads(panel.figure)) for panel in panels(box)]


def sentence(box):
    (texts,) = [text.value for text in parts(box, ipywidgets.HTML) if 'role="status"' in text.value]
    return texts


# Runs.

RUN = {"n": choice("n", [3, 50])}


def count(n):
    yield from range(n)


def draw_run(results, n):
    return go.Figure(go.Scatter(y=results))


def describe_run(results, n):
    return f"{len(results)} of {n}."


class Gate:
    """A run that yields one result each time it is released."""

    def __init__(self, n_passes=0):
        self.passes = threading.Semaphore(n_passes)
        self.released = threading.Semaphore(0)
        self.began = 0

    def run(self, n):
        self.began += 1
        for i in range(n):
            self.released.release()
            assert self.passes.acquire(timeout=PATIENCE)
            yield i

    def wait_inside(self):
        assert self.released.acquire(timeout=PATIENCE)


def gated(n_passes=0, run=None, **more):
    gate = Gate(n_passes)
    live = LiveRun(run or gate.run, draw_run, RUN, title="Count", describe=describe_run, **more)
    return gate, live
