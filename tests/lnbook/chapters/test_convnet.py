"""What is drawn and said is what was recorded."""

import numpy as np
import pytest

from lnbook.chapters.convnet import border, runs
from lnlab import comparison
from lnlab import records as record


@pytest.fixture(scope="module")
def book():
    return runs.ConvnetRuns(record.read_all("convnet", maps=True))


def apart(known, data, cut, norm, layer, shown):
    """Ring less the rest, a number a channel, from a loop over places."""
    maps = known.maps[data, cut, norm]["arrays"][f"{shown}_{layer}"][-1].astype(float)
    last = maps.shape[-1] - 1
    sums = {True: [], False: []}
    for i in range(last + 1):
        for j in range(last + 1):
            sums[bool({i, j} & {0, last})].append(maps[:, i, j])
    edge, rest = (np.mean(sums[at], 0) for at in (True, False))
    if shown == "on":
        return 100 * (edge - rest) / 255
    return 100 * (edge - rest) / rest.mean()


def test_a_marker_is_the_mean_over_channels_and_its_bar_their_interval(book):
    for shown, kind in (("on", 0), ("deviation", 3)):
        data, cut = book.map_keys()[kind]
        panel = border.draw_border(book, shown)[kind]
        for trace, norm in zip(panel.data[:3], runs.NORMS, strict=True):
            for k, layer in enumerate(runs.LAYERS):
                values = apart(book, data, cut, norm, layer, shown)
                low, high = comparison.interval(values)
                assert trace.x[k] == pytest.approx(values.mean(), rel=1e-6)
                assert trace.x[k] - trace.error_x.arrayminus[k] == pytest.approx(low, rel=1e-6)
                assert trace.x[k] + trace.error_x.array[k] == pytest.approx(high, rel=1e-6)
        shapes = [trace.marker.symbol for trace in panel.data[:3]]
        assert len(set(shapes)) == 3


def test_the_sentence_counts_the_layers_whose_interval_is_below_zero(book):
    text = border.describe_border(book, "on")
    for data, cut in book.map_keys():
        plain, batch, layer = (
            sum(comparison.interval(apart(book, data, cut, norm, k, "on"))[1] < 0
                for k in runs.LAYERS)
            for norm in runs.NORMS
        )  # fmt: skip
        assert (
            f"{runs.DATASETS[data]}, {runs.CROPS[cut]}: {plain} without a norm, {batch} with batch "
            f"norm, {layer} with layer norm."
        ) in text
