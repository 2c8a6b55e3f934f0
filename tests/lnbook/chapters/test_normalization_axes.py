"""Figures and sentences on statistics, batches and groups, compared with a second computation."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lnbook.chapters.normalization_axes import batches, followed, groups, summary
from lnbook.chapters.normalization_axes import running_statistics as running
from lnbook.diagrams import cubes
from tests.cases.drawn import lines
from tests.cases.oracle import parsed

EPS = 1e-5


@pytest.mark.parametrize(
    ("momentum", "size", "num_batches"), [(0.1, 4, 0), (0.3, 2, 1), (0.1, 16, 40)]
)
def test_running_statistics_are_drawn_and_stated_per_batch(momentum, size, num_batches):
    mean, output = running.draw_running(momentum, size, num_batches)
    text = running.describe_running(momentum, size, num_batches)
    values = running.batches(size)
    own = values.copy()  # the batch if it contains the followed number
    own[:, 0] = followed.FOLLOWED
    x = followed.FOLLOWED
    mu, var = 0.0, 1.0
    means, tests = [mu], [(x - mu) / np.sqrt(var + EPS)]
    for batch in values:
        mu = (1 - momentum) * mu + momentum * batch.mean()
        var = (1 - momentum) * var + momentum * batch.var(ddof=1)
        means.append(mu)
        tests.append((x - mu) / np.sqrt(var + EPS))
    train = [(x - batch.mean()) / np.sqrt(batch.var() + EPS) for batch in own]
    for panel, each, over_time in ((mean, values.mean(1), means), (output, train, tests)):
        points, line = lines(panel)["in training"][0], lines(panel)["at inference"][0]
        assert list(points.x) == list(range(1, 41))
        np.testing.assert_allclose(points.y, each, atol=0.0051)
        assert list(line.x) == list(range(41))
        np.testing.assert_allclose(line.y, over_time, atol=0.0051)
        (dot,) = [t for t in panel.data if t.mode == "markers" and not t.name]
        assert (dot.x[0], dot.y[0]) == (num_batches, pytest.approx(over_time[num_batches]))
        assert set(lines(panel)["all data"][0].x) == {0, 40}
    low, high = np.quantile(train, [0.05, 0.95])
    reported = parsed(text.partition("mean is ")[2])
    population = 21.0 - 5.0 + 2.0 * followed.FEATURE  # mean offset, and slope
    wanted = [means[num_batches], population, x, tests[num_batches], low, high]
    np.testing.assert_allclose(reported, wanted, atol=0.0051)


@pytest.mark.parametrize("size", [1, 4, 16])
def test_outputs_are_drawn_per_batch_and_as_a_90_percent_band_per_size(size):
    points, bands = batches.draw_batch_size(size)
    dots = lines(points)["batch norm"][0]
    assert list(dots.x) == list(range(1, 21))
    np.testing.assert_allclose(dots.y, batches.outputs(size)[:20], atol=0.0051)
    for panel, last in ((points, 20), (bands, 16)):
        for name, level in (("layer norm", followed.layer_norm_of_followed()),
                            ("all data", followed.whole_population())):  # fmt: skip
            line = lines(panel)[name][0]
            assert (list(line.x), list(line.y)) == ([1, last], [pytest.approx(level)] * 2)
    outline = lines(bands)["batch norm"][0]
    for k in range(16):
        ordered = np.sort(batches.outputs(k + 1))
        low, high = ordered[int(0.05 * 2000)], ordered[int(0.95 * 2000)]
        assert (outline.x[k], outline.x[31 - k]) == (k + 1, k + 1)
        assert outline.y[k] == pytest.approx(high, abs=0.02)
        assert outline.y[31 - k] == pytest.approx(low, abs=0.02)


@pytest.mark.parametrize("shift", [0.0, 10.0])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 12])
def test_means_of_groups_are_drawn_and_stated(count, shift):
    before, *_ = groups.draw_groups(count, shift)
    text = groups.describe_groups(count, shift)
    size = 12 // count
    parts = [groups.CHANNELS[k * size : (k + 1) * size] + shift for k in range(count)]
    steps = before.data[1]
    for k, part in enumerate(parts):
        assert list(steps.x[3 * k : 3 * k + 2]) == [k * size + 0.5, (k + 1) * size + 0.5]
        np.testing.assert_allclose(steps.y[3 * k : 3 * k + 2], part.mean())
    head, means, *rest = text.split(". ")
    assert parsed(head.partition(":")[0]) == [count, size]
    assert head.startswith(f"{count} group{'s' if count > 1 else ''} of {size} channel"
                           f"{'s' if size > 1 else ''}")  # fmt: skip
    reported = parsed(means.partition(": ")[2])
    wanted = [part.mean() for part in parts]
    wanted = [min(wanted), max(wanted)] if count > 4 else wanted
    np.testing.assert_allclose(reported, wanted, atol=0.051)
    x = groups.CHANNELS + shift
    rms = x / np.sqrt((x**2).mean() + EPS)
    ends = parsed(". ".join(rest).rpartition("range from ")[2])
    np.testing.assert_allclose(ends, [rms.min(), rms.max()], atol=0.0051)


def test_large_batches_approach_the_statistics_of_all_data():
    mean, var = (p[followed.FEATURE] for p in followed.POPULATION)
    expected = (followed.FOLLOWED - mean) / np.sqrt(var + 1e-5)
    assert followed.whole_population() == pytest.approx(expected, abs=1e-12)
    result = batches.outputs(200)
    error = result.std() / np.sqrt(batches.BATCHES)
    assert abs(result.mean() - expected) < 5 * error + 0.02  # a bias of the order 1 / batch size


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 12])
@pytest.mark.parametrize("shift", [0, 10])
def test_bars_equal_pytorchs_group_and_rms_norm(n, shift):
    x = torch.from_numpy(groups.CHANNELS)[None] + shift
    before, group, rms = groups.draw_groups(n, shift)
    np.testing.assert_array_equal(before.data[0].y, x[0])
    pair = torch.cat([x, x])  # torch refuses one number for a mean, unless there are two examples
    np.testing.assert_allclose(group.data[0].y, F.group_norm(pair, n)[0], atol=0.0005)
    np.testing.assert_allclose(rms.data[0].y, F.rms_norm(x, (12,), eps=1e-5)[0], atol=0.0005)


def test_the_table_of_modules_agrees_with_the_cube():
    texts = {row[0].replace("(G,", "(2,"): row[2] for row in summary.summary().rows}
    assert list(texts) == list(cubes.NORMS)
    sizes = dict(zip("NCT", cubes.SHAPE, strict=True)) | {"G": 2}
    for norm, formula in texts.items():
        assert eval(formula.replace("×", "*"), sizes) == cubes.sets(norm).max()
