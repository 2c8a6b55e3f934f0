"""Sequential digits: the networks, what one seed fixes, one update by hand, records, commands."""

import math
import subprocess
import sys

import numpy as np
import pytest
import torch

from lnlab import records
from lnlab.experiments.sequence import run as sequence
from lnlab.experiments.sequence.run import CELLS, NORMS, STEPS, TUNED, Run, Settings, network
from lnlab.runner import record_runs
from lnlab.training import train

SMALL = {"hidden": 12, "batch_size": 48, "first_epoch_points": 2}


pytestmark = pytest.mark.usefixtures("one_thread")


def build(cell="lstm", norm="none", seed=0, features=64, **settings):
    chosen = Settings(cell=cell, norm=norm, **settings)
    return network(chosen, features, 10, generator=torch.Generator().manual_seed(seed))


def without_time(points):
    # What is NaN before the first update is not equal to itself.
    return [
        {k: None if v != v else v for k, v in point.items() if k != "wall_s"} for point in points
    ]


def run(digits, *, epochs=2, checkpoint=None, seed=0, **settings):
    chosen = Settings(epochs=epochs, **(SMALL | settings))
    replay = Run(chosen, digits, seed=seed)
    return train(replay, epochs=epochs, first_epoch_points=2, checkpoint=checkpoint)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"cell": "qrnn"}, "cell must be one of lstm, gru, rnn, got 'qrnn'"),
        ({"norm": "batch"}, "norm must be one of none, layer, got 'batch'"),
        ({"step": "column"}, "step must be one of row, pixel, got 'column'"),
        ({"data": "letters"}, "data must be one of digits, mnist, got 'letters'"),
        ({"cell": "gru", "form": "carried"}, "form must be one of paper for gru, got 'carried'"),
        ({"recurrent_init": "zeros"}, "recurrent_init must be one of uniform, orthogonal"),
        ({"bias_init": "ones"}, "bias_init must be one of zeros, uniform, got 'ones'"),
        ({"hidden": 0}, "hidden must be a whole number from 1 to 1,000,000,000, got 0"),
        ({"epochs": 1.5}, "epochs must be a whole number from 1 to 1,000,000,000, got 1.5"),
        ({"learning_rate": -1.0}, "learning_rate must be a positive number, or none, got -1.0"),
        ({"clip": math.nan}, "clip must be a positive number, or none, got nan"),
        ({"gain": math.inf}, "gain must be a finite number, got inf"),
        ({"norm": "none", "gain": 0.1}, "gain must be left out where norm is none, .*, got 0.1"),
        ({"norm": "none", "form": "draw"}, "form must be left out where norm is none, .* 'draw'"),
        ({"held_out": 1}, "held_out must be True or False, got 1"),
        ({"adam_betas": 0.9}, "adam_betas must be two numbers from 0 .*, got 0.9"),
        ({"eps": -1e-5}, "eps must be a number from 0, got -1e-05"),
    ],
)
def test_settings_refuse_what_cannot_be_run(wrong, said):
    with pytest.raises(ValueError, match=said):
        Settings(**wrong)


def test_a_learning_rate_that_is_not_given_is_the_tuned_one():
    assert set(TUNED) == {(c, n, s) for c in CELLS for n in NORMS for s in STEPS}
    assert (
        Settings(cell="rnn", norm="none", step="pixel").learning_rate
        == (TUNED["rnn", "none", "pixel"])
    )
    assert Settings(learning_rate=0.5).learning_rate == 0.5


@pytest.mark.parametrize("cell", CELLS)
def test_runs_of_one_seed_start_from_one_W_whatever_the_norm(cell):
    plain, normalized, other = build(cell), build(cell, "layer"), build(cell, seed=1)
    for name in ("weight_ih_l0", "weight_hh_l0"):
        ours = getattr(normalized.recurrent, name).clone()
        if cell == "gru":
            # PyTorch's z keeps what the paper's z replaces.
            ours[64:128] *= -1
        assert torch.equal(getattr(plain.recurrent, name), ours)
        assert not torch.equal(getattr(plain.recurrent, name), getattr(other.recurrent, name))
    assert torch.equal(plain.head.weight, normalized.head.weight)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("cell", CELLS)
def test_biases_start_at_zero_and_gains_at_what_is_asked(cell, norm):
    gain = {"gain": 0.1} if norm == "layer" else {}
    for name, parameter in build(cell, norm, **gain).named_parameters():
        if "bias" in name:
            assert not parameter.any(), name
        elif "layernorm" in name:
            assert torch.equal(parameter, torch.full_like(parameter, 0.1)), name


@pytest.mark.parametrize(
    ("cell", "form"), [(cell, form) for cell in CELLS for form in sequence.FORMS[cell]]
)
def test_a_drawn_bias_is_one_for_both_norms_and_has_a_place_in_every_form(cell, form):
    def first_output(model):
        return model.recurrent(torch.zeros(1, 1, 8))[0]

    plain = build(cell, bias_init="uniform")
    normalized = build(cell, "layer", form=form, bias_init="uniform")
    total = sum(b.square().sum() for n, b in plain.recurrent.named_parameters() if "bias" in n)
    ours = sum(b.square().sum() for n, b in normalized.recurrent.named_parameters() if "bias" in n)
    torch.testing.assert_close(total, ours)
    assert total > 0
    if cell != "lstm" and form == "paper":
        # At x = 0 and h = 0 the norms of the parts are 0, and the bias is all there is.
        torch.testing.assert_close(first_output(plain), first_output(normalized))


def test_orthogonal_initialization_makes_each_gate_a_rotation_or_reflection():
    weight = build("gru", "layer", recurrent_init="orthogonal").recurrent.weight_hh_l0
    for square in weight.double().split(64):
        # float32 columns: 1e-6 seen.
        torch.testing.assert_close(
            square @ square.T, torch.eye(64, dtype=torch.float64), rtol=0, atol=1e-5
        )


@pytest.mark.parametrize(("step", "length", "inputs"), [("row", 8, 8), ("pixel", 64, 1)])
def test_an_image_is_read_row_after_row_or_pixel_after_pixel(digits, step, length, inputs):
    model, seen = build(step=step), []
    model.recurrent.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    model(torch.from_numpy(digits.x_test[:3]))
    (given,) = seen
    assert given.shape == (length, 3, inputs)
    np.testing.assert_array_equal(given[:, 1].flatten(), digits.x_test[1])


def test_a_row_a_step_needs_a_square_image():
    with pytest.raises(ValueError, match="needs square images, got 60 features"):
        build(features=60)


def test_the_gru_without_norm_is_the_papers_equations_23_to_25(digits):
    normalized = build("gru", "layer").double()  # the paper's signs, its norms unused
    plain = build("gru").double()
    x = torch.from_numpy(digits.x_test[:5]).double()
    W, U = normalized.recurrent.weight_ih_l0, normalized.recurrent.weight_hh_l0
    h = torch.zeros(5, 64, dtype=torch.float64)
    for row in x.split(8, dim=1):
        (r, z), n = ((row @ W[:128].T + h @ U[:128].T).sigmoid().chunk(2, 1), row @ W[128:].T)
        h = (1 - z) * h + z * (n + r * (h @ U[128:].T)).tanh()
    expected = h @ normalized.head.weight.T
    torch.testing.assert_close(plain(x), expected, rtol=0, atol=1e-12)


def numpy_update(x, y, W, U, V, *, clip, rate):
    """The simple network's first Adam update in float64 NumPy, backward through time by hand."""
    steps = x.reshape(len(x), 8, 8)
    states = [np.zeros((len(x), len(U)))]
    for t in range(8):
        states.append(np.tanh(steps[:, t] @ W.T + states[-1] @ U.T))
    logits = states[-1] @ V.T
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    dlogits = (p - np.eye(10)[y]) / len(x)
    dW, dU, dV, db = np.zeros_like(W), np.zeros_like(U), dlogits.T @ states[-1], 0.0
    dh = dlogits @ V
    for t in reversed(range(8)):
        da = dh * (1 - states[t + 1] ** 2)
        dW, dU, db = dW + da.T @ steps[:, t], dU + da.T @ states[t], db + da.sum(0)
        dh = da @ U
    grads = [dW, dU, db, db, dV, dlogits.sum(0)]  # PyTorch has the recurrent bias twice
    norm = math.sqrt(sum((g**2).sum() for g in grads))
    factor = min(1.0, clip / (norm + 1e-6))
    # The first update of Adam divides the gradient by its own size.
    new = [
        value - rate * factor * g / (np.abs(factor * g) + 1e-8)
        for value, g in zip((W, U, V), (dW, dU, dV), strict=True)
    ]
    return norm, new


@pytest.mark.parametrize("clip", [0.05, 10.0], ids=["shortened", "as it is"])
def test_one_update_without_norm_is_the_one_worked_out_by_hand(digits, clip):
    chosen = Settings(cell="rnn", norm="none", clip=clip, learning_rate=1e-3)
    replay = Run(chosen, digits)
    replay.model.double()
    replay.x = replay.x.double()

    def weights():
        r = replay.model.recurrent
        return [
            w.detach().numpy().copy()
            for w in (r.weight_ih_l0, r.weight_hh_l0, replay.model.head.weight)
        ]

    x, y = next(replay.batches(0))
    norm, expected = numpy_update(
        x.numpy(), y.numpy(), *weights(), clip=clip, rate=chosen.learning_rate
    )
    assert 0.05 < norm < 10
    replay.loss((x, y)).backward()
    replay.optimizer.step()
    assert replay._norms[0].item() == pytest.approx(norm, rel=1e-12)
    for found, wanted in zip(weights(), expected, strict=True):
        # 1e-12 and not less: Adam divides gradients near 0 by their own size.
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)


def test_the_measured_gradient_norm_is_the_mean_before_clipping(digits):
    replay = Run(Settings(clip=1e-3, **SMALL), digits)

    def measured():
        with torch.inference_mode():
            return replay.measure()["gradient_norm"]

    assert math.isnan(measured())
    lengths = []
    for _, batch in zip(range(3), replay.batches(0), strict=False):
        replay.optimizer.zero_grad()
        replay.loss(batch).backward()
        lengths.append(math.sqrt(sum(p.grad.square().sum() for p in replay.model.parameters())))
        replay.optimizer.step()
    assert measured() == pytest.approx(np.mean(lengths), rel=1e-5)
    assert math.isnan(measured())


def test_held_out_cases_are_training_cases_that_are_not_trained_on(digits):
    replay = Run(Settings(held_out=True, **SMALL), digits)
    np.testing.assert_array_equal(replay.x_test, digits.x_train[4::5])
    np.testing.assert_array_equal(replay.y_test, digits.y_train[4::5])
    assert len(replay.x) + len(replay.x_test) == len(digits.x_train)
    kept = {row.tobytes() for row in replay.x.numpy()}
    assert not kept & {row.tobytes() for row in replay.x_test.numpy()}


def test_one_seed_gives_one_curve_and_another_seed_another(digits):
    once = without_time(run(digits))
    assert once == without_time(run(digits))
    assert once != without_time(run(digits, seed=1))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("cell", CELLS)
def test_a_run_broken_off_goes_on_to_the_identical_curve(digits, tmp_path, cell, norm):
    kind = {"cell": cell, "norm": norm}
    whole = without_time(run(digits, **kind))
    broken = run(digits, checkpoint=tmp_path / "run.pt", **kind)
    for _ in range(3):  # the start and both points of the first epoch
        next(broken)
    broken.close()
    assert without_time(run(digits, checkpoint=tmp_path / "run.pt", **kind)) == whole


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("cell", CELLS)
def test_training_on_rows_learns(digits, cell, norm):
    points = list(run(digits, epochs=3, cell=cell, norm=norm, hidden=32, learning_rate=5e-3))
    # Chance is 90 % wrong.
    assert points[-1]["test_error"] < 0.45
    assert points[-1]["train_nll"] < points[0]["train_nll"] - 1


def test_blank_inputs_from_zero_biases_explode_the_first_gradient_and_drawn_biases_do_not(digits):
    def first_gradient(bias_init):
        replay = Run(Settings(step="pixel", bias_init=bias_init), digits)
        replay.loss(next(replay.batches(0))).backward()
        replay.optimizer.step()
        return replay._norms[0].item()

    # 6e12 and 2 seen.
    assert first_gradient("zeros") > 1e6
    assert first_gradient("uniform") < 1e2


def test_a_gain_of_zero_gives_W_no_gradient(digits):
    replay = Run(Settings(gain=0.0, **SMALL), digits)
    replay.loss(next(replay.batches(0))).backward()
    assert not replay.model.recurrent.weight_ih_l0.grad.any()
    assert not replay.model.recurrent.weight_hh_l0.grad.any()


def test_race_trains_both_norms_side_by_side(digits):
    settings = {"cell": "gru", "epochs": 1, **SMALL}
    raced = list(sequence.race(("layer", "none"), digits, device="cpu", **settings))
    for norm in ("layer", "none"):
        alone = run(digits, epochs=1, cell="gru", norm=norm)
        assert without_time(points[norm] for points in raced) == without_time(alone)


def test_a_record_fits_the_schema_and_its_command_repeats_it(tmp_path):
    chosen = Settings(
        cell="rnn", epochs=1, gain=0.5, form="parts", clip=None, held_out=True, **SMALL
    )
    short = Settings(**{k: v for k, v in vars(chosen).items() if k != "first_epoch_points"})
    (path,) = record_runs(sequence.EXPERIMENT, [short], [3], out=tmp_path / "first", device="cpu")
    assert path.name == (
        "sequence-rnn-layer-row-hidden-12-batch-size-48-gain-0.5-form-parts-clip-None-"
        "held-out-True-seed3.json"
    )
    first = records.read(path)
    assert first["experiment"] == "sequence"
    assert first["settings"] == short.as_dict()
    assert sum(first["data"]["cases"].values()) == 1437
    assert {"train_nll", "test_nll", "test_error", "gradient_norm"} < set(first["curves"])
    command = first["provenance"]["command"].split()
    assert command[:2] == ["python", "-m"]
    command[command.index("--out") + 1] = str(tmp_path / "second")
    threads = ["--device", "cpu", "--threads", "1"]
    subprocess.run([sys.executable, *command[1:], *threads], check=True, capture_output=True)
    second = records.read(tmp_path / "second" / "sequence" / path.name)
    for kept in (first, second):
        del kept["curves"]["wall_s"], kept["provenance"]
    assert first == second


def test_the_command_records_each_cell_norm_and_learning_rate_once(tmp_path, capsys):
    from lnlab.cli import main

    command = [
        "replay", "sequence", "--cell", "gru", "rnn", "--norm", "none", "--epochs", "1",
        "--hidden", "8", "--batch-size", "400", "--learning-rate", "0.02", "0.5",
        "--seeds", "1", "--device", "cpu", "--out", str(tmp_path),
    ]  # fmt: skip
    assert main(command) == 0
    assert sorted(path.name for path in tmp_path.glob("*/*.json")) == [
        f"sequence-{cell}-none-row-hidden-8-batch-size-400-learning-rate-{rate}-seed1.json"
        for cell in ("gru", "rnn")
        for rate in ("0.02", "0.5")
    ]
    assert main(command) == 0
    assert "4 of 4 runs are recorded already" in capsys.readouterr().out
    assert main([*command, "--form", "draw"]) == 1
    assert "form must be one of paper for gru, got 'draw'" in capsys.readouterr().err


def kept(**settings):
    return records.read_all("sequence", data="digits", **settings)


def test_the_book_has_the_runs_of_sequential_digits():
    runs = kept(held_out=False, gain=1.0, form="paper", hidden=64, epochs=30)
    found = {
        (s["cell"], s["norm"], s["step"], r["seed"]) for r in runs for s in [r["settings"]]
    }  # fmt: skip
    seeds = {"row": range(5), "pixel": range(3)}
    assert found >= {
        (cell, norm, step, seed)
        for cell in CELLS
        for norm in NORMS
        for step in STEPS
        for seed in seeds[step]
    }
    for r in runs:
        s = r["settings"]
        assert s["learning_rate"] == TUNED[s["cell"], s["norm"], s["step"]]
        assert r["data"]["cases"] == {"train": 1437, "test": 360}
    other = kept(held_out=False, form="per_gate", step="pixel", cell="lstm")
    assert len(other) >= 3
    low = [r for gain in (0.0, 0.1) for r in kept(held_out=False, gain=gain, cell="lstm")]
    assert len(low) >= 6


@pytest.mark.parametrize("kind", sorted(TUNED), ids="-".join)
def test_no_learning_rate_of_the_sweep_does_clearly_better_than_the_tuned_one(kind):
    cell, norm, step = kind
    nll = {}
    for r in kept(held_out=True, cell=cell, norm=norm, step=step):
        nll.setdefault(r["settings"]["learning_rate"], []).append(r["curves"]["test_nll"][-5:])
    mean = {rate: np.mean(curves) for rate, curves in nll.items()}
    assert len(mean) >= 4
    # Rows have three seeds. Pixels have one, and this seed in another order of float32 arithmetic
    # has given 0.60 and 0.80: 64 steps are chaotic.
    assert mean[TUNED[kind]] < {"row": 1.2, "pixel": 1.4}[step] * min(mean.values())
