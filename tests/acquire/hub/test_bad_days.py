"""Servers that truncate, lie, loop, drip and fail; bytes that are not the listed ones."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from tests.acquire.hub.conftest import QUICK, REPO, TREE, WEIGHTS, acquired, published
from tests.acquire.hub.server import HubServer, Repository, git_sha1
from trlm_lab.acquire.approval import Approve
from trlm_lab.acquire.hub_cache import CHANGED, USED
from trlm_lab.acquire.hub_snapshot import HubRules, acquire_hub, parse_hub
from trlm_lab.base.home import trlm_home
from trlm_lab.describe.weights import own_tensors
from trlm_lab.errors import (
    HubContentError,
    HubLimitError,
    HubTreeError,
    HubUnreachableError,
    LfsPointerError,
    PathMissingError,
    SafetensorsError,
    TrlmError,
)

W = "model.safetensors"


def test_truncated_answers_are_continued(tiny: Repository, hub: HubServer) -> None:
    hub.behaviour.truncate[W] = (50_000, 2)
    snapshot = acquired()
    assert snapshot.file("LICENSE") is not None
    ranges = [h["Range"] for path, h in hub.headers_seen if path.endswith(W) and "Range" in h]
    assert "bytes=50000-" in ranges
    assert hub.sent[W] == len(WEIGHTS)


def test_truncated_for_ever(tiny: Repository, hub: HubServer) -> None:
    hub.behaviour.truncate[W] = (10, 99)
    with pytest.raises(HubUnreachableError, match="in 3 attempts"):
        acquired()
    assert published() == []


def test_a_server_without_ranges_starts_again(tiny: Repository, hub: HubServer) -> None:
    hub.behaviour.no_ranges = True
    hub.behaviour.truncate[W] = (50_000, 1)
    acquired()
    assert hub.sent[W] == 50_000 + len(WEIGHTS)


def test_the_wrong_range_is_refused(tiny: Repository, hub: HubServer) -> None:
    hub.behaviour.wrong_range = True
    hub.behaviour.truncate[W] = (50_000, 1)
    with pytest.raises(HubContentError, match="asked for"):
        acquired()


@pytest.mark.parametrize("path", [W, "config.json"])
@pytest.mark.parametrize("change", ["one bit", "longer", "empty"])
def test_other_bytes_than_listed(tiny: Repository, hub: HubServer, path: str, change: str) -> None:
    data = TREE[path]
    hub.behaviour.content[path] = {
        "one bit": data[:-1] + bytes([data[-1] ^ 1]),
        "longer": data + b" ",
        "empty": b"",
    }[change]
    with pytest.raises((HubContentError, HubUnreachableError)):
        acquired()
    assert published() == []
    hub.behaviour.content.clear()
    assert acquired().root.is_dir()


@pytest.mark.parametrize("status", [401, 403, 404])
def test_listed_and_refused(tiny: Repository, hub: HubServer, status: int) -> None:
    hub.behaviour.status[W] = (status, 99)
    with pytest.raises(HubContentError, match=str(status)):
        acquired()


def test_errors_of_the_server_are_tried_again(tiny: Repository, hub: HubServer) -> None:
    hub.behaviour.status[W] = (500, 2)
    assert acquired().root.is_dir()


def test_errors_for_ever(tiny: Repository, hub: HubServer) -> None:
    hub.behaviour.status[W] = (503, 99)
    with pytest.raises(HubUnreachableError, match="503"):
        acquired()


def test_a_redirect_loop(tiny: Repository, hub: HubServer) -> None:
    hub.behaviour.loop.add(W)
    with pytest.raises(HubLimitError, match="redirects"):
        acquired()


def test_a_slow_drip(tiny: Repository, hub: HubServer) -> None:
    hub.behaviour.drip[W] = 0.05
    with pytest.raises(HubLimitError, match="slower than"):
        acquired(grace_seconds=0.3, least_rate=1e9)


def test_the_whole_takes_too_long(tiny: Repository, hub: HubServer) -> None:
    hub.behaviour.drip[W] = 0.05
    with pytest.raises(HubLimitError, match="transaction"):
        acquired(seconds=1.0)


POINTER = (
    f"version https://git-lfs.github.com/spec/v1\noid sha256:{hashlib.sha256(WEIGHTS).hexdigest()}"
    f"\nsize {len(WEIGHTS)}\n"
).encode()


@pytest.mark.parametrize("listed", ["as an object", "as a pointer"])
def test_lfs_pointer(tiny: Repository, hub: HubServer, listed: str) -> None:
    if listed == "as an object":
        padded = POINTER + b"\n" * (len(WEIGHTS) - len(POINTER))
        hub.behaviour.content[W] = padded
        with pytest.raises(HubContentError):
            acquired()
        return
    tiny.lfs.clear()
    tiny.commit(TREE | {W: POINTER})
    with pytest.raises(LfsPointerError, match=hashlib.sha256(WEIGHTS).hexdigest()):
        acquired()


ENTRIES: dict[str, dict[str, Any]] = {
    "code": {"path": "modeling_tiny.py"},
    "pickle": {"path": "pytorch_model.bin"},
    "archive": {"path": "weights.tar.gz"},
    "script": {"path": "run"},
    "module": {"path": "a.wasm"},
    "notebook": {"path": "sub/b.ipynb"},
    "graph": {"path": "onnx/model.onnx"},
    "submodules": {"path": ".gitmodules"},
    "second weights": {"path": "consolidated.safetensors"},
    "leaves": {"path": "../../etc/passwd"},
    "absolute": {"path": "/etc/passwd"},
    "backslash": {"path": "a\\b.json"},
    "twice": {"path": "config.json"},
    "negative": {"path": "x.md", "size": -1},
    "no size": {"path": "x.md", "size": "12"},
    "no id": {"path": "x.md", "oid": "?"},
    "lfs size": {"path": "x.md", "lfs": {"oid": "a" * 64, "size": 7, "pointerSize": 1}},
    "lfs id": {"path": "x.md", "lfs": {"oid": "../x", "size": 1, "pointerSize": 1}},
    "submodule": {"type": "directory", "path": "vendored"},
}


@pytest.mark.parametrize("kind", ENTRIES)
def test_hub_tree(tiny: Repository, hub: HubServer, kind: str) -> None:
    entry = {"type": "file", "size": 1, "oid": git_sha1(b"x")} | ENTRIES[kind]
    hub.behaviour.extra_entries.append(entry)
    with pytest.raises(HubTreeError):
        acquired()
    assert hub.sent.total() == 0


def test_hub_limit(tiny: Repository, hub: HubServer) -> None:
    for limits in (
        {"files": 4},
        {"file_bytes": 1000},
        {"total_bytes": len(WEIGHTS)},
        {"depth": 1},
        {"answer_bytes": 100},
    ):
        with pytest.raises(HubLimitError):
            acquired(**limits)
    assert hub.sent.total() == 0


@pytest.mark.parametrize("data", [b"", WEIGHTS[:-1], b"\xff" * 8 + WEIGHTS[8:]])
def test_listed_bytes_that_are_no_container(tiny: Repository, data: bytes) -> None:
    """What the publisher listed and what came agree, and it is no safetensors file."""
    tiny.commit(TREE | {W: data})
    with pytest.raises(SafetensorsError):
        acquired()
    assert published() == []


def cached_copy(commit: str, data: bytes, tmp_path: Path) -> Path:
    """What the client itself would have left in its cache."""
    root = tmp_path / "hf-home" / "hub" / "models--ada--tiny"
    file = root / "snapshots" / commit / W
    file.parent.mkdir(parents=True)
    file.write_bytes(data)
    (root / "refs").mkdir()
    (root / "refs" / "main").write_text(commit)
    return file


def test_a_cached_file_is_used_after_hashing(
    tiny: Repository, hub: HubServer, tmp_path: Path
) -> None:
    cached_copy(tiny.branches["main"], WEIGHTS, tmp_path)
    assert acquired().provenance["hub"]["client_cache"] == [[W, USED]]
    assert hub.sent[W] == 0


def test_a_cached_file_changed_by_one_byte_is_found(
    tiny: Repository, hub: HubServer, tmp_path: Path
) -> None:
    changed = WEIGHTS[:-1] + bytes([WEIGHTS[-1] ^ 1])
    file = cached_copy(tiny.branches["main"], changed, tmp_path)
    snapshot = acquired()
    assert snapshot.provenance["hub"]["client_cache"] == [[W, CHANGED]]
    assert hub.sent[W] == len(WEIGHTS)
    assert file.read_bytes() == changed


def left_behind(approve: Approve) -> Path:
    """The weights of a transaction that ended after they had come."""
    with pytest.raises(TrlmError):
        acquire_hub(parse_hub(REPO), lambda *_: None, approve, HubRules(limits=QUICK))
    (kept,) = (trlm_home() / "downloads" / "hub").rglob(W)
    return kept


def stopped_late(root: Path, tensors: object) -> None:
    """Refuses what has weights."""
    if tensors is not None:
        raise PathMissingError(where=str(root))


def reading(root: Path, tensors: object) -> None:
    """Reads the weights that lie there, as approval does."""
    if tensors is None:
        own_tensors(root)


@pytest.mark.parametrize("at", [0, 9, 100])
def test_damage_to_what_was_fetched_is_found_on_resuming(
    tiny: Repository, hub: HubServer, at: int
) -> None:
    kept = left_behind(stopped_late)
    data = bytearray(kept.read_bytes())
    data[at] ^= 1
    kept.write_bytes(data)
    hub.sent.clear()
    # Whoever approves is not shown weights that nobody has hashed.
    acquire_hub(parse_hub(REPO), lambda *_: None, reading, HubRules(limits=QUICK))
    assert hub.sent[W] == len(WEIGHTS)


def test_a_link_in_the_place_of_a_file_is_not_followed(
    tiny: Repository, hub: HubServer, tmp_path: Path
) -> None:
    kept = left_behind(stopped_late)
    elsewhere = tmp_path / "elsewhere"
    kept.replace(elsewhere)
    kept.symlink_to(elsewhere)
    assert not acquired().root.joinpath(W).is_symlink()
    assert REPO in str(acquired().provenance["hub"]["repository"])
