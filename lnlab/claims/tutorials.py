"""Claims of tutorials about layer norm."""

import numpy as np

from lnlab.analysis import recurrence
from lnlab.claims import at_initialization, computed, feedforward, ten_seeds
from lnlab.claims.feedforward import LANDSCAPE, UNTUNED
from lnlab.claims.finding import Claim, Finding, Records
from lnlab.claims.trained import RECURRENT

_DIGITS = "8 × 8 digits; three hidden layers of 64; plain SGD at rate 0.1"
_FIGURE_6 = "MNIST; 784-1000-1000-10; Adam at 0.001; the longest runs"
_START = f"a tanh network of {computed.UNITS} units, 10 draws, at initialization"


def padding(records: Records) -> list[Finding]:
    """Compare the states of sequences in a padded batch and alone, with layer and batch norm."""
    results = []
    for form, layer in (("paper", True), ("batch", False)):
        rng = np.random.default_rng(0)
        params = recurrence.orthogonal(8, computed.UNITS, rng)
        x = rng.normal(size=(20, 4, 8))
        whole = recurrence.padded_states(x, [20, 12, 9, 5], params, form=form)
        changes = []
        for k, length in enumerate([20, 12, 9, 5]):
            alone = np.repeat(x[:length, k : k + 1], 2, axis=1)
            if layer:
                alone = alone[:, :1]
            states = recurrence.padded_states(alone, [length] * alone.shape[1], params, form=form)
            changes.append(np.abs(states[:, 0] - whole[:length, k]).max())
        norm = "layer norm" if layer else "batch norm"
        what = f"{norm}: real steps of a padded batch, compared with alone"
        results.append(computed.exact(what, max(changes), counts=layer))
    return results


TUTORIALS = (
    Claim("higher-rates", "tutorials", "enables higher learning rates",
          "The best learning rate is higher with layer norm.",
          "stated without a source", "the learning rate sweeps of this book", "mnist",
          ("landscape", *RECURRENT, "convnet", "sequence"), feedforward.higher_rates),
    Claim("smoother", "tutorials", "smoother optimization landscape",
          "Loss and gradient change less along the gradient with layer norm.",
          "shown for batch norm by Santurkar et al. (2018)", _DIGITS, "", ("landscape",),
          feedforward.landscape(LANDSCAPE),
          "From He initialization, which a network without normalization needs; mean over "
          "training."),
    Claim("less-shift", "tutorials", "reduces internal covariate shift",
          "A layer's gradient changes less when the layers below are updated.",
          "a conjecture of 2015", _DIGITS, "", ("landscape",),
          feedforward.landscape(feedforward.SHIFT)),
    Claim("steady-gradients", "tutorials", "stabilizes gradient flow through time",
          "The norm of a gradient changes less over 50 steps.",
          "stated without a source", _START,
          "recurrent_networks", evaluate=computed.gradients_through_time),
    Claim("any-batch", "tutorials", "works with any batch size",
          "From batches of 128 to 4, results change less than with batch norm.",
          "by definition", "MNIST; 784-1000-1000-10", "mnist", ("mnist",),
          feedforward.robust, UNTUNED),
    Claim("variable-lengths", "tutorials", "handles variable-length sequences naturally",
          "Padding and the other sequences in a batch do not change the real steps of a sequence.",
          "by definition", "a network of 64 units, four lengths", "recurrent_networks",
          evaluate=padding),
    Claim("gains-at-128", "tutorials", "gains in both training loss and test error",
          "With batches of 128, layer norm ends with lower loss and error than no norm and batch "
          "norm.",
          "read off figure 6, which has no network without normalization", _FIGURE_6, "mnist",
          ("mnist",), ten_seeds.figure_6_gains(128), UNTUNED),
    Claim("gains-at-4", "tutorials", "gains in both training loss and test error",
          "With batches of 4, layer norm ends with lower loss and error than no norm and batch "
          "norm.",
          "read off figure 6, which has no network without normalization", _FIGURE_6, "mnist",
          ("mnist",), ten_seeds.figure_6_gains(4),
          f"{UNTUNED} After one epoch at the best of four rates for each, the training NLL is "
          "lower with layer norm than without a norm in 2 of 3 seeds."),
    Claim("minimal-memory", "tutorials", "memory: minimal overhead (just γ and β)",
          "Layer norm keeps nothing in memory except gain and bias.",
          "stated without a source", "counted from the formula of the gradient", "cost",
          evaluate=at_initialization.memory,
          caveat="True at inference; training keeps the input, too."),
    Claim("pre-norm-flow", "tutorials", "pre-norm … enables better gradient flow",
          "With pre-norm, more of the gradient reaches the first block, and its norm changes less.",
          "stated without a source", "blocks of 32 features, random tokens, 10 draws",
          "pre_norm_post_norm", evaluate=at_initialization.gradient_flow,
          caveat="At initialization (Xavier; GPT-2's is a further measurement); “better” is read "
          "in two ways."),
    Claim("deep-transformers", "tutorials", "enables training of very deep transformer models",
          "A transformer of 24 blocks reaches a lower loss with layer norm than without.",
          "stated without a source", "characters of Shakespeare, 64 features, 600 updates",
          "pre_norm_post_norm", ("transformer",), feedforward.deep,
          "Each at the best of the rates and warm-ups at which both were trained. From Xavier "
          "initialization, the loss of 24 blocks without a norm starts far above chance level, so "
          "that is not a fair baseline. From GPT-2's with residual scaling it starts at chance "
          "level and decreases."),
)  # fmt: skip
