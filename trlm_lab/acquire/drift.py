"""What a source says now, beside what was acquired: an observation that changes nothing."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trlm_lab.acquire.hub_client import HubClient, hub_client
from trlm_lab.acquire.hub_fetch import Fetch, fetch
from trlm_lab.acquire.hub_limits import HubLimits
from trlm_lab.acquire.hub_snapshot import HubSource, parse_hub
from trlm_lab.acquire.hub_tree import HubFile, is_absent, list_files, resolve
from trlm_lab.acquire.json_changes import json_changes
from trlm_lab.acquire.licence_card import card_licence
from trlm_lab.acquire.tree_names import is_document, name_use
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.document_names import is_card, is_licence
from trlm_lab.base.records import Snapshot
from trlm_lab.errors import HubNotFoundError, NotObservableError, SourceMissingError

UNREVIEWED = "unreviewed"
#: What is observed of a name that the server knows no more.
GONE = "gone"
#: Documents larger than this are compared by their hash alone.
_LARGEST_DOCUMENT = 32 << 20


@dataclass(frozen=True)
class FileChange:
    """One file: `change` is added, removed or changed; `fields` are JSON pointers with values.

    `content` is the id of what is there now: a Git blob or LFS object, or a SHA-256; empty where
    nothing is. `review` says who found a documentary change to be one, and why.
    """

    path: str
    change: str
    kind: str
    content: str = ""
    fields: tuple[tuple[str, str, str], ...] = ()
    review: str = ""

    def to_map(self) -> dict[str, Any]:
        """Canonical form."""
        return {**vars(self), "fields": [list(f) for f in self.fields]}


@dataclass(frozen=True)
class Drift:
    """An observation of a source: what it was pinned to, what it is now, and every change.

    `kind` of a change is `behaviour` (weights, configuration, tokenizer, template), `licence`,
    `unreviewed` (a card or picture that nobody has looked at), or `documentary` after a review.
    """

    pin: str
    pinned: str
    observed: str
    changes: tuple[FileChange, ...] = field(default_factory=tuple)

    @property
    def moved(self) -> bool:
        """Whether the name now means something else."""
        return self.pinned != self.observed or bool(self.changes)

    @property
    def gone(self) -> bool:
        """Whether the server has no repository or revision of this name any more."""
        return self.observed == GONE

    @property
    def settled(self) -> bool:
        """Whether nothing changed but what a reviewer found to be documentary."""
        return not self.gone and all(c.kind == "documentary" for c in self.changes)

    @property
    def behaviour(self) -> bool:
        """Whether anything changed that makes a new candidate identity."""
        return any(c.kind == "behaviour" for c in self.changes)

    def to_map(self) -> dict[str, Any]:
        """Canonical form."""
        return {
            "schema": "trlm.drift.v1",
            "pin": self.pin,
            "pinned": self.pinned,
            "observed": self.observed,
            "changes": [c.to_map() for c in self.changes],
        }


def observe(snapshot: Snapshot, spec: str, limits: HubLimits | None = None) -> Drift:
    """Look at a source again, as the user names it now, beside its snapshot.

    Raises:
        NotObservableError: the source is generated, or pinned by hash and served under no name.
        SourceMissingError: a local source is gone.
        HubNotFoundError, HubUnreachableError: the Hub does not answer, or not as one.
    """
    scheme = snapshot.pin.scheme
    if scheme == "hf":
        return _hub_drift(snapshot, limits or HubLimits())
    if scheme in ("dir", "gguf"):
        return _files_drift(snapshot, Path(spec.removeprefix(f"{scheme}:")))
    raise NotObservableError(where=snapshot.pin.spelled)


def _hub_drift(snapshot: Snapshot, limits: HubLimits) -> Drift:
    facts = snapshot.provenance["hub"]
    source = parse_hub(snapshot.pin.locator)
    with hub_client(limits) as client:
        try:
            commit = resolve(client, source.repo, source.revision)
        except HubNotFoundError as error:
            if not is_absent(error):
                raise
            return Drift(snapshot.pin.spelled, facts["commit"], GONE)
        if commit == facts["commit"]:
            return Drift(snapshot.pin.spelled, commit, commit)
        # Whatever the tree holds now is reported, not refused.
        before = {row[0]: tuple(row[1:]) for row in facts["tree"]}
        after = {f.path: f for f in list_files(client, source.repo, commit)}
        changes = tuple(
            _change(client, source, commit, snapshot, path, before, after)
            for path in sorted(before.keys() | after.keys())
            if path not in after or before.get(path) != tuple(after[path].to_list()[1:])
        )
    return Drift(snapshot.pin.spelled, facts["commit"], commit, changes)


def _change(
    client: HubClient,
    source: HubSource,
    commit: str,
    snapshot: Snapshot,
    path: str,
    before: dict[str, Any],
    after: dict[str, HubFile],
) -> FileChange:
    if path not in after:
        return FileChange(path, "removed", _kind(path))
    content = after[path].lfs_sha256 or after[path].git_sha1
    change = "changed" if path in before else "added"
    compared = is_card(path) or (path in before and path.endswith(".json"))
    if not compared or after[path].size > _LARGEST_DOCUMENT:
        return FileChange(path, change, _kind(path), content)
    with tempfile.TemporaryDirectory() as aside:
        new = Path(aside) / "new"
        fetch(Fetch(client, source.repo, commit, after[path], new, lambda _: None))
        return _compared(snapshot, path, change, content, new)


def _kind(path: str) -> str:
    if is_document(path):
        terms = is_licence(path) or "licen" in path.lower() or "policy" in path.lower()
        return "licence" if terms else UNREVIEWED
    # An unknown name affects behaviour until somebody says otherwise.
    return UNREVIEWED if name_use(path) == "bookkeeping" else "behaviour"


def _files_drift(snapshot: Snapshot, root: Path) -> Drift:
    """Compare the files at `root`, a directory or one file, with what the snapshot was made of."""
    if not root.exists():
        raise SourceMissingError(where=str(root), wanted="the source of the snapshot")
    rows = [*snapshot.provenance["materials"], *snapshot.provenance.get("ignored", [])]
    # An earlier version listed what was not taken by names alone.
    held = {_text(r["name"]): r["sha256"] for r in rows if isinstance(r, dict)}
    known = set(held) | {_text(r) for r in rows if not isinstance(r, dict)}
    changes = []
    for name, sha256 in sorted(held.items()):
        path = root / name if root.is_dir() else root
        if not path.is_file():
            changes.append(FileChange(name, "removed", _kind(name)))
        elif (now := file_sha256(path)) != sha256:
            changes.append(_compared(snapshot, name, "changed", now, path))
    names = [p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()]
    added = sorted(n for n in names if n not in known and name_use(n) != "bookkeeping")
    changes += [
        _compared(snapshot, name, "added", file_sha256(root / name), root / name) for name in added
    ]
    observed = "other files" if changes else snapshot.snapshot_id
    return Drift(snapshot.pin.spelled, snapshot.snapshot_id, observed, tuple(changes))


def _compared(snapshot: Snapshot, name: str, change: str, content: str, new: Path) -> FileChange:
    """A change whose new content lies in `new`. A card that declares other terms changes them."""
    if is_card(name) and (terms := _terms(snapshot, name, new)):
        return FileChange(name, change, "licence", content, terms)
    return FileChange(name, change, _kind(name), content, _fields(snapshot, name, new))


def _terms(snapshot: Snapshot, name: str, new: Path) -> tuple[tuple[str, str, str], ...]:
    """The licence that a card declared and declares, where they are not the same one."""
    old = snapshot.root / name
    was, now = (card_licence(p) if p.is_file() else None for p in (old, new))
    return () if was == now else (("license", _spelled(was), _spelled(now)),)


def _spelled(licence: str | None) -> str:
    return "none" if licence is None else licence or "not to be told"


def _fields(snapshot: Snapshot, name: str, new: Path) -> tuple[tuple[str, str, str], ...]:
    """Which JSON fields changed, where the snapshot still holds the old document."""
    old = snapshot.root / name
    if not name.endswith(".json") or not old.is_file() or new.stat().st_size > _LARGEST_DOCUMENT:
        return ()
    return json_changes(old.read_bytes(), new.read_bytes())


def _text(path: bytes | str) -> str:
    return path.decode() if isinstance(path, bytes) else path
