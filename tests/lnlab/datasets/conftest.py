"""A local server instead of the mirrors, and a temporary folder instead of the user's cache."""

import contextlib
import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pooch
import pytest

from lnlab.datasets import fetch


class Mirror:
    """A file server that records the requested paths.

    ``behavior`` is ``well``, ``not_found``, ``breaking_off`` (after the first half), ``stalling``
    (after the first half, until ``resume`` is set) or ``wrong_content``.
    """

    def __init__(self, files: dict[str, bytes], behavior: str):
        self.files, self.behavior = files, behavior
        self.requested: list[str] = []
        self.resume = threading.Event()
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                mirror.answer(self)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None  # the client hung up
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def answer(self, handler):
        name = handler.path.removeprefix("/")
        self.requested.append(name)
        if self.behavior == "not_found" or name not in self.files:
            handler.send_error(404)
            return
        body = b"other" if self.behavior == "wrong_content" else self.files[name]
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        half = len(body) // 2
        with contextlib.suppress(OSError):
            handler.wfile.write(body[:half])
            if self.behavior == "breaking_off":
                return
            if self.behavior == "stalling":
                handler.wfile.flush()
                self.resume.wait(60)
            handler.wfile.write(body[half:])

    def close(self):
        self.resume.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def serve():
    """Start a mirror: ``serve({"a.txt": b"..."}, "breaking_off")``."""
    mirrors = []

    def start(files: dict[str, bytes], behavior: str = "well") -> Mirror:
        mirrors.append(Mirror(files, behavior))
        return mirrors[-1]

    yield start
    for mirror in mirrors:
        mirror.close()


@pytest.fixture
def register(monkeypatch):
    """Put a file into the registry: ``register(name, content, *urls)``."""

    def put(name: str, content: bytes, *urls: str):
        entry = fetch.Entry(hashlib.sha256(content).hexdigest(), urls)
        monkeypatch.setitem(fetch.REGISTRY, name, entry)

    return put


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Return the folder that replaces the user's cache."""
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "cache" / project)
    return tmp_path / "cache" / "lnlib"
