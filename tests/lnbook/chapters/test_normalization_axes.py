"""Figures and sentences on statistics, batches and groups, compared with a second computation."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lnbook.chapters.normalization_axes import figures
from lnbook.diagrams import cubes
from tests.cases.drawn import lines

EPS = 1e-5


@pytest.mark.parametrize("n", [1, 3, 12])
@pytest.mark.parametrize("shift", [0, 10])
def test_bars_equal_pytorchs_group_and_rms_norm(n, shift):
    x = torch.from_numpy(figures.CHANNELS)[None] + shift
    before, group, rms = figures.draw_groups(n, shift)
    for k, part in enumerate(x[0].chunk(n)):
        np.testing.assert_allclose(before.data[1].y[3 * k : 3 * k + 2], part.mean())
    pair = torch.cat([x, x])  # torch refuses one number for a mean, unless there are two examples
    np.testing.assert_allclose(group.data[0].y, F.group_norm(pair, n)[0], atol=0.0005)
    np.testing.assert_allclose(rms.data[0].y, F.rms_norm(x, (12,), eps=1e-5)[0], atol=0.0005)


def test_the_table_of_modules_agrees_with_the_cube():
    texts = {row[0].replace("(G,", "(2,"): row[2] for row in figures.summary().rows}
    assert list(texts) == list(cubes.NORMS)
    sizes = dict(zip("NCT", cubes.SHAPE, strict=True)) | {"G": 2}
    for norm, formula in texts.items():
        assert eval(formula.replace("×", "*"), sizes) == cubes.sets(norm).max()


@pytest.mark.parametrize(("momentum", "size", "num_batches"), [(0.3, 2, 1), (0.1, 16, 40)])
def test_running_statistics_are_drawn_per_batch(momentum, size, num_batches):
    panels = figures.draw_running(momentum, size, num_batches)
    values = figures.batches(size)
    own = values.copy()  # the batch if it contains the followed number
    own[:, 0] = x = figures.FOLLOWED
    mu, var = 0.0, 1.0
    means, tests = [mu], [(x - mu) / np.sqrt(var + EPS)]
    for batch in values:
        mu = (1 - momentum) * mu + momentum * batch.mean()
        var = (1 - momentum) * var + momentum * batch.var(ddof=1)
        means.append(mu)
        tests.append((x - mu) / np.sqrt(var + EPS))
    train = [(x - batch.mean()) / np.sqrt(batch.var() + EPS) for batch in own]
    for panel, each, over_time in zip(panels, (values.mean(1), train), (means, tests), strict=True):
        np.testing.assert_allclose(lines(panel)["in training"][0].y, each, atol=0.0051)
        np.testing.assert_allclose(lines(panel)["at inference"][0].y, over_time, atol=0.0051)
        (dot,) = [t for t in panel.data if t.mode == "markers" and not t.name]
        assert (dot.x[0], dot.y[0]) == (num_batches, pytest.approx(over_time[num_batches]))


def test_batch_norm_approaches_the_statistics_of_all_data_in_large_batches():
    mean, var = (p[figures.FEATURE] for p in figures.POPULATION)
    expected = (figures.FOLLOWED - mean) / np.sqrt(var + 1e-5)
    assert figures.whole_population() == pytest.approx(expected, abs=1e-12)
    result = figures.outputs(200)
    error = result.std() / np.sqrt(figures.BATCHES)
    assert abs(result.mean() - expected) < 5 * error + 0.02  # a bias of the order 1 / batch size
