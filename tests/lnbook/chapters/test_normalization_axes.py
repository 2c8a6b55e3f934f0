"""What is drawn is what PyTorch computes."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lnbook.chapters.normalization_axes import batches, followed, groups, summary
from lnbook.chapters.normalization_axes import running_statistics as running
from lnbook.diagrams import cubes


def test_a_lonely_batch_gives_zero_and_a_pair_plus_or_minus_one():
    assert not batches.outputs(1).any()
    sizes = np.abs(batches.outputs(2))
    assert np.quantile(sizes, 0.01) > 0.999  # eps is felt where two numbers are almost equal
    assert sizes.max() <= 1
    assert set(np.sign(batches.outputs(2))) == {-1, 1}


@pytest.mark.parametrize("batch_size", [3, 4, 16])
def test_no_output_leaves_the_root_of_the_batch_size_less_one(batch_size):
    found = batches.outputs(batch_size)
    assert np.ptp(found) > 0.5
    assert np.abs(found).max() <= np.sqrt(batch_size - 1)


def test_large_batches_come_near_to_all_data():
    mean, var = (p[followed.FEATURE] for p in followed.POPULATION)
    expected = (followed.FOLLOWED - mean) / np.sqrt(var + 1e-5)
    assert followed.whole_population() == pytest.approx(expected, abs=1e-12)
    found = batches.outputs(200)
    error = found.std() / np.sqrt(batches.BATCHES)
    assert abs(found.mean() - expected) < 5 * error + 0.02  # a bias of the order 1 / batch size


def test_the_population_has_the_moments_it_states():
    x = followed.examples(200_000, np.random.default_rng(1))
    mean, var = followed.POPULATION
    np.testing.assert_allclose(x.mean(0), mean, atol=5 * np.sqrt(var.max() / len(x)))
    np.testing.assert_allclose(x.var(0), var, rtol=0.02)


def test_layer_norm_of_the_followed_number_is_torchs():
    expected = F.layer_norm(torch.from_numpy(followed.TABLE), (6,))[0, followed.FEATURE]
    assert followed.layer_norm_of_followed() == pytest.approx(expected.item(), abs=1e-12)


def test_the_points_and_the_band_are_of_the_same_batches():
    points, bands = batches.draw_batch_size(4)
    np.testing.assert_allclose(points.data[0].y, batches.outputs(4)[: batches.SHOWN], atol=0.005)
    low, high = batches.band(4)
    assert bands.data[0].y[3] == round(high, 2)
    assert bands.data[0].y[2 * batches.SIZES - 4] == round(low, 2)
    inside = (batches.outputs(4) >= low) & (batches.outputs(4) <= high)
    assert inside.mean() == pytest.approx(0.9, abs=0.005)
    assert f"between {low:.2f} and {high:.2f}".replace("-", "−") in batches.describe_batch_size(4)
    assert "becomes 0 under batch norm" in batches.describe_batch_size(1)


def test_a_live_slider_may_go_beyond_the_page():
    _, bands = batches.draw_batch_size(40)
    assert bands.layout.xaxis.range[1] == 40.5


def test_in_training_the_number_is_normalized_with_its_batch():
    run, batch = running.stream(0.1, 4), running.batches(4)[7].copy()
    batch[0] = followed.FOLLOWED
    expected = (followed.FOLLOWED - batch.mean()) / np.sqrt(batch.var() + 1e-5)
    assert run.train[7] == pytest.approx(expected, abs=1e-12)


def test_the_sentence_on_running_statistics_says_where_they_stand():
    run = running.stream(0.1, 4)
    assert f"running mean is {run.running_mean[10]:.2f}" in running.describe_running(0.1, 4, 10)
    before = running.describe_running(0.1, 4, 0)
    assert "Before the first batch, the running mean is 0.00" in before
    assert "11.41 becomes 11.41" in before


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 12])
@pytest.mark.parametrize("shift", [0, 10])
def test_bars_are_torchs_group_and_rms_norm(n, shift):
    x = torch.from_numpy(groups.CHANNELS)[None] + shift
    before, group, rms = groups.draw_groups(n, shift)
    np.testing.assert_array_equal(before.data[0].y, x[0])
    pair = torch.cat([x, x])  # torch refuses one number for a mean, unless there are two examples
    np.testing.assert_allclose(group.data[0].y, F.group_norm(pair, n)[0], atol=0.0005)
    np.testing.assert_allclose(rms.data[0].y, F.rms_norm(x, (12,), eps=1e-5)[0], atol=0.0005)
    steps = np.array(before.data[1].y).reshape(n, 3)
    np.testing.assert_allclose(steps[:, 0], x.reshape(n, -1).mean(1))


def test_the_sentence_on_groups_says_what_a_shift_does():
    assert "this is layer norm" in groups.describe_groups(1, 0)
    assert "all become 0" in groups.describe_groups(12, 0)
    assert "With 10 added, group norm's output does not change" in groups.describe_groups(3, 10)
    assert "from 0.61 to 1.43" in groups.describe_groups(3, 10)


def test_the_table_of_modules_counts_the_means_of_the_cube():
    said = {row[0].replace("(G,", "(2,"): row[2] for row in summary.summary().rows}
    assert list(said) == list(cubes.NORMS)
    sizes = dict(zip("NCT", cubes.SHAPE, strict=True)) | {"G": 2}
    for norm, formula in said.items():
        assert eval(formula.replace("×", "*"), sizes) == cubes.sets(norm).max()
