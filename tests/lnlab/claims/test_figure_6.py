"""The table at figure 6: of which runs it is, and what its cells are."""

import numpy as np

from lnlab.claims import Records, figure_6

NORMS = ("batch", "layer", "none")


def run(norm, seed, epochs=60, size=128, rate=1e-3, error=0.02):
    curve = [0.9, 0.1, error + 0.001 * seed]
    return {"settings": {"norm": norm, "batch_size": size, "epochs": epochs, "learning_rate": rate,
                         "data": "mnist"},
            "experiment": "mnist", "seed": seed,
            "curves": {"train_nll": curve, "test_nll": curve, "test_error": curve}}  # fmt: skip


def table(runs):
    heads, *rows = figure_6.table(Records.from_runs("mnist", runs))
    assert heads[1:] == ["batch norm", "layer norm", "no normalization"]
    return rows


def of(size, rows):
    return [row for row in rows if row[0].startswith(f"batches of {size}")]


def test_a_cell_is_the_mean_and_the_standard_deviation_of_the_ends_of_all_seeds():
    runs = [run(norm, seed, error=0.02 + 0.01 * k) for k, norm in enumerate(NORMS)
            for seed in range(4)]  # fmt: skip
    train, nll, error = of(128, table(runs))
    assert error[0] == "batches of 128, 60 epochs, 4 seeds: test error, %"
    ends = np.array([2.0, 2.1, 2.2, 2.3])
    for cell, expected in zip(error[1:], (ends, ends + 1, ends + 2), strict=True):
        assert cell == f"{expected.mean():.2f} ± {expected.std(ddof=1):.2f}"
    assert train[1] == nll[1] == "0.0215 ± 0.0013"


def test_runs_of_other_lengths_rates_and_batches_do_not_count():
    runs = [run(norm, seed) for norm in NORMS for seed in range(2)]
    others = [run("batch", 0, epochs=90), run("layer", 3), run("none", 0, epochs=20, error=0.5),
              run("none", 0, rate=3e-3, error=0.5), run("none", 0, size=4, error=0.5)]  # fmt: skip
    assert of(128, table(others + runs)) == of(128, table(runs + others)) == of(128, table(runs))
