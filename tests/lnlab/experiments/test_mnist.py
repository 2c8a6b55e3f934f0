"""Section 6.6: the network, its norms, its settings."""

import json

import numpy as np
import pytest
import torch
from torch import nn

from lnlab import datasets
from lnlab.experiments.mnist import run as mnist
from lnlab.experiments.mnist import steps
from lnlab.experiments.mnist.run import HIDDEN, NORMS, Run, Settings, network
from lnlab.training import train
from lnlib.nn import LayerNorm
from lnlib.nn.baselines import BatchNorm, WeightNormLinear


@pytest.fixture(scope="module")
def digits():
    return datasets.load("digits")


def build(norm, **settings):
    chosen = Settings(norm=norm, **settings)
    return network(chosen, 784, 10, generator=torch.Generator().manual_seed(0))


def kinds(model):
    return [type(layer).__name__ for layer in model]


def test_network_is_784_1000_1000_10_with_relu():
    model = build("none")
    assert kinds(model) == ["Linear", "ReLU", "Linear", "ReLU", "Linear"]
    assert [tuple(m.weight.shape) for m in model[::2]] == [(1000, 784), (1000, 1000), (10, 1000)]


def test_batch_norm_stands_on_all_layers_logits_included():
    assert kinds(build("batch"))[-2:] == ["Linear", "BatchNorm"]
    assert kinds(build("batch")).count("BatchNorm") == 3


def test_layer_norm_stands_on_hidden_layers_only():
    assert kinds(build("layer"))[-1] == "Linear"
    assert kinds(build("layer")).count("LayerNorm") == 2


def test_no_bias_is_left_before_a_norm_and_every_layer_has_one_somewhere():
    for norm in ("batch", "layer"):
        model = build(norm)
        for layer, after in zip(model, list(model)[1:], strict=False):
            if isinstance(layer, nn.Linear):
                assert (layer.bias is None) == isinstance(after, BatchNorm | LayerNorm)


@pytest.mark.parametrize(("batch_size", "unbiased"), [(4, True), (128, False)])
def test_batch_norm_is_unbiased_at_the_smaller_batch_size_only(batch_size, unbiased):
    model = build("batch", batch_size=batch_size)
    assert {m.unbiased for m in model if isinstance(m, BatchNorm)} == {unbiased}


@pytest.mark.parametrize(
    ("variance", "batch_size", "unbiased"),
    [
        *(("paper", 2, True), ("paper", 127, True), ("paper", 128, False), ("paper", 500, False)),
        *(("biased", 4, False), ("biased", 128, False)),
        *(("unbiased", 4, True), ("unbiased", 128, True)),
    ],
)
def test_the_variance_is_that_asked_for_or_the_papers(variance, batch_size, unbiased):
    assert Settings(norm="batch", variance=variance, batch_size=batch_size).unbiased is unbiased


def test_what_has_no_effect_is_named():
    unused = {norm: Settings(norm=norm).unused for norm in NORMS}
    of_batch = ("variance", "momentum")
    assert unused == {
        "none": (*of_batch, "eps"), "batch": (), "layer": of_batch, "weight": (*of_batch, "eps"),
    }  # fmt: skip


@pytest.mark.parametrize("momentum", [0, 1])
def test_running_averages_may_stay_or_be_the_newest_batch(momentum):
    assert Settings(norm="batch", momentum=momentum).momentum == momentum


def test_a_run_is_of_figure_6_and_is_called_by_its_cell():
    assert mnist.EXPERIMENT.paper == {"section": "6.6", "figure": "6"}
    assert mnist.EXPERIMENT.label.format(**vars(Settings(norm="weight", batch_size=7))) == (
        "weight, batch 7"
    )


def test_a_step_is_tried_before_anything_else_is_asked_for(monkeypatch):
    called = []
    monkeypatch.setattr(mnist, "resolve_device", "resolved {}".format)
    monkeypatch.setattr(steps, "choose", lambda *given: called.append(given))
    Run.check([Settings()], "cuda:1", step="compiled")
    assert called == [("compiled", 1, "resolved cuda:1")]
    Run.check([Settings()], "cuda:1", step="auto")
    assert len(called) == 1  # to choose would start a compiler, even where all is recorded


def test_the_step_that_was_asked_for_takes_the_updates(monkeypatch, digits):
    made = []

    def make(replay):
        made.append(replay)
        return lambda x, y: ("compiled", x, y)

    monkeypatch.setattr(steps.compiled, "make", make)
    monkeypatch.setattr(steps.compiled, "available", lambda: True)
    replay = Run(Settings(hidden=(8,)), digits, step="compiled")
    assert replay.update((1, 2)) == ("compiled", 1, 2)
    assert made == [replay]
    Run(Settings(hidden=(8,)), digits, step="plain")
    assert len(made) == 1


def test_a_step_is_chosen_for_the_batch_size(monkeypatch, digits):
    called = []
    monkeypatch.setattr(steps, "choose", lambda *given: called.append(given) or "plain")
    replay = Run(Settings(batch_size=7, hidden=(8,)), digits, step="auto")
    assert called == [("auto", 7, torch.device("cpu"))]
    assert replay.step == "plain"


@pytest.mark.parametrize("norm", NORMS)
def test_runs_of_one_seed_start_from_one_W_whatever_the_norm(norm):
    first, other = build("none")[0].weight, build(norm)[0].weight
    assert torch.equal(first, other)


@pytest.mark.parametrize("initialization", ["uniform", "he"])
@pytest.mark.parametrize(("layer", "fan_in"), [(0, 784), (2, 1000)])
def test_initialization_has_the_spread_it_says(initialization, layer, fan_in):
    weight = build("none", initialization=initialization, hidden=(1000, 500))[layer].weight
    expected = {"uniform": 1 / np.sqrt(3 * fan_in), "he": np.sqrt(2 / fan_in)}[initialization]
    assert weight.std().item() == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("norm", NORMS)
def test_biases_start_at_0_and_gains_at_1(norm):
    for name, p in build(norm, hidden=(8, 4)).named_parameters():
        layer = name.split(".")[1]
        if layer == "bias":
            assert not p.any(), name
        elif layer == "gain" or p.ndim == 1:
            assert (p == 1).all(), name


def test_a_seed_draws_the_weights(digits):
    def first(seed):
        return Run(Settings(hidden=(8,)), digits, seed=seed).model[0].weight

    assert torch.equal(first(3), first(3))
    assert not torch.isclose(first(3), first(4)).any()


def test_batches_cover_each_case_once_and_depend_on_seed_and_epoch_alone(digits):
    def order(seed, epoch, norm="layer"):
        replay = Run(Settings(norm=norm, batch_size=4, hidden=(8,)), digits, seed=seed)
        replay.x = torch.arange(len(replay.x))
        return torch.cat([x for x, _ in replay.batches(epoch)]).tolist()

    once = order(0, 0)
    # Seeds share no order, in whatever epoch.
    orders = {(seed, epoch): tuple(order(seed, epoch)) for seed in range(3) for epoch in range(3)}
    assert len(set(orders.values())) == 9
    assert len(set(once)) == len(once) == len(digits.x_train) // 4 * 4
    assert once == order(0, 0, "batch") != order(0, 1)
    assert once != order(1, 0)


def test_replay_trains_on_the_first_55000_cases_and_pairs_labels_with_their_cases():
    x = np.linspace(0, 1, 56_000, dtype=np.float32)[:, None]
    y = (np.arange(56_000) % 10).astype(np.int64)
    fake = datasets.Dataset("fake", x, y, x[:10], y[:10], "0" * 64)
    replay = Run(Settings(hidden=(4,)), fake)
    assert len(replay.x) == 55_000
    assert replay.updates_per_epoch == 429
    inputs, labels = next(replay.batches(0))
    cases = (inputs[:, 0].double() * 55_999).round().long()
    assert torch.equal(cases % 10, labels)


def test_measure_is_the_mean_nll_and_the_share_of_wrong_test_cases(digits):
    replay = Run(Settings(norm="none", hidden=(16,), measured_cases=300), digits)
    replay.model.eval()
    with torch.inference_mode():
        measured = replay.measure()
        log_p = replay.model(replay.x_test).double().log_softmax(1)
    chosen = log_p[torch.arange(len(log_p)), replay.y_test]
    assert measured["test_nll"] == pytest.approx(-chosen.mean().item(), rel=1e-6)
    wrong = (log_p.argmax(1) != replay.y_test).double().mean().item()
    assert measured["test_error"] == wrong


@pytest.mark.parametrize("norm", NORMS)
def test_training_on_digits_learns(norm, digits):
    settings = Settings(norm=norm, batch_size=32, epochs=2, data="digits", hidden=(64, 64))
    points = list(train(Run(settings, digits), epochs=2, first_epoch_points=2))
    # Chance is 90 % wrong.
    assert points[0]["test_error"] > 0.7
    assert points[-1]["test_error"] < 0.25


@pytest.mark.parametrize("unbiased", [False, True])
def test_batch_norm_equals_the_formula(unbiased):
    generator = torch.Generator().manual_seed(0)
    x = 3 + 2 * torch.randn(4, 5, generator=generator, dtype=torch.float64)
    norm = BatchNorm(5, unbiased=unbiased).double()
    with torch.no_grad():
        norm.weight.copy_(torch.linspace(-1, 2, 5))
        norm.bias.copy_(torch.linspace(1, 3, 5))
    mean, var = x.mean(0), x.var(0, unbiased=unbiased)
    expected = norm.weight * (x - mean) / (var + 1e-5).sqrt() + norm.bias
    torch.testing.assert_close(norm(x), expected, rtol=0, atol=1e-12)
    # After one batch the running averages have moved a tenth of the way, the variance unbiased.
    torch.testing.assert_close(norm.running_mean, 0.1 * mean)
    torch.testing.assert_close(norm.running_var, 0.9 + 0.1 * x.var(0, unbiased=True))
    assert torch.autograd.gradcheck(norm, x.clone().requires_grad_())


def test_batch_norm_at_test_time_uses_the_running_averages():
    norm, plain = BatchNorm(3, unbiased=True).double(), nn.BatchNorm1d(3).double()
    x = torch.randn(6, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    norm(x), plain(x)
    torch.testing.assert_close(norm.eval()(x[:1]), plain.eval()(x[:1]), rtol=0, atol=1e-15)


def test_batch_norm_refuses_a_training_batch_of_one():
    with pytest.raises(ValueError, match="at least 2 cases in a batch, got 1"):
        BatchNorm(3)(torch.zeros(1, 3))


def test_weight_norm_equals_the_formula():
    layer = WeightNormLinear(7, 5).double()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_(generator=generator)
    x = torch.randn(3, 7, generator=generator, dtype=torch.float64)
    rows = [
        layer.gain[i] * (x @ layer.weight[i]) / layer.weight[i].norm() + layer.bias[i]
        for i in range(5)
    ]
    torch.testing.assert_close(layer(x), torch.stack(rows, dim=1), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"norm": "group"}, "norm must be one of none, batch, layer, weight, got 'group'"),
        ({"batch_size": 0}, "batch_size must be a whole number from 1 to 1,000,000,000, got 0"),
        ({"hidden": (100, 0)}, r"hidden must be widths from 1, .*, got \(100, 0\)"),
        ({"epochs": 1.5}, "epochs must be a whole number from 1 to 1,000,000,000, got 1.5"),
        ({"learning_rate": float("nan")}, "learning_rate must be a positive number, got nan"),
        (
            {"norm": "batch", "batch_size": 1},
            "batch_size must be at least 2 where norm is batch, got 1",
        ),
        ({"variance": "n-1"}, "variance must be one of paper, biased, unbiased, got 'n-1'"),
        ({"batch_size": True}, "batch_size must be a whole number from 1 .*, got True"),
        ({"hidden": ()}, r"hidden must be widths from 1, one for each .*, got \(\)"),
        ({"hidden": 100}, "hidden must be widths from 1, .*, got 100"),
        ({"adam_betas": (0.9, 1.0)}, r"adam_betas must be two numbers from 0 .*, got \(0.9, 1.0\)"),
        ({"adam_betas": (0.9,)}, r"adam_betas must be two numbers from 0 .*, got \(0.9,\)"),
        ({"adam_eps": -1e-9}, "adam_eps must be a number from 0, got -1e-09"),
        ({"eps": float("inf")}, "eps must be a number from 0, got inf"),
        ({"momentum": -1}, "momentum must be a number from 0 to 1, got -1"),
        ({"momentum": 2.0}, "momentum must be a number from 0 to 1, got 2.0"),
        ({"learning_rate": 10**400}, "learning_rate must be a positive number, got 1000"),
        ({"learning_rate": "0.1"}, "learning_rate must be a positive number, got '0.1'"),
    ],
)
def test_settings_refuse_what_cannot_be_run(wrong, said):
    with pytest.raises(ValueError, match=said):
        Settings(**wrong)


def test_replay_refuses_a_batch_larger_than_the_data(digits):
    with pytest.raises(ValueError, match="batch_size 5000 needs as many training cases"):
        Run(Settings(batch_size=5000), digits)


@pytest.mark.parametrize("norm", NORMS)
def test_one_flat_tensor_trains_as_one_tensor_a_parameter_does(norm, digits):
    settings = Settings(norm=norm, batch_size=4, data="digits", hidden=(32, 32))
    replay, plain = Run(settings, digits), Run(settings, digits)
    for p in plain.model.parameters():
        p.data, p.grad = p.data.clone(), None
    adam = torch.optim.Adam(plain.model.parameters(), lr=settings.learning_rate)
    for step, batch in enumerate(replay.batches(0)):
        if step == 50:
            break
        for run, optimizer in ((replay, replay.optimizer), (plain, adam)):
            loss = run.loss(batch)
            optimizer.zero_grad(set_to_none=run is plain)
            loss.backward()
            optimizer.step()
    for flat, own in zip(replay.model.parameters(), plain.model.parameters(), strict=True):
        # The fused and the plain optimizer round differently: 1e-6 seen after 50 steps.
        torch.testing.assert_close(flat, own, rtol=1e-4, atol=1e-5)


def test_replay_refuses_a_negative_seed(digits):
    with pytest.raises(ValueError, match="seed must be a whole number from 0, got -1"):
        Run(Settings(), digits, seed=-1)


def test_equal_settings_are_one_run_however_they_are_written():
    written = Settings(hidden=[8, 4], learning_rate=1, adam_betas=[0, 0.5], eps=-0.0)
    assert written == Settings(hidden=(8, 4), learning_rate=1.0, adam_betas=(0.0, 0.5), eps=0.0)
    assert hash(written) == hash(Settings(**written.as_dict()))
    expected = '{"hidden": [8, 4], "learning_rate": 1.0, "adam_betas": [0.0, 0.5], "eps": 0.0}'
    kept = {k: written.as_dict()[k] for k in ("hidden", "learning_rate", "adam_betas", "eps")}
    assert json.dumps(kept) == expected


def test_the_widths_that_are_not_given_are_those_of_the_data_set():
    assert Settings(data="digits").hidden == HIDDEN["digits"] != Settings().hidden
    assert Settings().hidden == HIDDEN["mnist"] == (1000, 1000)
