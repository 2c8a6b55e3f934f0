"""Known answers of the claims that small networks decide before training."""

import math
from types import SimpleNamespace

import numpy as np

from lnlab.claims import at_start, computed
from tests.cases.protocol import Answer

TINY = 1e-9  # a change up to this is rounding
SEEDS = range(10)
CACHED = (computed.carried, at_start._gain_change, at_start._block_gradients)


def clear():
    """Forget what was measured, before and after something is replaced."""
    for function in CACHED:
        function.cache_clear()


def correlated_changes(patch):
    """With ReLU both units change alike or opposite, with tanh in ways that have no correlation."""

    def changes(name, inputs, rng):
        assert inputs in ("signed", "positive")
        if name == "relu":
            return np.outer(np.arange(8.0), [1, 2 if inputs == "signed" else -2])
        return np.array([[1.0, 1], [-1, 1], [1, -1], [-1, -1]])

    patch(at_start, summed_input_changes=changes)
    chance = []
    for seed in SEEDS:
        numbers = np.random.default_rng(seed).normal(size=(256, 64))
        scores = (numbers - numbers.mean(0)) / numbers.std(0)
        pairs = [abs(scores[:, i] @ scores[:, k]) / 256 for i in range(64) for k in range(i)]
        chance.append(sum(pairs) / len(pairs))
    one = [Answer([c - 1 for c in chance], "correlation"), Answer([-1.0] * 10, "correlation")]
    return one * 2


def summed_inputs(patch):
    """Summed inputs that change by known powers of ten from the second step to the last."""
    clear()
    powers = {("plain", "first"): 3.0, ("paper", "first"): -1.0,
              ("plain", "every"): -0.5, ("paper", "every"): 2.0}  # fmt: skip

    def carry(x, dh, params, form):
        scale = np.linalg.norm(params["W_hh"]) / 8
        inputs = "every" if x[1:].any() else "first"
        power = powers[form, inputs] * scale * (1 + abs(x[0, 0, 0]) / 10)
        return SimpleNamespace(summed=np.array([99.0, 7.0, 1.0, 7.0 * 10**power]))

    orthogonal = computed.recurrence.orthogonal
    patch(computed, recurrence=SimpleNamespace(carry=carry, orthogonal=orthogonal))
    noise = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        orthogonal(8, 64, rng)
        noise.append(1 + abs(rng.normal(size=(50, 16, 8))[0, 0, 0]) / 10)
    results = []
    for inputs in ("first", "every"):
        for scale in (0.5, 1.0, 2.0):
            a, b = (abs(powers[form, inputs]) * scale for form in ("plain", "paper"))
            results.append(Answer([(b - a) * n for n in noise], "powers of ten",
                                [(b - a) / a] * 10, inputs == "first"))  # fmt: skip
    return results


def not_a_parameterization(patch):
    """Layer norm adds 2 to what it is given; weight norm doubles it, which is linear."""
    patch(at_start, norms=SimpleNamespace(
        layer_norm=lambda a, eps: np.maximum(np.round(a), -1), weight_norm=lambda x, W: 2 * x @ W.T
    ))  # fmt: skip
    rng = np.random.default_rng(0)
    W, x, y = rng.normal(size=(12, 8)), rng.normal(size=(16, 8)), rng.normal(size=(16, 8))
    a, b, both = (np.maximum(np.round(z @ W.T), -1) for z in (x, y, x + y))
    return [Answer([TINY - np.abs(both - a - b).max()], "of the output", exact=True),
            Answer([-TINY], "largest change", counts=False, exact=True)]  # fmt: skip


def robust_to_scaling(patch):
    """ds² is a known power of the scale of inputs and weights, by norm."""
    clear()
    by_inputs = {"none": 2, "batch": 1, "layer": -0.5, "weight": 3}
    by_weights = {"none": -2, "batch": 0.5, "layer": 1, "weight": 0}
    if_gaussian = 3

    class Fake:
        def __init__(self, W, b, norm, family):
            self.W, self.norm = np.linalg.norm(W), norm
            self.power = if_gaussian if family == "gaussian" else 1

        def gain_metric(self, X, step):
            inputs = np.linalg.norm(X) ** by_inputs[self.norm]
            return (inputs * self.W ** by_weights[self.norm]) ** self.power

    patch(at_start, GLM=Fake)
    results = []
    for family in ("bernoulli", "gaussian"):
        for scaled, powers in (("inputs", by_inputs), ("weights", by_weights)):
            for kind in ("batch", "layer", "weight"):
                d = math.log10(4) * (abs(powers[kind]) - abs(powers["none"]))
                d *= if_gaussian if family == "gaussian" else 1
                counts = kind != "weight" and (family, scaled) != ("gaussian", "weights")
                results.append(Answer([d] * 10, "powers of ten", counts=counts))
    return results


def memory(patch):
    patch(at_start, costs=SimpleNamespace(num_saved=lambda *args: 5))
    return [Answer([5.0], "numbers", exact=True),
            Answer([0.0], "numbers", counts=False, exact=True)]  # fmt: skip


def gradient_flow(patch):
    """With pre-norm much reaches the first block, which is far from even."""
    of = {"pre": 1000.0, "post": 0.1}
    patch(at_start, _block_gradients=lambda place, depth, init: np.full(10, of[place]))
    return [
        Answer([d] * 10, "powers of ten", counts=init == "Xavier")
        for init in ("Xavier", "GPT-2")
        for _ in (12, 24)
        for d in (-4.0, 2.0)
    ]


COMPUTED = {
    "correlated-changes": correlated_changes,
    "hidden-dynamics": summed_inputs,
    "no-parameterization": not_a_parameterization,
    "robust-scaling": robust_to_scaling,
    "minimal-memory": memory,
    "pre-norm-flow": gradient_flow,
}
