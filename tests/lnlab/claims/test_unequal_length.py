"""Claims on runs of which some were trained for longer than others."""

import numpy as np

from lnlab.claims import feedforward
from lnlab.claims.finding import Records
from lnlab.claims.scale import relative


def test_runs_of_unequal_length_are_told_from_the_shortest_share_to_the_longest():
    runs = [
        {"experiment": "mnist", "settings": {"hidden": [1000, 1000]}, "curves": {"epoch": [0, end]}}
        for end in (60, 20, 60)
    ]
    scale = "100% of the paper's units, {} of its epochs, the same data"
    assert relative(runs) == scale.format("33 to 100%")
    assert relative(runs[::2]) == scale.format("100%")


def test_batch_sizes_are_compared_after_the_epochs_that_all_runs_have():
    """What the longer runs do later, here to diverge, changes nothing."""

    def runs(norm, size, ends):
        for seed, end in enumerate(ends):
            curve = [3.0, 2.0, *[end] * 9]
            more = {128: 4, 4: 0}[size]
            yield {
                "experiment": "mnist", "seed": seed, "provenance": {"device": "CPU: made up"},
                "settings": {"norm": norm, "batch_size": size, "epochs": 10 + more, "data": "mnist",
                             "hidden": [1000, 1000], "learning_rate": 1e-3},
                "curves": {"epoch": [*range(11 + more)],
                           "train_nll": [*curve, *[90.0 * len(norm)] * more],
                           "test_error": [*curve, *[90.0 * len(norm)] * more]},
            }  # fmt: skip

    made_up = Records.from_runs("mnist", [
        *runs("layer", 128, (1.0, 1.0)), *runs("layer", 4, (1.1, 1.2)),
        *runs("batch", 128, (1.0, 1.0)), *runs("batch", 4, (1.5, 1.5)),
    ])  # fmt: skip
    nll, error = feedforward.robust(made_up)
    np.testing.assert_allclose(nll.differences, [-0.4, -0.3])
    np.testing.assert_allclose(error.differences, [-40, -30])
    assert "10 epochs" in nll.what
