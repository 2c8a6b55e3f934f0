"""The stack of every scheme, its shares and gradients, and what the figure says of them."""

import itertools
import re

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lnbook.chapters.residual_scaling import panels, stack
from lnlib.nn.transformer import Transformer

STATES = [(scheme, depth) for scheme in stack.SCHEMES.values() for depth in (6, 12)]


@pytest.mark.parametrize(
    ("scheme", "place", "scaled"),
    [("post", "post", False), ("scaled", "pre", True), ("lns", "ln_scaling", False),
     ("deepnorm", "deepnorm", False), ("layerscale", "layer_scale", False)],
)  # fmt: skip
def test_profile_is_measured_in_the_librarys_transformer(scheme, place, scaled):
    torch.manual_seed(0)
    expected = Transformer(
        stack.VOCABULARY,
        depth=3,
        width=stack.WIDTH,
        heads=stack.HEADS,
        length=stack.LENGTH,
        place=place,
        initialization="xavier",
        residual_scaling=scaled,
    )
    tokens = torch.randint(stack.VOCABULARY, (stack.BATCH, stack.LENGTH + 1))
    streams = [x.detach() for x in expected.stream(tokens[:, :-1])]
    output = expected(tokens[:, :-1]).flatten(0, 1)
    F.cross_entropy(output, tokens[:, 1:].flatten()).backward()
    profile = stack.measure(scheme, 3, seed=0)
    variance = [x.var(-1, correction=0).mean().item() for x in streams]
    np.testing.assert_allclose(profile.variance, variance, rtol=1e-4)
    cosine = [F.cosine_similarity(*(t - t.mean(-1, keepdim=True) for t in pair), dim=-1)
              for pair in itertools.pairwise(streams)]  # fmt: skip
    share = [1 - one.square().mean().item() for one in cosine]
    np.testing.assert_allclose(profile.share, share, atol=1e-4)
    for block, norm in zip(expected.blocks, profile.gradient, strict=True):
        weights = [p.grad for p in block.parameters() if p.ndim > 1]
        squares = sum(g.square().sum() for g in weights)
        assert norm == pytest.approx(squares.sqrt().item(), rel=1e-4)


def test_output_norm_normalizes_what_is_added():
    block, x = stack.initial("output", 1, 0).blocks[0], torch.randn(2, 5, stack.WIDTH)
    LN = torch.nn.LayerNorm(stack.WIDTH, elementwise_affine=False)
    y = x + LN(block.attention(x))
    torch.testing.assert_close(stack.output_norm(block, x), y + LN(block.feed_forward(y)))


def test_hybrid_norm_normalizes_each_head_and_the_sum():
    torch.manual_seed(0)
    block, x = stack.initial("hybrid", 1, 0).blocks[0], torch.randn(2, 5, stack.WIDTH)
    q, k, v = (
        F.layer_norm(part.unflatten(-1, (stack.HEADS, -1)), (16,)).transpose(1, 2)
        for part in block.qkv(x).chunk(3, dim=-1)
    )
    weights = (q @ k.mT / 4).masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf).softmax(-1)
    read = (weights @ v).transpose(1, 2).flatten(2)
    y = F.layer_norm(x + block.merge(read), (stack.WIDTH,))
    expected = y + block.feed_forward(y)
    torch.testing.assert_close(stack.hybrid_norm(block, x), expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("scheme", "depth"), STATES)
def test_lines_are_the_profile_and_stay_within_their_axes(scheme, depth):
    profile = stack.profile(scheme, depth)
    variance, share, gradient = panels.draw(scheme, depth)
    for figure in (variance, share, gradient):
        low, high = figure.layout.yaxis.range
        for line in figure.data:
            values = [value for value in line.y if value is not None]
            assert 10**low * 0.99 <= min(values) <= max(values) <= 10**high
    lines = {line.name: line.y for line in variance.data}
    name = "pre-norm" if scheme == "pre" else "chosen"
    np.testing.assert_allclose(lines[name], profile.variance, rtol=0.01)
    written = [line.y for line in share.data if line.name == "written"]
    if scheme == "rezero":
        assert written == []
        assert share.layout.annotations[0].text == "0 in every block"
    else:
        np.testing.assert_allclose(written[0], 100 * profile.share, rtol=0.01)
    for line in gradient.data:
        expected = profile if line.name == name else stack.profile("pre", depth)
        np.testing.assert_allclose(line.y, expected.gradient, rtol=0.01)


@pytest.mark.parametrize(("scheme", "depth"), STATES)
def test_the_sentence_states_what_is_drawn(scheme, depth):
    profile, text = stack.profile(scheme, depth), panels.describe(scheme, depth)
    before, after = map(
        float, re.search(r"is (\S+) before .* and (\S+) after the last", text).groups()
    )
    assert [before, after] == pytest.approx(profile.variance[[0, -1]], rel=0.05)
    if scheme == "rezero":
        assert "no gradient" in text
        return
    first, last = map(float, re.search(r"gradient: (\S+) in .*, (\S+) in the last", text).groups())
    assert [first, last] == pytest.approx(profile.gradient[[0, -1]], rel=0.05)
