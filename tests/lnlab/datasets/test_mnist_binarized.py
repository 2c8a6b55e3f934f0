"""Binarized MNIST: packing and reading of the original files."""

import hashlib

import numpy as np

from lnlab.datasets import fetch
from lnlab.datasets import mnist_binarized as bits

NAMES = [f"binarized_mnist_{part}.amat" for part in ("train", "valid", "test")]
PIXELS = np.random.default_rng(0).integers(0, 2, (9, 784))


def written(images) -> bytes:
    return "".join(f"{' '.join(map(str, image))}\n" for image in images.tolist()).encode()


def packed() -> bytes:
    """Pack all images by hand."""
    return bytes(
        int("".join(map(str, image[k : k + 8])), 2)
        for image in PIXELS.tolist()
        for k in range(0, 784, 8)
    )


def test_original_files_are_packed_and_read_by_split(tmp_path, register, monkeypatch):
    monkeypatch.setattr(bits, "_ENDS", (5, 6))
    for name, part in zip(NAMES, np.split(PIXELS, (5, 6)), strict=True):
        (tmp_path / name).write_bytes(written(part))
        register(f"{bits.NAME}/{name}", written(part))
    register(f"{bits.NAME}/binarized_mnist.bits", packed())
    result = bits.load(tmp_path)
    assert fetch.find(f"{bits.NAME}/binarized_mnist.bits", tmp_path) == packed()
    assert list(result.images) == ["train", "val", "test"]
    assert all(images.dtype == np.uint8 for images in result.images.values())
    np.testing.assert_array_equal(np.concatenate([*result.images.values()]), PIXELS)
    assert result.sha256 == hashlib.sha256(packed()).hexdigest()
    assert str(result) == "5 train + 1 val + 3 test images of 28 x 28 bits"
