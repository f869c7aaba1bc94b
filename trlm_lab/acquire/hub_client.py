"""The Hub's own client, with limits on time, silence, redirects and the size of its answers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trlm_lab.acquire.hub_limits import HubLimits
from trlm_lab.errors import HubLimitError, HubNotFoundError, HubUnreachableError

if TYPE_CHECKING:
    import httpx2
    from huggingface_hub import HfApi

DEFAULT_ENDPOINT = "https://huggingface.co"


@dataclass(frozen=True)
class HubClient:
    """The client library's interface and its HTTP session for one transaction."""

    api: HfApi
    http: httpx2.Client
    endpoint: str
    limits: HubLimits
    deadline: float

    def file_request(self, repo: str, commit: str, path: str, start: int) -> httpx2.Request:
        """The request for a file's bytes from `start` on, not as a Xet reconstruction."""
        from huggingface_hub import hf_hub_url
        from huggingface_hub.utils import build_hf_headers

        url = hf_hub_url(repo, path, revision=commit, endpoint=self.endpoint)
        headers = build_hf_headers(token=self.api.token)
        headers["Accept-Encoding"] = "identity"
        if start:
            headers["Range"] = f"bytes={start}-"
        return self.http.build_request("GET", url, headers=headers)


def token() -> str | bool:
    """The user's token, from the environment only; False forbids the client's stored one."""
    return os.environ.get("HF_TOKEN") or False


def endpoint() -> str:
    """The server: `HF_ENDPOINT`, or the public Hub."""
    return (os.environ.get("HF_ENDPOINT") or DEFAULT_ENDPOINT).rstrip("/")


@contextmanager
def hub_client(limits: HubLimits) -> Iterator[HubClient]:
    """A client under `limits`; the library's global session is put back afterwards."""
    import httpx2
    from huggingface_hub import HfApi, set_client_factory
    from huggingface_hub.utils._http import default_client_factory

    deadline = time.monotonic() + limits.seconds
    server = endpoint()

    def bounded() -> httpx2.Client:
        return httpx2.Client(
            transport=_bounded_transport(limits, deadline, server),
            follow_redirects=True,
            max_redirects=limits.redirects,
            timeout=limits.silence_seconds,
        )

    set_client_factory(bounded)
    http = bounded()
    try:
        api = HfApi(endpoint=server, token=token())
        yield HubClient(api, http, server, limits, deadline)
    finally:
        http.close()
        set_client_factory(default_client_factory)


def _bounded_transport(limits: HubLimits, deadline: float, server: str) -> Any:
    import httpx2

    class BoundedStream(httpx2.SyncByteStream):
        def __init__(self, inner: Any, most: int | None) -> None:
            self._inner, self._most = inner, most

        def __iter__(self) -> Iterator[bytes]:
            got = 0
            for part in self._inner:
                got += len(part)
                _require_time(deadline, limits)
                if self._most is not None and got > self._most:
                    detail = f"an answer of more than {self._most} bytes"
                    raise HubLimitError(where=server, detail=detail)
                yield part

        def close(self) -> None:
            self._inner.close()

    class BoundedTransport(httpx2.HTTPTransport):
        def handle_request(self, request: Any) -> Any:
            _require_time(deadline, limits)
            if server.startswith("https:") and request.url.scheme != "https":
                detail = f"a redirect from https to {request.url.scheme}://{request.url.host}"
                raise HubLimitError(where=server, detail=detail)
            response = super().handle_request(request)
            most = limits.answer_bytes if "/api/" in request.url.path else None
            response.stream = BoundedStream(response.stream, most)
            return response

    return BoundedTransport()


def _require_time(deadline: float, limits: HubLimits) -> None:
    if time.monotonic() > deadline:
        detail = f"the transaction took more than {limits.seconds:.0f} s"
        raise HubLimitError(where="download", detail=detail)


@contextmanager
def hub_errors(where: str) -> Iterator[None]:
    """Turn the client's and the transport's exceptions into the project's.

    Raises:
        HubNotFoundError: the server says that this is not there, or not for this user.
        HubLimitError: too many redirects.
        HubUnreachableError: anything else that goes wrong on the way.
    """
    import httpx2
    from huggingface_hub.errors import (
        HfHubHTTPError,
        HFValidationError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    try:
        yield
    except (RepositoryNotFoundError, RevisionNotFoundError, HFValidationError) as error:
        # A gated repository is a repository not found, to this client.
        raise HubNotFoundError(where=where, detail=_first_line(error)) from error
    except httpx2.TooManyRedirects as error:
        raise HubLimitError(where=where, detail="more redirects than the limit") from error
    except (HfHubHTTPError, OfflineModeIsEnabled, httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise HubUnreachableError(where=where, detail=_first_line(error)) from error


def _first_line(error: Exception) -> str:
    text = str(error).strip().split("\n")[0].rstrip(".")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
