"""The exercises of the chapter ``start``: one table, two norms."""

from collections.abc import Callable

import numpy as np

from lnbook.chapters.introduction.material import less_the_mean
from lnbook.exercises import Function, Value
from lnlib.norms import batch_norm, layer_norm


def _two_lines(x: np.ndarray, eps: float) -> np.ndarray:
    return layer_norm(x, eps=eps)


def _tables(rng: np.random.Generator) -> list[tuple]:
    return [
        (np.array([[1.0, 2.0, 6.0], [3.0, 3.0, 3.0]]), 1e-5),  # equal numbers need eps
        (rng.normal(size=(3, 3)), 1e-5),  # square: NumPy takes a wrong axis without complaint
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
        (less_the_mean, small, small + 6),  # whatever is drawn, all fall here
        (less_the_mean, small, small - 6),  # and all rise
    ]


def _undo(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x.std(axis=0), x.mean(axis=0)


EXERCISES = {
    "two-units": Value(
        ((-1.0, 1.0), (1.0, -1.0), (-1.0, 1.0)),
        right="Of two units only their order is left.",
        wrong={
            ((-1, 1), (-1, 1), (-1, 1)): "in the second row the first number is the larger one, "
            "and layer norm keeps the order.",
            ((1, -1), (-1, 1), (1, -1)): "the larger number of a row lies above the mean, so it "
            "is the one that becomes positive.",
            ((-0.7071, 0.7071), (0.7071, -0.7071), (-0.7071, 0.7071)): "that variance is divided "
            "by H - 1; layer norm divides by H, here 2.",
            ((-1, 1), (53.5, -53.5), (-0.05, 0.05)): "you have subtracted the mean; the division "
            "by the deviation of each row is still to come.",
            0: "a single unit would leave 0; two numbers differ from their mean.",
        },
        otherwise="where does the mean of two numbers lie, and how far is each from it?",
    ),
    "small-inputs": Value(
        1e-11,
        right="eps is in squared units of the input: 1,000 times smaller, 1,000,000 times less.",
        wrong={
            1e-8: "the variance is in squared units, and eps is added to the variance: what "
            "happens to a variance when the numbers are multiplied by 0.001?",
            1e-5: "this is the eps that swamps the small variance.",
            10.0: "the variance has become smaller; eps must follow it down, not up.",
            1e-2: "the variance has become smaller; eps must follow it down, not up.",
            0.0: "with eps=0 the scale drops out, but 1e-5 had its small part in the output of "
            "`a`: which eps has the same part in that of the small numbers?",
        },
        otherwise="by which factor does the variance change when the numbers are multiplied by "
        "0.001? eps must change by the same.",
    ),
    "two-lines": Function(
        _two_lines,
        cases=_tables,
        right="One mean and one deviation a row, and `keepdims=True` lays them beside the rows.",
        wrong={
            "your statistics run down the columns, over the examples: that is batch norm. An "
            "example is a row; its numbers lie along axis 1.": lambda x, eps: (
                (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + eps)
            ),
            "one mean and one deviation for the whole table mixes the examples; give `mean` and "
            "`var` an axis.": lambda x, eps: (x - x.mean()) / np.sqrt(x.var() + eps),
            "the means lie in a row, one an example, and NumPy subtracts that row from every row; "
            "with `keepdims=True` they stand in a column.": lambda x, eps: (
                (x - x.mean(axis=1)) / np.sqrt(x.var(axis=1) + eps)
            ),
            "eps is added to the deviation; it belongs to the variance, under the root.": (
                lambda x, eps: _centered(x) / (x.std(axis=1, keepdims=True) + eps)
            ),
            "eps is missing; the row of equal numbers has the deviation 0.": lambda x, eps: (
                _centered(x) / x.std(axis=1, keepdims=True)
            ),
            "the variance is divided by H - 1; layer norm divides it by H, NumPy's default.": (
                lambda x, eps: _centered(x) / np.sqrt(x.var(axis=1, keepdims=True, ddof=1) + eps)
            ),
            "you divide by the variance; its root is the deviation.": lambda x, eps: (
                _centered(x) / (x.var(axis=1, keepdims=True) + eps)
            ),
            "the mean is still in it: subtract that of each row first.": lambda x, eps: (
                x / np.sqrt(x.var(axis=1, keepdims=True) + eps)
            ),
        },
    ),
    "rest-of-the-batch": Function(
        _change_by_others,
        cases=_batches,
        right="Under layer norm it is 0 whatever the others are; no batch can reach an example.",
        wrong={
            "you compare all rows, and the others differ because they were replaced; compare the "
            "first row alone.": lambda norm, x, others: np.abs(
                norm(x) - norm(np.concatenate([x[:1], others[1:]]))
            ).max(),
            "the first example was replaced as well; keep row 0 of x above rows 1, 2, … of "
            "others.": lambda norm, x, others: np.abs(norm(x)[0] - norm(others)[0]).max(),
            "this leaves the first example alone; here it is to have other neighbors.": (
                lambda norm, x, others: np.abs(norm(x)[0] - norm(x[:1])[0]).max()
            ),
            "a number may also fall; take the largest change without its sign.": (
                lambda norm, x, others: (
                    norm(np.concatenate([x[:1], others[1:]]))[0] - norm(x)[0]
                ).max()
            ),
            "a number may also rise; take the largest change without its sign.": (
                lambda norm, x, others: (
                    norm(x)[0] - norm(np.concatenate([x[:1], others[1:]]))[0]
                ).max()
            ),
            "that is the average change; the largest is asked for.": lambda norm, x, others: np.abs(
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
        right="Of this batch, batch norm loses nothing that its gain and bias could not give back.",
        returns=("gain", "bias"),
        wrong={
            "gain and bias are the other way round: the gain multiplies first, then the bias is "
            "added.": lambda x: (x.mean(axis=0), x.std(axis=0)),
            "that gain is the variance; batch norm has divided by its root.": lambda x: (
                x.var(axis=0),
                x.mean(axis=0),
            ),
            "that gain divides by the deviation a second time; it has to take the division "
            "back.": lambda x: (1 / x.std(axis=0), x.mean(axis=0)),
            "that bias subtracts the mean a second time; it has to give it back.": lambda x: (
                x.std(axis=0),
                -x.mean(axis=0),
            ),
            "these are the statistics of the rows; gain and bias have one number a unit, a "
            "column.": lambda x: (x.std(axis=1), x.mean(axis=1)),
            "that deviation is divided by B - 1; batch norm has used the one divided by B.": (
                lambda x: (x.std(axis=0, ddof=1), x.mean(axis=0))
            ),
        },
    ),
}


def _centered(x: np.ndarray) -> np.ndarray:
    return x - x.mean(axis=1, keepdims=True)
