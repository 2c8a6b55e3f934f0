"""The exercises of the introduction: batch norm and layer norm of a small table."""

from collections.abc import Callable

import numpy as np

from lnbook.chapters.introduction.material import less_the_mean
from lnbook.exercises import Function, Value
from lnlib.norms import batch_norm, layer_norm


def _two_lines(x: np.ndarray, eps: float) -> np.ndarray:
    return layer_norm(x, eps=eps)


def _tables(rng: np.random.Generator) -> list[tuple]:
    return [
        (np.array([[1.0, 2.0, 6.0], [3.0, 3.0, 3.0]]), 1e-5),  # equal numbers require eps
        (rng.normal(size=(3, 3)), 1e-5),  # square, so that a wrong axis raises no error
        (rng.normal(size=(1, 6)), 1e-3),
        (0.003 * rng.normal(size=(4, 6)), 1e-5),  # a variance near eps
        (rng.normal(100.0, 1.0, size=(8, 5)), 0.1),
    ]


def _change_by_others(norm: Callable, x: np.ndarray, others: np.ndarray) -> float:
    return np.abs(norm(x)[0] - norm(np.concatenate([x[:1], others[1:]]))[0]).max()


def _batches(rng: np.random.Generator) -> list[tuple]:
    x, others = rng.normal(size=(2, 4, 6))
    small = np.array([[1.0, 4.0], [2.0, 0.0], [9.0, 5.0]])
    return [
        (batch_norm, small, np.array([[7.0, 7.0], [0.0, 6.0], [2.0, 3.0]])),
        (layer_norm, small, small[::-1].copy()),
        (batch_norm, x, others),
        (layer_norm, x, others),
        (less_the_mean, 10 * x, others),
        (less_the_mean, small, small + 6),  # all decrease here, whatever the random numbers
        (less_the_mean, small, small - 6),  # and all increase here
    ]


def _undo(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x.std(axis=0), x.mean(axis=0)


EXERCISES = {
    "two-units": Value(
        ((-1.0, 1.0), (1.0, -1.0), (-1.0, 1.0)),
        on_success="With two units, only their order survives.",
        misconceptions={
            ((-1, 1), (-1, 1), (-1, 1)): "in the second row the first number is the larger one, "
            "and layer norm preserves the order.",
            ((1, -1), (-1, 1), (1, -1)): "the larger number of a row is above the mean, so its "
            "output is positive.",
            ((-0.7071, 0.7071), (0.7071, -0.7071), (-0.7071, 0.7071)): "this divides the sum of "
            "squares by H − 1; layer norm divides it by H, here 2.",
            ((-1, 1), (53.5, -53.5), (-0.05, 0.05)): "you have subtracted the mean; now divide "
            "each row by its standard deviation.",
            0: "only a single unit would give 0; two different numbers differ from their mean.",
        },
        hint="what is the mean of two numbers, and how far is each of them from it?",
    ),
    "small-inputs": Value(
        1e-11,
        on_success="eps has the squared units of the input: 1,000 squared is 1,000,000.",
        misconceptions={
            1e-8: "the variance is in squared units, and eps is added to the variance: what "
            "happens to a variance when the numbers are multiplied by 0.001?",
            1e-5: "this eps dominates the small variance.",
            10.0: "the variance has become smaller, so eps must become smaller too.",
            1e-2: "the variance has become smaller, so eps must become smaller too.",
            0.0: "with eps=0 the scale does not matter, but 1e-5 had a small effect on the "
            "output of `a`: which eps has the same effect for the small numbers?",
        },
        hint="by which factor does the variance change when the numbers are multiplied by "
        "0.001? eps must change by the same.",
    ),
    "two-lines": Function(
        _two_lines,
        cases=_tables,
        on_success="One mean and one std per row; with `keepdims=True` they broadcast along the "
        "rows.",
        misconceptions={
            "your statistics are computed down the columns, over the examples: that is batch "
            "norm. An example is a row; its numbers are along axis 1.": lambda x, eps: (
                (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + eps)
            ),
            "a single mean and std for the whole table mix the examples; pass an axis to `mean` "
            "and `var`.": lambda x, eps: (x - x.mean()) / np.sqrt(x.var() + eps),
            "the means form a row, one per example, and NumPy subtracts this row from every row; "
            "with `keepdims=True` they form a column.": lambda x, eps: (
                (x - x.mean(axis=1)) / np.sqrt(x.var(axis=1) + eps)
            ),
            "eps is added to the standard deviation; add it to the variance, under the root.": (
                lambda x, eps: _centered(x) / (x.std(axis=1, keepdims=True) + eps)
            ),
            "eps is missing; a row of equal numbers has standard deviation 0.": lambda x, eps: (
                _centered(x) / x.std(axis=1, keepdims=True)
            ),
            "this divides the sum of squares by H − 1; layer norm divides it by H, as NumPy does "
            "by default.": (
                lambda x, eps: _centered(x) / np.sqrt(x.var(axis=1, keepdims=True, ddof=1) + eps)
            ),
            "you divide by the variance; take its square root, the std.": lambda x, eps: (
                _centered(x) / (x.var(axis=1, keepdims=True) + eps)
            ),
            "the mean is not subtracted: first subtract the mean of each row.": lambda x, eps: (
                x / np.sqrt(x.var(axis=1, keepdims=True) + eps)
            ),
        },
    ),
    "rest-of-the-batch": Function(
        _change_by_others,
        cases=_batches,
        on_success="With layer norm the change is 0: the output does not depend on the batch.",
        misconceptions={
            "you compare all rows, but the others differ because they were replaced; compare only "
            "the first row.": lambda norm, x, others: np.abs(
                norm(x) - norm(np.concatenate([x[:1], others[1:]]))
            ).max(),
            "the first example was replaced as well; keep row 0 of x above rows 1, 2, … of "
            "others.": lambda norm, x, others: np.abs(norm(x)[0] - norm(others)[0]).max(),
            "this puts the first example in a batch of size one; replace the other rows instead.": (
                lambda norm, x, others: np.abs(norm(x)[0] - norm(x[:1])[0]).max()
            ),
            "an output can also decrease; take the largest absolute change.": (
                lambda norm, x, others: (
                    norm(np.concatenate([x[:1], others[1:]]))[0] - norm(x)[0]
                ).max()
            ),
            "an output can also increase; take the largest absolute change.": (
                lambda norm, x, others: (
                    norm(x)[0] - norm(np.concatenate([x[:1], others[1:]]))[0]
                ).max()
            ),
            "that is the average change; return the largest.": lambda norm, x, others: np.abs(
                norm(x)[0] - norm(np.concatenate([x[:1], others[1:]]))[0]
            ).mean(),
        },
    ),
    "undo": Function(
        _undo,
        cases=lambda rng: [
            (np.array([[1.0, 4.0], [3.0, 10.0]]),),
            (rng.normal(2.0, 3.0, size=(5, 5)),),
            (rng.normal(-1.0, 0.1, size=(8, 3)),),
        ],
        on_success="For this batch, gain and bias can restore everything that batch norm removes.",
        returns=("gain", "bias"),
        misconceptions={
            "gain and bias are swapped: first the gain multiplies, then the bias is "
            "added.": lambda x: (x.mean(axis=0), x.std(axis=0)),
            "that gain is the variance; batch norm divided by its square root.": lambda x: (
                x.var(axis=0),
                x.mean(axis=0),
            ),
            "that gain divides by the standard deviation a second time; it must undo the "
            "division.": lambda x: (1 / x.std(axis=0), x.mean(axis=0)),
            "that bias subtracts the mean a second time; it must add it back.": lambda x: (
                x.std(axis=0),
                -x.mean(axis=0),
            ),
            "these are the statistics of the rows; gain and bias have one number per unit, so "
            "one per column.": lambda x: (x.std(axis=1), x.mean(axis=1)),
            "this divides the sum of squares by B − 1; batch norm divides it by B.": (
                lambda x: (x.std(axis=0, ddof=1), x.mean(axis=0))
            ),
        },
    ),
}


def _centered(x: np.ndarray) -> np.ndarray:
    return x - x.mean(axis=1, keepdims=True)
