"""Layer normalization, computed: the equations of Ba, Kiros & Hinton (2016) and what follows.

``import lnlib`` loads NumPy and nothing heavier. PyTorch lives in :mod:`lnlib.nn`, data sets in
:mod:`lnlib.data`, the experiments in :mod:`lnlib.experiments`.
"""

from lnlib.norm import (
    adaptive_layer_norm,
    adaptive_layer_norm_backward,
    batch_norm,
    batch_norm_backward,
    batch_statistics,
    dynamic_tanh,
    dynamic_tanh_backward,
    group_norm,
    group_norm_backward,
    instance_norm,
    instance_norm_backward,
    layer_norm,
    layer_norm_backward,
    rms_norm,
    rms_norm_backward,
    update_running,
    weight_norm,
    weight_norm_backward,
)

__version__ = "0.1.0"

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
