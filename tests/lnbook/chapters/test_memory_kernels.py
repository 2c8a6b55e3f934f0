"""The bytes that norms keep, counted by autograd, and what was recorded of compiled norms."""

import pytest
import torch
from torch import nn

from lnbook.chapters.memory_kernels import compiled, figures

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
WIDTH, TOKENS = 64, 24


def counted(norm, way, dtype):
    """The bytes per token that autograd saves."""
    x = torch.randn(TOKENS, WIDTH).to(DTYPES[dtype]).requires_grad_()
    gain, bias = nn.Parameter(torch.ones(WIDTH)), nn.Parameter(torch.zeros(WIDTH))
    if way == "one kernel":  # with float32 gains a CPU keeps float32 statistics, as a GPU does
        return compiled.saved_bytes(nn.LayerNorm(WIDTH), x) / TOKENS
    if norm == "LayerNorm":
        return compiled.saved_bytes(lambda x: compiled.layer_norm(x, gain, bias), x) / TOKENS
    same = nn.Parameter(gain.to(x.dtype))
    return compiled.saved_bytes(lambda x: compiled.rms_norm(x, same), x) / TOKENS


@pytest.mark.parametrize("dtype", figures.DTYPES)
@pytest.mark.parametrize(
    ("norm", "way"),
    [("LayerNorm", "by hand"), ("RMSNorm", "by hand"), ("LayerNorm", "one kernel")],
)
def test_the_figure_has_the_bytes_that_autograd_saves(norm, way, dtype):
    assert figures.bytes_per_token(norm, dtype, WIDTH)[way][0] == counted(norm, way, dtype)


@pytest.mark.parametrize("dtype", figures.DTYPES)
def test_a_linear_layer_keeps_the_output_of_the_norm(dtype):
    norm, linear = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH).to(DTYPES[dtype])
    x = torch.randn(TOKENS, WIDTH).to(DTYPES[dtype]).requires_grad_()
    both = compiled.saved_bytes(lambda x: linear(norm(x)), x) / TOKENS
    assert sum(figures.bytes_per_token("LayerNorm", dtype, WIDTH)["one kernel"]) == both


def test_a_fused_rms_norm_keeps_its_input_and_one_statistic():
    assert figures.bytes_per_token("RMSNorm", "bfloat16", WIDTH)["one kernel"][0] == 2 * WIDTH + 4


def test_recomputing_a_norm_and_a_linear_layer_keeps_one_array():
    norm, linear = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH)
    x = torch.randn(TOKENS, WIDTH).requires_grad_()
    one = compiled.saved_bytes(
        lambda x: torch.utils.checkpoint.checkpoint(
            lambda x: linear(norm(x)), x, use_reentrant=False
        ),
        x,
    )
    recompute = figures.WAYS[3]
    assert sum(figures.bytes_per_token("LayerNorm", "float32", WIDTH)[recompute]) == one / TOKENS


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (2**34, "16.0 GiB")]
)
def test_sizes_are_written_in_a_unit_that_fits(count, text):
    assert figures.size(count) == text


@pytest.mark.parametrize("norm", figures.NORMS)
@pytest.mark.parametrize(
    ("width", "blocks", "tokens", "unit"), [(768, 12, 2048, "MiB"), (8192, 80, 32768, "GiB")]
)
def test_bars_and_sentence_state_the_same_sizes(norm, width, blocks, tokens, unit):
    state = norm, "bfloat16", width, blocks, tokens
    figure, text = figures.draw(*state), figures.describe(*state)
    factor = {"MiB": 2**20, "GiB": 2**30}[unit]
    assert figure.layout.xaxis.title.text == unit
    for k, bars in enumerate(figure.data):
        expected = [pair[k] / factor for pair in figures.total(*state).values()]
        assert list(bars.x) == pytest.approx(expected, rel=1e-3)
    sizes = [figures.size(pair[0]) for pair in figures.total(*state).values()]
    assert all(size in text for size in sizes[:3])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_compiled_norms_are_one_kernel_and_keep_one_input():
    observed, before = compiled.observe(), compiled.recorded()["results"]
    for name, run in observed.items():
        same = ("operators", "kernels", "backward", "eager", "compiled")
        assert {key: run[key] for key in same} == {key: before[name][key] for key in same}
        assert run["error"] < 1e-5
