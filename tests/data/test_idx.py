from __future__ import annotations

import gzip
import math
import os
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lnlib.data.idx import read_idx

IMAGES = np.random.default_rng(0).integers(0, 256, (5, 3, 4), dtype=np.uint8)
FUZZ = settings(deadline=None, max_examples=200)


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def by_the_letter(content: bytes) -> np.ndarray | None:
    """Read an IDX file of bytes as its specification says, number by number; None if it is none."""
    if len(content) < 4 or content[0] or content[1] or content[2] != 8 or not 1 <= content[3] <= 32:
        return None
    shape = []
    for n in range(content[3]):
        size = content[4 + 4 * n : 8 + 4 * n]
        if len(size) < 4 or not any(size):
            return None
        shape.append(size[0] << 24 | size[1] << 16 | size[2] << 8 | size[3])
    values = list(content[4 + 4 * content[3] :])
    return np.array(values).reshape(shape) if len(values) == math.prod(shape) else None


@pytest.fixture
def write(tmp_path):
    def write(content: bytes):
        path = tmp_path / "images-idx3-ubyte"
        path.write_bytes(content)
        return path

    return write


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "fuzzed"


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("shape", [(7,), (5, 3, 4), (1, 1, 1, 2)], ids=str)
def test_read_idx_returns_what_was_written(write, shape, compress):
    array = np.arange(math.prod(shape), dtype=np.uint8).reshape(shape)
    read = read_idx(write(compress(idx(array))))

    assert read.dtype == np.uint8
    assert read.flags.writeable
    np.testing.assert_array_equal(read, array, strict=True)


GOOD = idx(IMAGES)
PACKED = gzip.compress(GOOD, mtime=0)
HUGE = struct.pack(">BBBB3I", 0, 0, 8, 3, *[0xFFFFFFFF] * 3)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(b"", "must start with 00 00 08.*starts with nothing: it is empty", id="empty"),
        pytest.param(b"<!DOCTYPE html>", "starts with 3c 21 44", id="a web page"),
        pytest.param(b"\0\0\x0d" + GOOD[3:], "starts with 00 00 0d", id="floats"),
        pytest.param(b"\0\0\x08", "3 dimensions, the header says 0", id="magic alone"),
        pytest.param(b"\0\0\x08\0", "3 dimensions, the header says 0", id="no dimension"),
        pytest.param(idx(IMAGES[0, 0]), "3 dimensions, the header says 1", id="labels"),
        pytest.param(GOOD[:15], "must have a header of 16 bytes, holds 15", id="half a header"),
        pytest.param(GOOD[:-1], "5 x 3 x 4 bytes must follow the header.*59 do", id="truncated"),
        pytest.param(GOOD + b"\0", "5 x 3 x 4 bytes must follow the header.*61 do", id="too long"),
        pytest.param(HUGE + b"ten bytes.", "4294967295 x 4294967295.*10 do", id="overflows"),
        pytest.param(idx(IMAGES[:0]), "0 x 3 x 4 bytes.*at least one; 0 do", id="no images"),
        pytest.param(b"\x1f\x8b", "must be a whole gzip file, but after 0 bytes", id="gzip magic"),
        pytest.param(PACKED[:-9], "must be a whole gzip file, but after", id="truncated gzip"),
        pytest.param(PACKED[:-8] + bytes(8), "must be a whole gzip file.*CRC", id="wrong CRC"),
        pytest.param(PACKED[:10] + b"\xff" * 60, "must be a whole gzip", id="corrupt gzip"),
        pytest.param(PACKED + b"junk", "must be a whole gzip file, but", id="junk after gzip"),
        pytest.param(gzip.compress(b""), "it is empty", id="gzip of nothing"),
        pytest.param(gzip.compress(PACKED), "starts with 1f 8b 08", id="gzipped twice"),
    ],
)
def test_read_idx_says_what_is_wrong_and_in_which_file(write, content, says):
    path = write(content)
    with pytest.raises(ValueError, match=f"{path.name}: .*{says}"):
        read_idx(path, ndim=3)


@pytest.mark.parametrize("ndim", [0, 33, 255])
def test_read_idx_takes_only_as_many_dimensions_as_numpy_has(write, ndim):
    content = struct.pack(">BBBB", 0, 0, 8, ndim) + b"\0\0\0\x01" * ndim + b"x"
    with pytest.raises(ValueError, match=f"must have 1 to 32 dimensions, the header says {ndim}"):
        read_idx(write(content))


def test_read_idx_does_not_wait_for_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="pipe: must be a file, is a pipe"):
        read_idx(tmp_path / "pipe")


def test_read_idx_leaves_a_missing_file_to_the_system(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_idx(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "content",
    [HUGE + b"ten bytes.", HUGE + bytes(1 << 25), gzip.compress(HUGE + bytes(1 << 26))],
    ids=["huge header", "long file", "gzip bomb"],
)
def test_read_idx_allocates_no_more_than_it_is_allowed(write, content):
    path = write(content)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"must follow the header|must hold at most 1,000,000"):
            read_idx(path, max_bytes=1_000_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    # A block of 1 MiB at a time, and what joins it: measured 3.3 MB.
    assert peak < 8e6


def assert_reads_or_refuses(path, content: bytes, expected: np.ndarray | None):
    path.write_bytes(content)
    if expected is None:
        with pytest.raises(ValueError, match=f"^{path}: "):
            read_idx(path)
    else:
        np.testing.assert_array_equal(read_idx(path), expected)


@FUZZ
@given(content=st.binary(max_size=80) | st.binary(max_size=40).map(b"\0\0\x08".__add__))
def test_read_idx_refuses_what_is_no_idx_file(path, content):
    assert_reads_or_refuses(path, content, by_the_letter(content))


@FUZZ
@given(data=st.data(), shape=st.lists(st.integers(1, 4), min_size=1, max_size=5))
def test_read_idx_reads_a_mutated_file_by_the_letter_or_refuses_it(path, data, shape):
    content = bytearray(idx(np.full(shape, 7, dtype=np.uint8)))
    start = data.draw(st.integers(0, len(content)), label="start")
    stop = data.draw(st.integers(start, min(start + 4, len(content))), label="stop")
    content[start:stop] = data.draw(st.binary(max_size=5), label="instead")

    assert_reads_or_refuses(path, content, by_the_letter(content))


@FUZZ
@given(data=st.data())
def test_read_idx_reads_a_damaged_gzip_file_exactly_or_refuses_it(path, data):
    content = bytearray(PACKED)
    start = data.draw(st.integers(0, len(content)), label="start")
    stop = data.draw(st.integers(start, len(content)), label="stop")
    content[start:stop] = data.draw(st.binary(max_size=5), label="instead")
    path.write_bytes(content)
    try:
        read = read_idx(path)
    except ValueError as error:
        assert str(error).startswith(f"{path}: ")  # noqa: PT017
    else:
        np.testing.assert_array_equal(read, IMAGES)
