"""Files of data sets: where they lie, or from the first mirror that delivers them right.

A download is verified, atomic and safe for two processes.

What arrives lies beside its destination as ``<name>.part`` and is moved there in one step once it
is verified: a reader never sees half a file, and after a break the rest is fetched. Of two
processes that ask at once, a lock lets one download and the other find the file.
``pooch.retrieve`` does not serve here: it checks the compressed bytes, which differ from mirror to
mirror, knows one address a file, and begins again after every break.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import hashlib
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lnlib._files import cannot_write, is_full, printable, write
from lnlib.data.idx import read_content
from lnlib.data.transfer import TransferError, receive

_SLACK = 1 << 16  # gzip makes incompressible bytes longer, by less than this
_TIMEOUT = (10.0, 30.0)


@dataclass(frozen=True)
class RemoteFile:
    """A file as it must be once uncompressed; mirrors compress it as they like.

    Attributes:
        name: Without ``.gz``.
        size: In bytes, uncompressed.
        sha256: In hexadecimal digits.
        packed: Whether ``sha256`` is of the gzipped file, where that of its content is not known:
            then the publisher's own file is asked for, and no other packing.
        origin: Where the publisher has it, if only in an archive too large to be fetched for it.
    """

    name: str
    size: int
    sha256: str
    packed: bool = False
    origin: str = ""


@dataclass(frozen=True)
class Home:
    """Where a data set's files lie or are to lie.

    Attributes:
        name: Of the data set.
        folder: With the files.
        borrowed: The folder that ``LNLIB_DATA`` names, where that is where they are looked for:
            nothing is written there.
        cached: Whether the folder is ours, and what is wrong in it may be replaced.
    """

    name: str
    folder: Path
    borrowed: Path | None = None
    cached: bool = False

    def find(self, file: RemoteFile) -> bytearray | None:
        """Return the verified content of a file, or ``None`` if it is not there, or not to be used.

        Raises:
            ValueError: If a file of that name is the user's own, and not the right one.
            OSError: If it is there and cannot be read.
        """
        try:
            return find(file, self.folder)
        except ValueError:
            if not self.cached:
                raise
            return None

    def get(self, file: RemoteFile, mirrors: Sequence[str], suffix: str = ".gz") -> bytearray:
        """Return the verified content of a file, downloaded if it is not there and may be written.

        Args:
            file: What to get.
            mirrors: As for :func:`download`.
            suffix: As for :func:`download`.

        Raises:
            ValueError: As for :meth:`find`.
            OSError: If it is not there, and may not be written, or cannot be.
        """
        if (content := self.find(file)) is not None:
            return content
        if self.borrowed:
            raise self.lacks(file)
        return download(file, mirrors, self.folder, suffix=suffix)

    def prepared(
        self, files: Sequence[RemoteFile], prepare: Callable[[], bytes], varies: str = ""
    ) -> bytes:
        """Return the verified content of the first of several files, or else prepare the last.

        What is prepared is kept beside them, gzipped, but never in a folder of the user's.

        Args:
            files: Any of them will do.
            prepare: Gets the originals by :meth:`get`, and makes the last file's content of them.
            varies: What may be another on another machine, for the error.

        Raises:
            ValueError: As for :meth:`find`; if something else was prepared, which is not kept.
            OSError: As for :meth:`get`.
        """
        for file in files:
            if (content := self.find(file)) is not None:
                return bytes(content)
        try:
            content = prepare()
        except FileNotFoundError as error:
            raise self.lacks(files[0]) if self.borrowed else error from error
        wanted = files[-1]
        if (sha256 := hashlib.sha256(content).hexdigest()) != wanted.sha256:
            raise ValueError(
                f"{self.name}: SHA-256 of {wanted.name} as prepared must be {wanted.sha256}, got "
                f"{sha256}; {varies and f'{varies}, '}let LNLIB_DATA name a folder that has "
                f"{' or '.join(file.name for file in files)}"
            )
        if not self.borrowed:
            write(self.folder / f"{wanted.name}.gz", gzip.compress(content, mtime=0))
        return content

    def lacks(self, file: RemoteFile) -> FileNotFoundError:
        """Return the error that says which file is missing in a folder of the user's."""
        gone = "" if self.borrowed.is_dir() else "; there is no such folder"
        return FileNotFoundError(
            f"LNLIB_DATA names {self.borrowed}, where {file.name} must lie, gzipped or not, in it "
            f"or in its folder {self.name}{gone}; put it there, name another folder, or unset "
            f"LNLIB_DATA to download {self.name}"
        )


def home(name: str, files: Sequence[RemoteFile], folder: str | os.PathLike | None = None) -> Home:
    """Say where a data set's files lie or are to lie.

    Without ``folder``, in the one that the environment variable ``LNLIB_DATA`` names: in the folder
    in it that is called as the data set is if one of the files is there, else in that itself if one
    is, for another data set may have files of the same names. Without that, in the user's cache.

    Args:
        name: Of the data set.
        files: All that it may consist of.
        folder: Where they are to lie.
    """
    if folder is not None:
        return Home(name, Path(folder).expanduser().resolve())
    if not (named := os.environ.get("LNLIB_DATA")):
        import pooch

        return Home(name, (pooch.os_cache("lnlib") / name).expanduser().resolve(), cached=True)
    outer = Path(named).expanduser().resolve()
    inner = outer / name

    def has_one(folder: Path) -> bool:
        return any(path.exists() for file in files for path in _places(file, folder))

    within = has_one(inner) or (inner.is_dir() and not has_one(outer))
    return Home(name, inner if within else outer, borrowed=outer)


def _places(file: RemoteFile, folder: Path) -> list[Path]:
    return [folder / f"{file.name}{end}" for end in ("", ".gz", ".xz")]


def find(file: RemoteFile, folder: Path) -> bytearray | None:
    """Read and verify a file that may lie in a folder, compressed (gzip, xz) or not.

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
    for path in _places(file, folder):
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
    suffix: str = ".gz",
    timeout: tuple[float, float] = _TIMEOUT,
) -> bytearray:
    """Get a file into a folder from the first mirror that has it right.

    Args:
        file: What to get.
        mirrors: Addresses, tried in this order: of a folder, where it ends in a slash, to which
            name and suffix are added, or of the file.
        folder: Where to put it, made if need be.
        suffix: Of its name in the mirrors' folders.
        timeout: As for :func:`lnlib.data.transfer.receive`.

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
            _check_part(part)
            for mirror in mirrors:
                url = f"{mirror}{file.name}{suffix}" if mirror.endswith("/") else mirror
                try:
                    content = _from_mirror(url, part, file, timeout)
                except (TransferError, ValueError) as error:
                    problems.append(f"\n  {url}: {printable(str(error))}")
                    continue
                with part.open("rb") as stream:
                    kept = ".gz" if stream.read(2) == b"\x1f\x8b" else ""
                    os.fsync(stream.fileno())
                os.replace(part, folder / f"{file.name}{kept}")
                return content
    except OSError as error:
        if is_full(error):
            part.unlink(missing_ok=True)
        told = cannot_write(folder / file.name, error, file.size)
        raise OSError(f"{told}; or let LNLIB_DATA name a folder that has the files") from error
    origin = f" ({file.name} is in {file.origin})" if file.origin else ""
    raise OSError(
        f"cannot download {file.name}:{''.join(problems)}\n"
        "Try again later, it goes on from what has arrived. Or get the files by other means"
        f"{origin}, gzipped or not, and let the environment variable LNLIB_DATA name their folder."
    )


def _check_part(part: Path) -> None:
    """Remove a link or a pipe that lies where a download is to be written.

    A link would lead the download to another file, and a pipe would be waited for.

    Raises:
        OSError: If a folder lies there.
    """
    try:
        found = part.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, f"{part.name} is a folder")
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        part.unlink()


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
    sha256 = hashlib.sha256(path.read_bytes() if file.packed else content).hexdigest()
    if sha256 != file.sha256:
        what = "gzipped file" if file.packed else "uncompressed content"
        raise ValueError(
            f"{path}: SHA-256 of the {what} must be {file.sha256}, got {sha256}; "
            "it is damaged, or another data set's (Fashion-MNIST's files have the names of MNIST's)"
        )
    return content
