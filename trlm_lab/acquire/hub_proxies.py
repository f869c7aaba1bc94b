"""The proxies that the environment names (`HTTPS_PROXY`, `NO_PROXY` and so on), by URL pattern.

A client with a transport of its own does not look for them, so they are handed to it.
"""

from __future__ import annotations

from urllib.request import getproxies


def proxy_patterns() -> dict[str, str]:
    """Pattern of an address, as the client spells it, to a proxy; empty for none.

    `NO_PROXY` is a list of hosts with everything below them, or `*` (curl's manual, `--noproxy`).
    """
    named = getproxies()
    direct = [host.strip().lstrip(".") for host in named.get("no", "").split(",")]
    if "*" in direct:
        return {}
    found = {
        f"{scheme}://": address if "://" in address else f"http://{address}"
        for scheme in ("http", "https", "all")
        if (address := named.get(scheme, ""))
    }
    if not found:
        return {}
    below = {f"all://{prefix}{host}": "" for host in direct if host for prefix in ("", "*.")}
    return found | below
