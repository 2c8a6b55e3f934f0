"""What the attentive reader has of the public code: initialization, dropout, and its other options.

The equations of the options are in ``test_attentive_reader.py``.
"""

import math

import torch

from lnlab.experiments.attentive_reader import Settings
from lnlab.experiments.attentive_reader import model as models
from lnlab.experiments.attentive_reader.run import AttentiveReaderRun
from tests.lnlab.experiments.test_attentive_reader import OPTIONS, SMALL


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
