"""Test errors under a shift, compared with a plain evaluation of the networks."""

import pytest
import torch

from lnbook.chapters.rl_federated_private import shifted


def test_errors_equal_those_of_a_plain_evaluation():
    pixels, labels = shifted.digits()
    model, x, y = shifted.trained()["batch"], pixels[1::2], labels[1::2]
    images = shifted.shifted(x, "blur", 1.0)
    before = model[1].running_mean.clone()
    result = shifted.errors("blur", "many")
    assert torch.equal(before, model[1].running_mean)
    with torch.no_grad():
        running = (model.eval()(images).argmax(1) != y).double().mean().item()
        assert result["running"][-1] == pytest.approx(running)
        wrong = 0
        for part in shifted.split(y, "many"):
            h = images[part]
            for k in (0, 3):  # batch norm by hand
                h = model[k](h)
                h = (h - h.mean(0)) / (h.var(0, unbiased=False) + 1e-5).sqrt()
                h = (model[k + 1].weight * h + model[k + 1].bias).relu()
            wrong += (model[6](h).argmax(1) != y[part]).sum().item()
    assert result["batch"][-1] == pytest.approx(wrong / len(y), abs=2 / len(y))


@pytest.mark.parametrize("batches", shifted.BATCHES.values())
def test_every_test_image_is_in_one_batch(batches):
    labels = shifted.digits()[1][1::2]
    parts = shifted.split(labels, batches)
    assert sorted(torch.cat(parts).tolist()) == list(range(len(labels)))
    assert min(map(len, parts)) > 1
    if batches == "class":
        assert all(len(labels[part].unique()) == 1 for part in parts)
