"""Classifiers of digits: units equal PyTorch's and have the invariances of their norm."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lnbook.chapters.invariances.contrast import KINDS, features

D, H = 9, 20
rng = np.random.default_rng(3)
TRAINING, X, W = rng.uniform(size=(50, D)), rng.uniform(size=(8, D)), rng.normal(size=(H, D))


@pytest.mark.parametrize("kind", KINDS)
def test_features_equal_those_of_pytorch(kind):
    weights = torch.tensor(W)
    if kind == "equal":
        weights = weights - weights.mean(1, keepdim=True)
    a, b = torch.tensor(X) @ weights.T, torch.tensor(TRAINING) @ weights.T
    mean, var = b.mean(0), b.var(0, unbiased=False)
    normed = {
        "none": lambda: a,
        "batch": lambda: (a - a.mean(0)) / a.std(0, unbiased=False),
        "running": lambda: F.batch_norm(a, mean, var, eps=0),
        "layer": lambda: F.layer_norm(a, (H,), eps=0),
        "equal": lambda: F.layer_norm(a, (H,), eps=0),
    }[kind]()
    result = features(kind, X, W, TRAINING)
    np.testing.assert_allclose(result[:, :-1], normed.relu().numpy(), atol=1e-10)
    assert np.all(result[:, -1] == 1)
