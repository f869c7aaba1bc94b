"""The transport under the Hub's client: limits on every answer, whatever the server says of it.

The client decodes, parses and follows what it is sent, so the limits stand below it: before a body
is decoded, and on each hop of a redirect or a next page.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from trlm_lab.acquire.hub_limits import HubLimits
from trlm_lab.errors import HubContentError, HubLimitError

#: Marks a request for a file's content, whose length the listed size bounds; redirects keep it.
FILE = "trlm_file"
_CONTENT = (200, 206)
#: How long to wait is the client's matter, which has a deadline, and not the server's.
_WAITING = ("retry-after", "ratelimit", "ratelimit-policy")


def bounded_transport(limits: HubLimits, deadline: float, server: str, proxy: str = "") -> Any:
    """An `httpx2` transport that holds one transaction with `server` to its limits.

    It goes through `proxy`, where that is not empty.

    Its requests raise:
        HubLimitError: too long, too slow, too many answers, or from https to http.
        HubContentError: an answer that is compressed, which hides how long it is.
    """
    import httpx2

    class BoundedStream(httpx2.SyncByteStream):
        def __init__(self, inner: Any) -> None:
            self._inner = inner

        def __iter__(self) -> Iterator[bytes]:
            got, start = 0, time.monotonic()
            for part in self._inner:
                got += len(part)
                require_time(deadline, limits)
                _require_bounds(got, time.monotonic() - start, limits, server)
                yield part

        def close(self) -> None:
            self._inner.close()

    class TimedStream(BoundedStream):
        def __iter__(self) -> Iterator[bytes]:
            for part in self._inner:
                require_time(deadline, limits)
                yield part

    class BoundedTransport(httpx2.HTTPTransport):
        answers = 0

        def handle_request(self, request: Any) -> Any:
            require_time(deadline, limits)
            _require_safe(request.url, server)
            # Neither a next page nor a redirect takes the token to another server.
            if _origin(request.url) != _origin(httpx2.URL(server)):
                request.headers.pop("authorization", None)
            request.headers["accept-encoding"] = "identity"
            response = super().handle_request(request)
            for name in _WAITING:
                response.headers.pop(name, None)
            if FILE in request.extensions and response.status_code in _CONTENT:
                response.stream = TimedStream(response.stream)
                return response
            self._count()
            response.stream = BoundedStream(response.stream)
            if response.headers.get("content-encoding", "identity") != "identity":
                response.close()
                detail = "the server compresses what was asked for as it is"
                raise HubContentError(where=str(request.url), detail=detail)
            return response

        def _count(self) -> None:
            self.answers += 1
            if self.answers > limits.answers:
                detail = f"more than {limits.answers} answers, as of pages that never end"
                raise HubLimitError(where=server, detail=detail)

    return BoundedTransport(proxy=proxy or None)


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
