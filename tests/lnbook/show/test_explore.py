"""Explorers without a browser: what they pack, what they say, what they refuse, how they live."""

import base64
import gzip
import json
import threading
from html.parser import HTMLParser

import anywidget
import ipywidgets
import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnbook.show import Explorer, LiveRun, choice, show, slider
from lnbook.show.explorer import page

PATIENCE = 30  # seconds; against hanging, not a measure of speed


@pytest.fixture(autouse=True)
def live(monkeypatch):
    monkeypatch.delenv("LNLIB_STATIC", raising=False)


# A payload and its oracle: decoded here in ten lines, compared with what draw gives.


def unpack(data):
    packed = json.loads(gzip.decompress(base64.b64decode(data)))

    def whole(value):
        if isinstance(value, dict) and "$" in value:
            return whole(packed["pool"][value["$"]])
        if isinstance(value, dict):
            return {k: whole(v) for k, v in value.items()}
        return [whole(v) for v in value] if isinstance(value, list) else value

    return whole(packed["states"])


def four_digits(array):
    """What is to be stored of an array, by NumPy's own writing of floats."""
    return [
        float(np.format_float_scientific(x, 3, unique=False)) if np.isfinite(x) else None
        for x in np.asarray(array, float).ravel()
    ]


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


class Cards(HTMLParser):
    """The parts of a card that the tests look at."""

    def __init__(self, source):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)

    def find(self, tag, **wanted):
        return [a for t, a in self.tags if t == tag and wanted.items() <= a.items()]


def payload(thing):
    source = thing.to_html()
    return unpack(source.split('class="ln-data">')[1].split("</script>")[0])


def test_payload_holds_every_state_at_four_digits_in_the_order_of_the_controls():
    states = iter(payload(explorer()))
    for n in CONTROLS["n"].values:
        for scale in CONTROLS["scale"].values:
            state = next(states)
            heat, lines = state["panels"]
            assert np.ravel(heat["data"][0]["z"]).tolist() == four_digits(TABLE[:n] * scale)
            assert np.shape(heat["data"][0]["z"]) == (n, 7)
            assert lines["data"][0]["y"] == four_digits(X**n)
            assert lines["data"][1]["y"] == four_digits(np.sin(X) * scale)
            assert (heat["title"], lines["title"]) == (f"{n} rows", "")
            assert state["text"] == describe(n, scale)
    assert next(states, None) is None


def test_payload_stores_what_states_share_once():
    stored = page.dumps(page.share(list(explorer().states())))
    assert stored.count(page.dumps(page.plain(X))) == 1
    assert len(stored) < len(page.dumps(list(explorer().states()))) / 3


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("xyz"), inner),
    max_leaves=12,
)


@given(st.lists(json_values, max_size=6))
def test_pack_is_undone_by_unpack(states):
    assert unpack(page.pack(states * 2)) == states * 2


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (np.nan, None),
        (np.inf, None),
        (np.float32(1 / 3), 0.3333),
        (123456.7, 123500),
        (1.23456e-7, 1.235e-7),
        (60000, 60000),
        (np.int64(123456), 123456),
        (np.bool_(True), True),
        (np.array([[1.00004, np.nan]]), [[1, None]]),
        ({"gone": None, "kept": (1.0, "a")}, {"kept": [1, "a"]}),
    ],
)
def test_plain_keeps_four_digits_whole_numbers_and_no_nan(value, stored):
    assert repr(page.plain(value)) == repr(stored)


def testpage_is_the_same_at_every_build(monkeypatch):
    pages = []
    for now in (1e9, 2e9):
        monkeypatch.setattr(page, "_ids", iter([1]))
        monkeypatch.setattr(page.gzip.time, "time", lambda now=now: now)
        pages.append(explorer().to_html())
    assert pages[0] == pages[1]


def test_two_explorers_share_no_id():
    card = Cards(explorer().to_html() + explorer().to_html())
    ids = [attrs["id"] for _, attrs in card.tags if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_card_says_the_start_in_text_and_labels_every_control():
    card = Cards(explorer(alt="A table and two curves").to_html())
    assert describe(3, 1.0) in card.texts
    ids = {label["for"] for label in card.find("label")}
    fields = card.find("input", type="range") + card.find("select")
    assert {field["id"] for field in fields} == ids
    assert card.find("input")[0]["aria-valuetext"] == "3"
    assert card.find("div", role="img")[0]["aria-label"] == "A table and two curves"
    assert {field["autocomplete"] for field in fields} == {"off"}


def test_card_escapes_what_the_author_wrote():
    source = explorer(title="<b>&", alt='"').to_html()
    assert "<b>&" not in source
    assert "<times>" not in source
    assert {"<b>&", describe(3, 1.0)} <= set(Cards(source).texts)


def test_panel_keeps_the_room_of_its_highest_state():
    def tall(n, scale):
        return [go.Figure(layout={"height": 100 * n}), go.Figure()]

    rooms = Cards(Explorer(tall, CONTROLS, title="", describe=describe).to_html()).find(
        "div", **{"class": "ln-panel"}
    )
    assert [room["style"] for room in rooms] == ["--h:500", "--h:320"]


def testpage_carries_no_template_of_plotly():
    for state in payload(explorer()):
        assert all("template" not in panel["layout"] for panel in state["panels"])


def test_show_is_an_explorer_with_one_state():
    shown = show(go.Figure(go.Bar(y=[1, 2])), title="Bars", describe="Two bars.")
    (state,) = payload(shown)
    assert state["panels"][0]["data"][0]["y"] == [1, 2]
    assert repr(shown) == "Bars\nTwo bars."


# The numbers behind a figure.


def test_numbers_are_those_drawn_lines_at_the_same_places_in_one_table():
    figures = explorer().figures(n=3, scale=-2.0)
    heat, curves = page.numbers([page.panel(figure) for figure in figures])
    assert heat["caption"] == "3 rows"
    assert np.shape(heat["rows"]) == (3, 8)
    np.testing.assert_allclose(np.array(heat["rows"])[:, 1:], -2 * TABLE[:3], rtol=1e-3)
    assert curves["columns"] == ["x", "y", "y"]
    np.testing.assert_allclose(np.array(curves["rows"])[:, 1], X**3, rtol=1e-3)
    np.testing.assert_allclose(np.array(curves["rows"])[:, 2], -2 * np.sin(X), rtol=1e-3)


def test_numbers_name_axes_and_traces_and_leave_ornaments_out():
    figure = go.Figure(
        [
            go.Bar(x=[1.0, np.nan], y=["a", "b"], orientation="h", name="share"),
            go.Scatter(x=[0, 1], y=[2, 3], hoverinfo="skip"),
            go.Scatter(x=[5, None, 6], y=[7, None, 8], xaxis="x2"),
        ],
        layout={"yaxis": {"title": "norm"}, "xaxis2": {"title": "steps"}},
    )
    tables = page.numbers([page.panel(figure)])
    assert [t["columns"] for t in tables] == [["norm", "share"], ["steps", "norm"]]
    assert [t["rows"] for t in tables] == [[["a", 1], ["b", None]], [[5, 7], [6, 8]]]
    assert "<td>–</td>" in page.grid(tables[0])
    assert "<b>" not in page.grid({"caption": "<b>", "columns": ["<b>"], "rows": [["<b>"]]})


def test_live_numbers_come_on_request_and_follow_the_control():
    box = explorer().widget()
    (asked,) = parts(box, ipywidgets.ToggleButton)
    tables = parts(box, ipywidgets.HTML)[-1]
    assert tables.value == ""
    asked.value = True
    before = tables.value
    assert before.count("<table>") == 2
    parts(box, ipywidgets.SelectionSlider)[0].value = 5
    assert tables.value.count("<tr>") == before.count("<tr>") + 2
    asked.value = False
    assert tables.value == ""


# Text.


def test_text_is_title_grid_and_sentence():
    assert repr(explorer()) == (
        "Rows (15 states)\n"
        "  Rows: 1 | 2 | 3 | 4 | 5 (start: 3)\n"
        "  Scale: small | as it is | minus (start: as it is)\n"
        "3 rows <times> 1.0."
    )


def test_text_of_a_long_grid_is_short():
    long = Explorer(
        lambda x: go.Figure(), {"x": slider("x", range(100))}, title="T", describe=lambda x: "S."
    )
    assert "  x: 0 | 1 | 2 | … | 99 (start: 0)" in repr(long)


def test_notebook_gets_a_widget_and_the_same_text():
    out = explorer()._repr_mimebundle_()
    assert out["text/plain"] == repr(explorer())
    assert "application/vnd.jupyter.widget-view+json" in out
    assert "text/html" not in out


def test_book_gets_html_and_the_same_text(monkeypatch):
    monkeypatch.setenv("LNLIB_STATIC", "1")
    out = explorer()._repr_mimebundle_()
    assert set(out) == {"text/plain", "text/html"}
    assert out["text/plain"] == repr(explorer())


def test_without_ipywidgets_the_text_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ipywidgets", None)
    out = explorer()._repr_mimebundle_()
    assert set(out) == {"text/plain"}
    assert out["text/plain"].endswith(
        "(For the figure and its controls: pip install ipywidgets anywidget)"
    )


# Refusals.


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: slider("Rate", []), r"slider: values of 'Rate' must not be empty"),
        (lambda: choice("Norm", {}), r"choice: options of 'Norm' must not be empty"),
        (lambda: slider("Rate", [1, 2], start=3), r"slider: start of 'Rate' .* got 3"),
        (lambda: choice("Norm", ["a"], start="b"), r"choice: start of 'Norm' .* got 'b'"),
        (lambda: slider("Rate", [5], live=(0, 1, 1)), r"slider: live of 'Rate' .* got \(0, 1, 1\)"),
        (lambda: explorer(limit=14), r"'Rows' make 15 states, limit is 14; use coarser grids"),
        (
            lambda: Explorer(lambda n: 0, CONTROLS, title="", describe=describe),
            r"draw must accept \(n, scale\), .* unexpected keyword argument 'scale'",
        ),
        (
            lambda: explorer(describe=lambda n, scale, more: ""),
            r"describe must accept \(n, scale\), .* missing a required argument: 'more'",
        ),
        (
            lambda: LiveRun(count, lambda n: 0, RUN, title="", describe=describe_run),
            r"LiveRun: draw must accept \(results, n\)",
        ),
        (lambda: gated(recorded=lambda: [1]), r"LiveRun: recorded must accept \(n\)"),
    ],
)
def test_refusal_names_what_is_wrong(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("drawn", "message"),
    [
        ("a picture", "must return a plotly figure or a list of them, got str"),
        ([go.Figure(), None], "got NoneType at place 1"),
    ],
)
def test_what_is_no_figure_is_refused(drawn, message):
    with pytest.raises(ValueError, match=message):
        explorer(describe=describe).__class__(
            lambda: drawn, title="T", describe=lambda: ""
        ).to_html()


def test_number_of_panels_may_not_change():
    growing = Explorer(
        lambda n: [go.Figure()] * n, {"n": slider("n", [1, 2])}, title="T", describe=lambda n: ""
    )
    with pytest.raises(ValueError, match="same number of figures in every state, got 1 and"):
        growing.to_html()


# The live life.


def parts(box, kind):
    found = [box] if isinstance(box, kind) else []
    for child in getattr(box, "children", ()):
        found += parts(child, kind)
    return found


def panels(box):
    return [widget for widget in parts(box, anywidget.AnyWidget) if widget.figure]


def drawn(box):
    """The figures of a card, as the page is told them."""
    return [go.Figure(json.loads(panel.figure)) for panel in panels(box)]


def sentence(box):
    (said,) = [text.value for text in parts(box, ipywidgets.HTML) if 'role="status"' in text.value]
    return said


def test_moving_a_control_redraws_and_describes():
    box = explorer().widget()
    rows, scale = parts(box, ipywidgets.SelectionSlider) + parts(box, ipywidgets.Dropdown)
    before = panels(box)
    assert np.shape(drawn(box)[0].data[0].z) == (3, 7)
    rows.value, scale.value = 2, -2.0
    assert panels(box) == before  # changed, not replaced
    heat, lines = drawn(box)
    np.testing.assert_array_equal(heat.data[0].z, TABLE[:2] * -2)
    np.testing.assert_array_equal(lines.data[1].y, np.sin(X) * -2)
    assert "2 rows" in [text.value for text in parts(box, ipywidgets.HTML)]
    assert "2 rows &lt;times&gt; -2.0." in sentence(box)


def test_live_figure_keeps_nothing_of_the_state_before():
    def marked(on):
        layout = {"shapes": [{"type": "line", "x0": 0}], "xaxis": {"title": "on"}} if on else {}
        return go.Figure(go.Scatter(y=[1], text=["on"] if on else None), layout)

    box = Explorer(
        marked, {"on": choice("On", [True, False])}, title="T", describe=lambda on: ""
    ).widget()
    (figure,) = drawn(box)
    assert (len(figure.layout.shapes), figure.data[0].text) == (1, ("on",))
    parts(box, ipywidgets.Dropdown)[0].value = False
    (figure,) = drawn(box)
    assert (len(figure.layout.shapes), figure.data[0].text) == (0, None)
    assert figure.layout.xaxis.title.text is None


def test_live_figure_of_another_make_replaces_the_old():
    kinds = {"bar": go.Bar, "line": go.Scatter}
    box = Explorer(
        lambda kind: go.Figure(kind(y=[1, 2])),
        {"kind": choice("Kind", kinds)},
        title="T",
        describe=lambda kind: "",
    ).widget()
    parts(box, ipywidgets.Dropdown)[0].value = go.Scatter
    assert [f.data[0].type for f in drawn(box)] == ["scatter"]


def test_slider_is_finer_with_a_kernel():
    fine = {"x": slider("x", [0.0, 1.0], live=(0, 2, 0.25))}
    box = Explorer(
        lambda x: go.Figure(go.Bar(y=[x])), fine, title="T", describe=lambda x: f"{x}"
    ).widget()
    (control,) = parts(box, ipywidgets.FloatSlider)
    assert (control.min, control.max, control.step) == (0, 2, 0.25)
    control.value = 1.25
    assert drawn(box)[0].data[0].y == (1.25,)
    assert "1.25" in sentence(box)


def test_live_error_is_said_and_the_last_figure_stays():
    def sometimes(x):
        if x:
            raise ZeroDivisionError("x must be 0")
        return go.Figure(go.Bar(y=[7]))

    box = Explorer(
        sometimes, {"x": slider("x", [0, 1])}, title="T", describe=lambda x: "Fine."
    ).widget()
    control = parts(box, ipywidgets.SelectionSlider)[0]
    control.value = 1
    assert "could not be drawn (ZeroDivisionError: x must be 0). Choose another" in sentence(box)
    assert drawn(box)[0].data[0].y == (7,)
    control.value = 0
    assert "Fine." in sentence(box)


def test_without_anywidget_core_widgets_do(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "anywidget", None)
    box = explorer().widget()
    heat, _ = parts(box, ipywidgets.Output)
    shown = heat.outputs[0]["data"]["application/vnd.plotly.v1+json"]
    assert (shown["data"][0]["type"], shown["layout"]["width"]) == ("heatmap", 450)
    parts(box, ipywidgets.Dropdown)[0].value = -2.0
    assert "-2.0" in sentence(box)


# Runs.

RUN = {"n": choice("n", [3, 50])}


def count(n):
    yield from range(n)


def draw_run(results, n):
    return go.Figure(go.Scatter(y=results))


def describe_run(results, n):
    return f"{len(results)} of {n}."


class Gate:
    """A run that yields one result each time it is let through."""

    def __init__(self, n_passes=0):
        self.passes = threading.Semaphore(n_passes)
        self.arrived = threading.Semaphore(0)
        self.began = 0

    def run(self, n):
        self.began += 1
        for i in range(n):
            self.arrived.release()
            assert self.passes.acquire(timeout=PATIENCE)
            yield i

    def wait_inside(self):
        assert self.arrived.acquire(timeout=PATIENCE)


def gated(n_passes=0, run=None, **more):
    gate = Gate(n_passes)
    live = LiveRun(run or gate.run, draw_run, RUN, title="Count", describe=describe_run, **more)
    return gate, live


def test_run_stops_after_the_next_result_and_resumes_where_it_was():
    gate, live = gated()
    live.start(n=3)
    gate.wait_inside()
    live.stop()
    assert (live.state, live.stopping) == ("running", True)
    gate.passes.release()
    live.wait(PATIENCE)
    assert (live.state, live.results) == ("stopped", [0])
    gate.passes.release(2)
    live.resume()
    live.wait(PATIENCE)
    assert (live.state, live.results, gate.began) == ("done", [0, 1, 2], 1)


def test_run_starts_over_with_other_settings():
    _, live = gated(run=count)
    for n in (3, 50):
        live.start(n=n)
        live.wait(PATIENCE)
        assert (live.state, live.results, live.settings) == ("done", list(range(n)), {"n": n})
    live.reset()
    assert (live.state, live.results) == ("ready", [])


def test_run_that_fails_keeps_its_results_and_can_start_again():
    broken = [True]

    def fails_once(n):
        yield 0
        if broken.pop() if broken else False:
            raise FloatingPointError("diverged")
        yield 1

    _, live = gated(run=fails_once)
    box = live.widget()
    live.start()
    live.wait(PATIENCE)
    assert (live.state, live.results) == ("failed", [0])
    assert "The run failed (FloatingPointError: diverged)" in sentence(box)
    live.start()
    live.wait(PATIENCE)
    assert (live.state, live.results, live.error) == ("done", [0, 1], None)


def buttons(box):
    return {b.description: b for b in parts(box, ipywidgets.Button)}


def enabled(box):
    return {name for name, b in buttons(box).items() if not b.disabled}


def test_buttons_lead_a_run_from_start_to_end():
    gate, live = gated()
    box = live.widget()
    (choose,) = parts(box, ipywidgets.Dropdown)
    assert (enabled(box), choose.disabled) == ({"Start"}, False)
    assert "Press Start" in sentence(box)
    buttons(box)["Start"].click()
    gate.wait_inside()
    assert (enabled(box), choose.disabled) == ({"Stop"}, True)
    buttons(box)["Stop"].click()
    assert enabled(box) == set()
    assert "Stopping" in sentence(box)
    gate.passes.release()
    live.wait(PATIENCE)
    assert enabled(box) == {"Resume", "Start over"}
    assert "1 of 3. Stopped" in sentence(box)
    assert drawn(box)[0].data[0].y == (0,)
    gate.passes.release(2)
    buttons(box)["Resume"].click()
    live.wait(PATIENCE)
    assert enabled(box) == {"Start over"}
    assert "3 of 3. Done." in sentence(box)
    assert drawn(box)[0].data[0].y == (0, 1, 2)
    buttons(box)["Start over"].click()
    assert (enabled(box), choose.disabled) == ({"Start"}, False)
    assert drawn(box) == []


def test_run_redraws_at_its_own_pace_and_always_at_the_end(monkeypatch):
    clock = iter(np.arange(0, 1e6, 0.03).tolist())
    monkeypatch.setattr("lnbook.show.explorer.run.time.monotonic", lambda: next(clock))
    seen = []
    live = LiveRun(count, draw_run, RUN, title="Count", describe=describe_run)
    live.watch = lambda: seen.append(len(live.results))
    live.start(n=50)
    live.wait(PATIENCE)
    assert seen[0] == 1
    assert seen[-2:] == [50, 50] or seen[-1] == 50
    assert len(seen) < 15  # of 50, where the clock moves 0.03 s at a look


def test_error_while_drawing_does_not_end_the_run():
    def breaks(results, n):
        raise KeyError("loss")

    live = LiveRun(count, breaks, RUN, title="Count", describe=describe_run)
    box = live.widget()
    live.start(n=3)
    live.wait(PATIENCE)
    assert (live.state, live.results) == ("done", [0, 1, 2])
    assert "could not be drawn (KeyError: 'loss')" in sentence(box).replace("&#x27;", "'")


def test_plotly_comes_once_however_many_figures():
    boxes = [explorer().widget(), explorer().widget()]
    first, second = ([w for w in parts(box, anywidget.AnyWidget) if not w.figure] for box in boxes)
    assert first == second
    assert b"plotly.js v" in first[0].code[:200]
    assert not any(panel.code for box in boxes for panel in panels(box))


def test_widget_of_a_run_is_built_once():
    _, live = gated(run=count)
    assert live.widget() is live.widget()


def test_text_of_a_run_does_not_run_it():
    gate, live = gated()
    assert live._repr_mimebundle_()["text/plain"] == (
        "Count\n  n: 3 | 50 (start: 3)\nA run to start, watch, stop and resume."
    )
    assert gate.began == 0


def test_book_replays_every_setting_at_twenty_positions_at_most():
    live = LiveRun(count, draw_run, RUN, title="Count", describe=describe_run)
    replay = live.replay()
    positions = replay.controls["_shown"]
    assert len(positions.values) == 20
    assert (positions.values[0], positions.values[-1], positions.play) == (3, 50, True)
    assert replay.start == {"n": 0, "_shown": 50}
    states = iter(payload(live))
    for n in (3, 50):
        for shown in positions.values:
            state = next(states)
            assert state["panels"][0]["data"][0]["y"] == list(range(min(n, shown)))
            assert state["text"] == f"{min(n, shown)} of {n}."


def test_book_shows_no_slider_for_one_result():
    live = LiveRun(count, draw_run, RUN, title="Count", describe=describe_run, frames=1)
    assert list(live.replay().controls) == ["n"]
    assert [state["text"] for state in payload(live)] == ["3 of 3.", "50 of 50."]


def test_book_shows_what_is_recorded_and_a_kernel_what_it_computes():
    gate, live = gated(n_passes=3, recorded=lambda n: [n])
    assert [state["text"] for state in payload(live)] == ["1 of 3.", "1 of 50."]
    assert gate.began == 0
    live.start()
    live.wait(PATIENCE)
    assert (gate.began, live.results) == (1, [0, 1, 2])


def test_book_refuses_a_run_that_yields_nothing():
    live = LiveRun(lambda n: iter(()), draw_run, RUN, title="Count", describe=describe_run)
    with pytest.raises(ValueError, match="run of 'Count' must yield at least one result"):
        live.to_html()
