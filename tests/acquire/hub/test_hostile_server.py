"""Answers that no Hub gives: bombs, pages without end, tokens led astray, names nobody can keep."""

import itertools
import json
import time
import zlib
from typing import Any

import httpx2
import pytest

from tests.acquire.hub.conftest import QUICK, REPO, TREE, acquired
from tests.acquire.hub.server import HubServer, Repository
from trlm_lab.acquire.hub_transport import bounded_transport
from trlm_lab.errors import (
    HubContentError,
    HubLimitError,
    HubTokenError,
    HubTreeError,
    HubUnreachableError,
    LicenceUndecidedError,
)

ID = "a" * 40
JSON = [("Content-Type", "application/json")]
FILE = {"type": "file", "path": "a.txt", "size": 1, "oid": ID}


def tree(row: Any, *headers: tuple[str, str], status: int = 200) -> Any:
    body = row if isinstance(row, bytes) else json.dumps(row).encode()
    return (status, body, [*JSON, *headers])


def sent(headers: dict[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def bomb(size: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return packer.compress(b" " * size) + packer.flush()


@pytest.mark.parametrize("status", [200, 404])
@pytest.mark.parametrize("name", ["/revision/main", "/LICENSE"])
def test_what_is_compressed_is_not_unpacked(
    tiny: Repository, hub: HubServer, name: str, status: int
) -> None:
    hub.behaviour.answer[name] = (status, bomb(1 << 20), [("Content-Encoding", "gzip")])
    with pytest.raises(HubContentError, match="compresses"):
        acquired()
    assert {sent(h)["accept-encoding"] for _, h in hub.headers_seen} == {"identity"}


@pytest.mark.parametrize("name", ["/revision/main", "/LICENSE"])
def test_a_redirect_leads_out_of_no_limit(tiny: Repository, hub: HubServer, name: str) -> None:
    hub.behaviour.answer[name] = (302, b" " * 70_000, [("Location", f"{hub.url}/elsewhere")])
    hub.behaviour.answer["/elsewhere"] = (404, b" " * 70_000, JSON)
    with pytest.raises((HubLimitError, HubContentError)):
        acquired(answer_bytes=60_000)


def test_an_answer_elsewhere_is_as_bounded(tiny: Repository, hub: HubServer) -> None:
    hub.behaviour.answer["/revision/main"] = (302, b"", [("Location", f"{hub.url}/elsewhere")])
    hub.behaviour.answer["/elsewhere"] = (200, b" " * 70_000, JSON)
    with pytest.raises(HubLimitError, match="more than 60000 bytes"):
        acquired(answer_bytes=60_000)


def test_no_redirect_leads_from_https_to_http() -> None:
    transport = bounded_transport(QUICK, time.monotonic() + 60, "https://hub.invalid")
    with pytest.raises(HubLimitError, match="from https to http"):
        transport.handle_request(httpx2.Request("GET", "http://hub.invalid/file"))


@pytest.mark.parametrize("kind", ["an answer", "a file"])
def test_as_many_redirects_as_the_limit(tiny: Repository, hub: HubServer, kind: str) -> None:
    commit = tiny.branches["main"]
    answer, file = f"/api/models/{REPO}/revision/main", f"/{REPO}/resolve/{commit}/LICENSE"
    asked = answer if kind == "an answer" else file
    hops = [asked, *(f"/hop{i}" for i in range(1, 4))]
    for here, there in itertools.pairwise(hops):
        hub.behaviour.answer[here] = (302, b"", [("Location", f"{hub.url}{there}")])
    hub.behaviour.answer["/hop3"] = (302, b"", [("Location", f"{hub.url}{asked}?")])
    with pytest.raises(HubLimitError, match="redirects"):
        acquired(redirects=3)
    assert hub.seen["/hop3"] == 1


@pytest.mark.parametrize("rows", [[], [FILE]])
def test_pages_without_end(tiny: Repository, hub: HubServer, rows: list[Any]) -> None:
    commit = tiny.branches["main"]
    again = f'<{hub.url}/api/models/{REPO}/tree/{commit}?again>; rel="next"'
    hub.behaviour.answer[f"/tree/{commit}"] = tree(rows, ("Link", again))
    with pytest.raises(HubLimitError, match="more than 20 answers"):
        acquired(answers=20)


def test_a_next_page_elsewhere_gets_no_token(
    tiny: Repository, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_made_up")
    tiny.token = "hf_made_up"
    elsewhere = hub.url.replace("127.0.0.1", "localhost") + "/api/elsewhere"
    commit = tiny.branches["main"]
    hub.behaviour.answer[f"/tree/{commit}"] = tree([], ("Link", f'<{elsewhere}>; rel="next"'))
    hub.behaviour.answer["/api/elsewhere"] = tree([])
    with pytest.raises(LicenceUndecidedError):
        acquired()
    told = {path: "authorization" in sent(headers) for path, headers in hub.headers_seen}
    assert told["/api/elsewhere"] is False
    assert told[f"/api/models/{REPO}/revision/main"] is True


def test_a_server_that_asks_to_wait_for_a_day(
    tiny: Repository, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", waited.append)
    headers = ("Retry-After", "86400"), ("ratelimit", '"api";r=0;t=86400')
    hub.behaviour.answer[f"/tree/{tiny.branches['main']}"] = tree({}, *headers, status=429)
    with pytest.raises(HubUnreachableError, match="429"):
        acquired()
    assert max(waited) < 60


@pytest.mark.parametrize(
    "row",
    [
        [], None, 5, b"<html>", b"", b"[" * 200_000, {"sha": ID}, {"id": "a", "siblings": [1]},
        {"id": "a", "lastModified": "yesterday"}, b'{"id": "\xff"}', b'{"sha": ' + b"9" * 5000,
    ],
)  # fmt: skip
def test_a_revision_that_is_none(tiny: Repository, hub: HubServer, row: Any) -> None:
    hub.behaviour.answer["/revision/main"] = tree(row)
    with pytest.raises(HubUnreachableError, match="not the form of a Hub's"):
        acquired()


@pytest.mark.parametrize(
    "row",
    [
        None, [1], {"a": 1}, b"[" * 200_000, b"", [{"path": "a"}], [FILE | {"lfs": 5}],
        [FILE | {"lfs": {}}], [FILE | {"lastCommit": 3}],
    ],
)  # fmt: skip
def test_a_tree_that_is_none(tiny: Repository, hub: HubServer, row: Any) -> None:
    hub.behaviour.answer[f"/tree/{tiny.branches['main']}"] = tree(row)
    with pytest.raises(HubUnreachableError, match="not the form of a Hub's"):
        acquired()


TEMPLATES = "additional_chat_templates"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("LICENSE\ud800", "leaves the tree"),
        (f"{TEMPLATES}/{'a' * 250}.jinja", "more than 240 bytes"),
        (f"{TEMPLATES}/\x1b[31mred.jinja", "no terminal shows"),
        (f"{TEMPLATES}/\u202egnp.jinja", "no terminal shows"),
        ("readme.md", "one name to some file systems"),
        ("LICENſE", "one name to some file systems"),
    ],
)
def test_names_that_nobody_can_keep(
    tiny: Repository, hub: HubServer, name: str, problem: str
) -> None:
    hub.behaviour.extra_entries = [FILE | {"path": name}]
    with pytest.raises(HubTreeError, match=problem):
        acquired()


@pytest.mark.parametrize("token", ["hf_x\nEvil: 1", "hf_é", "hf x"])
def test_a_token_that_is_none_is_not_shown(
    tiny: Repository, hub: HubServer, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(HubTokenError) as caught:
        acquired()
    assert "hf_" not in str(caught.value)


def test_an_empty_tree_has_no_licence(tiny: Repository, hub: HubServer) -> None:
    tiny.commit({"picture.png": TREE["picture.png"]})
    with pytest.raises(LicenceUndecidedError):
        acquired()
