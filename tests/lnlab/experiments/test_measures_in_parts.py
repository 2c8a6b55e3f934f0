"""Measures of the transformer that are computed in parts are means over all windows.

Of 21 windows, the last five are a separate part. They contain a character that the training text
lacks, so that the mean of the means of the parts is a different number.
"""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lnlab import experiments
from lnlab.datasets import Text
from lnlab.experiments.transformer import ABLATIONS
from lnlab.experiments.transformer.ablation import ablated, deviations
from tests.cases.parameters import perturb


def test_a_loss_computed_in_parts_is_the_mean_over_all_windows():
    train = "".join(np.random.default_rng(3).choice(list("abcd"), 400))
    text = Text("made up", train, train[:155] + 50 * "z", "0" * 64)
    experiment = experiments.find("transformer")
    settings = experiment.settings(depth=1, width=8, heads=2, length=5, windows=21, ablate=True)
    run = experiment.run_class(settings, text)
    perturb(run.model, 0.5, seed=1)
    run.model.eval()
    with torch.inference_mode():
        values = run.measure()
    with torch.no_grad():
        frozen = deviations(run.model, run.even_windows(run.train, 64)[:, :-1])
        # In 16 bits, a single window is rounded differently than in a batch.
        exact = [name for name in ABLATIONS if "float16" not in name]
        models = {f"nll_{name}": ablated(run.model, name, frozen) for name in exact}
        for name, model in {"val_nll": run.model, **models}.items():
            losses = [float(F.cross_entropy(model(w[None, :-1])[0], w[1:])) for w in run.windows]
            assert values[name] == pytest.approx(np.mean(losses), rel=1e-5), name
            of_parts = np.mean([np.mean(losses[:16]), np.mean(losses[16:])])
            assert values[name] != pytest.approx(of_parts, rel=1e-3), name
