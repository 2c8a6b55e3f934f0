"""Every setting of every experiment acts as documented: runs compared with plain loops.

The loops are computed in float64 from the equations. The tests fail for a new field of a
``Settings`` class until a value that is not the default is compared with its loop.
"""

import dataclasses
import functools
import itertools
import math

import numpy as np
import pytest
import torch

from lnlab import experiments
from lnlab.datasets import Dataset
from lnlab.experiments import _classification
from lnlab.experiments.gradient_noise import run as noise
from lnlib import nn as lnlib_nn
from tests.cases import by_hand
from tests.cases.by_hand import check_run
from tests.lnlab.experiments import (
    test_attentive_reader,
    test_draw,
    test_order_embeddings,
    test_skip_thoughts,
    test_transformer,
)

SMALL = {"batch_size": 4, "epochs": 1, "first_epoch_points": 2}


def cases(name, seed, train=41, test=11, width=9):
    rng = np.random.default_rng(seed)
    x, y = rng.random((train + test, width)), rng.integers(0, 3, train + test)
    y[:3] = 0, 1, 2
    return Dataset(name, x[:train], y[:train], x[train:], y[train:], "0" * 64)


TINY = cases("digits", 1)


pytestmark = pytest.mark.usefixtures("double")


@pytest.fixture(autouse=True)
def _parts(monkeypatch):
    """Evaluate test examples in parts of 4, 4 and 3."""
    monkeypatch.setattr(_classification, "EVAL_BATCH_SIZE", 4)


def normalized(a, dim, eps, divisor=0):
    mean = a.mean(dim, keepdim=True)
    var = (a - mean).square().sum(dim, keepdim=True) / (a.shape[dim] - divisor)
    return (a - mean) / (var + eps).sqrt()


class Layers:
    """Section 6.6 by hand; ``params`` are in the order in which they are drawn."""

    def __init__(self, s, features, classes, generator):
        self.s, self.layers, self.params = s, [], []
        sizes = [features, *s.hidden, classes]
        for depth, (fan_in, width) in enumerate(itertools.pairwise(sizes)):
            W = torch.empty(width, fan_in)
            if s.initialization == "he":
                W.normal_(0, math.sqrt(2 / fan_in), generator=generator)
            else:
                W.uniform_(-(fan_in**-0.5), fan_in**-0.5, generator=generator)
            last = depth == len(sizes) - 2
            if not last:
                W *= getattr(s, "scale", 1.0)
            norm = "none" if s.norm == "layer" and last else s.norm
            own = [W, torch.ones(width), torch.zeros(width)]  # weight, gain, bias
            self.layers.append([norm, own, torch.zeros(width), torch.ones(width)])
            self.params += own
        for p in self.params:
            p.requires_grad_()

    def __call__(self, x, training=False, move=True):
        s = self.s
        for depth, layer in enumerate(self.layers):
            norm, (W, gain, bias), mean, var = layer
            a = x @ W.T
            if norm == "weight":
                a = gain * a / W.square().sum(1).sqrt() + bias
            elif norm == "none":
                a = a + bias
            elif norm == "layer":
                a = gain * normalized(a, 1, s.eps) + bias
            elif training:
                unbiased = s.variance == "unbiased" or (
                    s.variance == "paper" and s.batch_size < 128
                )
                if move:
                    m, B = s.momentum, len(a)
                    batch_var = (a - a.mean(0)).square().sum(0) / (B - 1)
                    layer[2] = ((1 - m) * mean + m * a.mean(0)).detach()
                    layer[3] = ((1 - m) * var + m * batch_var).detach()
                a = gain * normalized(a, 0, s.eps, int(unbiased)) + bias
            else:
                a = gain * (a - mean) / (var + s.eps).sqrt() + bias
            x = a if depth == len(self.layers) - 1 else torch.where(a > 0, a, 0)
        return x


class Cells:
    """Sequential digits by hand, except for the recurrent layers, which have their own tests."""

    def __init__(self, s, features, classes, generator):
        self.s, H = s, s.hidden
        self.reads = 1 if s.step == "pixel" else math.isqrt(features)
        gates, bound = {"lstm": 4, "gru": 3, "rnn": 1}[s.cell], H**-0.5
        W, U = torch.empty(gates * H, self.reads), torch.empty(gates * H, H)
        head = torch.empty(classes, H)
        W.uniform_(-bound, bound, generator=generator)
        if s.recurrent_init == "uniform":
            U.uniform_(-bound, bound, generator=generator)
        else:
            for square in U.split(H):
                torch.nn.init.orthogonal_(square, generator=generator)
        head.uniform_(-bound, bound, generator=generator)
        drawn = torch.zeros(gates * H)
        if s.bias_init == "uniform":
            drawn.uniform_(-bound, bound, generator=generator)
        made = lnlib_nn if s.norm == "layer" else torch.nn
        chosen = {} if s.norm == "none" else {"form": s.form, "eps": s.eps, "gain": s.gain}
        kind = {"layer": "LayerNorm"}.get(s.norm, "") + s.cell.upper()
        self.recurrent = getattr(made, kind)(self.reads, H, **chosen)
        p = {n: torch.zeros_like(p) if "bias" in n else p.detach().clone()
             for n, p in self.recurrent.named_parameters()}  # fmt: skip
        if s.norm == "none" and s.cell == "gru":  # PyTorch's z keeps what the paper's z replaces
            for part in (W, U, drawn):
                part[H : 2 * H] *= -1
        p |= {"weight_ih_l0": W, "weight_hh_l0": U}
        if s.norm == "none":
            p["bias_ih_l0"] = drawn
        elif "bias_l0" in p:
            p["bias_l0"] = drawn
        elif s.cell == "gru":
            p |= {"layernorm_i_l0.bias": drawn[: 2 * H], "layernorm_in_l0.bias": drawn[2 * H :]}
        else:
            p["layernorm_i_l0.bias" if s.form == "parts" else "layernorm_s_l0.bias"] = drawn
        self.p = {name: value.clone() for name, value in p.items()}
        self.head = [head, torch.zeros(classes)]
        self.params = [q.requires_grad_() for q in (*self.p.values(), *self.head)]

    def __call__(self, x, training=False):
        read = torch.stack(x.split(self.reads, 1))
        outputs, _ = torch.func.functional_call(self.recurrent, self.p, read)
        return outputs[-1] @ self.head[0].T + self.head[1]


def nll_of(logits, y):
    return -(logits.log_softmax(1)[torch.arange(len(y)), y])


class ByHand(by_hand.ByHand):
    """Runs of classifiers from their definitions."""

    def __init__(self, experiment, *args):
        self.experiment = experiment
        super().__init__(*args)

    def setup(self, data):
        s, experiment = self.s, self.experiment
        arrays = (data.x_train, data.y_train, data.x_test, data.y_test)
        x, y, self.x_test, self.y_test = map(torch.from_numpy, arrays)
        if getattr(s, "held_out", False):
            out = torch.arange(len(x)) % 5 == 4
            x, y, self.x_test, self.y_test = x[~out], y[~out], x[out], y[out]
        self.x, self.y = x[: s.train_examples], y[: s.train_examples]
        make = Cells if experiment == "sequence" else Layers
        self.net = make(s, x.shape[1], int(data.y_train.max()) + 1, self.generator)
        self.params, self.norms, self.turns = self.net.params, [], []
        self.hidden = [layer[1][0] for layer in getattr(self.net, "layers", [])][:-1]
        self.walked = [float(W.detach().square().sum()) for W in self.hidden]
        self.initial = [math.sqrt(square) for square in self.walked]

    def each(self):
        return len(self.x) // self.s.batch_size

    def loss(self, batch):
        return nll_of(self.net(self.x[batch], True), self.y[batch]).mean()

    def clip(self, gradients, batch):
        self.norms.append(math.sqrt(sum(float(g.square().sum()) for g in gradients)))
        return super().clip(gradients, batch)

    def step(self, grads):
        s, old = self.s, [W.detach().clone() for W in self.hidden]
        if getattr(s, "optimizer", "adam") == "adam":
            self.adam.update(grads)
        else:
            with torch.no_grad():
                for p, g in zip(self.net.params, grads, strict=True):
                    p -= s.learning_rate * g
        turns = []
        for k, (a, W) in enumerate(zip(old, self.hidden, strict=True)):
            b = W.detach()
            self.walked[k] += float((b - a).square().sum())
            cosine = float((a * b).sum() / (a.norm() * b.norm()))
            turns.append(math.degrees(math.acos(min(1.0, cosine))))
            if getattr(s, "magnitude", None) == "fixed":
                with torch.no_grad():
                    W *= self.initial[k] / W.norm()
        self.turns.append(turns)

    def values(self):
        n = min(self.s.measured_examples, len(self.x_test))
        with torch.no_grad():
            logits = self.net(self.x_test)
            results = {
                "train_nll": float(nll_of(self.net(self.x[:n]), self.y[:n]).mean()),
                "test_nll": float(nll_of(logits, self.y_test).mean()),
                "test_error": float((logits.argmax(1) != self.y_test).double().mean()),
            }
        if self.experiment == "sequence":
            results["gradient_norm"] = float(np.mean(self.norms)) if self.norms else math.nan
        if self.experiment == "weights":
            turns = np.mean(self.turns, 0) if self.turns else [math.nan] * len(self.hidden)
            for k, W in enumerate(self.hidden):
                results[f"length_{k + 1}"] = float(W.detach().square().sum().sqrt())
                results[f"square_{k + 1}"] = math.sqrt(self.walked[k])
                results[f"turn_{k + 1}"] = turns[k]
        if self.experiment == "noise":
            results |= self.noise()
        self.norms, self.turns = [], []
        return results

    def noise(self):
        s, B = self.s, self.s.batch_size
        order = np.random.default_rng([self.seed, 0, 1]).permutation(len(self.x))
        batches = order[: min(s.gradient_batches, len(self.x) // B) * B].reshape(-1, B)
        rows = []
        for batch in batches:
            loss = nll_of(self.net(self.x[batch], True, move=False), self.y[batch]).mean()
            grads = torch.autograd.grad(loss, self.net.params, allow_unused=True)
            rows.append(torch.cat([g.flatten() for g in grads if g is not None]))
        g = torch.stack(rows)
        variance = g.var(0, correction=1).sum()
        signal = float(g.mean(0).square().sum() - variance / len(g))
        noise_ratio, length = math.nan, math.nan
        if signal > 0:
            noise_ratio, length = float(variance) / signal, math.sqrt(signal)
        results = {"gradient_noise": noise_ratio, "gradient_length": length}
        if s.norm == "batch":
            W = self.hidden[0].detach()
            cases = min(s.statistics_examples, len(self.x)) // B * B
            a = (self.x[order[:cases]] @ W.T).reshape(-1, B, len(W))
            std = a.flatten(0, 1).std(0, correction=0)
            results["miss_1"] = float(((a.mean(1) - a.mean((0, 1))) / std).square().mean().sqrt())
            known = order[: len(self.x) // B * B]
            a, outputs_by_batch = self.x[known] @ W.T, []
            for k in range(noise.MOVES_SIZE[1]):
                moved = np.random.default_rng([self.seed, k]).permutation(len(known))
                place = torch.empty_like(a)
                for four in moved.reshape(-1, B):
                    place[four] = normalized(a[four], 0, s.eps, int(s.variance != "biased"))
                outputs_by_batch.append(place)
            results["moves_1"] = float(
                torch.stack(outputs_by_batch).var(0, correction=1).mean().sqrt()
            )
        return results

    def batches(self):
        size = self.s.batch_size
        for epoch in range(self.s.epochs):
            order = np.random.default_rng([self.seed, epoch]).permutation(len(self.x))
            yield from order[: len(order) // size * size].reshape(-1, size)


LAYERS = {"hidden": (6, 5), "data": "digits", "learning_rate": 0.02}
ADAM = {"learning_rate": 0.05, "adam_betas": (0.6, 0.8), "adam_eps": 0.02}
COUNTED = {"batch_size": 3, "epochs": 2, "train_examples": 22, "measured_examples": 3,
           "first_epoch_points": 3}  # fmt: skip
OF_LAYERS = {**COUNTED, **ADAM, "hidden": (4, 7, 3), "initialization": "he"}
OF_BATCH = {"eps": 0.3, "variance": "biased", "momentum": 0.37}
# Values that are not the default, with the settings that they need to have an effect.
NON_DEFAULT = {
    "mnist": [
        *(({"norm": "layer"}, {name: changes}) for name, changes in OF_LAYERS.items()),
        *(({"norm": "batch"}, {name: changes}) for name, changes in OF_BATCH.items()),
        *(({"norm": "layer"}, {"norm": norm}) for norm in ("none", "batch", "weight")),
        ({"norm": "layer"}, {"eps": 0.3}),
        ({"norm": "batch", "variance": "biased"}, {"variance": "unbiased"}),
    ],
    "noise": [
        *(({"norm": "layer"}, {name: changes}) for name, changes in OF_LAYERS.items()),
        *(({"norm": "batch"}, {name: changes}) for name, changes in OF_BATCH.items()),
        *(({"norm": "batch"}, {"norm": norm}) for norm in ("none", "layer")),
        ({"norm": "batch"}, {"batch_size": 5}),
        ({"norm": "batch"}, {"statistics_examples": 21}),
        ({"norm": "layer"}, {"gradient_batches": 3}),
    ],
    "sequence": [
        *(({}, {name: changes}) for name, changes in {**COUNTED, **ADAM}.items()),
        ({}, {"cell": "gru"}),
        ({}, {"cell": "lstm"}),
        ({"cell": "gru", "norm": "none"}, {"bias_init": "uniform"}),
        ({"cell": "lstm", "norm": "none"}, {"recurrent_init": "orthogonal"}),
        ({"cell": "lstm"}, {"form": "per_gate"}),
        ({}, {"norm": "none"}),
        ({}, {"step": "pixel"}),
        ({}, {"hidden": 7}),
        ({}, {"gain": 0.3}),
        ({}, {"form": "parts"}),
        ({}, {"recurrent_init": "orthogonal"}),
        *((of, {"bias_init": "uniform"}) for of in ({}, {"form": "parts"}, {"cell": "lstm"})),
        ({"cell": "gru"}, {"bias_init": "uniform"}),
        ({}, {"clip": 0.05}),
        ({"clip": 0.05}, {"clip": None}),
        ({}, {"eps": 0.3}),
        ({}, {"held_out": True}),
    ],
    "weights": [
        *(({"optimizer": "adam"}, {name: changes}) for name, changes in OF_LAYERS.items()),
        *(({"norm": "batch"}, {name: changes}) for name, changes in OF_BATCH.items()),
        ({"norm": "layer"}, {"eps": 0.3}),
        ({"norm": "layer"}, {"norm": "none"}),
        ({"norm": "layer"}, {"norm": "batch"}),
        ({}, {"optimizer": "adam"}),
        ({}, {"learning_rate": 0.3}),
        ({"norm": "layer"}, {"scale": 2.5}),
        ({"norm": "none"}, {"scale": 0.7}),
        ({}, {"magnitude": "fixed"}),
    ],
}
BASE = {
    "mnist": SMALL | LAYERS,
    "noise": SMALL | LAYERS | {"statistics_examples": 40, "gradient_batches": 9},
    "sequence": SMALL
    | {"cell": "rnn", "hidden": 5, "learning_rate": 0.02, "clip": 1.0, "bias_init": "zeros"},
    "weights": SMALL | LAYERS | {"norm": "layer", "optimizer": "sgd"},
}


@pytest.mark.parametrize(
    ("experiment", "tested", "others"),
    [
        *((name, [c for _, c in pairs], "data") for name, pairs in NON_DEFAULT.items()),
        ("attentive_reader", test_attentive_reader.NON_DEFAULT,
         "data epochs first_epoch_points attention_examples"),
        ("draw", [test_draw.NON_DEFAULT], ""),
        ("order_embeddings", test_order_embeddings.NON_DEFAULT, "data keep"),
        ("skip_thoughts", test_skip_thoughts.NON_DEFAULT, "data evaluate_every keep"),
        ("transformer", test_transformer.NON_DEFAULT, "data ablate"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_every_setting_has_a_non_default_value_in_its_tests(experiment, tested, others):
    fields = {field.name for field in dataclasses.fields(experiments.find(experiment).settings)}
    assert {name for changes in tested for name in changes} == fields - {*others.split()}


@pytest.mark.parametrize(
    ("experiment", "needs", "changes"),
    [(experiment, *pair) for experiment, pairs in NON_DEFAULT.items() for pair in pairs],
    ids=str,
)
def test_settings_with_non_default_values_act_as_defined(experiment, needs, changes):
    of_experiment = functools.partial(ByHand, experiment)
    run_class = experiments.find(experiment).run_class
    # Computing an angle by the arc cosine loses half of the digits.
    check_run(run_class, of_experiment, BASE[experiment] | needs, changes, TINY, abs=1e-9)
