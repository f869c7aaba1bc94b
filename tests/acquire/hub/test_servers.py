"""A snapshot belongs to the server that served it, and is held against what it lists now."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acquire.hub.conftest import QUICK, REPO, TREE, acquired, published
from tests.acquire.hub.server import HubServer, Repository
from trlm_lab.acquire import newest_snapshot, observe, recorded_pin, verify_snapshot
from trlm_lab.acquire.hub_endpoint import endpoint_identity
from trlm_lab.acquire.snapshot_store import seal_snapshot
from trlm_lab.errors import (
    HubChangedError,
    HubUnreachableError,
    NotAcquiredError,
    SnapshotCorruptError,
)

NAME = "generation_config.json"
OTHER = b'{"eos_token_id": 77}'


@pytest.fixture
def mirror(tiny: Repository) -> Iterator[HubServer]:
    """Another server with other bytes at the same commit of the same repository."""
    server = HubServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    commit = tiny.branches["main"]
    copy = server.repository(REPO)
    copy.lfs, copy.branches["main"] = tiny.lfs, commit
    copy.commits[commit] = TREE | {NAME: OTHER}
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("revision", ["main", "commit"])
def test_two_servers_with_one_commit_are_two_sources(
    tiny: Repository,
    hub: HubServer,
    mirror: HubServer,
    monkeypatch: pytest.MonkeyPatch,
    revision: str,
) -> None:
    named = f"{REPO}@{tiny.branches['main'] if revision == 'commit' else revision}"
    monkeypatch.setenv("HF_ENDPOINT", mirror.url)
    theirs = acquired(named)
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    ours = acquired(named)
    assert (theirs.root / NAME).read_bytes() == OTHER
    assert (ours.root / NAME).read_bytes() == TREE[NAME]
    assert ours.root != theirs.root
    assert any("/tree/" in path for path in hub.seen)
    servers = [s.provenance["hub"]["endpoint"] for s in (theirs, ours)]
    assert servers == [mirror.url, hub.url]


def test_drift_looks_at_the_server_that_is_named(
    tiny: Repository, hub: HubServer, mirror: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    acquired()
    pin = recorded_pin(f"hf:{REPO}@main")
    assert not observe(newest_snapshot(pin), f"hf:{REPO}", QUICK).moved
    monkeypatch.setenv("HF_ENDPOINT", mirror.url)
    with pytest.raises(NotAcquiredError):
        newest_snapshot(pin)


@pytest.mark.parametrize(
    ("address", "identity"),
    [
        ("https://Hub.Example", "https://hub.example"),
        ("https://hub.example:443/", "https://hub.example"),
        ("http://hub.example:80", "http://hub.example"),
        ("https://hub.example:8443/mirror/hf/", "https://hub.example:8443/mirror/hf"),
        ("https://user:word@hub.example/Hub?token=word#part", "https://hub.example/Hub"),
        ("HTTPS://hub.example.", "https://hub.example"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("http://127.0.0.1:5000", "http://127.0.0.1:5000"),
        ("https://b\u00fccher.example", "https://xn--bcher-kva.example"),
        ("", "https://huggingface.co"),
    ],
)
def test_a_server_has_one_spelling(
    monkeypatch: pytest.MonkeyPatch, address: str, identity: str
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", address)
    assert endpoint_identity() == identity


@pytest.mark.parametrize(
    "address",
    ["hub.example", "ftp://hub.example", "https://", "https://:word@/x", "https://h:x", "//h"],
)
def test_what_names_no_server(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("HF_ENDPOINT", address)
    with pytest.raises(HubUnreachableError, match="HF_ENDPOINT is no address") as caught:
        acquired()
    assert "word" not in str(caught.value)


def test_no_password_of_an_address_is_kept(
    tiny: Repository, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", hub.url.replace("//", "//ada:swordfish@"))
    snapshot = acquired()
    assert snapshot.provenance["hub"]["endpoint"] == hub.url
    files = [p for p in snapshot.root.parent.parent.rglob("*") if p.is_file()]
    assert not [p for p in files if b"swordfish" in p.read_bytes()]


@pytest.mark.parametrize("revision", ["main", "commit"])
def test_a_commit_that_lists_other_files_later_is_found(tiny: Repository, revision: str) -> None:
    commit = tiny.branches["main"]
    named = f"{REPO}@{commit if revision == 'commit' else revision}"
    first = acquired(named)
    tiny.commits[commit][NAME] = OTHER
    with pytest.raises(HubChangedError, match="than when it was acquired"):
        acquired(named)
    verify_snapshot(first.root)


def _forged(root: Path, name: str) -> None:
    """Other bytes under a manifest that seals them."""
    snapshot = verify_snapshot(root)
    facts = snapshot.provenance
    if name == "model.safetensors":
        for row in facts["materials"]:
            row["sha256"] = "0" * 64 if row["name"] == name.encode() else row["sha256"]
    else:
        (root / name).write_bytes(TREE[name][::-1])
    seal_snapshot(root, snapshot.pin, facts)


@pytest.mark.parametrize("name", [NAME, "LICENSE", "model.safetensors"])
def test_a_snapshot_that_was_sealed_anew_is_found(tiny: Repository, name: str) -> None:
    acquired()
    (root,) = published()
    _forged(root, name)
    verify_snapshot(root)
    with pytest.raises(SnapshotCorruptError, match="not made of the file") as caught:
        acquired()
    assert caught.value.where.endswith(name)


def test_a_commit_in_the_cache_is_listed_and_not_fetched(tiny: Repository, hub: HubServer) -> None:
    named = f"{REPO}@{tiny.branches['main']}"
    first = acquired(named)
    sent, asked = dict(hub.sent), len(hub.headers_seen)
    assert acquired(named).snapshot_id == first.snapshot_id
    assert dict(hub.sent) == sent
    paths = [path for path, _ in hub.headers_seen[asked:]]
    assert any("/tree/" in path for path in paths)
    assert not [path for path in paths if "/resolve/" in path]


@pytest.mark.parametrize("trouble", ["no server", "no repository", "offline"])
def test_a_commit_in_the_cache_needs_no_network(
    tiny: Repository, hub: HubServer, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    named = f"{REPO}@{tiny.branches['main']}"
    first = acquired(named)
    if trouble == "no server":
        hub.shutdown()
        hub.server_close()
    elif trouble == "no repository":
        hub.repositories.clear()
    else:
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert acquired(named).snapshot_id == first.snapshot_id
