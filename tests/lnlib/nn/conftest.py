"""What the tests of modules and of the compiled library share."""

import pytest

from lnlib.nn.kernels import autograd, reference
from lnlib.nn.kernels.cpu import layer_norm, recurrent
from tests.cases.modules import KINDS, TORCH


@pytest.fixture
def built():
    for library in (layer_norm, recurrent):
        if not library.available():
            pytest.skip(f"no compiled library here: {library.reason()}")


@pytest.fixture
def calls(monkeypatch):
    """The names of the implementations that were called, in order."""
    names = []
    for path, module in {"plain": reference, "function": autograd, "compiled": recurrent}.items():
        real = module.run

        def spy(*args, real=real, path=path, **options):
            names.append(path)
            return real(*args, **options)

        monkeypatch.setattr(module, "run", spy)
    return names


@pytest.fixture(params=list(KINDS))
def pair(request):
    """Ours and PyTorch's, as functions of the same arguments."""
    return KINDS[request.param], TORCH[request.param]
