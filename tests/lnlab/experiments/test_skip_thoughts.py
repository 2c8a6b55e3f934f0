"""Skip-thoughts: whole runs by hand in float64, evaluation of vectors, recorded maps."""

import itertools
import math
import re

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from lnlab.datasets.gutenberg_prose import Book, Prose
from lnlab.datasets.sentence_tasks import Tasks
from lnlab.experiments.skip_thoughts import SkipThoughtsData, tasks
from lnlab.experiments.skip_thoughts import run as skip
from lnlab.experiments.skip_thoughts.run import Settings, SkipThoughtsRun
from lnlab.training import train
from tests.cases import by_hand
from tests.cases.by_hand import check_run, gru_start, gru_step

SMALL = {"hidden": 5, "word_size": 3, "words": 9, "length": 4, "epochs": 1, "updates_per_epoch": 3,
         "batch_size": 4, "learning_rate": 0.02, "val_sentences": 3, "evaluate_every": None,
         "first_epoch_points": 2}  # fmt: skip


@pytest.fixture(scope="module")
def material():
    return sentences()


def sentences():
    """22 short chapters of random words, the 20th held out, and tasks with the same words."""
    rng = np.random.default_rng(0)
    known = [f"w{k}" for k in range(12)]

    def sentence(most=7):
        return " ".join(rng.choice(known, rng.integers(1, most)).tolist()) + "?"

    chapters = tuple(
        tuple(sentence() for _ in range(rng.integers(3, 6) if k != 19 else 8)) for k in range(22)
    )
    books = (Book("a", "A", chapters[:9]), Book("b", "B", chapters[9:]))
    rows = {name: tuple((k % 2, sentence()) for k in range(40)) for name in ("mr", "cr", "subj")}
    pairs = tuple((int(k < 15), sentence(), sentence()) for k in range(40))
    made = Tasks("sentence_tasks", caption_pairs=pairs, sha256="1" * 64, **rows)
    return SkipThoughtsData(Prose("gutenberg_prose", books, "0" * 64), made)


class ByHand(by_hand.ByHand):
    """Section 6.3 from the equations."""

    def setup(self, data):
        s, H, E = self.s, self.s.hidden, self.s.word_size
        chapters = [[re.findall(r"\w+|\?", text) for text in chapter]
                    for book in data.prose.books for chapter in book.chapters]  # fmt: skip
        held, read = chapters[19::20], [c for k, c in enumerate(chapters) if k % 20 != 19]
        all_words = [word for c in read for text in c for word in text]
        often = sorted(set(all_words), key=lambda w: (-all_words.count(w), w))[: s.words - 2]

        def numbers(words):
            return [*[often.index(w) + 2 if w in often else 1 for w in words][: s.length], 0]

        def triples(chapters):
            return [(numbers(here), numbers(after), numbers(before))
                    for c in chapters
                    for before, here, after in zip(c, c[1:], c[2:], strict=False)]  # fmt: skip

        self.triples, val = triples(read), triples(held)
        every = np.linspace(0, len(val) - 1, min(len(val), s.val_sentences)).astype(int)
        self.val, V = [val[k] for k in every], len(often) + 2
        self.words, self.grus = self.uniform(0.1, V, E), []
        for condition in (0, H, H):
            W = self.uniform(0.1, 3 * H, E + condition * (s.condition == "every"))
            U, W = self.orthogonal(H, 3), W * (20 if s.start == "scaled" else 1)
            self.grus.append([W, U, *gru_start(H, s)])
        self.V, self.c = self.uniform(0.1, V, H), torch.zeros(V)
        self.params = [self.words, self.V, self.c, *(p for gru in self.grus for p in gru)]

    def losses(self, triple):
        here, *around = triple
        h = torch.zeros(self.s.hidden)
        for number in here:
            h = gru_step(self.grus[0], self.words[number], h, self.s)
        v, result = h, []
        for gru, sentence in zip(self.grus[1:], around, strict=True):
            h, x = v, torch.zeros(self.s.word_size)
            for number in sentence:
                condition = torch.cat([x, v]) if self.s.condition == "every" else x
                h = gru_step(gru, condition, h, self.s)
                logits = self.V @ h + self.c
                result.append(logits.logsumexp(0) - logits[number])
                x = self.words[number]
        return result

    def loss(self, triples):
        return torch.stack([loss for t in triples for loss in self.losses(t)]).mean()

    def clip(self, gradients, triples):
        if self.s.clip is None:  # else it clips the gradient of the sum over the words
            return gradients
        count = sum(len(sentence) for triple in triples for sentence in triple[1:])
        longest = self.s.clip / (count * torch.cat([g.flatten() for g in gradients]).norm())
        return [g * min(1.0, longest) for g in gradients]

    @torch.no_grad()
    def values(self):
        return {"val_nll": float(self.loss(self.val))}

    def batches(self):
        for of in itertools.count():
            order = np.random.default_rng([self.seed, of]).permutation(len(self.triples))
            for k in range(0, len(order) - self.s.batch_size + 1, self.s.batch_size):
                yield [self.triples[i] for i in order[k : k + self.s.batch_size]]


NON_DEFAULT = [
    {"norm": "none"}, {"norm": "none", "start": "scaled"}, {"start": "scaled"},
    {"condition": "every"}, {"norm": "none", "condition": "every"}, {"hidden": 4},
    {"word_size": 2}, {"words": 6}, {"length": 2}, {"epochs": 6},  # more than one pass
    {"updates_per_epoch": 4}, {"batch_size": 7}, {"learning_rate": 0.1}, {"gain": -0.3},
    {"adam_betas": (0.3, 0.6)}, {"adam_eps": 0.3}, {"eps": 0.2}, {"val_sentences": 5},
    {"first_epoch_points": 1}, {"clip": 0.3},
]  # fmt: skip


@pytest.mark.parametrize("changes", NON_DEFAULT, ids=str)
def test_settings_with_non_default_values_act_as_defined(changes, material, double, monkeypatch):
    monkeypatch.setattr(skip, "EVAL_BATCH_SIZE", 2)  # the last part is smaller
    check_run(SkipThoughtsRun, ByHand, SMALL, changes, material)


@pytest.mark.parametrize("auc", [False, True], ids=["accuracy", "AUC"])
def test_folds_are_scored_with_regularization_from_their_training_part(auc, monkeypatch):
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], [50, 30])
    x = rng.standard_normal((80, 4)) * [1, 30, 1e-3, 1] + y[:, None] * [1, 20, 0, 0]
    x[:, 3] = 7.0  # with std 0
    monkeypatch.setattr(tasks, "FOLDS", 4)
    splits, fits = [], []
    from sklearn.model_selection import StratifiedKFold

    for rest, held in StratifiedKFold(4, shuffle=True, random_state=0).split(x, y):
        assert not set(rest) & set(held)

        def score(c, a, b):
            mean, dev = x[a].mean(0), np.where(x[a].std(0) > 0, x[a].std(0), 1)
            fit = LogisticRegression(C=c, tol=1e-10).fit((x[a] - mean) / dev, y[a])
            condition = (x[b] - mean) / dev
            if auc:
                return roc_auc_score(y[b], fit.decision_function(condition))
            return fit.score(condition, y[b])

        inner = list(StratifiedKFold(3, shuffle=True, random_state=0).split(rest, y[rest]))
        means = [np.mean([score(c, rest[a], rest[b]) for a, b in inner]) for c in tasks.CS]
        fits.append(score(tasks.CS[int(np.argmax(means))], rest, held))
        splits.append(held)
    assert sorted(np.concatenate(splits)) == list(range(80))
    assert tasks.cross_validate(x, y, auc=auc) == pytest.approx(np.mean(fits), abs=1e-9)


def test_sentence_vectors_do_not_depend_on_the_batch(material):
    made = SkipThoughtsRun(Settings(**SMALL), material, seed=0)
    texts = [row[1] for row in material.tasks.mr]
    with torch.inference_mode():
        together, bags = made.vectors(texts)
        for k in (0, 7, 39):
            one, bag = made.vectors(texts[k : k + 1])
            np.testing.assert_allclose(one[0], together[k], atol=1e-6)
            np.testing.assert_allclose(bag[0], bags[k], atol=1e-6)
        long, cut = made.vectors(["w1 " * 9, "w1 " * 4])[0]
    assert not np.allclose(long, cut)  # more words than `length` are read


def test_vectors_are_evaluated_before_training_and_at_intervals(material, monkeypatch):
    chosen = Settings(**SMALL | {"evaluate_every": 2, "epochs": 4, "first_epoch_points": 1})
    calls = []
    monkeypatch.setattr(
        skip, "cross_validate", lambda x, y, auc: calls.append((x.shape, auc)) or 0.25
    )
    points = list(train(SkipThoughtsRun(chosen, material, seed=0), epochs=4, first_epoch_points=1))
    for name in ("mr", "bag_caption_pairs"):
        assert [p[name] for p in points] == pytest.approx(
            [0.25, math.nan, 0.25, math.nan, 0.25], nan_ok=True
        )
    three = [((40, 5), False), ((40, 3), False)] * 3
    assert calls == ([*three, ((40, 10), True), ((40, 6), True)]) * 3
    assert math.isnan(points[0]["update_ms"])
    assert all(p["update_ms"] > 0 for p in points[1:])


def test_the_map_contains_principal_components_and_nearest_neighbors(material, monkeypatch):
    monkeypatch.setattr(skip, "SHOWN", 6)
    monkeypatch.setattr(skip, "NEAREST", 3)
    made = SkipThoughtsRun(Settings(**SMALL), material, seed=0)
    short = [f"w{k} w{k + 1} w3 w{(5 * k) % 7}?" for k in range(6)]
    made.numbers = {f"w{k}": k + 1 for k in range(7)} | {"?": 8}
    again, unknown = "W0, w1: w3 w0?", "w1 w2 w3 w9"  # the same words; one unknown word
    made.texts = ["w1?", *short, again, unknown, "w1 " * 30]
    with torch.inference_mode():
        result = made.map()
        states = made.vectors(short)[0].astype(float)
    assert [bytes(row).rstrip(b"\0").decode() for row in result["texts"]] == short
    x = states - states.mean(0)
    values, directions = np.linalg.eigh(x.T @ x)
    share = values[::-1] / values.sum()
    np.testing.assert_allclose(result["explained"], share[:4], atol=1e-3)
    placed = x @ directions[:, :0:-1]
    placed *= np.sign(placed[np.abs(placed).argmax(0), range(4)])
    np.testing.assert_allclose(result["map"], placed, atol=1e-3)
    for k, row in enumerate(result["neighbors"]):
        cosine = [x[k] @ y / np.linalg.norm(x[k]) / np.linalg.norm(y) for y in x]
        order = sorted((j for j in range(6) if j != k), key=lambda j: -cosine[j])
        assert row.tolist() == order[:3]
    assert len(result["neighbors"]) == 6
