"""Arguments of a recurrence, its outputs and all of its gradients, for the CPU implementations."""

import torch

from lnlib.nn.kernels.spec import Spec

# Measured: at most 4e-13 of 1 + |expected| over all cases below.
FLOAT64 = {"rtol": 1e-10, "atol": 1e-10}

SIZES = {
    "one": [1] * 7,
    "three": [3] * 7,
    "seventeen": [17] * 7,
    "ending": [17, 9, 9, 4, 1, 1, 1],
}


def randn(generator, *shape):
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def arguments(kind, options, H, sizes, dtype=torch.float64, seed=0):
    """Return inputs, state, weight, and the norms with gain != 1 and bias != 0."""
    generator = torch.Generator().manual_seed(seed)
    gates = {"lstm": 4, "gru": 3, "rnn": 1}[kind]
    B = sizes[0]
    state = [0.5 * randn(generator, B, H) for _ in range(2 if kind == "lstm" else 1)]
    tensors = [randn(generator, sum(sizes), gates * H), *state]
    tensors.append(randn(generator, gates * H, H) / H**0.5)
    widths = {"lstm": (4 * H, H), "gru": (2 * H, H), "rnn": (H,)}[kind]
    norms = [[1 + 0.3 * randn(generator, n), 0.2 * randn(generator, n)] for n in widths]
    tensors = [t.to(dtype).requires_grad_() for t in tensors]
    norms = [[p.to(dtype).requires_grad_() for p in norm] for norm in norms]
    if options.get("form") == "draw":
        norms[0] = None
    return tensors, norms


def call(module, kind, options, tensors, sizes, norms, product=None, **more):
    inputs, *state, weight = tensors
    spec, norms = Spec(kind, **options, **more), [norm for norm in norms if norm]
    given = {} if product is None else {"product": product}
    return module.run(spec, inputs, sizes, state, weight, norms, **given)


def outputs_and_gradients(module, kind, options, tensors, sizes, norms, **more):
    """Return the outputs, the last states, and every gradient of a projection of all of them."""
    outputs = call(module, kind, options, tensors, sizes, norms, **more)
    generator = torch.Generator().manual_seed(9)
    projected = sum((y * randn(generator, *y.shape).to(y.dtype)).sum() for y in outputs)
    given = [*tensors, *(p for norm in norms if norm for p in norm if p is not None)]
    return [*outputs, *torch.autograd.grad(projected, given)]
