import gzip
import zlib

import numpy as np
import pytest

from lnlab.datasets import Dataset, fashion_mnist, fashion_small, load, mnist
from tests.lnlab.datasets.test_mnist import contents  # noqa: F401


def test_files_are_verified_as_the_publisher_compressed_them(tmp_path, register, contents):  # noqa: F811
    for file, content in zip(mnist.FILES, contents, strict=True):
        register(f"fashion_mnist/{file}.gz", gzip.compress(content, mtime=0))
        (tmp_path / f"{file}.gz").write_bytes(gzip.compress(content, mtime=0))
    loaded = fashion_mnist.load(tmp_path)
    assert (loaded.name, loaded.y_test.tolist()) == ("fashion_mnist", [7, 2, 1, 0])
    # The same content with another compression.
    (tmp_path / f"{mnist.FILES[2]}.gz").write_bytes(gzip.compress(contents[2], 1))
    with pytest.raises(ValueError, match=f"{mnist.FILES[2]}.gz: SHA-256"):
        fashion_mnist.load(tmp_path)


def test_the_small_set_is_selected_from_the_whole_in_the_order_of_its_list():
    pixels = np.random.default_rng(3).integers(0, 256, (9, 784), dtype=np.uint8)
    x, y = (pixels / np.float32(255)).astype(np.float32), np.arange(9)
    whole = Dataset("fashion_mnist", x[:6], y[:6], x[6:], y[6:], "0" * 64)
    sums = [np.array([zlib.crc32(pixels[n]) for n in chosen]) for chosen in ([4, 0, 3], [8, 6])]
    parts = fashion_small.select(whole, sums)
    np.testing.assert_array_equal(parts[0], pixels[[4, 0, 3]])
    assert [part.tolist() for part in parts[1::2]] == [[4, 0, 3], [8, 6]]
    # One image of the test set is not among the training images.
    with pytest.raises(ValueError, match=r"fashion_small: .* 1 of 1 are not"):
        fashion_small.select(whole, [sums[1][:1], sums[1]])


@pytest.mark.needs_data("fashion_small")
def test_the_list_names_the_images_of_the_small_set(monkeypatch):
    small = load("fashion_small")
    assert np.bincount(small.y_train).tolist() == [800] * 10
    assert np.bincount(small.y_test).tolist() == [200] * 10
    monkeypatch.delenv("LNLIB_DATA")
    monkeypatch.setattr(fashion_small.fetch, "find", lambda *_: None)
    monkeypatch.setattr(fashion_mnist, "load", lambda _: small)
    assert fashion_small.load().sha256 == small.sha256
    monkeypatch.setattr(fashion_small, "read_checksums", lambda: [part[::-1] for part in LISTED])
    with pytest.raises(ValueError, match=r"fashion_small: SHA-256 of images and labels"):
        fashion_small.load()


LISTED = fashion_small.read_checksums()
