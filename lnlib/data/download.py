"""A file from the first mirror that delivers it right: verified, atomic, safe for two processes.

What arrives lies beside its destination as ``<name>.part`` and is moved there in one step once it
is verified: a reader never sees half a file, and after a break the rest is fetched. Of two
processes that ask at once, a lock lets one download and the other find the file.
``pooch.retrieve`` does not serve here: it checks the compressed bytes, which differ from mirror to
mirror, knows one address a file, and begins again after every break.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lnlib._files import cannot_write, is_full, printable
from lnlib.data.idx import read_content
from lnlib.data.transfer import TransferError, receive

_SLACK = 1 << 16  # gzip makes incompressible bytes longer, by less than this
_TIMEOUT = (10.0, 30.0)


@dataclass(frozen=True)
class RemoteFile:
    """A file as it must be once uncompressed; mirrors compress it as they like.

    Attributes:
        name: Without ``.gz``.
        size: In bytes.
        sha256: In hexadecimal digits.
    """

    name: str
    size: int
    sha256: str


def find(file: RemoteFile, folder: Path) -> bytearray | None:
    """Read and verify a file that may lie in a folder, gzipped or not.

    Args:
        file: What to look for.
        folder: Where to look; nothing is written there.

    Returns:
        The uncompressed content, or ``None`` if the file is not there.

    Raises:
        ValueError: If files of that name are there, and none is the right one.
        OSError: If it is there and cannot be read.
    """
    wrong = None
    for path in (folder / file.name, folder / f"{file.name}.gz"):
        try:
            return _verified(path, file)
        except FileNotFoundError:
            continue
        except ValueError as error:
            wrong = wrong or error
    if wrong is not None:
        raise wrong
    return None


def download(
    file: RemoteFile,
    mirrors: Sequence[str],
    folder: Path,
    *,
    timeout: tuple[float, float] = _TIMEOUT,
) -> bytearray:
    """Get a file into a folder from the first mirror that has it right.

    Args:
        file: What to get; its address is ``<mirror><name>.gz``.
        mirrors: Addresses that end in a slash, tried in this order.
        folder: Where to put it, made if need be.
        timeout: In seconds, to connect and between two pieces.

    Returns:
        The uncompressed, verified content.

    Raises:
        OSError: If no mirror delivers the file, or it cannot be written.
    """
    from filelock import FileLock

    part = folder / f"{file.name}.part"
    problems = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / f"{file.name}.lock"):
            with contextlib.suppress(ValueError):
                # Another process may have fetched it while this one waited for the lock.
                if (content := find(file, folder)) is not None:
                    return content
            for mirror in mirrors:
                url = f"{mirror}{file.name}.gz"
                try:
                    content = _from_mirror(url, part, file, timeout)
                except (TransferError, ValueError) as error:
                    problems.append(f"\n  {url}: {printable(str(error))}")
                    continue
                with part.open("rb") as stream:
                    suffix = ".gz" if stream.read(2) == b"\x1f\x8b" else ""
                    os.fsync(stream.fileno())
                os.replace(part, folder / f"{file.name}{suffix}")
                return content
    except OSError as error:
        if is_full(error):
            part.unlink(missing_ok=True)
        told = cannot_write(folder / file.name, error, file.size)
        raise OSError(f"{told}; or let LNLIB_DATA name a folder that has the files") from error
    raise OSError(
        f"cannot download {file.name}:{''.join(problems)}\n"
        "Try again later, it goes on from what has arrived. Or get the files by other means, "
        "gzipped or not, and let the environment variable LNLIB_DATA name their folder."
    )


def _from_mirror(url: str, part: Path, file: RemoteFile, timeout: tuple[float, float]) -> bytearray:
    resumed = part.exists()
    try:
        receive(url, part, max_bytes=file.size + _SLACK, timeout=timeout, label=file.name)
        return _verified(part, file)
    except ValueError:
        part.unlink(missing_ok=True)
        if not resumed:
            raise
    # The beginning may have been another server's: once more, without it.
    return _from_mirror(url, part, file, timeout)


def _verified(path: Path, file: RemoteFile) -> bytearray:
    content = read_content(path, max_bytes=file.size)
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 != file.sha256:
        raise ValueError(
            f"{path}: SHA-256 of the uncompressed content must be {file.sha256}, got {sha256}; "
            "it is damaged, or another data set's (Fashion-MNIST's files have the same names)"
        )
    return content
