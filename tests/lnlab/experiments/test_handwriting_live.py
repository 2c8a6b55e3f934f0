"""Recorded weights of a handwriting run, and the network that writes with them."""

import math

import numpy as np
import pytest
import torch

from lnlab import datasets, records
from lnlab.experiments.handwriting.live import (
    MAX_CHARACTERS,
    MAX_POINTS_PER_CHARACTER,
    POINTS_AFTER_END,
    STROKE_RESOLUTION,
    HandwritingSampler,
    write,
)
from lnlab.experiments.handwriting.model import Samples, draw
from lnlab.experiments.handwriting.run import EXPERIMENT, HandwritingRun, Settings
from lnlab.runner import record_runs
from lnlab.training import train
from tests.lnlab.experiments.test_handwriting import LINES, SMALL

CHOSEN = Settings(**SMALL | {"epochs": 2, "keep": 5})


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "load", {LINES.name: LINES}.__getitem__)
        out = tmp_path_factory.mktemp("runs")
        (path,) = record_runs(EXPERIMENT, [CHOSEN], [1], out=out, device="cpu")
    return records.read(path)


def test_only_final_weights_are_recorded(recorded):
    run = HandwritingRun(CHOSEN, LINES, seed=1)
    *_, last = train(run, epochs=2, first_epoch_points=1)
    pen = HandwritingSampler.of(recorded)
    assert pen.characters == " abc" == "".join(run.characters)
    for restored, own in zip(pen.model.parameters(), run.model.parameters(), strict=True):
        within = own.abs().amax(-1, keepdim=True) / 127 if own.dim() == 2 else torch.zeros(())
        assert ((restored - own).abs() <= 0.501 * within).all()
    assert last["matrices"].dtype == np.int8
    for name in ("matrices", "scales", "vectors"):
        assert not recorded["arrays"][name][:-1].any()
        assert recorded["arrays"][name][-1].any()


def test_texts_are_written_as_in_the_run(recorded):
    pen, run = HandwritingSampler.of(recorded), HandwritingRun(CHOSEN, LINES, seed=1)
    run.model.load_state_dict(pen.model.state_dict())
    with torch.no_grad():
        expected = run.model.write(run.encode(["ab c"]), 7, torch.Generator().manual_seed(3))
    result = pen.write("ab c", 7, seed=3)
    torch.testing.assert_close(result, expected)
    assert not torch.equal(result.points, pen.write("ab c", 7, seed=4).points)
    assert not pen.model.training


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "1 to 40 characters, got 0"), ("a" * (MAX_CHARACTERS + 1), "1 to 40 characters, got 41"),
     ("aXb!", r"the training data, got '!' 'X'; use only ' abc'")],
)  # fmt: skip
def test_invalid_texts_raise_an_error(text, message, recorded):
    with pytest.raises(ValueError, match=f"write: text must .*{message}"):
        HandwritingSampler.of(recorded).write(text, 3)


def test_records_without_weights_or_of_diverged_runs_raise_an_error(recorded):
    bare = {k: v for k, v in recorded["arrays"].items() if k != "matrices"}
    with pytest.raises(ValueError, match="record must be of a run with keep; this one has no"):
        HandwritingSampler.of(recorded | {"arrays": bare})
    broken = dict(recorded["arrays"], vectors=np.full_like(recorded["arrays"]["vectors"], math.nan))
    with pytest.raises(ValueError, match="record must be of a run that did not diverge"):
        HandwritingSampler.of(recorded | {"arrays": broken})


def test_lines_for_the_page_are_quantized_outputs(recorded):
    text = "cab" * 3
    line = write(recorded, text, seed=2, bias=0.5)
    points, window = HandwritingSampler.of(recorded).write(
        text, MAX_POINTS_PER_CHARACTER * len(text), bias=0.5, seed=2
    )
    window = window[:, 0].numpy()
    end = len(line.window)
    np.testing.assert_allclose(
        line.strokes / STROKE_RESOLUTION, points[:end, 0, :2], atol=0.501 / STROKE_RESOLUTION
    )
    assert line.strokes.dtype == np.int16
    np.testing.assert_array_equal(line.lifts, points[:end, 0, 2])
    np.testing.assert_array_equal(line.window, window[:end])
    # It ends some points after the window has reached the last character.
    assert POINTS_AFTER_END < end < len(window)
    assert (window[: end - POINTS_AFTER_END] <= len(text) - 1.5).all()
    assert window[end - POINTS_AFTER_END] > len(text) - 1.5
    with pytest.raises(ValueError, match="got '!'; use only"):
        write(recorded, "a!")


def test_lines_end_soon_after_the_window_has_passed_the_text(recorded, monkeypatch):
    pen = HandwritingSampler.of(recorded)
    points = pen.write("a" * 12, 100).points
    early = torch.tensor([1.0, 6.0, 2.0])  # a window that moves back in the middle does not matter
    window = torch.cat((early, torch.linspace(2, 9, 57), torch.full((40,), 5.0)))[:, None]
    monkeypatch.setattr(HandwritingSampler, "of", lambda record: pen)
    monkeypatch.setattr(HandwritingSampler, "write", lambda *args, **named: Samples(points, window))
    assert len(write(recorded, "a" * 12).window) == 60 + POINTS_AFTER_END


def test_a_bias_reduces_the_variation_of_samples():
    # Two Gaussians at -3 and 3 with std 1; the odds of the second are 1/4.
    text = torch.zeros(4000, 1 + 6 * 2)
    text[:, 1], text[:, 3], text[:, 4], text[:, 5:7] = math.log(4), -3, 3, torch.tensor([-3.0, 3.0])
    for bias, odds in ((0.0, 4), (1.0, 16)):
        x, y, _ = draw(text, torch.Generator().manual_seed(0), bias).T
        first = x[x < 0]
        assert len(first) / 4000 == pytest.approx(odds / (1 + odds), abs=0.02)
        assert float(first.std()) == pytest.approx(math.exp(-bias), rel=0.05)
        assert float(y[x < 0].std()) == pytest.approx(math.exp(-bias), rel=0.05)
