"""The encoder and the two decoders of section 6.3."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_sequence

from lnlab.experiments.skip_thoughts import INPUT_SCALE, Settings
from lnlib.nn import LayerNormGRU

END, UNKNOWN = 0, 1  # of the numbers of words


class SkipThoughts(nn.Module):
    """A GRU that reads a sentence, and two that write the one after it and the one before.

    ::

        v = the encoder's last state
        log p(w_t | w_<t, v) = log_softmax(V h_t + c)[w_t]        h_t of a decoder that starts at v

    Both decoders share the words' vectors and ``V``. Kiros et al. (2015) give ``v`` to each step of
    the decoders too; the code that they published, and the paper ran, does not.

    Args:
        encoder: Called as ``nn.GRU`` is, on packed sequences.
        after: Likewise, of the sentence after it, with as many units.
        before: Likewise, of the sentence before it.
        words: How many words there are, the end of a sentence and the unknown word among them.
    """

    def __init__(self, encoder: nn.Module, after: nn.Module, before: nn.Module, words: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, encoder.input_size)
        self.encoder, self.after, self.before = encoder, after, before
        self.output = nn.Linear(encoder.hidden_size, words)

    def encode(self, sentences: Sequence[Tensor]) -> Tensor:
        """Map sentences, each the numbers of its words ``(T,)``, to vectors ``(B, H)``."""
        packed = pack_sequence(sentences, enforce_sorted=False)
        _, state = self.encoder(packed._replace(data=self.words(packed.data)))
        return state[0]

    def states(self, decoder: nn.Module, vectors: Tensor, target: PackedSequence) -> Tensor:
        """Return a decoder's states before each word of the sentences it is to write, packed."""
        sizes, B = target.batch_sizes.to(vectors.device), len(vectors)
        start = torch.repeat_interleave(sizes.cumsum(0) - sizes, sizes)  # of an element's step
        place = torch.arange(len(start), device=vectors.device)
        # The word before lies as far back as the step before is wide; before the first is nothing.
        back = place[B:] - torch.repeat_interleave(sizes[:-1], sizes[1:])
        x = torch.cat([vectors.new_zeros(B, self.words.embedding_dim),
                       self.words(target.data[back])])  # fmt: skip
        if decoder.input_size > x.shape[1]:  # told the sentence's vector at each step, too
            ordered = vectors[target.sorted_indices]
            x = torch.cat([x, ordered[place - start]], 1)
        out, _ = decoder(target._replace(data=x), vectors[None])
        return out.data

    def forward(
        self, here: Sequence[Tensor], after: Sequence[Tensor], before: Sequence[Tensor]
    ) -> Tensor:
        """Return the mean loss of a word of the sentences around, in nats.

        Args:
            here: Sentences, each the numbers of its words and of the end, ``(T,)``.
            after: The sentence after each.
            before: The sentence before each.
        """
        vectors = self.encode(here)
        targets = [pack_sequence(s, enforce_sorted=False) for s in (after, before)]
        states = torch.cat([
            self.states(decoder, vectors, target)
            for decoder, target in zip((self.after, self.before), targets, strict=True)
        ])  # fmt: skip
        return F.cross_entropy(self.output(states), torch.cat([t.data for t in targets]))


def model(settings: Settings, words: int, *, generator: torch.Generator) -> SkipThoughts:
    """Build the networks, with or without layer norm on the same weights.

    They start as in the public code of Kiros et al.: the GRUs' square matrices orthogonal, all
    others and the words' vectors uniform in +-0.1, biases 0.

    Args:
        settings: Norm, start, sizes.
        words: How many words there are.
        generator: Draws the weights, the same for all norms and starts.
    """
    H, E = settings.hidden, settings.word_size
    told = H if settings.condition == "every" else 0

    def gru(inputs: int) -> nn.Module:
        if settings.norm == "none":
            return nn.GRU(inputs, H)
        return LayerNormGRU(inputs, H, eps=settings.eps, gain=settings.gain)

    built = SkipThoughts(gru(E), gru(E + told), gru(E + told), words)
    with torch.no_grad():
        for name, parameter in built.named_parameters():
            if "bias" in name:
                parameter.zero_()
            elif "weight_hh" in name:
                for square in parameter.split(H):
                    nn.init.orthogonal_(square, generator=generator)
            elif "layernorm" not in name:
                parameter.uniform_(-0.1, 0.1, generator=generator)
        for recurrent in (built.encoder, built.after, built.before):
            if settings.start == "scaled":
                recurrent.weight_ih_l0.mul_(INPUT_SCALE)
            if settings.norm == "none":
                # PyTorch's z keeps what the paper's z replaces: 1 - s(z) = s(-z). With these signs
                # all networks start as one function but for the norm.
                for weight in (recurrent.weight_ih_l0, recurrent.weight_hh_l0):
                    weight[H : 2 * H].neg_()
    return built
