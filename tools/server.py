"""A local web server for built pages, which prints nothing."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class QuietHandler(SimpleHTTPRequestHandler):
    """A request handler that does not log requests."""

    def log_message(self, *args: object) -> None:
        """Print nothing."""


class QuietServer(ThreadingHTTPServer):
    """A server that does not report connections closed by the browser."""

    def handle_error(self, *args: object) -> None:
        """Ignore the error: a browser that closes a page does not wait for its files."""


@contextmanager
def serve(folder: Path, handler: type[SimpleHTTPRequestHandler] = QuietHandler) -> Iterator[str]:
    """Serve a folder within the ``with`` block, which gets the address."""
    with QuietServer(("127.0.0.1", 0), partial(handler, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
