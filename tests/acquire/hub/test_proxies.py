"""The user's proxies are used, within the same limits, and never shown."""

import httpx2
import pytest

from tests.acquire.hub.conftest import PROXIES, acquired
from tests.acquire.hub.server import HubServer, Repository
from trlm_lab.acquire.hub_proxies import proxy_patterns
from trlm_lab.errors import HubLimitError, HubUnreachableError


@pytest.fixture
def through(tiny: Repository, hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> HubServer:
    """A Hub that is there through a proxy alone; the test's server is both."""
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.invalid")
    monkeypatch.setenv("http_proxy", hub.url)
    return hub


def test_a_hub_behind_a_proxy(tiny: Repository, through: HubServer) -> None:
    assert acquired().provenance["hub"]["commit"] == tiny.branches["main"]
    assert {headers["Host"] for _, headers in through.headers_seen} >= {"hub.invalid"}


def test_the_limits_hold_there_too(through: HubServer) -> None:
    with pytest.raises(HubLimitError, match="more than 100 bytes"):
        acquired(answer_bytes=100)


def test_what_goes_without_a_proxy(through: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "invalid")
    with pytest.raises(HubUnreachableError):
        acquired()
    assert through.seen.total() == 0


@pytest.mark.parametrize("address", ["gopher://u:hidden@x", "http://u:hidden@[x", "http://x:no"])
def test_an_unusable_proxy_is_not_shown(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("http_proxy", address)
    with pytest.raises(HubUnreachableError) as caught:
        acquired()
    assert "hidden" not in str(caught.value)


def test_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PROXIES, *map(str.lower, PROXIES)):
        monkeypatch.delenv(name, raising=False)
    assert proxy_patterns() == {}
    monkeypatch.setenv("no_proxy", "a.org, .b.org")
    assert proxy_patterns() == {}
    monkeypatch.setenv("https_proxy", "proxy:3128")
    found = proxy_patterns()
    assert found["https://"] == "http://proxy:3128"
    assert {k for k, v in found.items() if not v} == {
        "all://a.org", "all://*.a.org", "all://b.org", "all://*.b.org"
    }  # fmt: skip
    for pattern in found:
        httpx2.Client(mounts={pattern: None}).close()
    monkeypatch.setenv("no_proxy", "*")
    assert proxy_patterns() == {}
