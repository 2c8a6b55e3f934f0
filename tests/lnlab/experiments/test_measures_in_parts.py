"""A measure computed in parts is the mean over all examples, also where the last part is smaller.

Each experiment evaluates its model on some examples at a time, to save memory or to stay in the
cache. Here every experiment measures more examples than it takes at once. Their losses are computed
again one example at a time, or all at once, and averaged. The last part has losses unlike those of
the others, so that the mean over the parts is another number.
"""

from typing import NamedTuple

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lnlab import experiments
from lnlab.datasets import Dataset, Text
from lnlab.datasets.bible_cloze import Cloze, Question
from lnlab.datasets.coco_val2017_layout import Layouts
from lnlab.datasets.gutenberg_prose import Book, Prose
from lnlab.datasets.mnist_binarized import Binarized
from lnlab.datasets.pen import Line, Lines
from lnlab.datasets.sentence_tasks import Tasks
from lnlab.experiments.attentive_reader.run import batch
from lnlab.experiments.handwriting.model import nll as point_nll
from lnlab.experiments.noise.run import forward
from lnlab.experiments.order_embeddings.run import CUTS
from lnlab.experiments.skip_thoughts import Material
from lnlab.experiments.transformer import ABLATIONS
from lnlab.experiments.transformer.ablation import ablated, deviations
from tests.cases.parameters import perturb


class Measure(NamedTuple):
    """A measure, and what it is the mean of.

    Attributes:
        value: As the experiment measures it.
        sums: The sum of the losses of each example, in the order in which they are evaluated.
        parts: How many examples are evaluated at once.
        counts: How many losses each sum has: of words or points; one by default.
        rel: Relative tolerance.
    """

    value: float
    sums: np.ndarray
    parts: tuple[int, ...]
    counts: np.ndarray | None = None
    rel: float = 1e-5


def run_of(name, data, /, **settings):
    experiment = experiments.find(name)
    return experiment.run_class(experiment.settings(**settings), data)


def measure(run):
    run.model.eval()
    with torch.inference_mode():
        return run.measure()


def losses(logits, labels):
    """Return the negative log likelihood of each label."""
    logits, labels = logits.double().numpy(), np.asarray(labels)
    return np.logaddexp.reduce(logits, 1) - logits[np.arange(len(labels)), labels]


# Classification: the first 2,000 cases have the most probable class, the others the least.


def cases(features):
    rng = np.random.default_rng(2)
    x, y = rng.random((4200, features), np.float32), np.arange(4200) % 10
    return Dataset("made up", x[:2163], y[:2163], x[2163:], y[2163:], "0" * 64)


def classified(name, features=64, splits=("train", "test"), **settings):
    run = run_of(name, cases(features), **settings)
    run.model.eval()
    results = {}
    for split in splits:
        at = {"train": "", "val": "_val", "test": "_test"}[split]
        x, y = getattr(run, f"x{at}"), getattr(run, f"y{at}")
        n = 2037  # of training and of test cases
        with torch.no_grad():
            logits = run.model(x[:n])
        y[:2000], y[2000:n] = logits[:2000].argmax(1), logits[2000:].argmin(1)
        results[f"{split}_nll"] = losses(logits, y[:n])
        if split != "train":
            results[f"{split}_error"] = (logits.argmax(1) != y[:n]).numpy()
    values = measure(run)
    return {name: Measure(values[name], sums, (2000, 37)) for name, sums in results.items()}


def convnet():
    return classified("convnet", 784, ("val", "test"), channels=(2, 2, 2), train_cases=100,
                      val_cases=2037)  # fmt: skip


def landscape():
    return classified("landscape", hidden=(8, 8), measured_cases=2037)


def mnist():
    return classified("mnist", data="digits", hidden=(8, 8), norm="batch")


def sequence():
    return classified("sequence", hidden=6)


def weights():
    return classified("weights", hidden=(8, 8))


def noise():
    """Of batch norm the squared error of each batch's mean, of layer norm each case's std."""
    small = {"data": "digits", "hidden": (8, 8), "gradient_batches": 2}
    result = classified("noise", **small, statistics_cases=400)
    run = run_of("noise", cases(64), **small, statistics_cases=2012)
    inputs = run.x[run._order()[:2012]]
    inputs[2000:] = 5 * inputs[2000:]
    run.x[run._order()[:2012]] = inputs
    with torch.no_grad():
        summed = forward(run.model, inputs, batch_size=4)[1][0].inputs.double().numpy()
    std = np.concatenate(summed).std(0)
    square = (((summed.mean(1) - summed.mean((0, 1))) / std) ** 2).mean(1)
    result["miss_1 squared"] = Measure(measure(run)["miss_1"] ** 2, square, (500, 3), rel=1e-4)
    run = run_of("noise", cases(64), **small, norm="layer", statistics_cases=2037)
    last = run._order()[2000:2037]
    run.x[last] = 5 * run.x[last]
    with torch.no_grad():
        summed = forward(run.model, run.x[run._order()[:2037]])[1][0].inputs.double().numpy()
    std = summed.std(1)
    mean = std[:40].mean() / measure(run)["std_1"].mean()  # by which the 40 stds are divided
    result["mean std of the cases"] = Measure(mean, std, (2000, 37), rel=1e-3)
    return result


# Texts.


def transformer():
    """Of 21 windows the last five have the character that training text lacks."""
    train = "".join(np.random.default_rng(3).choice(list("abcd"), 400))
    text = Text("made up", train, train[:155] + 50 * "z", "0" * 64)
    run = run_of("transformer", text, depth=1, width=8, heads=2, length=5, windows=21, ablate=True)
    perturb(run.model, 0.5, seed=1)
    values, models = measure(run), {"val_nll": run.model}
    with torch.no_grad():
        frozen = deviations(run.model, run.even_windows(run.train, 64)[:, :-1])
    # In 16 bits a window alone is rounded otherwise than among others.
    exact = [name for name in ABLATIONS if "float16" not in name]
    models |= {f"nll_{name}": ablated(run.model, name, frozen) for name in exact}
    results = {}
    for name, model in models.items():
        with torch.no_grad():
            sums = [losses(model(w[None, :-1])[0], w[1:]).sum() for w in run.windows]
        results[name] = Measure(values[name], np.array(sums), (16, 5), np.full(21, 5))
    return results


def skip_thoughts():
    """Of 101 sentences between two others the last 50 are longer, of other words."""
    rng = np.random.default_rng(4)

    def chapter(k):
        known, length = (list("abc"), 2) if k < 52 else (list("def"), 9)
        return " ".join(rng.choice(known, rng.integers(1, length + 1)))

    chapters = [tuple(chapter(k) for k in range(30, 75)) for _ in range(20)]
    chapters[19] = tuple(chapter(k) for k in range(103))
    tasks = Tasks("made up", (), (), (), (), "0" * 64)
    data = Material(Prose("made up", (Book("a", "A", tuple(chapters)),), "0" * 64), tasks)
    run = run_of("skip_thoughts", data, hidden=5, word_size=3, words=8, judge_every=None)
    perturb(run.model, 0.5, seed=1)
    value, sums, counts = measure(run)["val_nll"], [], []
    for k in run.probes:
        total = 0.0
        here, after, before = (run.val[k + far] for far in (0, 1, -1))
        with torch.no_grad():
            vector = run.model.encode([here])
            for decoder, target in ((run.model.after, after), (run.model.before, before)):
                words = run.model.words(target)
                words = torch.cat([torch.zeros_like(words[:1]), words[:-1]])
                states, _ = decoder(words[:, None], vector[None])
                total += losses(run.model.output(states[:, 0]), target).sum()
        sums.append(total)
        counts.append(len(after) + len(before))
    return {"val_nll": Measure(value, np.array(sums), (51, 50), np.array(counts))}


def attentive_reader():
    """The longer half of the questions is answered wrongly."""
    rng = np.random.default_rng(5)

    def question(length):
        passage = [f"@e{k}" for k in rng.integers(0, 6, length)]
        return Question(tuple(passage), ("who", "@blank"), passage[0], "made up 1:1")

    lengths = {"train": rng.integers(2, 9, 40), "val": rng.integers(2, 20, 129),
               "test": rng.integers(2, 20, 131)}  # fmt: skip
    questions = {split: [question(n) for n in each] for split, each in lengths.items()}
    run = run_of("attentive_reader", Cloze("made up", questions, "0" * 64), hidden=4, word_size=3,
                 least_count=1, pictures=0)  # fmt: skip
    perturb(run.model, 0.5, seed=1)
    run.model.eval()
    results = {}
    for split, parts in (("val", (65, 64)), ("test", (66, 65))):
        examples = run.splits[split]
        order = np.argsort(examples.passage_length, kind="stable")
        with torch.no_grad():
            alone = [run.model(*batch(examples.take(order[k : k + 1]), "cpu")[:3])[0]
                     for k in range(len(order))]  # fmt: skip
        logits = torch.cat(alone)
        ranked = logits.masked_fill(logits < -100, 100)  # not of those that no passage names
        labels = logits.argmax(1)
        labels[parts[0] :] = ranked[parts[0] :].argmin(1)
        examples.answer[order] = labels
        wrong = (logits.argmax(1) != labels).numpy().astype(float)
        longer = (examples.passage_length[order] > 8).astype(float)
        results[f"{split}_nll"] = losses(logits, labels), parts, None
        results[f"{split}_error"] = wrong, parts, None
        results[f"{split}_longer_error"] = wrong * longer, parts, longer
    values = measure(run)
    return {name: Measure(values[name], *given) for name, given in results.items()}


# Images and captions, images, handwriting.


def order_embeddings():
    """Of 255 captions the last five, by length, are of one image."""
    rng = np.random.default_rng(6)

    def image(k):
        boxes = [[int(c), *rng.integers(0, 20, 2).tolist(), 30, 30] for c in rng.integers(0, 6, 3)]
        length = rng.integers(2, 5) if k != 20 else 9
        captions = [" ".join(rng.choice(list("abcdefgh"), length)) for _ in range(5)]
        return {"id": k, "w": 60, "h": 60, "boxes": boxes, "captions": captions}

    images = {split: [image(k) for k in range(51)] for split in ("train", "val", "test")}
    data = Layouts("made up", tuple("abcdef"), images, "0" * 64)
    run = run_of("order_embeddings", data, hidden=7, word_size=5, batch_size=8)
    perturb(run.model, 0.5, seed=1)
    values, results = measure(run), {}
    for split in ("val", "test"):
        features, captions = run.splits[split]
        with torch.no_grad():
            below = run.model.images(features).double()
            above = torch.cat([run.model.captions([c]) for c in captions]).double()
        penalties = (above[:, None] - below).clamp(min=0).square().sum(2).numpy()
        order = sorted(range(255), key=lambda k: len(captions[k]))
        places = np.array([(penalties[k] <= penalties[k, k // 5]).sum() for k in order])
        of_images = np.array([
            1 + min((np.delete(penalties[:, n], range(5 * n, 5 * n + 5)) <= right).sum()
                    for right in penalties[5 * n : 5 * n + 5, n])
            for n in range(51)
        ])  # fmt: skip
        for what, ranks, parts in (("image", places, (250, 5)), ("caption", of_images, (51,))):
            results[f"{split}_{what}_mean_rank"] = ranks, parts
            results |= {f"{split}_{what}_recall_{cut}": (ranks <= cut, parts) for cut in CUTS}
    return {name: Measure(values[name], *given) for name, given in results.items()}


def draw():
    """The first 250 images are almost empty, the others full."""
    rng, sizes = np.random.default_rng(7), {"train": 4, "val": 257, "test": 253}
    images = {
        split: (rng.random((n, 784)) < np.where(np.arange(n) < 250, 0.1, 0.9)[:, None])
        for split, n in sizes.items()
    }
    data = Binarized("made up", {k: v.astype(np.uint8) for k, v in images.items()}, "0" * 64)
    run = run_of("draw", data, glimpses=2, hidden=6, latent=3, read_size=2, write_size=3,
                 batch_size=4, images=253, keep=0)  # fmt: skip
    perturb(run.model, 0.3, seed=1)
    with torch.no_grad():
        run.model.look.bias -= 2  # the canvas is dark: a full image has the larger loss
    run.at_end = True
    values, result = measure(run), {}
    for split, name in (("val", "_of_all"), ("test", "_of_all"), ("test", "")):
        pixels = run.images[split].float()
        parts, generator = (250, len(pixels) - 250), torch.Generator().manual_seed(0)
        noise = [torch.randn(2, count, 3, generator=generator) for count in parts]
        with torch.no_grad():
            painted = run.model(pixels, torch.cat(noise, 1))
        logits, kl = painted.canvas.double(), painted.kl.double().numpy()
        missed = (F.softplus(logits) - pixels * logits).sum((1, 2)).numpy()
        result[f"{split}_bound{name}"] = Measure(values[f"{split}_bound{name}"], missed + kl, parts)
        if not name:
            result[f"{split}_kl"] = Measure(values[f"{split}_kl"], kl, parts)
    return result


def handwriting():
    """Of 67 lines the seven longest have the largest offsets; texts of a part differ in length."""
    rng = np.random.default_rng(8)

    def line(k):
        count, points = (rng.integers(3, 6), rng.integers(9, 13)) if k < 60 else (5, 20)
        strokes = rng.normal(size=(points, 3)).astype(np.float32) * (1 + 4 * (k >= 60))
        strokes[:, 2] = np.arange(points) % 4 == 3
        text = "".join(rng.choice(list("ab"), count))
        return Line(text, strokes, "x", np.arange(points) // 4)

    names = ("train", "val_seen", "val_new", "test_new")
    splits = {split: tuple(line(k) for k in range(67)) for split in names}
    run = run_of("handwriting", Lines("made up", splits, 1 / 64, "0" * 64), hidden=6, mixture=3,
                 bells=2, length=20, lines=67)  # fmt: skip
    perturb(run.model, 0.3, seed=1)
    values, result = measure(run), {}
    for split in names[1:]:
        noise, sums = np.random.default_rng(0), []
        pieces = sorted(run.pieces[split], key=lambda piece: len(piece.strokes))
        for piece in pieces:
            alone = run.batch([piece], noise)
            with torch.no_grad():
                texts, phi = run.model(alone.points[:-1], alone.text)
                each = point_nll(texts, alone.points[1:]).double()
            phi = phi[:, 0].double().numpy()
            at = phi @ np.arange(phi.shape[1]) / phi.sum(1).clip(1e-9)
            sums.append([each.sum(), abs(at - piece.characters[1:]).sum()])
        counts = np.array([len(piece.strokes) - 1 for piece in pieces])
        for name, each in zip(("nll", "window_distance"), np.array(sums).T, strict=True):
            result[f"{split}_{name}"] = Measure(values[f"{split}_{name}"], each, (60, 7), counts)
    return result


MEASURES = {
    made.__name__: made
    for made in (
        *(attentive_reader, convnet, draw, handwriting, landscape, mnist, noise, order_embeddings),
        *(sequence, skip_thoughts, transformer, weights),
    )
}


@pytest.mark.parametrize("name", experiments.names())
def test_a_measure_computed_in_parts_is_the_mean_over_all_examples(name):
    for what, (value, sums, parts, counts, rel) in MEASURES[name]().items():
        sums = sums.astype(float)
        counts = np.ones(len(sums)) if counts is None else counts
        assert sum(parts) == len(sums), what
        assert value == pytest.approx(sums.sum() / counts.sum(), rel=rel), what
        if len(parts) > 1:
            starts = [0, *np.cumsum(parts)[:-1]]
            means = np.add.reduceat(sums, starts) / np.add.reduceat(counts, starts)
            assert parts[-1] < parts[0], what
            assert np.mean(means) != pytest.approx(value, rel=5 * rel), what
            if np.ptp(counts):  # nor is it the mean weighted by the numbers of examples
                assert np.average(means, weights=parts) != pytest.approx(value, rel=5 * rel), what
