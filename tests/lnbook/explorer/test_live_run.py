"""Live runs: start, stop, resume, failure, and replay in the book."""

import itertools

import ipywidgets

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


def test_buttons_control_a_run_from_start_to_end():
    gate, live = gated()
    box = live.widget()
    buttons = {b.description: b for b in parts(box, ipywidgets.Button)}

    def enabled():
        return {name for name, b in buttons.items() if not b.disabled}

    assert enabled() == {"Start"}
    assert "Press Start" in sentence(box)
    buttons["Start"].click()
    gate.wait_inside()
    assert enabled() == {"Stop"}
    buttons["Stop"].click()
    assert enabled() == set()
    assert (live.state, live.stopping) == ("running", True)
    gate.passes.release()
    live.wait(PATIENCE)
    assert enabled() == {"Resume", "Start over"}
    assert "1 of 3. Stopped" in sentence(box)
    assert drawn(box)[0].data[0].y == (0,)
    gate.passes.release(2)
    buttons["Resume"].click()
    live.wait(PATIENCE)
    assert (live.state, gate.began) == ("done", 1)
    assert enabled() == {"Start over"}
    assert drawn(box)[0].data[0].y == (0, 1, 2)
    buttons["Start over"].click()
    assert enabled() == {"Start"}
    assert drawn(box) == []


def test_the_book_replays_every_setting_at_up_to_twenty_positions():
    live = LiveRun(count, draw_run, RUN, title="Count", describe=describe_run)
    positions = live.replay().controls["_shown"].values
    assert (len(positions), positions[0], positions[-1]) == (20, 3, 50)
    for (n, shown), state in zip(itertools.product((3, 50), positions), payload(live), strict=True):
        assert state["panels"][0]["data"][0]["y"] == list(range(min(n, shown)))
        assert state["text"] == f"{min(n, shown)} of {n}."


def test_the_book_shows_recorded_and_a_kernel_computed_results():
    gate, live = gated(n_passes=3, recorded=lambda n: [n])
    assert [state["text"] for state in payload(live)] == ["1 of 3.", "1 of 50."]
    assert gate.began == 0
    live.start()
    live.wait(PATIENCE)
    assert (gate.began, live.results) == (1, [0, 1, 2])
