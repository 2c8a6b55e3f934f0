"""The trained transformer on a text, compared with the equations and recorded ablations.

``tests/book/test_transformer_page.py`` compares the page's JavaScript with it.
"""

import dataclasses
import itertools

import numpy as np
import pytest
import torch

from lnlab.experiments._weights import pack
from lnlab.experiments.transformer import Settings, ablation
from lnlab.experiments.transformer.run import TransformerRun
from lnlab.experiments.transformer.trained_transformer import TrainedTransformer
from tests.cases.transformer import SMALL, words

TEXT = "cab b"


@pytest.fixture(scope="module")
def record():
    """A record in the format of a run, with gains and biases that have changed."""
    chosen = Settings(**SMALL | {"eps": 1e-4, "ablate": True})
    run = TransformerRun(chosen, words(), seed=2)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for p in run.model.parameters():
            p += 0.3 * torch.randn(p.shape, generator=generator)
    packed = pack(run.model)
    frozen = ablation.deviations(run.model, run.probes[:, :-1])
    arrays = packed | {"norm_deviations": frozen, "characters": run.characters}
    arrays = {name: np.asarray(values)[None] for name, values in arrays.items()}
    return {"settings": dataclasses.asdict(chosen), "arrays": arrays}


@pytest.fixture(scope="module")
def reader(record):
    return TrainedTransformer.of(record)


def by_hand(switch, x, gain, bias, constant, eps):
    centered = x - x.mean(-1, keepdims=True)
    if switch == "on":
        return gain * centered / np.sqrt(x.var(-1, keepdims=True) + eps) + bias
    if switch == "rms":
        return gain * x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) + bias
    return gain * centered / constant + bias if switch == "frozen" else x


@pytest.mark.parametrize("shift", range(4))
def test_switches_only_affect_their_own_norm(reader, shift):
    kinds = itertools.islice(itertools.cycle(ablation.SWITCHES), shift, shift + 5)
    switched = reader.switch(*kinds)
    for (name, norm), switch, constant, (x, y) in zip(
        ablation.norms(reader.model).items(),
        switched.switches,
        reader.deviations.tolist(),
        switched.inside(TEXT),
        strict=True,
    ):
        gain, bias = (p.detach().numpy() for p in (norm.weight, norm.bias))
        expected = by_hand(switch, x.numpy(), gain, bias, constant, 1e-4)
        np.testing.assert_allclose(y, expected, rtol=0, atol=1e-12, err_msg=name)


def test_loss_surprise_entropy_and_next_characters_follow_from_the_probabilities(reader):
    p = np.exp(reader.logits(TEXT).numpy())
    p /= p.sum(1, keepdims=True)
    at = [reader.characters.index(c) for c in TEXT]
    cost = [-np.log(p[t, at[t + 1]]) for t in range(4)]
    np.testing.assert_allclose(reader.surprise(TEXT), np.divide(cost, np.log(2)), atol=1e-12)
    assert reader.loss(TEXT) == pytest.approx(np.mean(cost), abs=1e-12)
    assert reader.entropy(TEXT) == pytest.approx(-(p * np.log(p)).sum(1).mean(), abs=1e-12)
    best = np.argsort(-p[-1])[:3]
    result = reader.next_characters(TEXT, 3)
    assert [*result] == [reader.characters[k] for k in best]
    assert [*result.values()] == pytest.approx(p[-1, best].tolist(), abs=1e-12)


def test_generated_text_is_read_again_in_windows(reader):
    text = TEXT
    for c in reader.write(TEXT, 8):
        assert c == next(iter(reader.next_characters(text[-5:], 1)))
        text += c


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "text must have 1 to 5 characters, got 0; use the last part of the text"),
        ("abcabc", "text must have 1 to 5 characters, got 6"),
        ("a7b!", "consist of the 8 characters that the model knows, got '!' '7'; leave them out"),
    ],
)
def test_invalid_texts_raise_an_error_with_the_reason(reader, text, message):
    with pytest.raises(ValueError, match=message):
        reader.logits(text)


@pytest.mark.parametrize("switches", [(), ("on",) * 4, ("on",) * 4 + ("of",)])
def test_invalid_switches_raise_an_error(reader, switches):
    with pytest.raises(ValueError, match="switches must be 5 of on, rms, frozen, off, one per"):
        reader.switch(*switches)
