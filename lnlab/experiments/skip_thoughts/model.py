"""The encoder and the two decoders of skip-thoughts (section 6.3)."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_sequence

from lnlab.experiments.skip_thoughts import INPUT_SCALE, Settings
from lnlib.nn import LayerNormGRU

END, UNKNOWN = 0, 1  # word indices


class SkipThoughts(nn.Module):
    """A GRU that encodes a sentence, and two that decode the next and the previous sentence.

    ::

        v = last state of the encoder
        log p(w_t | w_<t, v) = log_softmax(V h_t + c)[w_t]     h_t: states of a decoder, from v

    Both decoders share the word vectors and ``V``. In Kiros et al. (2015), ``v`` is also an input
    of each step of the decoders; in their public code, which the paper ran, it is not.

    Args:
        encoder: A recurrent network with the interface of ``nn.GRU``, for packed sequences.
        after: The decoder of the next sentence, with as many units.
        before: The decoder of the previous sentence.
        words: Number of words, including the end of a sentence and the unknown word.
    """

    def __init__(self, encoder: nn.Module, after: nn.Module, before: nn.Module, words: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, encoder.input_size)
        self.encoder, self.after, self.before = encoder, after, before
        self.output = nn.Linear(encoder.hidden_size, words)

    def encode(self, sentences: Sequence[Tensor]) -> Tensor:
        """Map sentences, each a tensor of word indices ``(T,)``, to vectors ``(B, H)``."""
        packed = pack_sequence(sentences, enforce_sorted=False)
        _, state = self.encoder(packed._replace(data=self.words(packed.data)))
        return state[0]

    def states(self, decoder: nn.Module, vectors: Tensor, target: PackedSequence) -> Tensor:
        """Return the packed states of a decoder before each word of the target sentences."""
        sizes, B = target.batch_sizes.to(vectors.device), len(vectors)
        start = torch.repeat_interleave(sizes.cumsum(0) - sizes, sizes)  # of each element's step
        index = torch.arange(len(start), device=vectors.device)
        # The previous word is as many elements back as the previous step has; the first has none.
        previous = index[B:] - torch.repeat_interleave(sizes[:-1], sizes[1:])
        x = torch.cat([vectors.new_zeros(B, self.words.embedding_dim),
                       self.words(target.data[previous])])  # fmt: skip
        if decoder.input_size > x.shape[1]:  # the sentence vector is also an input of each step
            ordered = vectors[target.sorted_indices]
            x = torch.cat([x, ordered[index - start]], 1)
        out, _ = decoder(target._replace(data=x), vectors[None])
        return out.data

    def forward(
        self, here: Sequence[Tensor], after: Sequence[Tensor], before: Sequence[Tensor]
    ) -> Tensor:
        """Return the mean loss per word of the neighboring sentences, in nats.

        Args:
            here: Sentences, each a tensor of word indices with the end, ``(T,)``.
            after: The sentences after them.
            before: The sentences before them.
        """
        vectors = self.encode(here)
        targets = [pack_sequence(s, enforce_sorted=False) for s in (after, before)]
        states = torch.cat([
            self.states(decoder, vectors, target)
            for decoder, target in zip((self.after, self.before), targets, strict=True)
        ])  # fmt: skip
        return F.cross_entropy(self.output(states), torch.cat([t.data for t in targets]))


def model(settings: Settings, words: int, *, generator: torch.Generator) -> SkipThoughts:
    """Build the networks, with the same initial weights with and without layer norm.

    The initialization is that of the public code of Kiros et al.: recurrent weights orthogonal, all
    other weights and the word vectors uniform in +-0.1, biases 0.

    Args:
        settings: Norm, initialization and sizes.
        words: Number of words.
        generator: Generator for the initial weights.
    """
    H, E = settings.hidden, settings.word_size
    condition_size = H if settings.condition == "every" else 0

    def gru(inputs: int) -> nn.Module:
        if settings.norm == "none":
            return nn.GRU(inputs, H)
        return LayerNormGRU(inputs, H, eps=settings.eps, gain=settings.gain)

    network = SkipThoughts(gru(E), gru(E + condition_size), gru(E + condition_size), words)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "bias" in name:
                parameter.zero_()
            elif "weight_hh" in name:
                for square in parameter.split(H):
                    nn.init.orthogonal_(square, generator=generator)
            elif "layernorm" not in name:
                parameter.uniform_(-0.1, 0.1, generator=generator)
        for recurrent in (network.encoder, network.after, network.before):
            if settings.start == "scaled":
                recurrent.weight_ih_l0.mul_(INPUT_SCALE)
            if settings.norm == "none":
                # PyTorch's z is 1 - z of the paper, and 1 - s(z) = s(-z). With these signs, all
                # networks are the same function initially, except for the norm.
                for weight in (recurrent.weight_ih_l0, recurrent.weight_hh_l0):
                    weight[H : 2 * H].neg_()
    return network
