"""The IDX format of MNIST, read with suspicion: a file is data from a stranger.

::

    0 0 8 n | n sizes, 4 bytes each, big-endian | product(sizes) unsigned bytes
"""

from __future__ import annotations

import gzip
import lzma
import math
import os
import struct
import zlib
from pathlib import Path

import numpy as np

from lnlib import _files

MAX_BYTES = 1 << 28  # five times the largest file of MNIST


def read_idx(
    path: str | os.PathLike, *, ndim: int | None = None, max_bytes: int = MAX_BYTES
) -> np.ndarray:
    """Read one IDX file of unsigned bytes, plain or gzipped.

    Args:
        path: The file; gzip is recognized by its first bytes, not by its name.
        ndim: Dimensions the array must have: 1 for labels, 3 for images. ``None`` takes any.
        max_bytes: Refuse more than this, uncompressed.

    Returns:
        Array of uint8, of the shape the header says.

    Raises:
        ValueError: If the file is anything but one whole IDX file of this kind.
        OSError: If it cannot be opened.
    """
    return parse_idx(read_content(path, max_bytes=max_bytes), name=path, ndim=ndim)


def read_content(path: str | os.PathLike, *, max_bytes: int = MAX_BYTES) -> bytearray:
    """Read a file, uncompressed if it is of gzip or xz, and never more than ``max_bytes``.

    Args:
        path: The file; gzip and xz are recognized by its first bytes, not by its name.
        max_bytes: Refuse more than this, uncompressed.

    Returns:
        The uncompressed bytes.

    Raises:
        ValueError: If it is no file but a pipe, say, holds more than ``max_bytes``, or the
            compressed stream is damaged.
        OSError: If it cannot be opened.
    """
    content, path = bytearray(), Path(path)
    _files.check_regular(path)  # a pipe would be waited for
    with path.open("rb") as file:
        start = file.read(6)
        file.seek(0)
        kind, stream = "", file
        if start[:2] == b"\x1f\x8b":
            kind, stream = "gzip", gzip.GzipFile(fileobj=file)
        elif start == b"\xfd7zXZ\0":
            kind, stream = "xz", lzma.LZMAFile(file)  # noqa: SIM115
        try:
            while chunk := stream.read(1 << 20):
                content += chunk
                if len(content) > max_bytes:
                    raise ValueError(f"{path}: must hold at most {max_bytes:,} bytes, holds more")
        except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
            raise ValueError(
                f"{path}: must be a whole {kind} file, but after {len(content):,} bytes: {error}; "
                "fetch it again"
            ) from error
    return content


def parse_idx(
    content: bytes | bytearray, *, name: str | os.PathLike, ndim: int | None = None
) -> np.ndarray:
    """Take the array out of the bytes of one IDX file.

    Args:
        content: The whole file, uncompressed.
        name: The file's name, for the error.
        ndim: Dimensions the array must have. ``None`` takes any.

    Returns:
        Array of uint8 over the memory of ``content``.

    Raises:
        ValueError: If ``content`` is anything but one whole IDX file of unsigned bytes.
    """
    if content[:3] != b"\0\0\x08":
        raise ValueError(
            f"{name}: must start with 00 00 08, an IDX file of unsigned bytes; starts with "
            f"{bytes(content[:3]).hex(' ') or 'nothing: it is empty'}"
        )
    dimensions = content[3] if len(content) > 3 else 0
    # 32 is what NumPy < 2 can hold.
    if not 1 <= dimensions <= 32 or ndim not in (None, dimensions):
        raise ValueError(
            f"{name}: must have {ndim or '1 to 32'} dimensions, the header says {dimensions}"
        )
    start = 4 + 4 * dimensions
    if len(content) < start:
        raise ValueError(
            f"{name}: must have a header of {start} bytes, holds {len(content)} in all"
        )
    shape = struct.unpack(f">{dimensions}I", content[4:start])
    # Python's integers: a product that overflows 64 bits is only a large number here.
    if 0 in shape or math.prod(shape) != len(content) - start:
        raise ValueError(
            f"{name}: {' x '.join(map(str, shape))} bytes must follow the header, at least one; "
            f"{len(content) - start:,} do"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)
