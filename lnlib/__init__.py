"""Layer normalization, computed: the equations of Ba, Kiros & Hinton (2016) and what follows.

``import lnlib`` loads NumPy and nothing heavier. PyTorch lives in :mod:`lnlib.nn`, data sets in
:mod:`lnlib.data`, the experiments in :mod:`lnlib.replay`.
"""

__version__ = "0.1.0"
