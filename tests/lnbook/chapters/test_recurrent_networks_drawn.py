"""Recurrent networks: axes show all that is drawn, and cursors stand where they say."""

import numpy as np
import pytest

from lnbook.chapters.recurrent_networks import longer, through_time
from tests.cases.drawn import check_inside


@pytest.mark.parametrize("trained", [10, 30])
@pytest.mark.parametrize("inputs", ["walk"])
def test_statistics_of_longer_sequences_fit_their_axes_and_training_ends_at_its_step(
    trained, inputs
):
    for figure in longer.draw_longer(trained, inputs):
        check_inside(figure)
        assert figure.layout.shapes[0].x0 == trained + 0.5
        (note,) = [a for a in figure.layout.annotations if a.text == "training ends"]
        assert note.x == trained + 0.5
        steps = {tuple(trace.x) for trace in figure.data}
        assert steps == {tuple(range(1, longer.LONG + 1))}


@pytest.mark.parametrize("scale", [0.5, 1.0])
def test_every_step_that_is_carried_is_within_the_panel(scale):
    forward = through_time.draw_forward(scale, "tanh", "every")
    back = through_time.draw_backward(scale, "tanh", "every", 1.0)
    for figure in (forward, back):  # what vanishes leaves the panel below
        low, high = figure.layout.xaxis.range
        for trace in figure.data:
            steps = np.array(trace.x, float)
            assert low <= steps.min() < steps.max() <= high
