"""One HTTP transfer into a file that may already hold its beginning: resumable and bounded."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lnlib import _messages

if TYPE_CHECKING:
    import requests

MIN_RATE = 1024  # bytes per second; a slower server is left for the next


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
        timeout: In seconds: to connect, and between two pieces. In each interval as long as the
            second, at least :data:`MIN_RATE` bytes per second must arrive.
        label: What the bar says.

    Raises:
        TransferError: If the server cannot be reached, has no such file, breaks off, stalls or is
            too slow.
        ValueError: If it offers more than ``max_bytes``.
        OSError: If ``part`` cannot be written.
    """
    from tqdm import tqdm

    start = part.stat().st_size if part.exists() else 0
    with _Response(url, start, timeout) as response:
        status = response.next()
        if status == 416 and start:
            return  # the file has all there is, or is no beginning of it
        if status not in (200, 206):
            raise TransferError(f"HTTP {status} {response.reason}")
        if status == 200:
            start = 0
        left = response.length  # None if the server does not say
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
            while chunk := response.next():
                if sink.tell() + len(chunk) > max_bytes:
                    raise ValueError(f"sends more than {max_bytes:,} bytes")
                sink.write(chunk)
                bar.update(len(chunk))


class _Response:
    """The answer to a request, read by a thread of its own.

    A read returns late where a server sends a byte now and then, and so do a connection and the
    headers; the caller can only leave them behind if it does not wait in them itself.
    """

    def __init__(self, url: str, start: int, timeout: tuple[float, float]) -> None:
        self.reason, self.length = "", None
        self._interval = timeout[1]
        self._expected = MIN_RATE * self._interval
        self._end, self._received = time.monotonic() + self._interval, 0
        self._queue: queue.Queue[Any] = queue.Queue(64)
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(url, start, timeout), daemon=True)

    def __enter__(self) -> _Response:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._left.set()
        with contextlib.suppress(queue.Empty):
            while True:  # the thread may be waiting for room
                self._queue.get_nowait()

    def next(self) -> Any:
        """Return the status, then chunks, then empty bytes.

        Raises:
            TransferError: If the server does not deliver, or not fast enough.
        """
        while True:
            try:
                item = self._queue.get(timeout=max(0.0, self._end - time.monotonic()))
            except queue.Empty:
                now = time.monotonic()
                # Much later than asked for: this process was stopped, not the server.
                paused = now >= self._end + self._interval
                if self._received < self._expected and not paused:
                    raise TransferError(
                        f"timed out: {self._received:,} bytes arrived in {self._interval:g} s, "
                        f"fewer than {MIN_RATE:,} per second"
                    ) from None
                self._end, self._received = now + self._interval, 0
                continue
            if isinstance(item, BaseException):
                raise item
            self._received += len(item) if isinstance(item, bytes) else 0
            return item

    def _read(self, url: str, start: int, timeout: tuple[float, float]) -> None:
        import requests
        import urllib3

        # identity: a .gz must arrive as it is, or its length and its ranges mean nothing.
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
        try:
            with (
                _session(url) as session,
                session.get(url, headers=headers, stream=True, timeout=timeout) as response,
            ):
                self.reason, self.length = response.reason, response.raw.length_remaining
                self._queue.put(response.status_code)
                for chunk in response.raw.stream(1 << 13, decode_content=False):
                    if self._left.is_set():
                        return
                    self._queue.put(chunk)
                self._queue.put(b"")
        except requests.exceptions.InvalidSchema as error:
            self._queue.put(TransferError(f"redirects out of http and https, or of https: {error}"))
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            self._queue.put(TransferError(_root(error)))
        except BaseException as error:  # the caller's to raise
            self._queue.put(error)


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
