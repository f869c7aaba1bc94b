"""The page's own server: 127.0.0.1, an ephemeral port, a closed table of files, channels for runs.

Isolation headers make the page cross-origin isolated. A request under another host name, or from
another site, is turned away; a path is looked up and never joined to a directory.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from trlm_lab.backends.browser.byte_range import parse_range
from trlm_lab.backends.browser.channel import Channel
from trlm_lab.backends.browser.frames import FRAME_LIMIT
from trlm_lab.backends.browser.resources import Resource
from trlm_lab.errors import PortTakenError

CHANNEL_PREFIX = "/observations/"
GIVEN_PREFIX = "/given/"
CLOSE_LIMIT_S = 10.0
POLL_S = 0.05
_HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; "
        "connect-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    protocol_version = "HTTP/1.1"
    server_version = "trlm"
    sys_version = ""

    def log_message(self, format: str, *args: Any) -> None:
        """Stay silent: standard error belongs to the command."""

    def _head(self, status: int, length: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def _answer(self, status: int, body: bytes = b"", content_type: str = "text/plain") -> None:
        self._head(status, len(body), Content_Type=content_type)
        if self.command != "HEAD":
            self.wfile.write(body)

    def _is_ours(self) -> bool:
        hosts = {f"{name}:{self.server.server_port}" for name in ("127.0.0.1", "localhost")}
        site = self.headers.get("Sec-Fetch-Site", "none")
        origin = self.headers.get("Origin")
        return (
            self.headers.get("Host") in hosts
            and site in ("same-origin", "none")
            and (origin is None or origin in {f"http://{host}" for host in hosts})
        )

    def do_GET(self) -> None:
        """A file of the table, whole or one range of it."""
        resource = self.server.table.get(self.path.partition("?")[0])
        if not self._is_ours():
            self._answer(403)
        elif resource is None:
            self._answer(404)
        elif resource.file is None:
            self._answer(200, resource.body, resource.content_type)
        else:
            self._send_file(resource)

    do_HEAD = do_GET  # noqa: N815

    def _send_file(self, resource: Resource) -> None:
        assert resource.file is not None
        with resource.file.open("rb") as stream:
            size = stream.seek(0, 2)
            wanted = parse_range(self.headers.get("Range"), size)
            if wanted is None:
                self._head(416, 0, Content_Range=f"bytes */{size}")
                return
            length = wanted.stop - wanted.start
            told = {"Content_Type": resource.content_type, "Accept_Ranges": "bytes"}
            if wanted.partial:
                told["Content_Range"] = wanted.content_range
            self._head(206 if wanted.partial else 200, length, **told)
            if self.command != "HEAD" and length:
                self.connection.sendfile(stream, wanted.start, length)

    def do_POST(self) -> None:
        """One frame of a run; the answer waits until the consumer has room for it."""
        channel = self.server.channel(self.path)
        length = self.headers.get("Content-Length", "")
        if not self._is_ours() or channel is None:
            self.close_connection = True
            self._answer(403)
        elif not length.isascii() or not length.isdigit() or int(length) > FRAME_LIMIT:
            self.close_connection = True
            self._answer(413)
        else:
            frame = bytearray(int(length))
            if self.rfile.readinto(frame) == len(frame):
                more = channel.put(frame)
                self._answer(200, b'{"more":%s}' % (b"true" if more else b"false"))


class PageServer(ThreadingHTTPServer):
    """Serves a table of resources until closed; a context manager.

    Raises:
        PortTakenError: another program listens on the port.
    """

    # Daemons, so that a server nobody closed cannot keep the interpreter from ending.
    daemon_threads = True

    def __init__(self, table: dict[str, Resource], *, port: int = 0) -> None:
        self.table = table
        self._channels: dict[str, Channel] = {}
        self._connections: set[socket.socket] = set()
        self._changed = threading.Condition()
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except (OSError, OverflowError) as error:
            raise PortTakenError(port=port, detail=str(error)) from error
        self._thread = threading.Thread(
            target=self.serve_forever, args=(POLL_S,), name="trlm-page", daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """Address of the page."""
        return f"http://127.0.0.1:{self.server_port}/"

    def channel(self, path: str) -> Channel | None:
        """The channel that listens on a path."""
        return self._channels.get(path)

    @contextlib.contextmanager
    def listening(self) -> Iterator[tuple[str, Channel]]:
        """A fresh channel and its secret path, for one run."""
        path, channel = CHANNEL_PREFIX + secrets.token_urlsafe(18), Channel()
        self._channels[path] = channel
        try:
            yield path, channel
        finally:
            channel.close()
            del self._channels[path]

    @contextlib.contextmanager
    def giving(self, body: bytes) -> Iterator[str]:
        """A secret path under which the page finds these bytes, for as long as it wants them."""
        path = GIVEN_PREFIX + secrets.token_urlsafe(18)
        self.table[path] = Resource("application/octet-stream", body=body)
        try:
            yield path
        finally:
            del self.table[path]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Note the connection, so that closing can end it."""
        with self._changed:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """End the connection and forget it."""
        super().shutdown_request(request)
        with self._changed:
            self._connections.discard(request)
            self._changed.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that hangs up is no error of the server."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def close(self) -> None:
        """Stop serving, end every connection, wait for the threads."""
        self.shutdown()
        for channel in list(self._channels.values()):
            channel.close()
        with self._changed:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            self._changed.wait_for(lambda: not self._connections, timeout=CLOSE_LIMIT_S)
        self.server_close()
        self._thread.join()

    def __exit__(self, *exc: object) -> None:
        self.close()
