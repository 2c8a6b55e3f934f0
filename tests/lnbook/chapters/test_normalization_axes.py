"""What is drawn is what PyTorch computes."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lnbook.chapters.normalization_axes import batches, followed, groups, summary
from lnbook.diagrams import cubes


def test_large_batches_come_near_to_all_data():
    mean, var = (p[followed.FEATURE] for p in followed.POPULATION)
    expected = (followed.FOLLOWED - mean) / np.sqrt(var + 1e-5)
    assert followed.whole_population() == pytest.approx(expected, abs=1e-12)
    result = batches.outputs(200)
    error = result.std() / np.sqrt(batches.BATCHES)
    assert abs(result.mean() - expected) < 5 * error + 0.02  # a bias of the order 1 / batch size


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 12])
@pytest.mark.parametrize("shift", [0, 10])
def test_bars_are_torchs_group_and_rms_norm(n, shift):
    x = torch.from_numpy(groups.CHANNELS)[None] + shift
    before, group, rms = groups.draw_groups(n, shift)
    np.testing.assert_array_equal(before.data[0].y, x[0])
    pair = torch.cat([x, x])  # torch refuses one number for a mean, unless there are two examples
    np.testing.assert_allclose(group.data[0].y, F.group_norm(pair, n)[0], atol=0.0005)
    np.testing.assert_allclose(rms.data[0].y, F.rms_norm(x, (12,), eps=1e-5)[0], atol=0.0005)


def test_the_table_of_modules_counts_the_means_of_the_cube():
    texts = {row[0].replace("(G,", "(2,"): row[2] for row in summary.summary().rows}
    assert list(texts) == list(cubes.NORMS)
    sizes = dict(zip("NCT", cubes.SHAPE, strict=True)) | {"G": 2}
    for norm, formula in texts.items():
        assert eval(formula.replace("×", "*"), sizes) == cubes.sets(norm).max()
