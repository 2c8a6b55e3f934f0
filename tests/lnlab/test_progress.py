"""The speed that the progress bar shows, with a fake clock."""

import io

import pytest

from lnlab.progress import Progress


@pytest.fixture
def train():
    """Train some updates of so many seconds, some of them in a checkpoint: ``train.bar`` shows."""
    now = [100.0]
    bar = Progress(total=1000, file=io.StringIO(), mininterval=0, disable=False)
    bar._time = lambda: now[0]  # tqdm uses the clock that exists when a bar is created
    bar.start_t = bar.last_print_t = now[0]

    def train(updates, seconds):
        for _ in range(updates):
            now[0] += seconds
            bar.update(1)

    train.bar = bar
    return train


def test_the_rate_excludes_resumed_updates_and_the_first_one_of_each_run(train):
    train.bar.skip(900)
    train(1, 365)  # data and a compiler
    assert "<?," in str(train.bar)
    train(10, 2.0)
    assert train.bar.n == 911
    assert train.bar.format_dict["rate"] == pytest.approx(0.5)
    assert "<02:58," in str(train.bar)  # 89 updates
    train.bar.start_run()
    train(1, 500)
    assert train.bar.format_dict["rate"] == pytest.approx(0.5)
