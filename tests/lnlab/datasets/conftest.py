"""A local server instead of the mirrors, and a temporary folder instead of the user's cache."""

import contextlib
import hashlib
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pooch
import pytest

from lnlab.datasets import fetch


class Mirror:
    """A file server that records the requested paths.

    ``behavior`` is ``well``, ``not_found``, ``breaking_off`` (after the first half), ``stalling``
    (for a second, after the first half) or ``wrong_content``.
    """

    def __init__(self, files: dict[str, bytes], behavior: str):
        self.requested: list[str] = []
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                name = self.path.removeprefix("/")
                mirror.requested.append(name)
                if behavior == "not_found":
                    self.send_error(404)
                    return
                body = b"other" if behavior == "wrong_content" else files[name]
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                half = len(body) // 2
                with contextlib.suppress(OSError):  # the client hung up
                    self.wfile.write(body[:half])
                    self.wfile.flush()
                    if behavior == "stalling":
                        time.sleep(1)
                    if behavior != "breaking_off":
                        self.wfile.write(body[half:])

            def log_message(self, *_):
                pass

        self.files = files
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self):
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
