"""Show a site in the browser: files of one folder, to this machine alone."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class _Quiet(SimpleHTTPRequestHandler):
    """Serves files without a word, and never from a cache: the next build has the same names."""

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None: ...


def server(site: Path) -> ThreadingHTTPServer:
    """A server of the files in `site` on a free port of 127.0.0.1; the caller lets it serve and closes it."""
    return ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))


def address(serving: ThreadingHTTPServer) -> str:
    """The URL of its overview."""
    return f"http://127.0.0.1:{serving.server_address[1]}/index.html"


def show(site: Path, say: Callable[[str], None]) -> None:
    """Serve `site` and open it in the browser; returns when interrupted (Ctrl-C)."""
    with server(site) as serving:
        say(f"{address(serving)}  (Ctrl-C ends)")
        webbrowser.open(address(serving))
        try:
            serving.serve_forever()
        except KeyboardInterrupt:
            say("")
