import gzip
import hashlib
import zlib

import numpy as np
import pytest

from lnlib.data import Dataset, fashion_mnist, fashion_small, load, mnist
from lnlib.data.download import RemoteFile
from tests.data.test_mnist import contents, idx  # noqa: F401


@pytest.fixture
def source(contents):  # noqa: F811
    """Four files like Fashion-MNIST's, known by the sums of their gzipped bytes."""
    files = [
        RemoteFile(
            file.name, len(content), hashlib.sha256(gzip.compress(content)).hexdigest(), packed=True
        )
        for file, content in zip(fashion_mnist._FASHION.files, contents, strict=True)
    ]
    return mnist.Source(("http://127.0.0.1:1/",), tuple(files), "fashion_mnist")


def test_files_are_known_by_the_sums_of_their_gzipped_bytes(tmp_path, contents, source):  # noqa: F811
    for file, content in zip(source.files, contents, strict=True):
        (tmp_path / f"{file.name}.gz").write_bytes(gzip.compress(content))
    _, found = mnist.gather(tmp_path, source)
    assert found == contents
    loaded = mnist.assemble(found, source)
    assert (loaded.name, loaded.y_test.tolist()) == ("fashion_mnist", [7, 2, 1, 0])
    # The same content, packed otherwise.
    (tmp_path / f"{source.files[2].name}.gz").write_bytes(gzip.compress(contents[2], 1))
    with pytest.raises(ValueError, match=r"SHA-256 of the gzipped file must be"):
        mnist.gather(tmp_path, source)


def test_the_small_set_is_picked_from_the_whole_in_the_order_of_its_list():
    pixels = np.random.default_rng(3).integers(0, 256, (9, 784), dtype=np.uint8)
    x, y = (pixels / np.float32(255)).astype(np.float32), np.arange(9)
    whole = Dataset("fashion_mnist", x[:6], y[:6], x[6:], y[6:], "0" * 64)
    sums = [np.array([zlib.crc32(pixels[n]) for n in chosen]) for chosen in ([4, 0, 3], [8, 6])]
    parts = fashion_small._pick(whole, sums)
    np.testing.assert_array_equal(parts[0], pixels[[4, 0, 3]])
    assert [part.tolist() for part in parts[1::2]] == [[4, 0, 3], [8, 6]]
    # One of test is none of training.
    with pytest.raises(ValueError, match=r"fashion_small: .* 1 of 1 are not; fetch fashion_mnist"):
        fashion_small._pick(whole, [sums[1][:1], sums[1]])


@pytest.mark.needs_data("fashion_small")
def test_the_list_names_the_pictures_of_the_small_set():
    small = load("fashion_small")
    assert np.bincount(small.y_train).tolist() == [800] * 10
    assert np.bincount(small.y_test).tolist() == [200] * 10
    parts = fashion_small._pick(small, fashion_small._list())
    assert fashion_small._assemble(parts, small.sha256).sha256 == small.sha256
    parts[1] = parts[1][::-1].copy()
    with pytest.raises(ValueError, match=r"fashion_small: SHA-256 of its pictures and labels"):
        fashion_small._assemble(parts, small.sha256)
