"""Verified files of data sets, read from a local folder or downloaded with pooch.

``registry.txt`` lists every file with its SHA-256 and its URLs. Files are looked for in the
folder that the caller names, else in the folder of the environment variable ``LNLIB_DATA`` (or its
subfolder with the name of the data set), else in the user's cache. ``LNLIB_DATA`` is read-only;
elsewhere, missing files are downloaded.
"""

import functools
import gzip
import hashlib
import lzma
import os
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from lnlab import messages
from lnlab.atomic_write import cannot_write, check_regular, printable, write

TIMEOUT = (10.0, 30.0)  # seconds: to connect, and between bytes of a response (see requests)
CHUNK = 1 << 16  # bytes
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
            "of Python or NumPy produces other bytes; set LNLIB_DATA to a folder that has "
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
            f"{path}: must be a complete {compression[1:]} file: {error}; download it again"
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
            raise OSError(f"{message}; or set LNLIB_DATA to a folder that has the files") from error
    raise OSError(
        f"cannot download {file}:{''.join(problems)}\n"
        "Try again later, or get the file by other means and set the environment variable "
        "LNLIB_DATA to its folder."
    )


def _download_url(file: str, url: str, output_file: str, _: object) -> None:
    """Download to ``output_file``, and extract ``file`` from what was downloaded if necessary.

    Of a URL ``ARCHIVE.zip#MEMBER``, the member of the archive is extracted. If the URL ends in
    ``.gz`` and ``file`` does not, it is decompressed.

    Raises:
        ValueError: If the file cannot be extracted.
    """
    from pooch import HTTPDownloader
    from tqdm import tqdm

    address, _, member = url.partition("#")
    shown = {"desc": file, "unit": "B", "unit_scale": True, "file": messages.stderr()}
    with tqdm(total=1, disable=None, **shown) as bar:  # pooch sets the total
        HTTPDownloader(bar, CHUNK, timeout=TIMEOUT)(address, output_file, None)
    path = Path(output_file)
    if member:
        try:
            with zipfile.ZipFile(path) as archive:
                content = archive.read(member)
        except (zipfile.BadZipFile, KeyError) as error:
            raise ValueError(f"{member} cannot be extracted: {error}") from error
        path.write_bytes(content)
    elif url.endswith(".gz") and not file.endswith(".gz"):
        path.write_bytes(_read(path, ".gz"))
