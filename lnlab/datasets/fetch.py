"""Verified files of data sets, read from a local folder or downloaded with pooch.

``registry.txt`` lists every file with its SHA-256 and its addresses. Files are looked for in the
folder that the caller names, else in the folder of the environment variable ``LNLIB_DATA`` (or its
subfolder with the name of the data set), else in the user's cache. ``LNLIB_DATA`` is read-only;
elsewhere, missing files are downloaded.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import io
import lzma
import os
import queue
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lnlab import messages
from lnlab.atomic_write import cannot_write, check_regular, printable, write

if TYPE_CHECKING:
    import requests

TIMEOUT = (10.0, 30.0)  # seconds to connect, and between two pieces of an answer
CHUNK = 1 << 16  # bytes
PATIENCE_S = 60.0  # seconds without a complete chunk after which the next address is tried
_OPEN = {"": open, ".gz": gzip.open, ".xz": lzma.open}


class Entry(NamedTuple):
    """SHA-256 and addresses of a file in the registry."""

    sha256: str
    urls: tuple[str, ...]


def _read_registry(text: str) -> dict[str, Entry]:
    rows = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {name: Entry(sha256, tuple(urls)) for name, sha256, *urls in rows}


SOURCE = Path(__file__).with_name("registry.txt")
REGISTRY = _read_registry(SOURCE.read_text())


def folders(dataset: str, folder: str | os.PathLike | None = None) -> list[Path]:
    """Return the folders in which files of a data set are looked for; downloads go to the first.

    Args:
        dataset: Name of the data set.
        folder: If given, the only folder to look in.
    """
    if folder is not None:
        return [Path(folder).expanduser().resolve()]
    if named := os.environ.get("LNLIB_DATA"):
        outer = Path(named).expanduser().resolve()
        return [outer / dataset, outer]
    import pooch

    return [(pooch.os_cache("lnlib") / dataset).expanduser().resolve()]


def find(name: str, folder: str | os.PathLike | None = None) -> bytes | None:
    """Return the verified content of a file, or ``None`` if it is not there.

    Args:
        name: As in the registry: ``dataset/file``.
        folder: As for :func:`folders`.

    Raises:
        ValueError: If only damaged or other files of that name are there. In the user's cache,
            which may be overwritten, they count as missing.
        OSError: If it cannot be read.
    """
    dataset, _, file = name.partition("/")
    mismatch = None
    for directory in folders(dataset, folder):
        for suffix in _OPEN:
            path = directory / f"{file}{suffix}"
            try:
                if path.is_file():
                    return _verify(path, _read(path, suffix), REGISTRY[name].sha256)
            except ValueError as error:
                mismatch = mismatch or error
    if mismatch is not None and (folder is not None or os.environ.get("LNLIB_DATA")):
        raise mismatch
    return None


def get(name: str, folder: str | os.PathLike | None = None) -> bytes:
    """Return the verified content of a file, downloaded if it is missing.

    Args:
        name: As in the registry: ``dataset/file``.
        folder: As for :func:`folders`.

    Raises:
        FileNotFoundError: If ``LNLIB_DATA`` names a folder that does not have the file.
        ValueError: As for :func:`find`.
        OSError: If it cannot be downloaded or written.
    """
    if (content := find(name, folder)) is not None:
        return content
    if _read_only(folder):
        raise _missing(name)
    return _download(name, folder)


def get_or_derive(
    names: Sequence[str], derive: Callable[[], bytes], folder: str | os.PathLike | None = None
) -> bytes:
    """Return the verified content of the first of several files that exists, or derive the last.

    The derived file is stored gzipped beside the others, except in ``LNLIB_DATA``.

    Args:
        names: As in the registry; any of these files will do.
        derive: Returns the content of the last one, made of files that it gets by :func:`get`.
        folder: As for :func:`folders`.

    Raises:
        FileNotFoundError: If ``LNLIB_DATA`` has neither one of the files nor the originals.
        ValueError: As for :func:`find`, or if something else was derived, which is not stored.
        OSError: As for :func:`get`.
    """
    for name in names:
        if (content := find(name, folder)) is not None:
            return content
    try:
        content = derive()
    except FileNotFoundError as error:
        raise _missing(names[0]) if _read_only(folder) else error from error
    dataset, _, file = names[-1].partition("/")
    expected, got = REGISTRY[names[-1]].sha256, hashlib.sha256(content).hexdigest()
    if got != expected:
        raise ValueError(
            f"{dataset}: SHA-256 of {file} as derived must be {expected}, got {got}; this version "
            "of Python or NumPy derives other bytes, let LNLIB_DATA name a folder that has "
            f"{' or '.join(name.partition('/')[2] for name in names)}"
        )
    if not _read_only(folder):
        path = folders(dataset, folder)[0] / f"{file}.gz"
        write(path, gzip.compress(content, mtime=0))
    return content


def _read_only(folder: str | os.PathLike | None) -> bool:
    return folder is None and bool(os.environ.get("LNLIB_DATA"))


def _missing(name: str) -> FileNotFoundError:
    dataset, _, file = name.partition("/")
    inner, outer = folders(dataset)
    gone = "" if outer.is_dir() else "; there is no such folder"
    return FileNotFoundError(
        f"LNLIB_DATA names {outer}, which must have {file}, compressed or not, in it or in its "
        f"folder {inner.name}{gone}; put it there, name another folder, or unset LNLIB_DATA to "
        f"download {dataset}"
    )


def _read(path: Path, compression: str) -> bytes:
    """Return the uncompressed content of a file."""
    try:
        with _OPEN[compression](path, "rb") as file:
            return file.read()
    except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        raise ValueError(
            f"{path}: must be a whole {compression[1:]} file: {error}; fetch it again"
        ) from error


def _verify(path: Path, content: bytes, expected: str) -> bytes:
    if (got := hashlib.sha256(content).hexdigest()) != expected:
        raise ValueError(
            f"{path}: SHA-256 of its uncompressed content must be {expected}, got {got}; it is "
            "damaged, or another data set's (Fashion-MNIST's files have the names of MNIST's)"
        )
    return content


def _download(name: str, folder: str | os.PathLike | None) -> bytes:
    """Return the content of a file from the first address that delivers it right, and store it.

    pooch writes to a temporary file and moves it once its checksum is right: no partial file gets
    the name of a whole one, and two processes may download at once.
    """
    import pooch
    import requests

    dataset, _, file = name.partition("/")
    path = folders(dataset, folder)[0] / file
    if path.exists():
        check_regular(path)  # pooch would read a pipe
    pooch.get_logger().setLevel("WARNING")  # the progress bar is enough
    problems = []
    for url in REGISTRY[name].urls:
        try:
            sha256 = f"sha256:{REGISTRY[name].sha256}"
            http = functools.partial(_http, path.name)
            pooch.retrieve(url, sha256, path.name, path.parent, downloader=http)
            path.chmod(0o644)  # pooch's temporary files can only be read by their owner
            return path.read_bytes()
        except (requests.RequestException, ValueError) as error:
            problems.append(f"\n  {url}: {printable(str(error))}")
        except OSError as error:
            message = cannot_write(path, error)
            raise OSError(
                f"{message}; or let LNLIB_DATA name a folder that has the files"
            ) from error
    raise OSError(
        f"cannot download {file}:{''.join(problems)}\n"
        "Try again later, or get the file by other means and let the environment variable "
        "LNLIB_DATA name its folder."
    )


def _http(file: str, url: str, output_file: str, _: object) -> None:
    """Download to ``output_file``, decompressed if only the address ends in ``.gz``.

    Raises:
        ValueError: If the server is too slow: fewer than ``CHUNK`` bytes in ``PATIENCE_S``.
    """
    from tqdm import tqdm

    received, ended = queue.SimpleQueue(), threading.Event()
    # In a thread of its own, because a read from a server that sends single bytes does not end.
    threading.Thread(target=_receive, args=(url, received, ended), daemon=True).start()
    bar = tqdm(desc=file, unit="B", unit_scale=True, disable=None, file=messages.stderr())
    try:
        with bar, open(output_file, "wb") as output:
            while (part := received.get(timeout=PATIENCE_S)) is not None:
                if isinstance(part, Exception):
                    raise part
                if isinstance(part, int):
                    bar.total = part or None
                else:
                    output.write(part)
                    bar.update(len(part))
    except queue.Empty:
        raise ValueError(f"fewer than {CHUNK:,} bytes were received in {PATIENCE_S:g} s") from None
    finally:
        ended.set()
    path = Path(output_file)
    if url.endswith(".gz") and not file.endswith(".gz"):
        path.write_bytes(_read(path, ".gz"))


def _receive(url: str, to: queue.SimpleQueue, ended: threading.Event) -> None:
    """Put the number of bytes, the bytes and ``None`` into a queue, or an error."""
    try:
        for part in _parts(*url.partition("#")[::2]):
            if ended.is_set():
                return
            to.put(part)
        to.put(None)
    except Exception as error:  # raised in the thread that waits
        to.put(error)


def _parts(url: str, member: str) -> Iterator[int | bytes]:
    """Yield the number of bytes of a file, 0 if it is unknown, and then the bytes."""
    import requests

    if member:
        try:
            with zipfile.ZipFile(io.BufferedReader(_Remote(url), 4 * CHUNK)) as archive:
                yield archive.getinfo(member).file_size
                with archive.open(member) as file:
                    yield from iter(lambda: file.read(CHUNK), b"")
        except (zipfile.BadZipFile, KeyError) as error:
            raise ValueError(f"{member} cannot be extracted: {error}") from error
        return
    with requests.get(url, stream=True, timeout=TIMEOUT) as response:
        response.raise_for_status()
        yield int(response.headers.get("content-length", 0))
        yield from response.iter_content(CHUNK)


class _Remote(io.RawIOBase):
    """A file on a server, of which only the parts that are read are downloaded."""

    def __init__(self, url: str) -> None:
        self._url, self._at = url, 0
        self._size = int(self._get(0, 1).headers["content-range"].rpartition("/")[2])

    def _get(self, first: int, count: int) -> requests.Response:
        import requests

        header = {"Range": f"bytes={first}-{first + count - 1}", "Accept-Encoding": "identity"}
        with requests.get(self._url, headers=header, stream=True, timeout=TIMEOUT) as response:
            response.raise_for_status()
            if response.status_code != requests.codes.partial_content:
                raise ValueError("the server does not send parts of a file")
            _ = response.content
            return response

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer: bytearray) -> int:
        count = min(len(buffer), self._size - self._at)
        if count <= 0:
            return 0
        content = self._get(self._at, count).content
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)
