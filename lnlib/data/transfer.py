"""One HTTP transfer into a file that may already hold its beginning: resumable and bounded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lnlib import _messages

if TYPE_CHECKING:
    import requests


class TransferError(Exception):
    """The server did not deliver; what arrived is good as far as it goes."""


def receive(
    url: str, part: Path, *, max_bytes: int, timeout: tuple[float, float], label: str
) -> None:
    """Append to a file what it lacks, or write it anew if the server sends from the start.

    Whether the whole is right is for the caller to check. A progress bar runs if stderr is a
    terminal.

    Args:
        url: Address of the whole. Redirects lead to http and https only, from https only to https.
        part: The file. After a break it holds what arrived.
        max_bytes: Refuse to let the file grow beyond this.
        timeout: In seconds, to connect and between two pieces.
        label: What the bar says.

    Raises:
        TransferError: If the server cannot be reached, has no such file, breaks off or stalls.
        ValueError: If it offers more than ``max_bytes``.
        OSError: If ``part`` cannot be written.
    """
    import requests
    import urllib3
    from tqdm import tqdm

    start = part.stat().st_size if part.exists() else 0
    # identity: a .gz must arrive as it is, or its length and its ranges mean nothing.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
    try:
        with (
            _session(url) as session,
            session.get(url, headers=headers, stream=True, timeout=timeout) as response,
        ):
            if response.status_code == 416 and start:
                return  # the file has all there is, or is no beginning of it
            if response.status_code not in (200, 206):
                raise TransferError(f"HTTP {response.status_code} {response.reason}")
            if response.status_code == 200:
                start = 0
            left = response.raw.length_remaining  # None if the server does not say
            if start + (left or 0) > max_bytes:
                raise ValueError(f"announces {start + left:,} bytes, more than {max_bytes:,}")
            with (
                part.open("ab" if start else "wb") as sink,
                tqdm(
                    total=left and start + left,
                    initial=start,
                    desc=label,
                    unit="B",
                    unit_scale=True,
                    disable=None,
                    file=_messages.stderr(),
                ) as bar,
            ):
                for chunk in response.raw.stream(1 << 14, decode_content=False):
                    if sink.tell() + len(chunk) > max_bytes:
                        raise ValueError(f"sends more than {max_bytes:,} bytes")
                    sink.write(chunk)
                    bar.update(len(chunk))
    except requests.exceptions.InvalidSchema as error:
        raise TransferError(f"redirects out of http and https, or of https: {error}") from error
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise TransferError(_root(error)) from error


def _session(url: str) -> requests.Session:
    import requests

    session = requests.Session()
    session.max_redirects = 5
    if url.startswith("https:"):
        del session.adapters["http://"]  # no redirect leaves https
    return session


def _root(error: BaseException) -> str:
    """Say what is at the bottom of the layers that urllib3 and requests put on an error."""
    while deeper := error.__cause__ or error.__context__:
        error = deeper
    return str(error) or type(error).__name__
