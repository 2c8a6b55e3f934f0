"""Layer normalization and its relatives in NumPy, each with its gradient by hand.

All are one formula, eq. 5 of Ba, Kiros & Hinton (2016), arXiv:1607.06450::

    y = gain * (x - mean) / std + bias        std = sqrt(var + eps)

What differs is which numbers share one ``mean`` and one ``std``:

=================  ===========  =====================================  =======================
``layer_norm``     (..., H)     the features of one example            eqs. 3, 15-16
``batch_norm``     (B, H, ...)  one feature throughout the batch       eq. 2
``weight_norm``    (..., D)     none: mean = 0 and std = norm of w_i   below eq. 5
``rms_norm``       (..., H)     as ``layer_norm``, with mean = 0       Zhang & Sennrich (2019)
``group_norm``     (N, C, ...)  a group of channels of one example     Wu & He (2018)
``instance_norm``  (N, C, ...)  one channel of one example             Ulyanov et al. (2016)
=================  ===========  =====================================  =======================

Two more are at home in transformers: :func:`adaptive_layer_norm`, whose gain and bias come from a
condition, and :func:`dynamic_tanh`, which stands in a norm's place and normalizes nothing.

For every ``y = f(x, ...)``, ``f_backward(dy, x, ...)`` takes the gradient ``dy`` of a loss in
``y`` and the other arguments of the forward pass, and returns the gradients of the loss in ``x``
and in the parameters, whether these were given or ``None``.

True of all of them:

- Arguments are NumPy arrays of floats, and stay as they are. A list or an integer array raises
  ``TypeError``; a wrong shape, an empty feature axis or a negative ``eps`` raises ``ValueError``.
- A result has the dtype that NumPy promotes the arguments to. float16 is computed in float32;
  means, variances and the gradients of the parameters, which are sums, are added up in float64.
- Equal numbers have variance 0: ``y = bias`` if ``eps > 0``. For ``eps=0`` the formula reads
  0 / 0, and the answer is NumPy's: NaN with a ``RuntimeWarning``.
- NaN or infinity in ``x`` spoils the outputs that share its statistics, and no others.
"""

from lnlib.norms.adaptive import (
    adaptive_layer_norm,
    adaptive_layer_norm_backward,
    dynamic_tanh,
    dynamic_tanh_backward,
)
from lnlib.norms.batch import batch_norm, batch_norm_backward, batch_statistics, update_running
from lnlib.norms.group import group_norm, group_norm_backward, instance_norm, instance_norm_backward
from lnlib.norms.layer import layer_norm, layer_norm_backward, rms_norm, rms_norm_backward
from lnlib.norms.weight import weight_norm, weight_norm_backward

__all__ = [
    "adaptive_layer_norm",
    "adaptive_layer_norm_backward",
    "batch_norm",
    "batch_norm_backward",
    "batch_statistics",
    "dynamic_tanh",
    "dynamic_tanh_backward",
    "group_norm",
    "group_norm_backward",
    "instance_norm",
    "instance_norm_backward",
    "layer_norm",
    "layer_norm_backward",
    "rms_norm",
    "rms_norm_backward",
    "update_running",
    "weight_norm",
    "weight_norm_backward",
]
