"""Which server a Hub is: its address as requests take it, and in the one form that records hold.

A repository and a commit say what is meant only together with the server that says so: another one
may list other bytes under the same name and the same commit id.
"""

from __future__ import annotations

import os
from urllib.parse import SplitResult, urlsplit

from trlm_lab.errors import HubUnreachableError

DEFAULT_ENDPOINT = "https://huggingface.co"
_PORTS = {"http": 80, "https": 443}


def endpoint() -> str:
    """The server as requests take it: `HF_ENDPOINT`, or the public Hub."""
    return (os.environ.get("HF_ENDPOINT") or DEFAULT_ENDPOINT).rstrip("/")


def endpoint_identity() -> str:
    """The server as records hold it: scheme, host, port and path.

    Lower case where case says nothing, no port that the scheme implies, no slash at the end, and
    neither user nor password nor a query.

    Raises:
        HubUnreachableError: it is no address of a server. The address is not repeated, since it may
            hold a password.
    """
    try:
        parts = urlsplit(endpoint())
        host, port = _host(parts), parts.port
    except ValueError:
        host, port = "", None
    if not host or parts.scheme not in _PORTS:
        detail = "HF_ENDPOINT is no address such as https://host or http://host:port/path"
        raise HubUnreachableError(where="HF_ENDPOINT", detail=detail)
    shown = "" if port in (None, _PORTS[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{host}{shown}{parts.path.rstrip('/')}"


def _host(parts: SplitResult) -> str:
    """The name in the form of the domain name system, or the number; brackets around IPv6."""
    host = (parts.hostname or "").rstrip(".")
    if ":" in host:
        return f"[{host}]"
    return host if host.isascii() else host.encode("idna").decode()
