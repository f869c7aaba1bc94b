"""The transport under the Hub's client: limits on every answer, whatever the server says of it.

The client decodes, parses and follows what it is sent, so the limits stand below it: before a body
is decoded, and on each hop of a redirect or a next page.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from trlm_lab.acquire.hub_limits import HubLimits
from trlm_lab.errors import HubContentError, HubLimitError

#: Marks a request for a file's content, whose length the listed size bounds; redirects keep it.
FILE = "trlm_file"
_CONTENT = (200, 206)
#: How long to wait is the client's matter, which has a deadline, and not the server's.
_WAITING = ("retry-after", "ratelimit", "ratelimit-policy")


@dataclass
class _Transaction:
    """What one transaction with `server` may take; counts its answers."""

    limits: HubLimits
    deadline: float
    server: str
    origin: tuple[str, str, int | None]
    answers: int = 0

    def prepare(self, request: Any) -> None:
        """Neither a next page nor a redirect takes the token to another server."""
        require_time(self.deadline, self.limits)
        _require_safe(request.url, self.server)
        if _origin(request.url) != self.origin:
            request.headers.pop("authorization", None)
        request.headers["accept-encoding"] = "identity"

    def count(self) -> None:
        """One answer more. Raises HubLimitError."""
        self.answers += 1
        if self.answers > self.limits.answers:
            detail = f"more than {self.limits.answers} answers, as of pages that never end"
            raise HubLimitError(where=self.server, detail=detail)

    def in_time(self, got: int, seconds: float) -> None:
        """After a part of a file, which has limits of its own. Raises HubLimitError."""
        require_time(self.deadline, self.limits)

    def in_bounds(self, got: int, seconds: float) -> None:
        """After a part of an answer, `got` bytes in `seconds`. Raises HubLimitError."""
        require_time(self.deadline, self.limits)
        _require_bounds(got, seconds, self.limits, self.server)


def bounded_transport(limits: HubLimits, deadline: float, server: str, proxy: str = "") -> Any:
    """An `httpx2` transport that holds one transaction with `server` to its limits.

    It goes through `proxy`, where that is not empty.

    Its requests raise:
        HubLimitError: too long, too slow, too many answers, or from https to http.
        HubContentError: an answer that is compressed, which hides how long it is.
    """
    import httpx2

    transaction = _Transaction(limits, deadline, server, _origin(httpx2.URL(server)))
    watched = _watched_stream()

    class BoundedTransport(httpx2.HTTPTransport):
        def handle_request(self, request: Any) -> Any:
            transaction.prepare(request)
            response = super().handle_request(request)
            for name in _WAITING:
                response.headers.pop(name, None)
            if FILE in request.extensions and response.status_code in _CONTENT:
                response.stream = watched(response.stream, transaction.in_time)
                return response
            transaction.count()
            response.stream = watched(response.stream, transaction.in_bounds)
            _require_plain(request, response)
            return response

    return BoundedTransport(proxy=proxy or None)


def _watched_stream() -> Callable[[Any, Callable[[int, float], None]], Any]:
    """The class of streams that call a check with bytes and seconds after each part."""
    import httpx2

    class WatchedStream(httpx2.SyncByteStream):
        def __init__(self, inner: Any, check: Callable[[int, float], None]) -> None:
            self._inner, self._check = inner, check

        def __iter__(self) -> Iterator[bytes]:
            got, start = 0, time.monotonic()
            for part in self._inner:
                got += len(part)
                self._check(got, time.monotonic() - start)
                yield part

        def close(self) -> None:
            self._inner.close()

    return WatchedStream


def _require_plain(request: Any, response: Any) -> None:
    """Close and refuse a compressed answer."""
    if response.headers.get("content-encoding", "identity") != "identity":
        response.close()
        detail = "the server compresses what was asked for as it is"
        raise HubContentError(where=str(request.url), detail=detail)


def require_time(deadline: float, limits: HubLimits) -> None:
    """Raise HubLimitError once the transaction has taken too long."""
    if time.monotonic() > deadline:
        detail = f"the transaction took more than {limits.seconds:.0f} s"
        raise HubLimitError(where="download", detail=detail)


def _origin(url: Any) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _require_safe(url: Any, server: str) -> None:
    if server.startswith("https:") and url.scheme != "https":
        detail = f"a redirect from https to {url.scheme}://{url.host}"
        raise HubLimitError(where=server, detail=detail)


def _require_bounds(got: int, seconds: float, limits: HubLimits, server: str) -> None:
    if got > limits.answer_bytes:
        detail = f"an answer of more than {limits.answer_bytes} bytes"
        raise HubLimitError(where=server, detail=detail)
    if seconds > limits.file_seconds(got):
        detail = f"an answer slower than {limits.least_rate:.0f} bytes a second"
        raise HubLimitError(where=server, detail=detail)
