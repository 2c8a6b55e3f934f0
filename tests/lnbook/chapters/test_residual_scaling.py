"""The stack of every scheme, its shares and gradients, and the sentences of the figures."""

import itertools
import re

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lnbook.chapters.residual_scaling import panels, stack, trained
from lnlib.nn.transformer import Transformer
from tests.cases import transformer


@pytest.mark.parametrize(
    ("scheme", "place", "scaled"),
    [("post", "post", False), ("scaled", "pre", True), ("lns", "ln_scaling", False),
     ("deepnorm", "deepnorm", False), ("layerscale", "layer_scale", False)],
)  # fmt: skip
def test_profiles_are_measured_in_the_transformer_of_the_library(scheme, place, scaled):
    torch.manual_seed(0)
    expected = Transformer(
        stack.VOCABULARY, depth=3, width=stack.WIDTH, heads=stack.HEADS, length=stack.LENGTH,
        placement=place, initialization="xavier", residual_scaling=scaled,
    )  # fmt: skip
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


@pytest.mark.parametrize("scheme", stack.SCHEMES.values())
def test_lines_and_sentence_show_the_profile(scheme):
    profile = stack.profile(scheme, 6)
    variance, share, gradient = panels.draw(scheme, 6)
    name = "pre-norm" if scheme == "pre" else "chosen"
    drawn = next(line for line in variance.data if line.name == name)
    np.testing.assert_allclose(drawn.y, profile.variance, rtol=0.01)
    for line in gradient.data:
        expected = profile if line.name == name else stack.profile("pre", 6)
        np.testing.assert_allclose(line.y, expected.gradient, rtol=0.01)
    text = panels.describe(scheme, 6)
    if scheme == "rezero":
        assert share.layout.annotations[0].text == "0 in every block"
        assert "no gradient" in text
        return
    written = next(line for line in share.data if line.name == "written")
    np.testing.assert_allclose(written.y, 100 * profile.share, rtol=0.01)
    first, last = map(float, re.search(r"gradient: (\S+) in .*, (\S+) in the last", text).groups())
    assert [first, last] == pytest.approx(profile.gradient[[0, -1]], rel=0.05)


def test_the_map_of_losses_and_its_sentence_cover_each_scheme():
    schemes = {
        "no norm": ("pre", {"norm": "none"}), "post-norm": ("post", {}), "pre-norm": ("pre", {}),
        "residual scaling 1/√(2N)": ("pre", {"residual_scaling": True}),
        "sandwich": ("sandwich", {}), "ReZero": ("rezero", {}), "LayerScale": ("layer_scale", {}),
        "DeepNorm": ("deepnorm", {}), "Mix-LN": ("mix_ln", {}),
        "LayerNorm scaling": ("ln_scaling", {}),
    }  # fmt: skip
    records = transformer.trained(9.0, last_norm=False)  # from another comparison
    expected = {}
    for i, (name, (place, changed)) in enumerate(schemes.items()):
        for j, rate in enumerate((3e-4, 1e-3, 3e-3)):
            for warm_up in (0, 60):
                losses = np.array([2.2, 2.3]) + 0.01 * i + 0.1 * j + 0.05 * (warm_up == 0)
                if name == "post-norm" and j == 2:
                    losses[:] = 3.34, 3.36 if warm_up == 0 else 2.4
                how = {"place": place, "learning_rate": rate, "warm_up": warm_up} | changed
                records += transformer.trained(*losses, **how)
                expected[warm_up, name, j] = losses
    known = trained.ResidualSchemeRuns(records)
    for figure, warm_up in zip(trained.draw(known), (0, 60), strict=True):
        (heat,) = figure.data
        assert list(heat.y) == list(schemes)
        for i, name in enumerate(schemes):
            for j in range(3):
                losses = expected[warm_up, name, j]
                assert heat.z[i][j] == pytest.approx(losses.mean() - 2.482)
                one_stuck = (name, j, warm_up) == ("post-norm", 2, 60)
                text = "1 of 2<br>stuck" if one_stuck else f"{losses.mean():.2f}"
                assert heat.text[i][j] == text
    text = trained.describe(known)
    assert "no norm 2.25, post-norm 2.26, pre-norm 2.27" in text
    assert text.endswith("unigram entropy: 3 with post-norm.")
