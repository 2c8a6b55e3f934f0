"""Modules whose parameters are not at their initial values."""

import torch


def perturb(module, std=0.3, seed=0):
    """Add normal noise to all parameters in place, so that none is 0 or 1; return the module."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in module.parameters():
            p.add_(std * torch.randn(p.shape, generator=generator))
    return module
