"""Layer normalization, computed: the equations of Ba, Kiros & Hinton (2016) and what follows.

``import lnlib`` loads NumPy and nothing heavier. PyTorch lives in :mod:`lnlib.nn`.
"""

from lnlib import norm
from lnlib.norm import *  # noqa: F403

__version__ = "0.1.0"
__all__ = norm.__all__
