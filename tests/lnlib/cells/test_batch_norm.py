"""Batch norm through time."""

import numpy as np
import pytest

from lnlib.cells import RecurrentBatchNorm, rnn_step
from tests.cases.cells import EXACT, FORMS, H, I, backward, make, places, step


def sequence(steps, seed=2):
    return np.random.default_rng(seed).normal(size=(steps, 64, I)) + np.arange(steps)[:, None, None]


def run(xs, params, statistics, training):
    h, hs = np.zeros((xs.shape[1], H)), []
    for t, x in enumerate(xs):
        h = rnn_step(x, h, params, form="batch", batch_norm=statistics.at(t, training=training))
        hs.append(h)
    return hs


@pytest.mark.parametrize("cell", list(FORMS))
@pytest.mark.parametrize("shared", [False, True])
def test_backward_steps_do_not_change_running_averages(cell, shared):
    params, x, h, c = make(cell, "batch")
    statistics = RecurrentBatchNorm(shared=shared, momentum=0.3)
    for t in range(2):
        out = step(cell, "batch", params, x + t, h, c, batch_norm=statistics.at(t))
    before = {
        (place, t): (statistics.mean(place, t).copy(), statistics.var(place, t).copy())
        for place in places(cell, "batch")
        for t in range(2)
    }
    for t in range(2):
        backward(cell, "batch", params, 3 * x, h + 1, c, out, batch_norm=statistics.at(t))
    backward(cell, "batch", params, x, h, c, out, batch_norm=statistics.at(statistics.steps))
    assert statistics.steps == (1 if shared else 2)
    for (place, t), (mean, var) in before.items():
        np.testing.assert_array_equal(statistics.mean(place, t), mean)
        np.testing.assert_array_equal(statistics.var(place, t), var)


@pytest.mark.parametrize("cell", list(FORMS))
@pytest.mark.parametrize("momentum", [0.3, 1])
def test_running_averages_follow_the_formula(cell, momentum):
    params, x, h, c = make(cell, "batch")
    statistics = RecurrentBatchNorm(momentum=momentum)
    for scale in (1, 3):
        given = cell, "batch", params, scale * x, h, c
        np.testing.assert_array_equal(step(*given, batch_norm=statistics.at(0)), step(*given))
    k = {"rnn": H, "lstm": 4 * H, "gru": 2 * H}[cell]
    first, second = ((scale * x @ params["W_ih"].T)[:, :k] for scale in (1, 3))
    for of, statistic in ((lambda z: z.mean(0), statistics.mean), (VAR, statistics.var)):
        expected = (1 - momentum) * of(first) + momentum * of(second)
        np.testing.assert_allclose(statistic("i", 0), expected, rtol=1e-12)
    np.testing.assert_allclose(
        statistics.var("h", 0), VAR((h @ params["W_hh"].T)[:, :k]), rtol=1e-12
    )


def VAR(z):
    return z.var(0, ddof=1)


def test_statistics_are_per_step_unless_shared():
    p, *_ = make("rnn", "batch")
    xs = sequence(4)
    own, shared = RecurrentBatchNorm(), RecurrentBatchNorm(shared=True)
    run(xs, p, own, True)
    run(xs, p, shared, True)
    assert (own.steps, shared.steps) == (4, 1)
    assert np.abs(own.mean("i", 0) - own.mean("i", 3)).max() > 1
    np.testing.assert_array_equal(shared.mean("i", 0), shared.mean("i", 3))


def test_test_time_outputs_use_running_statistics_and_the_last_step_beyond_training():
    p, *_ = make("rnn", "batch")
    statistics = RecurrentBatchNorm()
    run(sequence(4), p, statistics, True)
    xs = sequence(6, seed=3)
    hs = run(xs, p, statistics, False)
    at = statistics.at(3, training=False)
    np.testing.assert_array_equal(hs[5], rnn_step(xs[5], hs[4], p, form="batch", batch_norm=at))
    assert statistics.steps == 4
    np.testing.assert_allclose(run(xs[:, :1], p, statistics, False)[-1], hs[-1][:1], rtol=EXACT)


def test_a_batch_of_one_raises_an_error():
    p, x, h, _ = make("rnn", "batch")
    with pytest.raises(ValueError, match="use a larger batch"):
        rnn_step(x[:1], h[:1], p, form="batch", batch_norm=RecurrentBatchNorm().at(0))
