import numpy as np
import pytest
from sklearn import datasets

from lnlab.datasets import digits


@pytest.fixture(scope="module")
def loaded():
    return digits.load()


def test_digits_tests_every_fifth_case_of_each_class(loaded):
    # Independent of the sort: walk through the classes and count on from one to the next.
    source = datasets.load_digits()
    count, test = 0, []
    for label in range(10):
        for case in np.flatnonzero(source.target == label):
            if count % 5 == 0:
                test.append(case)
            count += 1
    train = np.setdiff1d(np.arange(len(source.target)), test)
    for x, y, cases in ((loaded.x_train, loaded.y_train, train),
                        (loaded.x_test, loaded.y_test, sorted(test))):  # fmt: skip
        np.testing.assert_array_equal(x * 16, source.data[cases])
        np.testing.assert_array_equal(y, source.target[cases])
        assert (x.dtype, y.dtype) == (np.float32, np.int64)


def test_changed_digits_raise_an_error(monkeypatch):
    x, y = datasets.load_digits(return_X_y=True)
    x[3, 10] += 1
    monkeypatch.setattr(datasets, "load_digits", lambda return_X_y: (x, y))
    with pytest.raises(ValueError, match=r"digits: SHA-256 must be 87ff0c9e.*this scikit-learn"):
        digits.load()
