"""Evaluation of claims by computation: exact statements and small random networks."""

import functools

import numpy as np

from lnlab.analysis import recurrence, running_statistics
from lnlab.claims.finding import Finding, Records
from lnlib import invariance, norms

SEEDS = range(10)
UNITS, STEPS, CASES = 64, 50, 16  # of the small recurrent networks
SCALES = (0.5, 1.0, 2.0)  # of their recurrent weights, orthogonal at 1


def exact(what: str, measured: float, *, counts: bool = True) -> Finding:
    """Return a finding that holds if a change is 0 up to rounding."""
    excess = np.array([measured - invariance.ROUNDING])
    return Finding(what, excess, "largest change", counts=counts, exact=True)


def table_one(records: Records) -> list[Finding]:
    """Count the cells of table 1, of 18, that differ from the paper's."""
    wrong = sum(
        (invariance.measure(name, change) < invariance.ROUNDING) != invariant
        for name, row in invariance.TABLE_1.items()
        for change, invariant in row.items()
    )
    return [Finding("cells of 18 that differ", np.array([float(wrong)]), "cells", exact=True)]


def dataset_rescaling(records: Records) -> list[Finding]:
    """Rescale the data set for each norm of table 1."""
    return [
        exact(f"{name} norm, data times 3", invariance.measure(name, "dataset_rescaling"))
        for name in invariance.TABLE_1
    ]


def case_rescaling(records: Records) -> list[Finding]:
    """Rescale single examples with layer norm; a negative factor is secondary."""
    flipped = invariance.measure("layer", "negative_rescaling")
    return [
        exact("one example times 3", invariance.measure("layer", "single_case_rescaling")),
        exact("one example times a negative number", flipped, counts=False),
    ]


def case_shifting(records: Records) -> list[Finding]:
    """Shift the data of a single example; a shift of its summed inputs is secondary."""
    summed = np.random.default_rng(0).normal(size=(16, 12))
    difference = np.abs(norms.layer_norm(summed + 3, eps=0) - norms.layer_norm(summed, eps=0)).max()
    return [
        exact("one number added to its inputs", invariance.measure("layer", "feature_shift")),
        exact("one number added to its summed inputs", difference, counts=False),
    ]


def same_computation(records: Records) -> list[Finding]:
    """Compare the output for an example in a batch and alone, with layer norm and batch norm."""
    cases = np.random.default_rng(0).normal(size=(64, 12))
    layer = np.abs(norms.layer_norm(cases)[:1] - norms.layer_norm(cases[:1])).max()
    averages = running_statistics.follow(1.0, np.random.default_rng(0).normal(size=(50, 8)))
    batch = np.abs(averages.train - averages.test[1:]).max()
    return [
        exact("layer norm: an example in a batch, compared with alone", layer),
        exact("batch norm: an example in train mode, compared with eval mode", batch, counts=False),
    ]


def curvature(records: Records) -> list[Finding]:
    """Double one weight vector with batch norm and compare the block of its Fisher matrix."""
    rng = np.random.default_rng(0)
    X, w, direction = rng.normal(size=(64, 8)), rng.normal(size=8), rng.normal(size=8)
    direction -= direction @ w / (w @ w) * w  # along w itself the output is constant

    def sensitivity(factor: float) -> float:
        outputs = [norms.batch_norm((X @ (factor * w + h * direction))[:, None], eps=0)
                   for h in (1e-5, -1e-5)]  # fmt: skip
        return float(np.square((outputs[0] - outputs[1]) / 2e-5).mean())

    ratio = sensitivity(2.0) / sensitivity(1.0)
    return [
        Finding(f"weights doubled: the block of the Fisher matrix times {ratio:.2f}, not 0.5",
                np.array([abs(ratio - 0.5) - 0.01]), "of the block", exact=True)
    ]  # fmt: skip


@functools.cache
def carried(form: str, scale: float, seed: int, inputs: str) -> recurrence.SequenceOutputs:
    """Return summed inputs and gradients of a random recurrent network over its steps.

    Args:
        form: Form of the recurrent cell, ``plain`` or ``paper``.
        scale: Factor of the recurrent weights, which are orthogonal for 1.
        seed: Seed of the weights, the inputs and the gradient of the last state.
        inputs: Steps that have an input, ``every`` or only the ``first``.
    """
    rng = np.random.default_rng(seed)
    params = recurrence.orthogonal(8, UNITS, rng)
    params["W_hh"] = scale * params["W_hh"]
    x, dh = rng.normal(size=(STEPS, CASES, 8)), rng.normal(size=(CASES, UNITS))
    if inputs == "first":
        x[1:] = 0
    return recurrence.carry(x, dh, params, form=form)


def _decades(form: str, scale: float) -> np.ndarray:
    result = (carried(form, scale, seed, "every").gradient for seed in SEEDS)
    return np.array([abs(np.log10(values[-1] / values[0])) for values in result])


def gradients_through_time(records: Records) -> list[Finding]:
    """Compare the change of the gradient over 50 steps, with layer norm and without."""
    results = []
    for scale in SCALES:
        plain, layer = (_decades(form, scale) for form in ("plain", "paper"))
        what = (
            f"recurrent weights × {scale:g}: the gradient changes by {layer.mean():.1f} powers of "
            f"ten over {STEPS} steps, {plain.mean():.1f} without a norm"
        )
        results.append(Finding(what, layer - plain, "powers of ten", (layer - plain) / plain))
    return results


def plain_gradients(records: Records) -> list[Finding]:
    """Test whether a plain network's gradient changes by a factor of ten or more over 50 steps."""
    results = []
    for scale in SCALES:
        plain = _decades("plain", scale)
        what = f"recurrent weights × {scale:g}: one power of ten minus the change of the gradient"
        results.append(
            Finding(f"{what}, {plain.mean():.1f} (below 0: more)", 1 - plain, "powers of ten")
        )
    return results


def longer(records: Records) -> list[Finding]:
    """Compare outputs over 40 steps of growing inputs, after statistics of 10 training steps."""
    results = {"each step": [], "layer": []}
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        params = recurrence.orthogonal(8, UNITS, rng)
        batches = [np.cumsum(rng.normal(size=(40, 32, 8)), axis=0) for _ in range(11)]
        run = recurrence.over_time([b[:10] for b in batches[:10]], batches[10], params)
        for kind, sizes in results.items():
            sizes.append(abs(np.log10(run.size[kind][-1] / run.size[kind][9])))
    layer, batch = (np.array(results[kind]) for kind in ("layer", "each step"))
    what = (
        f"inputs that grow, 40 steps after 10 in training: the output of the norm grows by "
        f"{batch.mean():.2f} powers of ten under batch norm, {layer.mean():.2f} under layer norm"
    )
    return [Finding(what, layer - batch, "powers of ten", (layer - batch) / batch)]
