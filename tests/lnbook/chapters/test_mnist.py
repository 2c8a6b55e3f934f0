"""Figure 6 and its table: the numbers drawn are the numbers recorded."""

import pytest

from lnbook.chapters.mnist import batch_means, origin, rates, sizes
from lnbook.chapters.mnist.runs import Cell, Runs

EPOCHS = [0.0, 0.5, 1.0, 2.0]


def run(norm, size, seed, nll, error, rate=1e-3):
    curves = {
        "x": "epoch",
        "epoch": EPOCHS,
        "train_nll": [2.3, nll * 4, nll * 2, nll],
        "test_nll": [2.3, 1.0, 0.5, 0.2],
        "batch_nll": [None, 1.0, 0.5, 0.2],
        "test_error": [0.9, error * 4, error * 2, error],
    }
    made = {"wall_s": 1800.0, "device": "CPU: x", "threads": 1, "date": "2026-11-20T", "torch": "2"}
    settings = {
        "norm": norm, "batch_size": size, "epochs": 2, "learning_rate": rate, "data": "mnist",
    }  # fmt: skip
    named = {"experiment": "mnist", "settings": settings, "seed": seed}
    return {**named, "curves": curves, "provenance": made}


def records(layer=0.02, batch=0.03):
    return [
        run(norm, size, seed, nll=error * 3, error=error + 0.001 * seed)
        for size in (128, 4)
        for norm, error in (("layer", layer), ("batch", batch * (1 + (size == 4))))
        for seed in (0, 1, 2)
    ]


def sweep():
    """Two more rates and two more batch sizes; batch norm is best at the lowest rate."""
    at_rates = [
        run(norm, 4, seed, nll=nll + 0.001 * seed, error=nll / 2, rate=rate)
        for norm, nlls in (("layer", (0.2, 0.1)), ("batch", (0.05, 0.15)))
        for rate, nll in zip((1e-4, 1e-2), nlls, strict=True)
        for seed in (0, 1)
    ]
    at_sizes = [
        run(norm, size, seed, nll=size / 100, error=size / 200)
        for norm, size in (("layer", 1), ("layer", 2), ("batch", 2))
        for seed in (0, 1)
    ]
    return at_rates + at_sizes


@pytest.fixture
def runs():
    return Runs(records())


def lines(figure):
    return {trace.name: trace for trace in figure.data if trace.name}


@pytest.fixture
def all_runs():
    return Runs(records() + sweep())


def test_the_table_says_where_the_records_come_from(all_runs):
    table = origin.origin(all_runs)
    assert table.rows[0] == [
        "Figure 6", "12", "layer norm, batch norm", "4, 128", "0.001", "0, 1, 2", "2", "6.0 h",
    ]  # fmt: skip
    assert [row[:2] for row in table.rows[1:]] == [["Learning rates", "8"], ["Batch sizes", "6"]]
    assert table.caption == "Made on CPU: x, 1 thread; training step plain; PyTorch 2; 2026-11-20."


def test_a_run_that_is_not_there_is_named_with_its_command(runs):
    with pytest.raises(ValueError, match=r"no run of weight norm, batch size 8.*--norm weight"):
        runs.at(1.0, Cell("weight", 8), "train_nll")


def test_no_sweep_says_how_to_record_one(runs):
    with pytest.raises(ValueError, match=r"no sweep .* --learning-rate RATE RATE"):
        rates.rates(runs)
    with pytest.raises(ValueError, match=r"no other batch sizes .* --batch-size 2 8 16"):
        sizes.draw_sizes(runs, "train_nll")


def test_cells_are_compared_over_the_seeds_that_all_have():
    selected = [
        r for k, r in enumerate(records()) if k not in (0, 7)
    ]  # seed 0 of one, 1 of another
    runs = Runs(selected)
    assert runs.among(runs.groups).seeds(Cell("layer", 128)) == [2]
    runs = Runs([r for r in selected if r["seed"] != 2])
    with pytest.raises(ValueError, match="share no seed"):
        runs.among(runs.groups)


def test_a_seed_that_is_there_twice_is_refused():
    with pytest.raises(ValueError, match=r"batch size 128.* a seed is there twice"):
        Runs([*records(), records()[0]])


def test_the_error_of_a_batch_mean_is_one_over_the_root_of_the_batch_size():
    for size in batch_means.BATCH_SIZES:
        result = batch_means.errors(size)
        assert result.std() == pytest.approx(size**-0.5, rel=0.03)
        histogram, over_sizes = batch_means.draw_batch_means(size)
        assert sum(histogram.data[0].y) == pytest.approx(100, abs=0.5)
        assert max(histogram.data[0].y) < histogram.layout.yaxis.range[1]
        drawn = lines(over_sizes)
        assert drawn["batch norm"].y[batch_means.BATCH_SIZES.index(size)] == pytest.approx(
            result.std(), abs=1e-4
        )
        assert set(drawn["layer norm"].y) == {0}
        assert over_sizes.layout.shapes[0].x0 == size
        assert f"by {result.std():.2f} σ" in batch_means.describe_batch_means(size)


def test_no_records_says_how_to_make_them():
    with pytest.raises(ValueError, match="record them with: make replay"):
        Runs([])


def test_runs_measured_at_different_epochs_are_refused():
    selected = records()
    selected[0]["curves"]["epoch"] = [0.0, 0.4, 1.0, 2.0]
    with pytest.raises(ValueError, match="must be measured at the same epochs"):
        Runs(selected)
