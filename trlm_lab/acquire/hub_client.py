"""The Hub's own client, with limits on time, silence and redirects, and its errors made ours."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trlm_lab.acquire.hub_endpoint import endpoint
from trlm_lab.acquire.hub_limits import HubLimits
from trlm_lab.acquire.hub_proxies import proxy_patterns
from trlm_lab.acquire.hub_transport import FILE, bounded_transport
from trlm_lab.errors import (
    HubLimitError,
    HubNotFoundError,
    HubTokenError,
    HubUnreachableError,
    MissingPackageError,
)

if TYPE_CHECKING:
    import httpx2
    from huggingface_hub import HfApi


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
        if start:
            headers["Range"] = f"bytes={start}-"
        return self.http.build_request("GET", url, headers=headers, extensions={FILE: True})


def token() -> str | bool:
    """The user's token, from the environment only; False forbids the client's stored one.

    Raises:
        HubTokenError: what no header can carry; the message would show it.
    """
    given = os.environ.get("HF_TOKEN", "")
    if not re.fullmatch(r"[!-~]*", given):
        raise HubTokenError(where="HF_TOKEN")
    return given or False


@contextmanager
def hub_client(limits: HubLimits) -> Iterator[HubClient]:
    """A client under `limits`; the library's global session is put back afterwards.

    Raises:
        MissingPackageError: the library is not installed.
    """
    try:
        import httpx2
        from huggingface_hub import HfApi, set_client_factory
        from huggingface_hub.utils._http import default_client_factory
    except ImportError as error:
        raise MissingPackageError(package="huggingface_hub", extra="models") from error

    deadline = time.monotonic() + limits.seconds
    server = endpoint()

    def bounded() -> httpx2.Client:
        through = _through_proxies(limits, deadline, server)
        return httpx2.Client(
            transport=bounded_transport(limits, deadline, server),
            mounts=through,
            follow_redirects=True,
            max_redirects=limits.redirects,
            timeout=limits.silence_seconds,
        )

    http = bounded()
    set_client_factory(bounded)
    try:
        api = HfApi(endpoint=server, token=token())
        yield HubClient(api, http, server, limits, deadline)
    finally:
        http.close()
        set_client_factory(default_client_factory)


def _through_proxies(limits: HubLimits, deadline: float, server: str) -> dict[str, Any]:
    """A transport for each pattern of addresses that has a proxy, None where it has none.

    Raises:
        HubUnreachableError: a proxy that this client cannot speak to; its address may hold a
            password and is not shown.
    """
    import httpx2

    try:
        return {
            pattern: bounded_transport(limits, deadline, server, proxy) if proxy else None
            for pattern, proxy in proxy_patterns().items()
        }
    except (ImportError, ValueError, LookupError, httpx2.InvalidURL) as error:
        detail = f"a proxy that the environment names is unusable ({type(error).__name__})"
        raise HubUnreachableError(where="proxy", detail=detail) from None


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


@contextmanager
def hub_answers(where: str) -> Iterator[None]:
    """As `hub_errors`, for what the client reads out of an answer; it takes any JSON for its own.

    Raises:
        HubUnreachableError: the answer is no JSON, or not of the form that the client expects.
    """
    with hub_errors(where):
        try:
            yield
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            from huggingface_hub.errors import HFValidationError

            if isinstance(error, HFValidationError):
                raise
            detail = f"the answer has not the form of a Hub's: {_first_line(error)}"
            raise HubUnreachableError(where=where, detail=detail) from error


def _first_line(error: Exception) -> str:
    text = str(error).strip().split("\n")[0].rstrip(".")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
