"""The two embeddings of section 6.1, how they are ranked, and one run of them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence

from lnlab import run
from lnlab.datasets.coco_val2017_layout import CAPTIONS, Layouts, features
from lnlab.experiments.order_embeddings import CUTS, EXPERIMENT, Settings, updates_per_epoch
from lnlib.nn import LayerNormGRU

SPLITS = ("val", "test")


def words(caption: str) -> list[str]:
    """Return the words of a caption, in small letters and without punctuation.

    Example:
        >>> words("A man's 2 dogs.")
        ['a', "man's", '2', 'dogs']
    """
    return re.findall(r"[a-z0-9']+", caption.lower())


def vocabulary(captions: Sequence[str], least_count: int) -> dict[str, int]:
    """Number the words that come often enough from 1, by the alphabet; 0 is left for all others."""
    counts = Counter(word for caption in captions for word in words(caption))
    often = sorted(word for word, count in counts.items() if count >= least_count)
    return {word: k for k, word in enumerate(often, 1)}


class Embedding(nn.Module):
    """Captions and images as vectors of length 1 without a negative number.

    Args:
        recurrent: Called as ``nn.GRU`` is, on packed sequences.
        words: How many words there are.
        places: How many numbers an image has.
    """

    def __init__(self, recurrent: nn.Module, words: int, places: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, recurrent.input_size)
        self.recurrent = recurrent
        self.image = nn.Linear(places, recurrent.hidden_size)

    def captions(self, captions: Sequence[Tensor]) -> Tensor:
        """Map captions, each the numbers of its words ``(T,)``, to ``(B, H)``: the last states."""
        packed = pack_sequence(captions, enforce_sorted=False)
        _, state = self.recurrent(packed._replace(data=self.words(packed.data)))
        return F.normalize(state[0], dim=1).abs()

    def images(self, images: Tensor) -> Tensor:
        """Map images ``(B, places)`` to ``(B, H)``."""
        return F.normalize(self.image(images), dim=1).abs()


def model(settings: Settings, words: int, places: int, *, generator: torch.Generator) -> Embedding:
    """Build the embedding, with or without layer norm on the same weights.

    They start as in the public code of Vendrov et al.: the GRU's square matrices orthogonal, those
    of its inputs and the word vectors uniform, the image's by its widths, biases 0.

    Args:
        settings: Norm, sizes, start.
        words: How many words there are.
        places: How many numbers an image has.
        generator: Draws the weights, the same for both norms.
    """
    H = settings.hidden
    if settings.norm == "none":
        recurrent = nn.GRU(settings.word_size, H)
    else:
        recurrent = LayerNormGRU(settings.word_size, H, eps=settings.eps, gain=settings.gain)
    built = Embedding(recurrent, words, places)
    bound = math.sqrt(6 / (places + H))
    with torch.no_grad():
        for name, parameter in built.named_parameters():
            if "bias" in name:
                parameter.zero_()
        weight_ih, weight_hh = recurrent.weight_ih_l0, recurrent.weight_hh_l0
        built.words.weight.uniform_(-settings.word_scale, settings.word_scale, generator=generator)
        weight_ih.uniform_(-0.1, 0.1, generator=generator)
        for square in weight_hh.split(H):
            nn.init.orthogonal_(square, generator=generator)
        built.image.weight.uniform_(-bound, bound, generator=generator)
        if settings.norm == "none":
            # PyTorch's z keeps what the paper's z replaces: 1 - s(z) = s(-z). With these signs both
            # networks start as one function but for the norm.
            for weight in (weight_ih, weight_hh):
                weight[H : 2 * H].neg_()
    return built


class _Penalty(torch.autograd.Function):
    """The penalty of all pairs; autograd's own way through it takes four times as long."""

    @staticmethod
    def forward(ctx, captions: Tensor, images: Tensor) -> Tensor:
        above = (captions[:, None] - images).clamp_(min=0)  # (B, N, H)
        ctx.save_for_backward(above)
        return torch.einsum("bnh,bnh->bn", above, above)

    @staticmethod
    def backward(ctx, d: Tensor) -> tuple[Tensor, Tensor]:
        (above,) = ctx.saved_tensors
        captions = torch.einsum("bn,bnh->bh", d, above)
        return 2 * captions, -2 * torch.einsum("bn,bnh->nh", d, above)


def penalty(captions: Tensor, images: Tensor) -> Tensor:
    """Return by how much captions lie above images.

    ::

        E[b, n] = || max(0, captions[b] - images[n]) ||^2

    Args:
        captions: Shape ``(B, H)``.
        images: Shape ``(N, H)``.

    Returns:
        Shape ``(B, N)``.
    """
    return _Penalty.apply(captions, images)


def ranking_loss(penalties: Tensor, margin: float) -> Tensor:
    """Return what a batch's right pairs, on the diagonal, lack of the margin to wrong ones.

    ::

        sum over k and j != k of  max(0, margin + E[k, k] - E[k, j])    wrong images
                                + max(0, margin + E[k, k] - E[j, k])    wrong captions

    divided by the number of pairs.

    Args:
        penalties: E, shape ``(B, B)``: captions, images.
        margin: In the unit of the penalties.
    """
    right = penalties.diagonal()
    images = (margin + right[:, None] - penalties).clamp(min=0)
    captions = (margin + right - penalties).clamp(min=0)
    wrong = ~torch.eye(len(penalties), dtype=torch.bool, device=penalties.device)
    return ((images + captions) * wrong).sum() / len(penalties)


class Ranks(NamedTuple):
    """At which place, from 1, what is right comes: of a tie, the last."""

    image: Tensor  # of each caption
    caption: Tensor  # the best of an image's own


def ranks(penalties: Tensor) -> Ranks:
    """Rank all images for each caption and all captions for each image.

    What is as good as the right one counts as better: a model that cannot tell them apart comes
    last, not first.

    Args:
        penalties: Shape ``(5 N, N)``: the captions of an image lie one below the other.
    """
    count = penalties.shape[1]
    each = len(penalties) // count
    rows = torch.arange(len(penalties), device=penalties.device)
    right = penalties[rows, rows // each]
    image = (penalties <= right[:, None]).sum(1)
    others = penalties.clone()
    others[rows, rows // each] = math.inf
    caption = 1 + (others <= right.view(count, each).amin(1)).sum(0)
    return Ranks(image, caption)


class Split(NamedTuple):
    """Images ``(N, places)``, and five captions of each, one image's after the other's."""

    images: Tensor
    captions: list[Tensor]


class Run(run.Run):
    """One run: one norm, one seed. Feed it to ``train``.

    An epoch takes every caption once, in five rounds: in each an image comes with one of its
    captions, so that a batch has no image twice. Seed and epoch alone say in which order.

    Args:
        settings: What is chosen.
        data: Images with their captions.
        seed: From 0.
        device: Where model and data live.

    Raises:
        ValueError: If there are fewer images for training than ``batch_size`` or for testing than
            ``keep``, or ``seed`` is negative.
    """

    experiment = EXPERIMENT

    def __init__(
        self,
        settings: Settings,
        data: Layouts,
        *,
        seed: int = 0,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__(settings, data, seed=seed, device=device)
        texts = {s: [c for row in data.images[s] for c in row["captions"]] for s in data.images}
        numbers = vocabulary(texts["train"], settings.least_count)
        self.splits = {
            split: Split(
                torch.from_numpy(features(data, split)).to(device),
                [torch.tensor([numbers.get(w, 0) for w in words(t)]).to(device) for t in texts],
            )
            for split, texts in texts.items()
        }
        self.train = self.splits["train"]
        generator = torch.Generator().manual_seed(seed)  # on the CPU: one W for all devices
        places = self.train.images.shape[1]
        self.model = model(settings, 1 + len(numbers), places, generator=generator).to(device)
        self.optimizer = self.adam()

    @classmethod
    def updates(cls, settings: Settings, data: Layouts) -> int:
        """Return the number of updates in an epoch; a last, smaller batch of a round is left out.

        Raises:
            ValueError: If there are fewer images for training than ``batch_size``, or for testing
                than ``keep``.
        """
        if settings.keep and settings.keep > (there := len(data.images["test"])):
            raise ValueError(
                f"Run: keep {settings.keep} needs as many test images, {data.name} gives {there}; "
                "keep fewer"
            )
        images = len(data.images["train"])
        if images < settings.batch_size:
            raise ValueError(
                f"Run: batch_size {settings.batch_size} needs as many training images, "
                f"{data.name} gives {images}; choose a smaller batch_size"
            )
        return updates_per_epoch(images, settings.batch_size)

    @property
    def cases(self) -> dict[str, int]:
        """How many words have a vector, and how many images and captions each split has."""
        counts = {"words": self.model.words.num_embeddings - 1}
        for name, split in self.splits.items():
            counts |= {f"{name}_images": len(split.images), f"{name}_captions": len(split.captions)}
        return counts

    def batches(self, epoch: int) -> Iterator[tuple[list[Tensor], Tensor]]:
        """Yield captions and their images ``(B, places)``."""
        for chosen, which in self.order(epoch):
            captions = [self.train.captions[k] for k in CAPTIONS * chosen + which]
            yield captions, self.train.images[chosen]

    def order(self, epoch: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield which images a batch has, and which caption of each, from 0 to 4."""
        rng = np.random.default_rng([self.seed, epoch])
        images, size = len(self.train.images), self.settings.batch_size
        of_round = rng.permuted(np.tile(np.arange(CAPTIONS), (images, 1)), axis=1)
        for which in of_round.T:
            order = rng.permutation(images)
            for k in range(0, images - size + 1, size):
                chosen = order[k : k + size]
                yield chosen, which[chosen]

    def loss(self, batch: tuple[list[Tensor], Tensor]) -> Tensor:
        """Return the batch's ranking loss."""
        captions, images = batch
        penalties = penalty(self.model.captions(captions), self.model.images(images))
        return ranking_loss(penalties, self.settings.margin)

    def update(self, batch: tuple[list[Tensor], Tensor]) -> Tensor:
        """Take one step of Adam along the gradient, clipped as in the public code of Vendrov et al.

        They clip the gradient of each parameter by itself, and of the sum over the batch's pairs.
        Adam does not see the difference between a sum and a mean; clipping does.
        """
        if self.settings.clip is None:
            return super().update(batch)
        loss = self.loss(batch)
        self.optimizer.zero_grad(set_to_none=False)
        loss.backward()
        for parameter in self.model.parameters():
            nn.utils.clip_grad_norm_([parameter], self.settings.clip / len(batch[0]))
        self.optimizer.step()
        return loss.detach()

    def measure(self) -> dict[str, float | np.ndarray]:
        """Measure how captions find their images and images their captions, in both splits.

        With ``keep`` there is what :meth:`kept` returns, too.
        """
        result = self.kept() if self.settings.keep else {}
        for split in SPLITS:
            for what, places in ranks(self.penalties(split))._asdict().items():
                for cut in CUTS:
                    share = (places <= cut).double().mean()
                    result[f"{split}_{what}_recall_{cut}"] = float(share)
                result[f"{split}_{what}_mean_rank"] = float(places.double().mean())
        return result

    def kept(self) -> dict[str, np.ndarray]:
        """Return what ranks the first ``keep`` test images' first captions by any scene, in 8 bits.

        - ``caption_levels`` times ``caption_scales``, by caption, are the vectors, ``(keep, H)``;
        - ``image_levels`` times ``image_scales``, by row, are the images' weights and, in the last
          column, their biases, ``(H, places + 1)``.
        """
        count = self.settings.keep
        vectors = self.model.captions(self.splits["test"].captions[: CAPTIONS * count : CAPTIONS])
        image = self.model.image
        results = {}
        for name, values, most in (
            ("caption", vectors, 255),
            ("image", torch.cat([image.weight, image.bias[:, None]], dim=1), 127),
        ):
            scales = values.abs().amax(1).clamp(min=1e-12) / most
            levels = (values / scales[:, None]).round().cpu().numpy()
            results[f"{name}_levels"] = levels.astype(np.uint8 if most == 255 else np.int8)
            results[f"{name}_scales"] = scales.cpu().numpy().astype(np.float32)
        return results

    def penalties(self, split: str) -> Tensor:
        """Return the penalty of each caption of a split with each of its images."""
        images, captions = self.splits[split]
        below = self.model.images(images)
        # By length, so that little is packed beside much; few at a time, to stay in the cache.
        order = sorted(range(len(captions)), key=lambda k: len(captions[k]))
        result = torch.empty(len(captions), len(images), device=images.device)
        for part in torch.tensor(order).split(250):
            above = self.model.captions([captions[k] for k in part])
            for rows, few in zip(part.split(8), above.split(8), strict=True):
                result[rows] = penalty(few, below)
        return result
