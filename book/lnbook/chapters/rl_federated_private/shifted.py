"""Test errors of small networks on shifted digits, by norm and by composition of test batches."""

from collections.abc import Callable
from functools import cache, partial

import numpy as np
import plotly.graph_objects as go
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import add_line

HIDDEN, CLASSES, UPDATES, BATCH, RATE = 64, 10, 300, 64, 0.01
STRENGTHS = 0.0, 0.2, 0.4, 0.6, 0.8, 1.0  # 1 is the strongest shift
SHIFTS = {
    "lower contrast": "contrast",
    "added brightness": "brightness",
    "blur": "blur",
    "noise": "noise",
}
AMOUNTS = {  # the amount of a shift, given its strength, as text
    "contrast": (lambda s: 1 - 0.9 * s, "contrast factor"),
    "brightness": (lambda s: s, "added brightness (white is 1)"),
    "blur": (lambda s: s, "fraction of the blurred image"),
    "noise": (lambda s: 0.6 * s, "std of the noise (white is 1)"),
}
BATCHES = {
    "64 images, all classes": "many",
    "4 images, all classes": "few",
    "images of one class": "class",
}
LINES = {  # name, color, dash, marker
    "running": ("batch norm, running statistics", COLORS["batch"], "solid", "circle"),
    "batch": ("batch norm, statistics of the test batch", COLORS["kept"], "dash", "square"),
    "layer": ("layer norm", COLORS["layer"], "solid", "diamond"),
    "image": ("layer norm, also on the image", COLORS["variant"], "dot", "triangle-up"),
}


@cache
def digits() -> tuple[Tensor, Tensor]:
    """Return the 1,797 digits of scikit-learn, pixels from 0 to 1 in float64, and their labels.

    In float32, 300 updates would amplify the rounding differences between processors or numbers of
    threads until single predictions differ.
    """
    from sklearn.datasets import load_digits

    pixels, labels = map(torch.tensor, load_digits(return_X_y=True))
    return pixels / 16, labels


def network(norm: Callable[[int], nn.Module], seed: int) -> nn.Sequential:
    """Return an MLP with two hidden layers, each with a norm after its weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        blocks = [[nn.Linear(64, HIDDEN), norm(HIDDEN), nn.ReLU()] for _ in range(2)]
        return nn.Sequential(*blocks[0], *blocks[1], nn.Linear(HIDDEN, CLASSES)).double()


def fit(model: nn.Module, x: Tensor, y: Tensor) -> nn.Module:
    """Train a network with Adam."""
    generator = torch.Generator().manual_seed(0)
    optimizer = torch.optim.Adam(model.parameters(), RATE)
    model.train()
    for _ in range(UPDATES):
        batch = torch.randint(len(x), (BATCH,), generator=generator)
        optimizer.zero_grad()
        F.cross_entropy(model(x[batch]), y[batch]).backward()
        optimizer.step()
    return model


@cache
def trained() -> dict[str, nn.Module]:
    """Return networks with batch norm, with layer norm, and with layer norm of the image, too."""
    pixels, labels = digits()
    models = {"batch": network(nn.BatchNorm1d, 0), "layer": network(nn.LayerNorm, 0)}
    image = nn.LayerNorm(64, elementwise_affine=False)
    models["image"] = nn.Sequential(image, *network(nn.LayerNorm, 0))
    return {name: fit(model, pixels[::2], labels[::2]) for name, model in models.items()}


def shifted(x: Tensor, shift: str, strength: float) -> Tensor:
    """Return images with a shift.

    Args:
        x: Images, shape ``(N, 64)``.
        shift: A value of :data:`SHIFTS`.
        strength: From 0 (no shift) to 1.
    """
    amount = AMOUNTS[shift][0](strength)
    if shift == "contrast":
        return amount * x
    if shift == "brightness":
        return x + amount
    if shift == "noise":
        generator = torch.Generator().manual_seed(1)
        return x + amount * torch.randn(x.shape, generator=generator, dtype=x.dtype)
    blurred = F.avg_pool2d(x.reshape(-1, 1, 8, 8), 3, stride=1, padding=1)
    return (1 - amount) * x + amount * blurred.flatten(1)


def split(labels: Tensor, batches: str) -> list[Tensor]:
    """Return the indices of the images in each test batch.

    Args:
        labels: Labels of the test images.
        batches: A value of :data:`BATCHES`.
    """
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    if batches != "class":
        return list(order.split({"many": 64, "few": 4}[batches]))
    return [part for k in range(CLASSES) for part in order[labels[order] == k].split(64)]


@cache
def errors(shift: str, batches: str) -> dict[str, np.ndarray]:
    """Return the test errors at each of :data:`STRENGTHS`, for each of :data:`LINES`.

    Args:
        shift: A value of :data:`SHIFTS`.
        batches: A value of :data:`BATCHES`.
    """
    pixels, labels = digits()
    models, x, y = trained(), pixels[1::2], labels[1::2]
    parts = split(y, batches)
    results: dict[str, list[float]] = {name: [] for name in LINES}
    for strength in STRENGTHS:
        images = shifted(x, shift, strength)
        for name, measured in results.items():
            model = models["batch" if name == "running" else name].eval()
            norms = [m for m in model.modules() if isinstance(m, nn.BatchNorm1d)]
            for norm in norms:  # a norm without running statistics uses those of the batch
                norm.train(name == "batch").track_running_stats = name != "batch"
            together = parts if name == "batch" else [torch.arange(len(y))]
            with torch.no_grad():
                wrong = sum((model(images[i]).argmax(1) != y[i]).sum().item() for i in together)
            measured.append(wrong / len(y))
            for norm in norms:
                norm.eval().track_running_stats = True
    return {name: np.array(measured) for name, measured in results.items()}


def draw(shift: str, batches: str) -> go.Figure:
    """Draw the test error over the amount of the shift."""
    amount, title = AMOUNTS[shift]
    figure = go.Figure()
    for name, values in errors(shift, batches).items():
        add_line(
            figure,
            [round(amount(s), 2) for s in STRENGTHS],
            [round(100 * v, 1) for v in values],
            LINES[name],
            "%{x}: %{y}%",
            size=8,
        )
    ends = [amount(0), amount(1)]
    margin = 0.04 * (ends[1] - ends[0])
    figure.update_layout(
        title="Test error under a shift",
        height=400,
        xaxis={"title": title, "range": [ends[0] - margin, ends[1] + margin], "zeroline": False},
        yaxis={"title": "test error (%)", "range": [0, 105]},  # the legend is above 100
    )
    return figure


def describe(shift: str, batches: str) -> str:
    """Describe the errors without the shift and with the strongest one."""
    result = errors(shift, batches)
    size = {
        "many": "batches of 64 images",
        "few": "batches of 4 images",
        "class": "batches of one class",
    }
    amount = AMOUNTS[shift][0](1)
    strongest = {
        "contrast": f"a contrast of {amount:.1f}",
        "brightness": f"a brightness of +{amount:g}",
        "blur": "full blur",
        "noise": f"noise of standard deviation {amount:g}",
    }[shift]
    first, last = ({name: f"{v[k]:.0%}" for name, v in result.items()} for k in (0, -1))
    text = partial(
        "batch norm {running} with running statistics, {batch} with those of the test batch; "
        "layer norm {layer}, and {image} with an additional one on the image".format
    )
    return (
        f"Test error with {size[batches]} and {strongest}: {text(**last)}. "
        f"Without a shift: {', '.join(first.values())}, in the same order."
    )


ERRORS = Picture(
    draw,
    describe,
    alt="Four lines: the test error over the amount of a shift of the test images. With batch norm "
    "and running statistics, the error rises steeply. With batch norm and the statistics of the "
    "test batch, it stays low under changes of brightness and contrast if batches are large and "
    "mixed, and is high at every amount if they are small or contain a single class. With layer "
    "norm, it usually lies between. With one more layer norm on the image, the line stays flat "
    "under changes of brightness and contrast.",
)
