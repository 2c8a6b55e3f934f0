"""Binarized MNIST: what is packed of the originals, and where it is looked for."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import lzma
import os

import numpy as np
import pooch
import pytest

from lnlib.data import load
from lnlib.data import mnist_binarized as bits
from lnlib.data.download import RemoteFile

NAMES = [file.name for file in bits._LAROCHELLE.originals]
PIXELS = np.random.default_rng(0).integers(0, 2, (9, 784))
COUNTS = (5, 1, 3)


def written(images) -> bytes:
    return "".join(f"{' '.join(map(str, image))}\n" for image in images.tolist()).encode()


TEXTS = [written(part) for part in np.split(PIXELS, np.cumsum(COUNTS)[:-1])]


def packed() -> bytes:
    """Pack all images by hand."""
    return bytes(
        int("".join(map(str, image[k : k + 8])), 2)
        for image in PIXELS.tolist()
        for k in range(0, 784, 8)
    )


def remote(name: str, content: bytes) -> RemoteFile:
    return RemoteFile(name, len(content), hashlib.sha256(content).hexdigest())


@pytest.fixture
def source(serve):
    """Where the made-up originals are served, and how often it was asked for one."""
    mirror = serve("well")
    mirror.bodies = {f"/{name}": text for name, text in zip(NAMES, TEXTS, strict=True)}
    originals = tuple(map(remote, NAMES, TEXTS))
    made = bits._Source(remote("binarized_mnist.bits", packed()), originals, (mirror.url,))
    return made, lambda: len(mirror.asked)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """What stands in for the user's cache."""
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "cache" / project)
    return tmp_path / "cache" / "lnlib" / bits.NAME


def test_eight_pixels_are_packed_into_a_byte():
    assert b"".join(map(bits.pack, TEXTS)) == packed()


@pytest.mark.parametrize(
    "wrong",
    [
        TEXTS[0].replace(b"1", b"2", 1),
        TEXTS[0][:-1],
        TEXTS[0][:-1] + b" ",
        TEXTS[0].replace(b" ", b",", 1),
        TEXTS[0].replace(b" ", b"\n", 1),
        TEXTS[0].replace(b"0 ", b" 0", 1),
    ],
    ids=["a two", "no end", "a blank at the end", "a comma", "a short line", "moved"],
)
def test_what_is_no_text_of_bits_is_refused(wrong):
    with pytest.raises(ValueError, match=r"binary: must be lines of 784 zeros and ones .*; fetch"):
        bits.pack(wrong, "binary")


def test_it_is_read_as_pixels_by_split():
    found = bits._read(packed(), [5, 6, 9])
    assert list(found.images) == ["train", "val", "test"]
    assert all(images.dtype == np.uint8 for images in found.images.values())
    np.testing.assert_array_equal(np.concatenate([*found.images.values()]), PIXELS)
    assert found.sha256 == hashlib.sha256(packed()).hexdigest()
    assert str(found) == "5 train + 1 val + 3 test images of 28 x 28 bits"


def test_the_parts_end_where_the_originals_do(source):
    assert source[0].ends == [5, 6, 9]
    assert bits._LAROCHELLE.ends == [50_000, 60_000, 70_000]
    assert bits._LAROCHELLE.packed.size == 70_000 * 98


def test_the_originals_are_fetched_once_and_packed_in_the_cache(source, cache):
    made, asked = source
    for _ in range(2):
        assert bits._gather(None, made) == (cache, packed())
        assert asked() == 3
    assert gzip.decompress((cache / "binarized_mnist.bits.gz").read_bytes()) == packed()
    assert not list(cache.glob("*.part"))


@pytest.mark.parametrize("cut", [0, 40])
def test_a_damaged_file_in_the_cache_is_packed_again_without_the_net(source, cache, cut):
    made, asked = source
    bits._gather(None, made)
    path = cache / "binarized_mnist.bits.gz"
    path.write_bytes(path.read_bytes()[:-cut] if cut else b"damaged")
    assert bits._gather(None, made) == (cache, packed())
    assert asked() == 3
    assert gzip.decompress(path.read_bytes()) == packed()


def test_a_torn_file_of_the_user_is_named_and_left_alone(source, tmp_path):
    torn = lzma.compress(packed())[:-40]
    (tmp_path / "binarized_mnist.bits.xz").write_bytes(torn)
    with pytest.raises(ValueError, match=r"bits\.xz: must be a whole xz file, but after .*; fetch"):
        bits._gather(tmp_path, source[0])
    assert (tmp_path / "binarized_mnist.bits.xz").read_bytes() == torn
    assert source[1]() == 0


def test_what_is_packed_otherwise_is_refused_and_not_kept(source, cache):
    other = dataclasses.replace(source[0], packed=remote("binarized_mnist.bits", b"other"))
    with pytest.raises(ValueError, match=r"as prepared must be .*; let LNLIB_DATA"):
        bits._gather(None, other)
    assert not (cache / "binarized_mnist.bits.gz").exists()


def test_an_original_that_is_another_is_not_used(source, cache):
    made, _ = source
    wrong = (made.originals[0], remote(NAMES[1], b"other"), made.originals[2])
    with pytest.raises(OSError, match=r"cannot download binarized_mnist_valid\.amat:"):
        bits._gather(None, dataclasses.replace(made, originals=wrong))
    assert not (cache / "binarized_mnist.bits.gz").exists()


@pytest.mark.parametrize("inner", ["", bits.NAME], ids=["its own folder", "one folder a data set"])
@pytest.mark.parametrize("held", ["plain", "gzipped", "xz", "originals"])
def test_what_lies_where_lnlib_data_says_is_used_and_nothing_written(
    source, tmp_path, monkeypatch, inner, held
):
    made, asked = source
    folder = tmp_path / "mine" / inner
    folder.mkdir(parents=True)
    files = {
        "plain": {"binarized_mnist.bits": packed()},
        "gzipped": {"binarized_mnist.bits.gz": gzip.compress(packed())},
        "xz": {"binarized_mnist.bits.xz": lzma.compress(packed())},
        "originals": dict(zip(NAMES, TEXTS, strict=True)),
    }[held]
    for name, content in files.items():
        (folder / name).write_bytes(content)
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "mine"))
    assert bits._gather(None, made) == (folder, packed())
    assert {path.name for path in folder.iterdir()} == set(files)
    assert asked() == 0


@pytest.mark.parametrize("has", ["nothing", NAMES[0]])
def test_where_lnlib_data_lacks_it_the_file_is_named_and_none_downloaded(
    source, tmp_path, monkeypatch, has
):
    made, asked = source
    (tmp_path / has).write_bytes(TEXTS[0])
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    with pytest.raises(
        FileNotFoundError, match=rf"names {tmp_path}, where binarized_mnist\.bits must lie.*; put"
    ):
        bits._gather(None, made)
    assert asked() == 0


def test_whoever_delivers_the_originals_is_named_by_an_address_that_ends_in_a_slash():
    assert bits._LAROCHELLE.mirrors
    assert all(url.startswith("http") and url.endswith("/") for url in bits._LAROCHELLE.mirrors)


@pytest.mark.needs_data("mnist_binarized")
def test_written_back_to_text_it_has_the_sums_of_the_originals_that_the_paper_used():
    assert bits.fetch().is_relative_to(os.environ["LNLIB_DATA"])
    found = load(bits.NAME)
    assert str(found) == "50,000 train + 10,000 val + 10,000 test images of 28 x 28 bits"
    for file, images in zip(bits._LAROCHELLE.originals, found.images.values(), strict=True):
        text = np.full((len(images), 784, 2), ord(" "), np.uint8)
        text[..., 0] = images + ord("0")
        text[:, -1, 1] = ord("\n")
        assert hashlib.sha256(text).hexdigest() == file.sha256
        assert text.nbytes == file.size
    small = images[:3]
    assert bits.pack(written(small)) == np.packbits(small, axis=1).tobytes()
