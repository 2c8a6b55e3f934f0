from __future__ import annotations

import dataclasses
import gzip
import hashlib
import os
import struct
from pathlib import Path

import numpy as np
import pooch
import pytest

from lnlib.data import load, mnist
from lnlib.data.download import RemoteFile

NAMES = [file.name for file in mnist._MNIST.files]


def idx(array) -> bytes:
    array = np.asarray(array, dtype=np.uint8)
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def source(contents, *mirrors) -> mnist.Source:
    files = (
        RemoteFile(name, len(content), hashlib.sha256(content).hexdigest())
        for name, content in zip(NAMES, contents, strict=True)
    )
    return mnist.Source(tuple(mirror.url for mirror in mirrors), tuple(files))


@pytest.fixture
def contents() -> list[bytes]:
    """Return four files like MNIST's, of 6 and 4 images of 3 x 2 pixels."""
    pixels = np.random.default_rng(0).integers(0, 256, (10, 3, 2))
    labels = [5, 0, 4, 1, 9, 2, 7, 2, 1, 0]
    return [idx(part) for part in (pixels[:6], labels[:6], pixels[6:], labels[6:])]


@pytest.fixture
def folder(tmp_path, contents) -> Path:
    """Return a folder that has them, some gzipped."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for n, (name, content) in enumerate(zip(NAMES, contents, strict=True)):
        (folder / (name if n % 2 else f"{name}.gz")).write_bytes(
            content if n % 2 else gzip.compress(content)
        )
    return folder


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """Return what stands in for the user's cache."""
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "cache" / project)
    return tmp_path / "cache" / "lnlib" / "mnist"


@pytest.fixture
def mirror(serve, contents):
    mirror = serve("well")
    for name, content in zip(NAMES, contents, strict=True):
        mirror.bodies[f"/{name}.gz"] = gzip.compress(content)
    return mirror


def state(folder) -> dict[str, tuple[int, bytes]]:
    """Return what changes when anything is written, even a file that is gone again."""
    return {
        str(path): (path.stat().st_mtime_ns, b"" if path.is_dir() else path.read_bytes())
        for path in (folder, *folder.iterdir())
    }


def test_the_folder_of_lnlib_data_is_used_as_it_is(folder, contents, monkeypatch):
    monkeypatch.setenv("LNLIB_DATA", str(folder))
    before = state(folder)
    found, read = mnist.gather(None, source(contents))

    assert found == folder
    assert read == contents
    assert state(folder) == before


def test_lnlib_data_may_be_relative(folder, contents, monkeypatch):
    (folder.parent / "elsewhere").mkdir()
    monkeypatch.chdir(folder.parent / "elsewhere")
    monkeypatch.setenv("LNLIB_DATA", "../mine")

    assert mnist.gather(None, source(contents)) == (folder, contents)


def test_lnlib_data_may_have_a_folder_for_each_data_set(folder, contents, tmp_path, monkeypatch):
    outer = tmp_path / "all"
    (outer / "digits").mkdir(parents=True)
    folder.rename(outer / "mnist")
    monkeypatch.setenv("LNLIB_DATA", str(outer))

    assert mnist.gather(None, source(contents)) == (outer / "mnist", contents)
    (outer / "mnist" / f"{NAMES[2]}.gz").unlink()
    with pytest.raises(FileNotFoundError, match=f"names {outer}, where {NAMES[2]} must .* mnist;"):
        mnist.gather(None, source(contents))


def test_files_in_the_folder_of_lnlib_data_itself_are_taken_where_the_own_folder_has_none(
    folder, contents, monkeypatch
):
    (folder / "mnist").mkdir()
    monkeypatch.setenv("LNLIB_DATA", str(folder))

    assert mnist.gather(None, source(contents)) == (folder, contents)


def test_files_in_a_data_sets_own_folder_come_before_another_sets_of_the_same_names(
    folder, contents, tmp_path, monkeypatch
):
    folder.rename(tmp_path / "fashion_mnist")
    for name in NAMES:
        (tmp_path / f"{name}.gz").write_bytes(b"of MNIST")
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    fashion = dataclasses.replace(source(contents), name="fashion_mnist")

    assert mnist.gather(None, fashion) == (tmp_path / "fashion_mnist", contents)


def test_lnlib_data_says_which_file_is_missing_and_downloads_none(
    folder, contents, mirror, monkeypatch
):
    monkeypatch.setenv("LNLIB_DATA", str(folder))
    (folder / f"{NAMES[2]}.gz").unlink()
    before = state(folder)
    with pytest.raises(
        FileNotFoundError, match=f"LNLIB_DATA names {folder}, where {NAMES[2]} must lie.*; put it"
    ):
        mnist.gather(None, source(contents, mirror))

    assert state(folder) == before
    assert mirror.ranges == []


def test_lnlib_data_says_that_there_is_no_such_folder(tmp_path, contents, mirror, monkeypatch):
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "typo"))
    with pytest.raises(FileNotFoundError, match=r"typo, where .*; there is no such folder; put it"):
        mnist.gather(None, source(contents, mirror))

    assert not (tmp_path / "typo").exists()


@pytest.mark.parametrize("named", ["LNLIB_DATA", "folder"])
def test_a_wrong_file_of_the_user_is_refused_and_left_alone(
    folder, contents, mirror, monkeypatch, named
):
    (folder / NAMES[1]).write_bytes(contents[1][:-1] + b"\x07")
    if named == "LNLIB_DATA":
        monkeypatch.setenv("LNLIB_DATA", str(folder))
    before = state(folder)
    with pytest.raises(ValueError, match=f"{NAMES[1]}: SHA-256 of the uncompressed content must"):
        mnist.gather(folder if named == "folder" else None, source(contents, mirror))

    assert state(folder) == before
    assert mirror.ranges == []


def test_a_folder_given_gets_only_what_it_lacks(folder, contents, mirror, monkeypatch):
    monkeypatch.setenv("LNLIB_DATA", "not looked at")
    (folder / f"{NAMES[2]}.gz").unlink()
    found, read = mnist.gather(folder, source(contents, mirror))

    assert found == folder
    assert read == contents
    assert len(mirror.ranges) == 1


@pytest.mark.parametrize("set_to", [None, ""], ids=["unset", "empty"])
def test_without_lnlib_data_the_cache_is_filled_once(cache, contents, mirror, monkeypatch, set_to):
    if set_to is not None:
        monkeypatch.setenv("LNLIB_DATA", set_to)
    for _ in range(2):
        assert mnist.gather(None, source(contents, mirror)) == (cache, contents)

    assert len(mirror.ranges) == 4


def test_a_full_cache_is_not_written_to(cache, contents, mirror):
    mnist.gather(None, source(contents, mirror))
    before = state(cache)
    mnist.gather(None, source(contents))

    assert state(cache) == before


@pytest.mark.parametrize("suffix", ["", ".gz"], ids=["plain", "gzip"])
def test_a_damaged_file_in_the_cache_is_fetched_again(cache, contents, mirror, suffix):
    cache.mkdir(parents=True)
    (cache / f"{NAMES[0]}{suffix}").write_bytes(b"damaged")
    for _ in range(2):
        assert mnist.gather(None, source(contents, mirror)) == (cache, contents)

    assert len(mirror.ranges) == 4


def test_assemble_gives_rows_of_pixels_over_255_and_classes(contents):
    loaded = mnist.assemble(contents, source(contents))

    assert loaded.x_train.shape == (6, 6)
    assert loaded.x_test.shape == (4, 6)
    assert (loaded.x_train.dtype, loaded.y_train.dtype) == (np.float32, np.int64)
    assert loaded.y_train.tolist() == [5, 0, 4, 1, 9, 2]
    assert loaded.y_test.tolist() == [7, 2, 1, 0]
    expected = [np.float32(byte) / np.float32(255) for byte in contents[2][16:]]
    assert loaded.x_test.ravel().tolist() == expected
    assert loaded.sha256 == hashlib.sha256(b"".join(contents)).hexdigest()


@pytest.mark.parametrize(
    ("labels", "says"),
    [([7, 2, 1, 10], "4 images and 4 labels up to 10"), ([7, 2, 1], "4 images and 3 labels")],
    ids=["ten", "too few"],
)
def test_assemble_refuses_labels_that_cannot_be(contents, labels, says):
    contents[3] = idx(labels)
    with pytest.raises(ValueError, match=f"each image must have a label of 0 to 9, got {says}"):
        mnist.assemble(contents, source(contents))


def test_assemble_refuses_labels_in_the_place_of_images(contents):
    contents[0] = contents[1]
    with pytest.raises(ValueError, match=f"{NAMES[0]}: must have 3 dimensions, the header says 1"):
        mnist.assemble(contents, source(contents))


def test_the_mirrors_are_reached_by_https():
    assert len(mnist._MNIST.mirrors) >= 2
    assert all(url.startswith("https://") and url.endswith("/") for url in mnist._MNIST.mirrors)


needs_mnist = pytest.mark.needs_data("mnist")


@pytest.fixture(scope="module")
def loaded():
    return mnist.load()


@needs_mnist
def test_mnist_is_found_where_lnlib_data_says():
    assert mnist.fetch().is_relative_to(os.environ["LNLIB_DATA"])
    assert load("mnist").name == "mnist"


@needs_mnist
def test_mnist_has_the_published_shapes_labels_and_moments(loaded):
    assert loaded.x_train.shape == (60000, 784)
    assert loaded.x_test.shape == (10000, 784)
    assert loaded.y_train[:5].tolist() == [5, 0, 4, 1, 9]
    assert loaded.y_test[:5].tolist() == [7, 2, 1, 0, 4]
    assert np.bincount(loaded.y_test).tolist() == [
        980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009,
    ]  # fmt: skip
    # The pair that everyone normalizes MNIST with.
    assert round(float(loaded.x_train.mean(dtype=np.float64)), 4) == 0.1307
    assert round(float(loaded.x_train.std(dtype=np.float64)), 4) == 0.3081
    assert (loaded.x_train.min(), loaded.x_train.max()) == (0, 1)


@needs_mnist
def test_mnist_has_the_published_md5_sums(loaded):
    def md5(header, *arrays):
        content = b"".join(array.astype(np.uint8).tobytes() for array in arrays)
        return hashlib.md5(struct.pack(f">{len(header)}I", *header) + content).hexdigest()

    pixels = [np.rint(x * 255) for x in (loaded.x_train, loaded.x_test)]
    assert md5((2051, 60000, 28, 28), pixels[0]) == "6bbc9ace898e44ae57da46a324031adb"
    assert md5((2049, 60000), loaded.y_train) == "a25bea736e30d166cdddb491f175f624"
    assert md5((2051, 10000, 28, 28), pixels[1]) == "2646ac647ad5339dbf082846283269ea"
    assert md5((2049, 10000), loaded.y_test) == "27ae3e4e09519cfbb04c329615203637"


@needs_mnist
def test_mnist_sha256_is_of_the_four_files_one_after_the_other(loaded):
    assert loaded.sha256 == "b2d8f5bf39174ee5ffeefa97e42d673c35432b411bb5d1f74fbbeddae7f1690a"
