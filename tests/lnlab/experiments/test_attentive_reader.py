"""The attentive reader: parts by plain loops, batch norm by NumPy's cells, what settings do."""

import math

import numpy as np
import pytest
import torch

from lnlab.datasets.bible_cloze import BLANK, ENTITIES
from lnlab.experiments.attentive_reader import Settings
from lnlab.experiments.attentive_reader import model as models
from lnlab.experiments.attentive_reader import run as reading
from lnlab.experiments.attentive_reader.model import BatchNormLSTM, Texts
from lnlab.experiments.attentive_reader.run import AttentiveReaderRun
from lnlab.training import train
from lnlib import cells

SMALL = {"hidden": 4, "word_size": 5, "batch_size": 6, "epochs": 1, "first_epoch_points": 2,
         "learning_rate": 0.02, "min_count": 2, "attention_examples": 2}  # fmt: skip
OPTIONS = {"bilinear": True, "skip_mean": True, "learned_initial_state": True}


def drawn(module, seed=0):
    """Give all parameters values that are not their defaults, gains and biases too."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(-1, 1, generator=generator)
    return module


def by_numpy(lstm, x, statistics, *, training):
    """Take NumPy's cell a step at a time."""
    p = {n: v.detach().numpy() for n, v in lstm.named_parameters()}
    params = {"W_ih": p["weight_ih_l0"], "W_hh": p["weight_hh_l0"], "b": p["bias_l0"],
              "gain_i": p["gain_i"], "gain_h": p["gain_h"], "gain_c": p["gain_c"],
              "bias_c": p["bias_c"]}  # fmt: skip
    h = c = np.zeros((x.shape[1], lstm.hidden_size))
    outputs = []
    for t, x_t in enumerate(x.numpy()):
        at = statistics.at(t, training=training)
        h, c = cells.lstm_step(x_t, (h, c), params, form="batch", batch_norm=at)
        outputs.append(h)
    return np.stack(outputs)


def alive(steps, lengths):
    return torch.from_numpy(np.arange(steps)[:, None] < lengths)


def test_recurrent_batch_norm_is_that_of_the_cells_in_training_and_beyond_the_last_step(double):
    lstm = drawn(BatchNormLSTM(3, 4, 5, momentum=0.3))
    statistics = cells.RecurrentBatchNorm(momentum=0.3)
    generator = torch.Generator().manual_seed(1)
    for steps in (4, 5, 2):
        x = torch.randn(steps, 6, 3, generator=generator)
        result = lstm(x, alive(steps, np.full(6, steps))).detach().numpy()
        expected = by_numpy(lstm, x, statistics, training=True)
        np.testing.assert_allclose(result, expected, atol=1e-12)
    assert int(lstm.known) == statistics.steps == 5
    lstm.eval()
    x = torch.randn(8, 2, 3, generator=generator)
    result = lstm(x, alive(8, np.array([8, 8]))).detach().numpy()
    expected = by_numpy(lstm, x, statistics, training=False)
    np.testing.assert_allclose(result, expected, atol=1e-12)


def test_a_sequence_that_has_ended_keeps_its_state_and_stays_in_the_statistics(double):
    lstm = drawn(BatchNormLSTM(3, 4, 5))
    x, lengths = torch.randn(5, 4, 3, generator=torch.Generator().manual_seed(2)), [5, 2, 4, 3]
    result = lstm(x, alive(5, np.array(lengths))).detach()
    for b, length in enumerate(lengths):
        assert torch.equal(result[length - 1 :, b], result[length - 1, b].expand(6 - length, 4))
    # c is normalized after it was kept: the last step by hand.
    p = dict(lstm.named_parameters())
    h = c = torch.zeros(4, 4)
    for t in range(5):

        def normal(v, gain):
            return gain * (v - v.mean(0)) / (v.var(0, unbiased=False) + 1e-5).sqrt()

        gates = normal(x[t] @ p["weight_ih_l0"].T, p["gain_i"]) + p["bias_l0"]
        i, f, g, o = (gates + normal(h @ p["weight_hh_l0"].T, p["gain_h"])).chunk(4, 1)
        on = torch.tensor([t < length for length in lengths])[:, None]
        c = torch.where(on, f.sigmoid() * c + i.sigmoid() * g.tanh(), c)
        new = o.sigmoid() * (normal(c, p["gain_c"]) + p["bias_c"]).tanh()
        h = torch.where(on, new, h)
    torch.testing.assert_close(result[-1], h.detach())


def texts(*lengths, words=9, seed=0):
    """Texts of words from 1, what is behind an end another word."""
    rng = np.random.default_rng(seed)
    result = torch.from_numpy(rng.integers(1, words, (max(lengths), len(lengths))))
    return Texts(result, torch.tensor(lengths))


def read_by_hand(model, passage, query):
    """Return logits and attention for one question, by loops."""
    p = {name: value.detach() for name, value in model.named_parameters()}

    def outputs(encoder, words):
        results = []
        for k, lstm in enumerate(encoder.directions):
            read = words[::-1] if k else words
            state = None
            if encoder.h0:
                state = encoder.h0[k].detach()[None, None], torch.zeros(1, 1, lstm.hidden_size)
            output = lstm(p["words.weight"][torch.tensor(read)][:, None], state)[0][:, 0]
            results.append(output.flip(0) if k else output)
        return torch.cat(results, 1)

    y, ends = outputs(model.passage, passage), outputs(model.query, query)
    H = model.passage.directions[0].hidden_size
    u = torch.cat([ends[-1, :H], ends[0, H:]])
    scores = []
    for y_t in y:
        m = p["W_ym.weight"] @ y_t + p["W_um.weight"] @ u + p["W_ym.bias"]
        if "W_dq.weight" in p:
            m = m + float((p["W_dq.weight"] @ y_t) @ (p["W_dq.weight"] @ u))
        m = torch.tanh(m)
        scores.append(float(p["w_ms.weight"][0] @ m))
    shares = [math.exp(s) / sum(math.exp(s) for s in scores) for s in scores]
    r = sum(s * y_t for s, y_t in zip(shares, y, strict=True))
    g = p["W_rg.weight"] @ r + p["W_ug.weight"] @ u + p["W_rg.bias"]
    if "W_md.weight" in p:
        g = g + p["W_md.weight"] @ (sum(y) / len(y))
    g = torch.tanh(g)
    return p["W_a.weight"] @ g + p["W_a.bias"], torch.tensor(shares)


@pytest.mark.parametrize("norm", ["none", "layer"])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("options", [{}, OPTIONS], ids=["plain", "released"])
def test_the_reader_is_its_equations_whatever_it_is_padded_with(
    norm, bidirectional, options, double
):
    settings = Settings(**SMALL | {"norm": norm, "bidirectional": bidirectional} | options)
    model = drawn(models.Reader(settings, 10, 3, (7, 4)))
    passage, query = texts(7, 4, 5), texts(2, 4, 3, seed=1)
    present = torch.tensor([[True, True, False], [True, True, True], [False, True, True]])
    with torch.no_grad():
        logits, attention = model(passage, query, present)
        for b in range(3):
            T, Q = int(passage.lengths[b]), int(query.lengths[b])
            expected, shares = read_by_hand(
                model, passage.words[:T, b].tolist(), query.words[:Q, b].tolist()
            )
            torch.testing.assert_close(logits[b][present[b]], expected[present[b]])
            torch.testing.assert_close(attention[:T, b], shares)
            assert not attention[T:, b].any()
            assert torch.isinf(logits[b][~present[b]]).all()


def test_batch_norm_everywhere_is_in_attention_and_answer_too(double):
    chosen = Settings(**SMALL | {"norm": "batch_everywhere"})
    model = drawn(models.Reader(chosen, 10, 12, (7, 4)))
    passage, query = texts(7, 4, 5), texts(2, 4, 3, seed=1)
    present = torch.ones(3, 12, dtype=torch.bool)
    logits, attention = model(passage, query, present)

    def normal(place, v):
        of = model.norms[place]
        rows = v.reshape(-1, v.shape[-1])
        x_hat = (v - rows.mean(0)) / (rows.var(0, unbiased=False) + 1e-5).sqrt()
        return x_hat * of.weight + of.bias

    model.train()
    y, _ = model.passage(model.words(passage.words), passage)
    _, u = model.query(model.words(query.words), query)
    m = torch.tanh(normal("ym", model.W_ym(y)) + normal("um", model.W_um(u)))
    scores = model.w_ms(m)[..., 0]
    for b, T in enumerate((7, 4, 5)):
        torch.testing.assert_close(attention[:T, b], scores[:T, b].softmax(0))
    r = torch.stack([attention[:, b] @ y[:, b] for b in range(3)])
    g = torch.tanh(normal("rg", model.W_rg(r)) + normal("ug", model.W_ug(u)))
    torch.testing.assert_close(logits, model.W_a(g))


def test_words_have_numbers_entities_and_the_blank_first_and_rare_ones_none(cloze):
    numbers = reading.vocabulary(cloze.questions["train"], 2)
    assert [numbers[w] for w in (*ENTITIES, BLANK)] == list(range(1, 14))
    assert set(numbers) - {*ENTITIES, BLANK} == {
        "then", "saw", "met", "fed", "led", "hid", ".", "and", "so", "odd",
    }  # fmt: skip
    few = reading.vocabulary(cloze.questions["train"], 10**6)
    assert set(few) == {*ENTITIES, BLANK}
    one, *_ = cloze.questions["val"]
    coded = reading.encode([one], numbers)
    assert [numbers[w] for w in one.passage] == coded.passage[0].tolist()
    assert coded.answer[0] == ENTITIES.index(one.answer)
    assert 0 in reading.encode([one], few).passage


def test_entities_are_named_anew_and_nothing_else_is(cloze):
    numbers = reading.vocabulary(cloze.questions["train"], 2)
    before = reading.encode(cloze.questions["train"], numbers)
    after = reading.shuffle_entities(before, np.random.default_rng(3))
    names = set()
    for k in range(len(before.answer)):
        old, new = (np.concatenate([x.passage[k], x.query[k]]).tolist() for x in (before, after))
        mapping = dict(zip(old, new, strict=True))
        assert [mapping[w] for w in old] == new
        assert len(set(mapping.values())) == len(mapping)
        assert all(a == b for a, b in mapping.items() if not 1 <= a <= 12)
        assert all(1 <= b <= 12 for a, b in mapping.items() if 1 <= a <= 12)
        assert mapping[1 + before.answer[k]] == 1 + after.answer[k]
        names.add(1 + int(after.answer[k]))
    assert len(names) == 12


def test_another_passage_brings_other_entities_and_hides_none_of_the_questions_own(cloze):
    numbers = reading.vocabulary(cloze.questions["train"], 2)
    before = reading.encode(cloze.questions["train"], numbers)
    after = reading.add_distractors(before, np.random.default_rng(3))
    places = set()
    for k in range(len(before.answer)):
        own = before.passage[k, : before.passage_length[k]].tolist()
        whole = after.passage[k, : after.passage_length[k]].tolist()
        assert not after.passage[k, after.passage_length[k] :].any()
        first = whole[: len(own)] == own
        other = whole[len(own) :] if first else whole[: -len(own)]
        assert first or whole[-len(own) :] == own
        places.add(first)
        mine = {w for w in (*own, *before.query[k].tolist()) if 1 <= w <= 12}
        theirs = {w for w in other if 1 <= w <= 12}
        assert not mine & theirs
        assert theirs
        assert other != own
    assert places == {True, False}
    assert np.array_equal(after.answer, before.answer)
    assert np.array_equal(after.query, before.query)


def test_an_epoch_takes_each_question_once_and_of_like_length_together(cloze):
    run = AttentiveReaderRun(Settings(**SMALL), cloze, seed=3)
    batches = run.order(0)
    assert len(batches) == run.updates_per_epoch == 43 // 6
    assert len({int(k) for rows in batches for k in rows}) == 42
    spread = [np.ptp(run.train.passage_length[rows]) for rows in batches]
    assert max(spread) <= 5
    assert np.ptp(run.train.passage_length) == 10


def test_a_question_has_other_names_in_each_epoch(cloze, monkeypatch):
    run = AttentiveReaderRun(Settings(**SMALL), cloze, seed=0)
    monkeypatch.setattr(run, "order", lambda epoch: [np.arange(6)])  # the same questions
    first, again, other = (next(iter(run.batches(epoch))).answer.tolist() for epoch in (0, 0, 1))
    assert first == again != other


def test_those_who_do_not_read_are_as_wrong_as_by_counting(cloze):
    questions = cloze.questions["train"]
    numbers = reading.vocabulary(questions, 2)
    result = reading.heuristics(reading.encode(questions, numbers))
    right = dict.fromkeys(result, 0.0)
    for question in questions:
        names = [w for w in question.passage if w in ENTITIES]
        left = [w for w in names if w not in question.query]

        def most(of):
            return [w for w in sorted(set(of)) if of.count(w) == max(map(of.count, of))]

        for name, best in {
            "random": sorted(set(names)), "frequent": most(names), "last": names[-1:],
            "frequent_unasked": most(left),
        }.items():  # fmt: skip
            right[name] += (question.answer in best) / len(best)
    for name, share in right.items():
        assert result[name] == pytest.approx(1 - share / len(questions), abs=1e-12)
    assert len({round(v, 6) for v in result.values()}) == 4


NON_DEFAULT = [
    {"norm": "batch"}, {"norm": "none"}, {"norm": "batch_everywhere"}, {"start": "chosen"},
    {"start": "chosen", "input_scale": 1.5}, {"hidden": 3}, {"word_size": 4}, {"word_scale": 0.7},
    {"min_count": 40}, {"bidirectional": True}, {"passages": 2}, {"max_length": 15},
    {"batch_size": 5}, {"learning_rate": 0.1}, {"gain": 0.3}, {"clip": 1e-4}, {"clip": None},
    {"start": "orthogonal_tied"}, {"dropout": 0.5}, {"bilinear": True}, {"skip_mean": True},
    {"learned_initial_state": True},
    {"adam_betas": (0.3, 0.6)}, {"adam_eps": 0.3}, {"eps": 0.2}, {"norm": "batch", "momentum": 0.9},
]  # fmt: skip


def measured(cloze, **changes):
    *_, last = train(
        AttentiveReaderRun(Settings(**SMALL | changes), cloze, seed=3),
        epochs=1,
        first_epoch_points=2,
    )
    return {k: v for k, v in last.items() if k in ("val_nll", "batch_nll")}


def test_each_setting_that_is_not_the_default_gives_another_run(cloze):
    clipped = {"clip": 0.05}  # below the gradients that there are
    results = [measured(cloze, **clipped | changes) for changes in ({}, *NON_DEFAULT)]
    assert len({tuple(one.values()) for one in results}) == len(results)


def test_errors_on_passages_longer_than_those_of_training_are_told_apart(cloze, monkeypatch):
    monkeypatch.setattr(reading, "EVAL_BATCH_SIZE", 5)  # of 12 questions
    run = AttentiveReaderRun(Settings(**SMALL | {"max_length": 15, "norm": "batch"}), cloze, seed=0)
    assert run.longest == 15
    *_, last = train(run, epochs=1, first_epoch_points=1)
    split = run.splits["val"]
    run.model.eval()
    with torch.inference_mode():
        logits = run.model(*reading.batch(split, "cpu")[:3])[0]
    wrong = logits.argmax(1).numpy() != split.answer
    longer = split.passage_length > 15
    assert 0 < longer.sum() < len(longer)
    assert last["val_longer_error"] == pytest.approx(wrong[longer].mean())
    assert last["val_error"] == pytest.approx(wrong.mean())
    nll = torch.nn.functional.cross_entropy(logits, torch.from_numpy(split.answer))
    assert last["val_nll"] == pytest.approx(float(nll))
    assert int(run.model.passage.directions[0].known) == 15


def test_attention_examples_keep_attention_answers_and_what_is_read(cloze):
    run = AttentiveReaderRun(Settings(**SMALL), cloze, seed=0)
    run.model.eval()
    with torch.inference_mode():
        results = run.measure()
        two = run.splits["val"].take(np.array([0, 6]))
        logits, attention = run.model(*reading.batch(two, "cpu")[:3])
    T = len(attention)
    np.testing.assert_allclose(results["attention"][:, :T], attention.T, atol=1e-3)
    np.testing.assert_allclose(results["chances"], logits.softmax(1), atol=1e-3)
    assert {results[k].dtype for k in ("attention", "chances")} == {np.dtype(np.float16)}
    for row, k in zip(results["text"], (0, 6), strict=True):
        question = cloze.questions["val"][k]
        assert bytes(row[row > 0]).decode().split("\n") == [
            " ".join(question.passage), " ".join(question.query), question.answer, question.verse
        ]  # fmt: skip


# What the reader has of the public code: initialization and dropout.


def test_the_initialization_of_the_public_code_ties_matrices_of_one_shape(cloze):
    given = SMALL | {"norm": "layer", "start": "orthogonal_tied", "word_size": 4}
    model = AttentiveReaderRun(Settings(**given, **OPTIONS), cloze, seed=1).model
    square = model.W_dq.weight
    torch.testing.assert_close(square @ square.T, 0.05**2 * torch.eye(4))
    for encoder in (model.passage, model.query):
        (lstm,) = encoder.directions
        for weights in (lstm.weight_ih_l0, lstm.weight_hh_l0):
            assert torch.equal(weights, square.repeat(4, 1))
        assert not encoder.h0[0].any()
    assert torch.equal(model.W_ym.weight, square)
    for same in (model.W_rg, model.W_ug, model.W_md):
        assert torch.equal(same.weight, model.W_um.weight)
    for weights, bound in (
        (model.W_um.weight, 6 / (4 + 4 + 1)),
        (model.W_a.weight, 6 / (4 + 12 + 1)),
        (model.words.weight, 6 / (24 + 4 + 1)),
        (model.w_ms.weight, 1 / 4),
    ):
        largest = float(weights.detach().abs().max())
        assert 0.6 * math.sqrt(bound) < largest <= math.sqrt(bound)
    other = AttentiveReaderRun(Settings(**given, **OPTIONS), cloze, seed=2).model
    assert not torch.equal(other.W_dq.weight, square)


def test_dropout_leaves_the_mean_and_is_drawn_anew_for_each_batch_but_not_in_measures(cloze):
    x = torch.ones(200, 200)
    dropped = models.dropout(x, 0.75, torch.Generator().manual_seed(0))
    assert set(dropped.unique().tolist()) == {0.0, 4.0}
    assert 0.97 < dropped.mean() < 1.03
    run = AttentiveReaderRun(Settings(**SMALL | {"dropout": 0.5}), cloze, seed=0)
    one, two, *_ = run.batches(0)
    assert one.dropout_seed != two.dropout_seed
    assert [b.dropout_seed for b in run.batches(0)][:2] == [one.dropout_seed, two.dropout_seed]
    same, other = one, one._replace(dropout_seed=two.dropout_seed)
    assert run.loss(same) == run.loss(one) != run.loss(other)
    plain = AttentiveReaderRun(Settings(**SMALL), cloze, seed=0)
    run.model.eval(), plain.model.eval()
    with torch.inference_mode():
        assert run.measure()["val_nll"] == plain.measure()["val_nll"]


def test_both_word_vectors_and_the_vector_before_the_answer_are_dropped(cloze, monkeypatch):
    run = AttentiveReaderRun(Settings(**SMALL | {"dropout": 0.5}), cloze, seed=0)
    dropped = []
    plain = models.dropout
    monkeypatch.setattr(
        models, "dropout", lambda x, *args: dropped.append(tuple(x.shape)) or plain(x, *args)
    )
    batch = next(run.batches(0))
    run.loss(batch)
    T, Q = (len(texts.words) for texts in (batch.passage, batch.query))
    assert dropped == [(T, 6, 5), (Q, 6, 5), (6, 4)]
