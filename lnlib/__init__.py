"""Layer normalization, computed: the equations of Ba, Kiros & Hinton (2016) and what follows.

``import lnlib`` loads NumPy and nothing heavier. PyTorch lives in :mod:`lnlib.nn`.
"""

from lnlib import norms
from lnlib.norms import *  # noqa: F403

__version__ = "0.1.0"
__all__ = norms.__all__
