"""The exercises of the chapter ``recurrent_networks``."""

import numpy as np

from lnbook.exercises import Function, Value
from lnlib.cells import rnn_step


def _step(x, h, W_ih, W_hh):
    return rnn_step(x, h, {"W_ih": W_ih, "W_hh": W_hh})


def _normalize(a, *, axis=1, ddof=0, eps=1e-5):
    std = np.sqrt(a.var(axis=axis, ddof=ddof, keepdims=True) + eps)
    return (a - a.mean(axis=axis, keepdims=True)) / std


def _other_step(*, norm=_normalize, f=np.tanh, parts=False, before=False, swapped=False):
    def step(x, h, W_ih, W_hh):
        from_x, from_h = (x @ W_ih, h @ W_hh) if swapped else (x @ W_ih.T, h @ W_hh.T)
        if before:
            return norm(f(from_x + from_h))
        return f(norm(from_x) + norm(from_h) if parts else norm(from_x + from_h))

    return step


def _step_cases(rng):
    # Square matrices, so that a wrong axis raises no error; small numbers, so that eps matters.
    for sequences, inputs, units, size in ((2, 3, 3, 1.0), (4, 4, 4, 0.01), (5, 2, 6, 1.0)):
        yield (
            size * rng.normal(size=(sequences, inputs)),
            size * rng.normal(size=(sequences, units)),
            rng.normal(size=(units, inputs)),
            rng.normal(size=(units, units)),
        )


def _last(states, lengths):
    return states[np.arange(len(states)), lengths - 1]


def _last_cases(rng):
    for shape, lengths in (((2, 3, 2), [2, 1]), ((4, 5, 4), [3, 4, 1, 2])):
        yield rng.normal(size=shape), np.array(lengths)


EXERCISES = {
    "ln-rnn-step": Function(
        _step,
        cases=_step_cases,
        misconceptions={
            "this normalizes the two parts and then adds; eq. 4 normalizes their sum.": (
                _other_step(parts=True)
            ),
            "mean and standard deviation are computed over the batch. Use `axis=1`, one per "
            "sequence.": (_other_step(norm=lambda a: _normalize(a, axis=0))),
            "this divides the sum of squares by H − 1; eq. 4 divides it by H.": _other_step(
                norm=lambda a: _normalize(a, ddof=1)
            ),
            "eps is missing, which matters if the summed inputs are small.": _other_step(
                norm=lambda a: _normalize(a, eps=0)
            ),
            "the summed inputs are not normalized.": _other_step(norm=lambda a: a),
            "apply tanh last: the norm is applied to the summed inputs, not to the "
            "state.": _other_step(before=True),
            "tanh is missing.": _other_step(f=lambda a: a),
            "row i of each matrix holds the weights of unit i: multiply by its transpose.": (
                _other_step(swapped=True)
            ),
        },
        on_success="This is eq. 4 for all sequences in a batch at once.",
    ),
    "steps-to-a-thousand": Value(
        73,
        on_success="1.1 to the power of 73 is 1,051, to the power of 72 only 956.",
        misconceptions={
            72: "after 72 steps the norm has grown by a factor of 956.",
            72.48: "that is where the curve crosses a thousand. The number of steps is an integer.",
            9990: "that adds a tenth of the *first* norm per step. Each step adds a tenth of the "
            "previous one.",
            9991: "that adds a tenth of the *first* norm per step. Each step adds a tenth of the "
            "previous one.",
            910: "the factors multiply; they do not add.",
        },
        hint="each step multiplies the norm by 1.1; use the logarithm.",
    ),
    "half-the-slope": Value(
        1.337,
        atol=0.03,
        on_success="With a gain of 1.34, the average slope of tanh is one half.",
        misconceptions={
            0.881: "that is where the slope *at* one standard deviation is one half. Average the "
            "slope over all numbers.",
            0.549: "that is where tanh itself is one half. Its slope is 1 − tanh².",
        },
        hint="average 1 − tanh² over many numbers, for several gains.",
    ),
    "statistics-to-keep": Value(
        (51200, 0),
        on_success="Two numbers for each unit at each step, but none for step 101. "
        "Layer norm stores none.",
        misconceptions={
            (25600, 0): "each unit needs a mean *and* a variance.",
            (512, 0): "that is for statistics shared by all steps. Here each step has its own.",
            (51200, 512): "gain and bias are learned parameters, not statistics.",
            (51200, 51200): "layer norm computes its statistics from each example and stores "
            "none of them.",
            (51200, 200): "layer norm computes its statistics from each example and stores "
            "none of them.",
        },
        hint="count steps × units × numbers per unit, and what layer norm has to store.",
    ),
    "last-real-state": Function(
        _last,
        cases=_last_cases,
        misconceptions={
            "these are the states after the padding, when the sequences have already ended.": (
                lambda states, lengths: states[:, -1]
            ),
            "step number n has index n − 1.": (
                lambda states, lengths: states[np.arange(len(states)), lengths]
            ),
            "this uses the length of the first sequence for all. Each has its own.": (
                lambda states, lengths: states[:, lengths[0] - 1]
            ),
        },
        on_success="Layer norm keeps padding out of the mean, but not out of the state.",
    ),
}
