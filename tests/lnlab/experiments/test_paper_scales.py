"""`--scale paper`: what the authors' code has, as settings of these experiments."""

from lnlab import experiments
from lnlab.experiments.order_embeddings import updates_per_epoch


def at_paper_scale(name):
    experiment = experiments.find(name)
    return experiment.settings_of(experiment.scales["paper"])


def test_order_embeddings_have_the_sizes_rate_clipping_and_updates_of_driver_py():
    assert {s.norm for s in at_paper_scale("order_embeddings")} == {"none", "layer"}
    for s in at_paper_scale("order_embeddings"):
        assert (s.hidden, s.word_size, s.batch_size) == (1024, 300, 128)
        assert (s.learning_rate, s.clip) == (1e-3, 2)
        # 100 passes over 113,287 images, of which a last, smaller batch is left out.
        assert s.epochs * updates_per_epoch(3_952, s.batch_size) == 88_500


def test_skip_thoughts_have_the_sizes_rate_and_clipping_of_train_py_and_a_million_updates():
    for s in at_paper_scale("skip_thoughts"):
        assert (s.hidden, s.word_size, s.words, s.length) == (2400, 620, 20_000, 30)
        assert (s.batch_size, s.learning_rate, s.clip) == (64, 2e-4, 5)
        assert s.epochs * s.updates_an_epoch == 1_000_000
