import gzip
import hashlib
import struct

import numpy as np
import pytest

from lnlab.datasets import mnist


def idx(array) -> bytes:
    array = np.asarray(array, dtype=np.uint8)
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


@pytest.fixture
def contents() -> list[bytes]:
    """Return four files like MNIST's, of 6 and 4 images of 3 x 2 pixels."""
    pixels = np.random.default_rng(0).integers(0, 256, (10, 3, 2))
    labels = [5, 0, 4, 1, 9, 2, 7, 2, 1, 0]
    return [idx(part) for part in (pixels[:6], labels[:6], pixels[6:], labels[6:])]


def test_rows_are_pixels_over_255_and_labels_are_classes(tmp_path, serve, register, contents):
    mirror = serve(
        {f"{file}.gz": gzip.compress(c) for file, c in zip(mnist.FILES, contents, strict=True)}
    )
    for file, content in zip(mnist.FILES, contents, strict=True):
        register(f"mnist/{file}", content, f"{mirror.url}{file}.gz")
    loaded = mnist.load(tmp_path)
    assert mirror.requested == [f"{file}.gz" for file in mnist.FILES]
    assert loaded.x_train.shape == (6, 6)
    assert loaded.x_test.shape == (4, 6)
    assert (loaded.x_train.dtype, loaded.y_train.dtype) == (np.float32, np.int64)
    assert loaded.y_train.tolist() == [5, 0, 4, 1, 9, 2]
    assert loaded.y_test.tolist() == [7, 2, 1, 0]
    expected = [np.float32(byte) / np.float32(255) for byte in contents[2][16:]]
    assert loaded.x_test.ravel().tolist() == expected
    assert loaded.sha256 == hashlib.sha256(b"".join(contents)).hexdigest()
