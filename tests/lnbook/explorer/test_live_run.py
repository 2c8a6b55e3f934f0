"""Live runs: start, stop, resume, failure, and replay in the book."""

import ipywidgets
import numpy as np

from lnbook.show import LiveRun
from tests.cases.page import parts
from tests.lnbook.explorer.conftest import (
    PATIENCE,
    RUN,
    count,
    describe_run,
    draw_run,
    drawn,
    gated,
    payload,
    sentence,
)


def test_runs_stop_after_the_next_result_and_can_be_resumed():
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


def test_failed_runs_keep_their_results_and_can_be_restarted():
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


def test_buttons_control_a_run_from_start_to_end():
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


def test_runs_redraw_at_intervals_and_at_the_end(monkeypatch):
    clock = iter(np.arange(0, 1e6, 0.03).tolist())
    monkeypatch.setattr("lnbook.explorer.live_run.time.monotonic", lambda: next(clock))
    counts = []
    live = LiveRun(count, draw_run, RUN, title="Count", describe=describe_run)
    live.on_update = lambda: counts.append(len(live.results))
    live.start(n=50)
    live.wait(PATIENCE)
    assert counts[0] == 1
    assert counts[-2:] == [50, 50] or counts[-1] == 50
    assert len(counts) < 15  # of 50, where the clock moves 0.03 s at a look


def test_the_book_replays_every_setting_at_up_to_twenty_positions():
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


def test_the_book_shows_recorded_and_a_kernel_computed_results():
    gate, live = gated(n_passes=3, recorded=lambda n: [n])
    assert [state["text"] for state in payload(live)] == ["1 of 3.", "1 of 50."]
    assert gate.began == 0
    live.start()
    live.wait(PATIENCE)
    assert (gate.began, live.results) == (1, [0, 1, 2])
