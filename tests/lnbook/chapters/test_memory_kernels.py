"""Bytes that norms save, compared with autograd, and recorded results of compiled norms."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from lnbook.chapters.memory_kernels import compiled, figures

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
WIDTH, TOKENS = 64, 24


@pytest.mark.parametrize("dtype", figures.DTYPES)
def test_the_figure_has_the_bytes_that_autograd_saves(dtype):
    x = torch.randn(TOKENS, WIDTH).to(DTYPES[dtype]).requires_grad_()
    gain, bias = (nn.Parameter(torch.ones(WIDTH)) for _ in range(2))
    same = nn.Parameter(gain.to(x.dtype))
    # With float32 gains, a CPU uses float32 statistics, like a GPU.
    norm, linear = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH).to(x.dtype)

    def recomputed(x):
        return checkpoint(lambda x: linear(norm(x)), x, use_reentrant=False)

    def counted(function):
        return compiled.saved_bytes(function, x) / TOKENS

    layer, rms = (figures.bytes_per_token(name, dtype, WIDTH) for name in figures.NORMS)
    assert layer["by hand"][0] == counted(lambda x: compiled.layer_norm(x, gain, bias))
    assert rms["by hand"][0] == counted(lambda x: compiled.rms_norm(x, same))
    assert layer["one kernel"][0] == counted(norm)
    assert rms["one kernel"][0] == figures.DTYPES[dtype] * WIDTH + 4  # its input, one statistic
    assert sum(layer["one kernel"]) == counted(lambda x: linear(norm(x)))
    assert sum(layer[figures.WAYS[3]]) == counted(recomputed)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_compiled_norms_are_one_kernel_and_save_one_input():
    observed, before = compiled.observe(), compiled.recorded()["results"]
    for name, run in observed.items():
        same = ("operators", "kernels", "backward", "eager", "compiled")
        assert {key: run[key] for key in same} == {key: before[name][key] for key in same}
        assert run["error"] < 1e-5


@pytest.mark.parametrize("norm", figures.NORMS)
def test_bars_state_the_sizes(norm):
    state = norm, "bfloat16", 768, 12, 2048
    figure, totals = figures.draw(*state), figures.total(*state).values()
    for k, bars in enumerate(figure.data):
        assert list(bars.x) == pytest.approx([pair[k] / 2**20 for pair in totals], rel=1e-3)
