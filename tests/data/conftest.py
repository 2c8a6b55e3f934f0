"""A mirror on 127.0.0.1 that misbehaves as told, and nothing of the outside world."""

from __future__ import annotations

import contextlib
import functools
import gzip
import hashlib
import random
import re
import threading
from collections.abc import Callable
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lnlib.data.download import RemoteFile

CONTENT = random.Random(0).randbytes(100_000)


@pytest.fixture
def file() -> RemoteFile:
    """Return what the mirrors are asked for."""
    return RemoteFile("noise", len(CONTENT), hashlib.sha256(CONTENT).hexdigest())


class Mirror:
    """A server that gives ``answer(self, handler)`` to every request and remembers what it did."""

    def __init__(self, answer: Callable[[Mirror, BaseHTTPRequestHandler], None]):
        self.answer = answer
        self.body = gzip.compress(CONTENT, mtime=0)
        self.bodies: dict[str, bytes] = {}  # by path, instead of the one body
        self.asked: list[Message] = []  # the headers of each request
        self.sent = 0
        self.halfway = threading.Event()  # set when a slow answer has sent its first half
        self.go_on = threading.Event()  # a slow answer waits for it
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                mirror.asked.append(self.headers)
                mirror.answer(mirror, self)

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_):
                pass  # the client hung up

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    @property
    def ranges(self) -> list[str | None]:
        """Return the Range header of each request."""
        return [headers["Range"] for headers in self.asked]

    def close(self):
        """Stop serving; whoever connects from now on is refused."""
        self.go_on.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def head(self, handler, status=200, **headers):
        """Send the status line and the headers, underscores read as hyphens."""
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), str(value))
        handler.end_headers()

    def begin(self, handler, *, ranged: bool, body: bytes | None = None) -> bytes:
        """Send the headers of a body, or of the rest that was asked for; return what is to come."""
        body = self.bodies.get(handler.path, self.body) if body is None else body
        asked = re.fullmatch(r"bytes=(\d+)-", handler.headers["Range"] or "")
        start = int(asked[1]) if ranged and asked else 0
        if start >= len(body):
            self.head(handler, 416, Content_Range=f"bytes */{len(body)}")
            return b""
        if ranged and asked:
            self.head(
                handler,
                206,
                Content_Length=len(body) - start,
                Content_Range=f"bytes {start}-{len(body) - 1}/{len(body)}",
            )
        else:
            self.head(handler, Content_Length=len(body))
        return body[start:]

    def write(self, handler, content: bytes):
        """Send a piece of a body."""
        self.sent += len(content)  # first: the client may be done before the next line is
        handler.wfile.write(content)


class Answers:
    """What a mirror can do."""

    @staticmethod
    def well(mirror, handler, *, ranged=True):
        mirror.write(handler, mirror.begin(handler, ranged=ranged))

    @staticmethod
    def ignoring_ranges(mirror, handler):
        Answers.well(mirror, handler, ranged=False)

    @staticmethod
    def breaking_off(mirror, handler):
        rest = mirror.begin(handler, ranged=True)
        mirror.write(handler, rest[: len(rest) // 2])

    @staticmethod
    def stopping_halfway(mirror, handler):
        rest = mirror.begin(handler, ranged=True)
        mirror.write(handler, rest[: len(rest) // 2])
        mirror.halfway.set()
        mirror.go_on.wait(60)
        mirror.write(handler, rest[len(rest) // 2 :])

    @staticmethod
    def dripping(mirror, handler):
        """Send the first half at once, then a byte now and then: never silent for long."""
        rest = mirror.begin(handler, ranged=True)
        half = len(mirror.body) // 2
        mirror.write(handler, rest[:half])
        Answers.drip(mirror, handler, rest[half:])

    @staticmethod
    def dripping_headers(mirror, handler):
        Answers.drip(mirror, handler, b"HTTP/1.1 200 OK\r\nX-Slow: " + bytes(1 << 16))

    @staticmethod
    def drip(mirror, handler, content):
        with contextlib.suppress(OSError):
            for k in range(len(content)):
                handler.wfile.write(content[k : k + 1])
                if mirror.go_on.wait(0.05):
                    return

    @staticmethod
    def steadily(mirror, handler):
        """Send pieces for longer than the client waits for a single one."""
        rest = mirror.begin(handler, ranged=True)
        for k in range(0, len(rest), 1 << 14):
            mirror.write(handler, rest[k : k + (1 << 14)])
            mirror.go_on.wait(0.4)

    @staticmethod
    def not_found(mirror, handler):
        mirror.head(handler, 404)

    @staticmethod
    def empty_handed(mirror, handler):
        mirror.head(handler, 416)

    @staticmethod
    def wrong_content(mirror, handler):
        rest = mirror.begin(handler, ranged=True, body=gzip.compress(bytes(len(CONTENT))))
        mirror.write(handler, rest)

    @staticmethod
    def not_gzipped(mirror, handler):
        mirror.write(handler, mirror.begin(handler, ranged=True, body=CONTENT))

    @staticmethod
    def bomb(mirror, handler):
        rest = mirror.begin(handler, ranged=True, body=gzip.compress(bytes(30_000_000)))
        mirror.write(handler, rest)

    @staticmethod
    def announcing_gigabytes(mirror, handler):
        mirror.head(handler, Content_Length=5_000_000_000)
        mirror.write(handler, b"\x1f\x8b")

    @staticmethod
    def endless(mirror, handler):
        mirror.head(handler)
        with contextlib.suppress(OSError):
            while mirror.sent < 1 << 30:
                mirror.write(handler, bytes(1 << 16))

    @staticmethod
    def other_range(mirror, handler):
        if handler.headers["Range"] is None:
            Answers.well(mirror, handler)
        else:
            mirror.head(
                handler, 206, Content_Length=3, Content_Range=f"bytes 1-3/{len(mirror.body)}"
            )
            mirror.write(handler, mirror.body[1:4])

    @staticmethod
    def labelled_as_encoded(mirror, handler):
        mirror.head(handler, Content_Length=len(mirror.body), Content_Encoding="gzip")
        mirror.write(handler, mirror.body)

    @staticmethod
    def garbage(mirror, handler):
        handler.wfile.write(b"\x1b[2J\x1b]0;owned\x07\x9b31m\r" * 2000 + b"\r\n\r\n")

    @staticmethod
    def garbled_reason(mirror, handler):
        handler.wfile.write(b"HTTP/1.1 404 \x1b[31mgone\x07\r\nContent-Length: 0\r\n\r\n")

    @staticmethod
    def redirecting(mirror, handler, *, to):
        mirror.head(handler, 302, Location=to)


@pytest.fixture
def serve():
    """Start a mirror by what it does: ``serve("breaking_off")``."""
    mirrors = []

    def start(does: str, **how) -> Mirror:
        mirrors.append(Mirror(functools.partial(getattr(Answers, does), **how)))
        return mirrors[-1]

    yield start
    for mirror in mirrors:
        mirror.close()
