"""Verified files of data sets, read from a local folder or downloaded with pooch.

``registry.txt`` lists every file with its SHA-256 and its URLs. Files are looked for in the
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

TIMEOUT = (10.0, 30.0)  # seconds: to connect, and between bytes of a response (see requests)
CHUNK = 1 << 16  # bytes
CHUNK_TIMEOUT_S = 60.0  # seconds without a complete chunk; then the next URL is tried
_OPEN = {"": open, ".gz": gzip.open, ".xz": lzma.open}


class Entry(NamedTuple):
    """SHA-256 and URLs of a file in the registry."""

    sha256: str
    urls: tuple[str, ...]


def _read_registry(text: str) -> dict[str, Entry]:
    rows = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {name: Entry(sha256, tuple(urls)) for name, sha256, *urls in rows}


REGISTRY = _read_registry(Path(__file__).with_name("registry.txt").read_text())


def folders(dataset: str, folder: str | os.PathLike | None = None) -> list[Path]:
    """Return the folders in which files of a data set are looked for; downloads go to the first.

    Args:
        dataset: Name of the data set.
        folder: If given, the only folder in which files are looked for.
    """
    if folder is not None:
        return [Path(folder).expanduser().resolve()]
    if data := os.environ.get("LNLIB_DATA"):
        data_folder = Path(data).expanduser().resolve()
        return [data_folder / dataset, data_folder]
    import pooch

    return [(pooch.os_cache("lnlib") / dataset).expanduser().resolve()]


def find(name: str, folder: str | os.PathLike | None = None) -> bytes | None:
    """Return the verified content of a file, or ``None`` if it is not there.

    Args:
        name: As in the registry: ``dataset/file``.
        folder: As for :func:`folders`.

    Raises:
        ValueError: If there are files of that name, but none has the right SHA-256. In the user's
            cache such files count as missing and are overwritten.
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

    The derived file is stored gzipped next to the others, except in ``LNLIB_DATA``.

    Args:
        names: Alternative files, as in the registry.
        derive: Returns the content of the last one, computed from files that it gets by
            :func:`get`.
        folder: As for :func:`folders`.

    Raises:
        FileNotFoundError: If ``LNLIB_DATA`` has none of the files, and not the originals either.
        ValueError: As for :func:`find`, or if the SHA-256 of what was derived is wrong; then it is
            not stored.
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
    subfolder, folder = folders(dataset)
    problem = "" if folder.is_dir() else "; there is no such folder"
    return FileNotFoundError(
        f"LNLIB_DATA names {folder}, which must have {file}, compressed or not, in it or in its "
        f"folder {subfolder.name}{problem}; put it there, name another folder, or unset LNLIB_DATA "
        f"to download {dataset}"
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
    """Return the content of a file from the first URL whose content is verified, and store it.

    pooch writes to a temporary file and renames it after verification, so that a partial file never
    has the final name and two processes can download at the same time.
    """
    import pooch
    import requests

    dataset, _, file = name.partition("/")
    path = folders(dataset, folder)[0] / file
    if path.exists():
        check_regular(path)  # because pooch would read from a named pipe
    pooch.get_logger().setLevel("WARNING")  # the progress bar is enough
    problems = []
    for url in REGISTRY[name].urls:
        try:
            sha256 = f"sha256:{REGISTRY[name].sha256}"
            downloader = functools.partial(_download_url, path.name)
            pooch.retrieve(url, sha256, path.name, path.parent, downloader=downloader)
            path.chmod(0o644)  # pooch's temporary files are readable by their owner only
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


def _download_url(file: str, url: str, output_file: str, _: object) -> None:
    """Download to ``output_file``; decompress if the URL ends in ``.gz`` and ``file`` does not.

    Raises:
        ValueError: If the server is too slow: fewer than ``CHUNK`` bytes in ``CHUNK_TIMEOUT_S``.
    """
    from tqdm import tqdm

    chunks, stop = queue.SimpleQueue(), threading.Event()
    # In a separate thread, because no timeout of requests ends a read from a server that keeps
    # sending single bytes.
    threading.Thread(target=_put_chunks, args=(url, chunks, stop), daemon=True).start()
    bar = tqdm(desc=file, unit="B", unit_scale=True, disable=None, file=messages.stderr())
    try:
        with bar, open(output_file, "wb") as output:
            while (item := chunks.get(timeout=CHUNK_TIMEOUT_S)) is not None:
                if isinstance(item, Exception):
                    raise item
                if isinstance(item, int):
                    bar.total = item or None
                else:
                    output.write(item)
                    bar.update(len(item))
    except queue.Empty:
        raise ValueError(
            f"fewer than {CHUNK:,} bytes were received in {CHUNK_TIMEOUT_S:g} s"
        ) from None
    finally:
        stop.set()
    path = Path(output_file)
    if url.endswith(".gz") and not file.endswith(".gz"):
        path.write_bytes(_read(path, ".gz"))


def _put_chunks(url: str, chunks: queue.SimpleQueue, stop: threading.Event) -> None:
    """Put the size of a file, its chunks and ``None`` into a queue; or the exception, if any."""
    try:
        address, _, member = url.partition("#")
        for item in _iter_chunks(address, member):
            if stop.is_set():
                return
            chunks.put(item)
        chunks.put(None)
    except Exception as error:  # raised in the thread that waits
        chunks.put(error)


def _iter_chunks(url: str, member: str) -> Iterator[int | bytes]:
    """Yield the size of a file in bytes, 0 if unknown, and then its chunks.

    Args:
        url: The file, or a ZIP archive that contains it.
        member: The name of the file in the archive, of which only that part is downloaded.
    """
    import requests

    if member:
        try:
            with zipfile.ZipFile(io.BufferedReader(_RemoteFile(url), 4 * CHUNK)) as archive:
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


class _RemoteFile(io.RawIOBase):
    """A seekable file on a server; only the byte ranges that are read are downloaded."""

    def __init__(self, url: str) -> None:
        self._url, self._position = url, 0
        self._size = int(self._get_range(0, 1).headers["content-range"].rpartition("/")[2])

    def _get_range(self, first: int, count: int) -> requests.Response:
        import requests

        headers = {"Range": f"bytes={first}-{first + count - 1}", "Accept-Encoding": "identity"}
        with requests.get(self._url, headers=headers, stream=True, timeout=TIMEOUT) as response:
            response.raise_for_status()
            if response.status_code != requests.codes.partial_content:
                raise ValueError("the server does not send parts of a file")
            _ = response.content  # read before the connection is closed
            return response

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = start + offset
        return self._position

    def readinto(self, buffer: bytearray) -> int:
        count = min(len(buffer), self._size - self._position)
        if count <= 0:
            return 0
        content = self._get_range(self._position, count).content
        buffer[: len(content)] = content
        self._position += len(content)
        return len(content)
