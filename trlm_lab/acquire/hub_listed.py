"""A snapshot of the cache beside what its server lists at that commit now; bytes prove nothing."""

from __future__ import annotations

from trlm_lab.acquire.hub_client import HubClient
from trlm_lab.acquire.hub_fetch import is_whole
from trlm_lab.acquire.hub_tree import HubFile, list_files
from trlm_lab.acquire.tree_names import name_use
from trlm_lab.base.records import Snapshot
from trlm_lab.errors import HubChangedError, SnapshotCorruptError


def require_still_listed(client: HubClient, repo: str, snapshot: Snapshot) -> None:
    """The tree of the commit is the recorded one, and the snapshot was made of its files.

    Documents are hashed again. Weights were converted: what was received of them is compared, by
    size and, of an LFS object, by its SHA-256.

    Raises:
        HubChangedError: the server lists other files at this commit.
        SnapshotCorruptError: a document is not the listed one, or weights of other bytes were
            converted.
        HubNotFoundError, HubUnreachableError: the server does not say.
    """
    facts = snapshot.provenance["hub"]
    listed = list_files(client, repo, facts["commit"])
    if [f.to_list() for f in listed] != [list(row) for row in facts["tree"]]:
        detail = f"commit {facts['commit']} lists other files than when it was acquired"
        raise HubChangedError(where=snapshot.pin.spelled, detail=detail)
    received = {row["name"]: row for row in snapshot.provenance["materials"]}
    for file in listed:
        if name_use(file.path) in ("weights", "taken", "index"):
            _require_listed(snapshot, file, received.get(file.path.encode(), {}))


def _require_listed(snapshot: Snapshot, file: HubFile, received: dict[str, object]) -> None:
    same = received.get("size") == file.size
    if file.lfs_sha256 is not None:
        same = same and received.get("sha256") == file.lfs_sha256
    if name_use(file.path) == "taken":
        same = same and is_whole(snapshot.root / file.path, file)
    if not same:
        detail = "it was not made of the file that the server lists"
        raise SnapshotCorruptError(where=f"{snapshot.root}/{file.path}", detail=detail)
