"""Losses are those of the records, and lines show standard deviations."""

import numpy as np
import pytest
import torch

from lnbook.chapters.transformer_ablation import figures

TEXT = "I am\nhe"


@pytest.fixture(scope="module")
def streams():
    rng = np.random.default_rng(4)
    sides = rng.normal(3, np.arange(1, 8)[:, None], size=(2, 5, 7, 6)).swapaxes(0, 1)
    return {TEXT: [tuple(map(torch.from_numpy, pair)) for pair in sides]}


def test_the_table_contains_each_change_of_each_record():
    runs = [
        {"seed": seed, "curves": {name: [9.0, k + seed / 4] for k, name in enumerate(names)}}
        for names in [figures.CHANGES.values()]
        for seed in (3, 5)
    ]
    runs[0]["curves"]["nll_removed"][-1] = 123.4
    table = figures.table(runs)
    assert table.columns == ["Norms", "seed 3", "seed 5"]
    assert table.rows[1] == ["all RMS", "1.75", "2.25"]
    assert table.rows[-1] == ["all off", "123", "7.25"]


def test_a_line_is_the_std_of_a_character_before_and_after_each_norm(streams):
    expected = np.array(
        [[pair[side].std(-1, correction=0).numpy() for pair in streams[TEXT]] for side in (0, 1)]
    )
    np.testing.assert_allclose(figures.standard_deviations(streams, TEXT), expected, atol=1e-12)
    for values, panel in zip(expected, figures.draw_std(streams, [1.0] * 5, TEXT), strict=True):
        drawn = {}
        for trace in panel.data[:2]:
            y = [v for v in trace.y if v is not None]
            drawn[trace.name] = np.reshape(y, (-1, 5)).T
        blanks = [1, 4]
        np.testing.assert_allclose(drawn["spaces, line breaks"], values[:, blanks], atol=5e-4)
        others = [0, 2, 3, 5, 6]
        np.testing.assert_allclose(drawn["other characters"], values[:, others], atol=5e-4)
