"""Variants of layer norm in public code, and its variance in floating point.

:func:`variant` has the four switches in which implementations differ; :data:`RECIPES` lists
how public implementations set them.

:data:`METHODS` are four ways to the mean and variance of eqs. 3 and 16 of Ba, Kiros & Hinton
(2016), arXiv:1607.06450. They agree where arithmetic is exact, and differ in floating point::

    naive      mean(x^2) - mean(x)^2                      one pass
    Welford    a running mean, a running sum of squares   one pass, Welford (1962)
    two-pass   mean((x - mean(x))^2)                      two passes
    shifted    two-pass on x - x[0]                       two passes

None is what ``lnlib.layer_norm`` does, which adds up in float64 whatever the numbers are.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lnlib._former_keywords import accept_former_keywords
from lnlib.norms._arguments import check_floats

__all__ = [
    "AXES",
    "METHODS",
    "RECIPES",
    "Recipe",
    "breaking_offset",
    "deviation_after",
    "errors_of_std",
    "layer_norm",
    "naive",
    "shifted",
    "two_pass",
    "variant",
    "welford",
]

#: Which numbers of a sample (T, C) share one mean: NumPy's axis.
AXES = {"features": -1, "batch": 0, "sample": None}


@dataclass(frozen=True)
class Recipe:
    """How one implementation sets the switches of :func:`variant`.

    Args:
        name: Of the implementation.
        source: The file or document that says so.
        axis, ddof, eps, eps_placement: As in :func:`variant`.
    """

    name: str
    source: str
    axis: str = "features"
    ddof: int = 0
    eps: float = 0.0
    eps_placement: str = "inside"

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Normalize ``x`` as this implementation does, before gain and bias."""
        return variant(
            x, axis=self.axis, ddof=self.ddof, eps=self.eps, eps_placement=self.eps_placement
        )


RECIPES = (
    Recipe("the paper", "eqs. 15 and 16"),
    Recipe("Flax", "flax.linen.LayerNorm", eps=1e-6),
    Recipe("PyTorch", "torch.nn.LayerNorm", eps=1e-5),
    Recipe("the authors' Theano code", "ryankiros/layer-norm", eps=1e-5),
    Recipe("BERT", "Hugging Face, BertLayerNorm", eps=1e-12),
    Recipe("Keras", "keras.layers", eps=1e-3),
    Recipe("the authors' Lua code", "ryankiros/layer-norm", eps=1e-5, eps_placement="outside"),
    Recipe(
        "the Annotated Transformer",
        "harvardnlp on GitHub",
        ddof=1,
        eps=1e-6,
        eps_placement="outside",
    ),
    Recipe("TensorFlow 1", "tf.contrib.layers", axis="sample", eps=1e-12),
    Recipe("PyTorch's batch norm", "torch.nn.BatchNorm1d", axis="batch", eps=1e-5),
)


@accept_former_keywords(place="eps_placement")
@np.errstate(under="ignore")
def variant(
    x: np.ndarray,
    *,
    axis: str = "features",
    ddof: int = 0,
    eps: float = 0.0,
    eps_placement: str = "inside",
) -> np.ndarray:
    """Normalize one sample with every choice open that the literature leaves open.

    ::

        inside:  (x - mean) / sqrt(var + eps)        outside: (x - mean) / (sqrt(var) + eps)

    Args:
        x: One sample, shape ``(T, C)``: T positions or examples, C features.
        axis: What shares one mean: ``"features"``, the C numbers of a row; ``"batch"``, the T
            numbers of a column; ``"sample"``, all T times C.
        ddof: The variance divides by n - ddof; the paper has 0.
        eps: Squared units of ``x`` inside the root, units of ``x`` outside.
        eps_placement: ``"inside"`` or ``"outside"`` the root.

    Returns:
        Array of the shape of ``x``.

    Raises:
        ValueError: If ``axis`` or ``eps_placement`` is unknown, or one mean has ``ddof`` numbers
            or fewer.

    Example:
        >>> x = np.array([[1.0, 0.0, 0.0, 0.0]])
        >>> variant(x, ddof=1, eps=1e-6, eps_placement="outside").round(3)
        array([[ 1.5, -0.5, -0.5, -0.5]])
    """
    if axis not in AXES:
        raise ValueError(f"variant: axis must be one of {', '.join(AXES)}, got {axis!r}")
    if eps_placement not in ("inside", "outside"):
        raise ValueError(f"variant: eps_placement must be inside or outside, got {eps_placement!r}")
    check_floats("variant", eps, x=x)
    over = AXES[axis]
    n = x.size if over is None else x.shape[over]
    if n <= ddof:
        raise ValueError(
            f"variant: a mean over {n} number{'s' * (n != 1)} has no variance with ddof={ddof}; "
            "use ddof=0 or more numbers"
        )
    centered = x - x.mean(axis=over, keepdims=True)
    var = x.var(axis=over, ddof=ddof, keepdims=True)
    return centered / (np.sqrt(var + eps) if eps_placement == "inside" else np.sqrt(var) + eps)


# In the dtype of x, one number after the other.


def naive(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``x - mean`` and ``mean(x^2) - mean^2``.

    Two numbers of the size of mean^2 are subtracted, each rounded before: what is left is the
    variance only while ``mean < std / sqrt(u)`` (:func:`breaking_offset`). It can be negative.

    Args:
        x: Shape ``(..., H)``, float16, float32 or float64. The H numbers are added up from left to
            right, and every intermediate result is rounded to this dtype.

    Returns:
        The centered numbers ``(..., H)`` and their variance ``(...)``, same dtype. Infinity or NaN
        where a sum overflows; no warning.
    """
    check_floats("naive", x=x)
    with np.errstate(all="ignore"):
        mean = _mean(x)
        return x - mean[..., None], _mean(x * x) - mean * mean


def two_pass(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``x - mean`` and ``mean((x - mean)^2)``; see :func:`naive`.

    The rounding of the mean, in proportion to an offset, enters squared: once it is what errs,
    ten times the offset costs two digits.
    """
    check_floats("two_pass", x=x)
    with np.errstate(all="ignore"):
        centered = x - _mean(x)[..., None]
        return centered, _mean(centered * centered)


def welford(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``x - mean`` and the variance in one pass; see :func:`naive`.

    After k numbers, ``mean`` is theirs and ``squares`` the sum of squares about it; neither grows
    with an offset as sums do. Welford (1962), doi:10.1080/00401706.1962.10490022.
    """
    check_floats("welford", x=x)
    with np.errstate(all="ignore"):
        mean = squares = np.zeros(x.shape[:-1], x.dtype)
        for k in range(x.shape[-1]):
            step = x[..., k] - mean
            mean = mean + step / x.dtype.type(k + 1)
            squares = squares + step * (x[..., k] - mean)
        return x - mean[..., None], squares / x.dtype.type(x.shape[-1])


def shifted(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what :func:`two_pass` makes of ``x - x[0]``.

    The difference of two floats within a factor of two of each other is exact: a common offset
    costs no digit. But where ``x[0]`` is an outlier, all other numbers are rounded to its digits.
    """
    check_floats("shifted", x=x)
    with np.errstate(all="ignore"):
        return two_pass(x - x[..., :1])


#: By name; the first breaks first.
METHODS: dict[str, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "naive": naive,
    "Welford": welford,
    "two-pass": two_pass,
    "shifted": shifted,
}


def layer_norm(x: np.ndarray, method: str, *, eps: float = 1e-5) -> np.ndarray:
    """Normalize the last axis by one of :data:`METHODS`, in the dtype of ``x`` throughout.

    Args:
        x: Shape ``(..., H)``, float16, float32 or float64.
        method: A key of :data:`METHODS`.
        eps: Inside the root, in squared units of ``x``.

    Returns:
        Array of the shape and dtype of ``x``; NaN where the variance came out below ``-eps``.

    Example:
        >>> x = np.array([40000, 40001, 40002, 40003], dtype=np.float32)
        >>> print(layer_norm(x, "naive"), layer_norm(x, "Welford").round(3))
        [nan nan nan nan] [-1.342 -0.447  0.447  1.342]
    """
    if method not in METHODS:
        raise ValueError(f"layer_norm: method must be one of {', '.join(METHODS)}, got {method!r}")
    check_floats("layer_norm", eps, x=x)
    centered, var = METHODS[method](x)
    with np.errstate(all="ignore"):
        return centered / np.sqrt(var + x.dtype.type(eps))[..., None]


def breaking_offset(dtype: type | np.dtype, std: float = 1.0) -> float:
    """Return the mean at which :func:`naive` has no correct digit left.

    ::

        u * mean^2 = std^2        mean = std / sqrt(u)

    Args:
        dtype: A NumPy float; its unit roundoff u is half of ``np.finfo(dtype).eps``.
        std: Deviation of the numbers.

    Example:
        >>> breaking_offset(np.float32)
        4096.0
    """
    return float(std / np.sqrt(float(np.finfo(dtype).eps) / 2))


def errors_of_std(x: np.ndarray) -> dict[str, float]:
    """Return the worst relative error of the standard deviation of vectors, by method.

    ::

        max over the vectors of |std / true - 1|

    ``true`` is float64's for the numbers as ``x`` holds them, so the error is the method's own and
    not that of rounding its input.

    Args:
        x: Shape ``(n, H)``, float16 or float32.

    Returns:
        For each of :data:`METHODS`: infinity where the standard deviation of a vector came
        out infinite or NaN. NaN itself says that there is nothing to measure: ``x`` holds infinity
        or NaN, or a vector of equal numbers.

    Example:
        >>> x = np.array([[40000, 40001, 40002, 40003]], dtype=np.float32)
        >>> {name: round(error, 3) for name, error in errors_of_std(x).items()}
        {'naive': inf, 'Welford': 0.0, 'two-pass': 0.0, 'shifted': 0.0}
    """
    wide = x.astype(np.float64)
    if not np.isfinite(wide).all() or not (true := wide.std(-1)).all():
        return dict.fromkeys(METHODS, np.nan)
    errors = {}
    for name, method in METHODS.items():
        with np.errstate(invalid="ignore"):
            error = np.abs(np.sqrt(method(x)[1].astype(np.float64)) / true - 1).max()
        errors[name] = float(error) if np.isfinite(error) else np.inf
    return errors


@accept_former_keywords(place="eps_placement")
def deviation_after(
    std: float | np.ndarray, *, eps: float = 1e-5, eps_placement: str = "inside"
) -> np.ndarray:
    """Return the standard deviation after a norm, of numbers that had ``std`` before it.

    ::

        inside:  std / sqrt(std^2 + eps)        outside: std / (std + eps)

    Eqs. 2-4 and 16 of Ba, Kiros & Hinton (2016) have no eps, so their norm leaves 1. The authors'
    Theano code has it inside the root, their Lua code outside.

    Args:
        std: Above 0, any shape.
        eps: Squared units of ``std`` inside the root, units of ``std`` outside.
        eps_placement: ``"inside"`` or ``"outside"`` the root, as in :func:`variant`.

    Raises:
        ValueError: If ``eps_placement`` is unknown.

    Example:
        >>> float(deviation_after(1e-5, eps_placement="outside"))
        0.5
    """
    if eps_placement not in ("inside", "outside"):
        raise ValueError(
            f"deviation_after: eps_placement must be inside or outside, got {eps_placement!r}"
        )
    std = np.asarray(std, float)
    return std / (np.sqrt(std**2 + eps) if eps_placement == "inside" else std + eps)


def _mean(x: np.ndarray) -> np.ndarray:
    """Return the mean over the last axis, added up from left to right."""
    total = np.zeros(x.shape[:-1], x.dtype)
    for k in range(x.shape[-1]):
        total = total + x[..., k]  # NumPy's own mean adds in pairs, and float16 in float32
    return total / x.dtype.type(x.shape[-1])
