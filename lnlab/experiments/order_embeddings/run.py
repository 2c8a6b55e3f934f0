"""Order embeddings of captions and images (section 6.1), their ranking, and their training."""

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
EVAL_BATCH_SIZE = 250  # captions per batch in the evaluation


def words(caption: str) -> list[str]:
    """Return the words of a caption, in lower case and without punctuation.

    Example:
        >>> words("A man's 2 dogs.")
        ['a', "man's", '2', 'dogs']
    """
    return re.findall(r"[a-z0-9']+", caption.lower())


def vocabulary(captions: Sequence[str], min_count: int) -> dict[str, int]:
    """Return the indices of frequent words, from 1 in alphabetical order; 0 is for all others."""
    counts = Counter(word for caption in captions for word in words(caption))
    frequent = sorted(word for word, count in counts.items() if count >= min_count)
    return {word: k for k, word in enumerate(frequent, 1)}


class Embedding(nn.Module):
    """Map captions and images to non-negative vectors of norm 1.

    Args:
        recurrent: A recurrent network with the interface of ``nn.GRU``, for packed sequences.
        words: Number of words.
        num_features: Number of features of an image.
    """

    def __init__(self, recurrent: nn.Module, words: int, num_features: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, recurrent.input_size)
        self.recurrent = recurrent
        self.image = nn.Linear(num_features, recurrent.hidden_size)

    def captions(self, captions: Sequence[Tensor]) -> Tensor:
        """Map captions, each a tensor of word indices ``(T,)``, to vectors ``(B, H)``."""
        packed = pack_sequence(captions, enforce_sorted=False)
        _, state = self.recurrent(packed._replace(data=self.words(packed.data)))
        return F.normalize(state[0], dim=1).abs()

    def images(self, images: Tensor) -> Tensor:
        """Map images ``(B, num_features)`` to vectors ``(B, H)``."""
        return F.normalize(self.image(images), dim=1).abs()


def model(
    settings: Settings, words: int, num_features: int, *, generator: torch.Generator
) -> Embedding:
    """Build the embedding, with the same initial weights with and without layer norm.

    The initialization is that of the public code of Vendrov et al.: recurrent weights of the GRU
    orthogonal, its input weights and the word vectors uniform, Xavier initialization of the image's
    weights, biases 0.

    Args:
        settings: Norm, sizes and initialization.
        words: Number of words.
        num_features: Number of features of an image.
        generator: Generator for the initial weights.
    """
    H = settings.hidden
    if settings.norm == "none":
        recurrent = nn.GRU(settings.word_size, H)
    else:
        recurrent = LayerNormGRU(settings.word_size, H, eps=settings.eps, gain=settings.gain)
    embedding = Embedding(recurrent, words, num_features)
    bound = math.sqrt(6 / (num_features + H))
    with torch.no_grad():
        for name, parameter in embedding.named_parameters():
            if "bias" in name:
                parameter.zero_()
        weight_ih, weight_hh = recurrent.weight_ih_l0, recurrent.weight_hh_l0
        embedding.words.weight.uniform_(
            -settings.word_scale, settings.word_scale, generator=generator
        )
        weight_ih.uniform_(-0.1, 0.1, generator=generator)
        for square in weight_hh.split(H):
            nn.init.orthogonal_(square, generator=generator)
        embedding.image.weight.uniform_(-bound, bound, generator=generator)
        if settings.norm == "none":
            # PyTorch's z is 1 - z of the paper, and 1 - s(z) = s(-z). With these signs both
            # networks are the same function initially, except for the norm.
            for weight in (weight_ih, weight_hh):
                weight[H : 2 * H].neg_()
    return embedding


class _Penalty(torch.autograd.Function):
    """The penalty of all pairs, with a backward pass four times as fast as autograd's."""

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
    """Return the order violation of all pairs of captions and images.

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
    """Return the margin ranking loss of a batch whose matching pairs are on the diagonal.

    ::

        sum over k and j != k of  max(0, margin + E[k, k] - E[k, j])    wrong images
                                + max(0, margin + E[k, k] - E[j, k])    wrong captions

    divided by the number of pairs.

    Args:
        penalties: E, shape ``(B, B)``, captions by images.
        margin: Margin in the unit of the penalties.
    """
    matching = penalties.diagonal()
    images = (margin + matching[:, None] - penalties).clamp(min=0)
    captions = (margin + matching - penalties).clamp(min=0)
    off_diagonal = ~torch.eye(len(penalties), dtype=torch.bool, device=penalties.device)
    return ((images + captions) * off_diagonal).sum() / len(penalties)


class Ranks(NamedTuple):
    """Ranks of the correct images and captions, from 1; ties count against them."""

    image: Tensor  # rank of the image, for each caption
    caption: Tensor  # best rank of the image's own captions, for each image


def ranks(penalties: Tensor) -> Ranks:
    """Rank all images for each caption and all captions for each image.

    Ties count as worse: a model with constant output ranks the correct item last.

    Args:
        penalties: Shape ``(5 N, N)``; the captions of an image are consecutive rows.
    """
    count = penalties.shape[1]
    captions_per_image = len(penalties) // count
    rows = torch.arange(len(penalties), device=penalties.device)
    matching = penalties[rows, rows // captions_per_image]
    image = (penalties <= matching[:, None]).sum(1)
    others = penalties.clone()
    others[rows, rows // captions_per_image] = math.inf
    caption = 1 + (others <= matching.view(count, captions_per_image).amin(1)).sum(0)
    return Ranks(image, caption)


class Split(NamedTuple):
    """Images ``(N, num_features)`` and their captions, five consecutive ones per image."""

    images: Tensor
    captions: list[Tensor]


class OrderEmbeddingsRun(run.Run):
    """Training of order embeddings, with one seed.

    An epoch has every caption once, in five rounds: in each, every image occurs with one of its
    captions, so that a batch has no image twice. The order depends only on the seed and the epoch.

    Args: as :class:`lnlab.run.Run`.

    Raises:
        ValueError: If there are fewer images for training than ``batch_size`` or for testing than
            ``keep``, or ``seed`` is negative.
    """

    experiment = EXPERIMENT

    def setup(self, data: Layouts) -> None:
        """Encode the images and captions, and build the model and its optimizer."""
        texts = {s: [c for row in data.images[s] for c in row["captions"]] for s in data.images}
        numbers = vocabulary(texts["train"], self.settings.min_count)

        def encode(text: str) -> Tensor:
            return torch.tensor([numbers.get(word, 0) for word in words(text)], device=self.device)

        self.splits = {
            split: Split(
                torch.from_numpy(features(data, split)).to(self.device), [*map(encode, captions)]
            )
            for split, captions in texts.items()
        }
        self.train = self.splits["train"]
        sizes = 1 + len(numbers), self.train.images.shape[1]
        self.model = model(self.settings, *sizes, generator=self.generator()).to(self.device)
        self.optimizer = self.adam()

    @classmethod
    def updates(cls, settings: Settings, data: Layouts) -> int:
        """Return the number of updates per epoch; a last, smaller batch of a round is dropped.

        Raises:
            ValueError: If there are fewer images for training than ``batch_size``, or for testing
                than ``keep``.
        """
        images = len(data.images["train"])
        cls.check_enough(settings, "keep", len(data.images["test"]), "test images", data)
        cls.check_enough(settings, "batch_size", images, "training images", data)
        return updates_per_epoch(images, settings.batch_size)

    @property
    def cases(self) -> dict[str, int]:
        """Number of words in the vocabulary, and of images and captions of each split."""
        counts = {"words": self.model.words.num_embeddings - 1}
        for name, split in self.splits.items():
            counts |= {f"{name}_images": len(split.images), f"{name}_captions": len(split.captions)}
        return counts

    def batches(self, epoch: int) -> Iterator[tuple[list[Tensor], Tensor]]:
        """Yield captions and their images ``(B, num_features)``."""
        for chosen, which in self.order(epoch):
            captions = [self.train.captions[k] for k in CAPTIONS * chosen + which]
            yield captions, self.train.images[chosen]

    def order(self, epoch: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the image indices of each batch, and the index of a caption of each, 0 to 4."""
        rng = np.random.default_rng([self.seed, epoch])
        images, size = len(self.train.images), self.settings.batch_size
        rounds = rng.permuted(np.tile(np.arange(CAPTIONS), (images, 1)), axis=1)
        for which in rounds.T:
            order = rng.permutation(images)
            for k in range(0, images - size + 1, size):
                chosen = order[k : k + size]
                yield chosen, which[chosen]

    def loss(self, batch: tuple[list[Tensor], Tensor]) -> Tensor:
        """Return the ranking loss of a batch."""
        captions, images = batch
        penalties = penalty(self.model.captions(captions), self.model.images(images))
        return ranking_loss(penalties, self.settings.margin)

    def clip(self, batch: tuple[list[Tensor], Tensor]) -> None:
        """Clip the gradient of each parameter separately, as in the code of Vendrov et al.

        Their loss is the sum over the pairs of a batch. The loss here is the mean, so the threshold
        is divided by the batch size.
        """
        for parameter in self.model.parameters() if self.settings.clip is not None else ():
            nn.utils.clip_grad_norm_([parameter], self.settings.clip / len(batch[0]))

    def measure(self) -> dict[str, float | np.ndarray]:
        """Measure recalls and mean ranks of image and caption retrieval for both splits.

        With ``keep``, the result includes :meth:`quantized`.
        """
        result = self.quantized() if self.settings.keep else {}
        for split in SPLITS:
            for what, rank in ranks(self.penalties(split))._asdict().items():
                for cut in CUTS:
                    recall = (rank <= cut).double().mean()
                    result[f"{split}_{what}_recall_{cut}"] = float(recall)
                result[f"{split}_{what}_mean_rank"] = float(rank.double().mean())
        return result

    def quantized(self) -> dict[str, np.ndarray]:
        """Return caption vectors and image weights in 8 bits, to rank captions for any scene.

        - ``caption_levels`` times ``caption_scales``, by row, are the vectors of the first captions
          of the first ``keep`` test images, ``(keep, H)``;
        - ``image_levels`` times ``image_scales``, by row, are the weights of the image embedding
          and, in the last column, its biases, ``(H, num_features + 1)``.
        """
        count = self.settings.keep
        vectors = self.model.captions(self.splits["test"].captions[: CAPTIONS * count : CAPTIONS])
        image = self.model.image
        results = {}
        for name, values, max_level in (
            ("caption", vectors, 255),
            ("image", torch.cat([image.weight, image.bias[:, None]], dim=1), 127),
        ):
            scales = values.abs().amax(1).clamp(min=1e-12) / max_level
            levels = (values / scales[:, None]).round().cpu().numpy()
            results[f"{name}_levels"] = levels.astype(np.uint8 if max_level == 255 else np.int8)
            results[f"{name}_scales"] = scales.cpu().numpy().astype(np.float32)
        return results

    def penalties(self, split: str) -> Tensor:
        """Return the penalties of all captions and images of a split."""
        images, captions = self.splits[split]
        image_vectors = self.model.images(images)
        # Sorted by length for less padding; few at a time, so that they fit into the cache.
        order = sorted(range(len(captions)), key=lambda k: len(captions[k]))
        result = torch.empty(len(captions), len(images), device=images.device)
        for part in torch.tensor(order).split(EVAL_BATCH_SIZE):
            vectors = self.model.captions([captions[k] for k in part])
            for rows, few in zip(part.split(8), vectors.split(8), strict=True):
                result[rows] = penalty(few, image_vectors)
        return result
