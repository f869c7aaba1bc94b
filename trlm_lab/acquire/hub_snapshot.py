"""Acquisition from a Hub as one transaction: resolve, list, judge, fetch, list and resolve again.

Files lie below `downloads/hub/` of the cache until all of them are whole and the tree is the same
as before; then the directory is converted like any other and published by one rename. A killed
transaction goes on where it was; every byte on disk is hashed again first.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from trlm_lab.acquire.allow_list import CONFIG, family_list
from trlm_lab.acquire.approval import Approve
from trlm_lab.acquire.directory_snapshot import convert_directory
from trlm_lab.acquire.directory_tree import read_tree
from trlm_lab.acquire.hub_cache import take_cached
from trlm_lab.acquire.hub_client import HubClient, hub_client
from trlm_lab.acquire.hub_endpoint import endpoint_identity
from trlm_lab.acquire.hub_fetch import Fetch, fetch, is_whole
from trlm_lab.acquire.hub_limits import HubLimits
from trlm_lab.acquire.hub_listed import require_still_listed
from trlm_lab.acquire.hub_tree import HubFile, HubTree, list_tree, require_size, resolve
from trlm_lab.acquire.licence import LicenceDecision, decide, declared_licence
from trlm_lab.acquire.progress import Progress
from trlm_lab.acquire.snapshot_store import cached_snapshot, snapshots_root
from trlm_lab.acquire.tree_names import name_use
from trlm_lab.acquire.tree_profile import TreeProfile
from trlm_lab.base import canon
from trlm_lab.base.blobs import file_sha256, write_atomically
from trlm_lab.base.document_names import is_card, is_licence
from trlm_lab.base.file_lock import locked
from trlm_lab.base.home import trlm_home
from trlm_lab.base.records import Pin, Snapshot, SourceFile
from trlm_lab.errors import (
    HubChangedError,
    HubNotFoundError,
    HubSpecError,
    HubUnreachableError,
)

HUB_VERSION = 4
_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}\Z")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,254}\Z")
_COMMIT = re.compile(r"[0-9a-f]{40}\Z")


@dataclass(frozen=True)
class HubSource:
    """Repository and the revision as the user names it."""

    repo: str
    revision: str

    @property
    def spelled(self) -> str:
        """`owner/name@revision`."""
        return f"{self.repo}@{self.revision}"


@dataclass(frozen=True)
class HubRules:
    """What decides what is let in: limits, exceptions to the tree's rules, a licence decision."""

    limits: HubLimits = field(default_factory=HubLimits)
    profile: TreeProfile = field(default_factory=TreeProfile)
    decision: LicenceDecision | None = None


def parse_hub(locator: str) -> HubSource:
    """`owner/name` or `owner/name@revision`.

    Raises:
        HubSpecError: anything else.
    """
    repo, at, revision = locator.partition("@")

    def refused(detail: str, form: str = "hf:owner/name or hf:owner/name@revision") -> HubSpecError:
        return HubSpecError(where=f"hf:{locator}", spec=locator, detail=detail, form=form)

    if locator != locator.strip():
        raise refused("white space stands before or after it", f"hf:{locator.strip()}")
    if not _REPO.match(repo):
        raise refused("a repository is owner/name")
    if at and not revision:
        raise refused("no revision stands after the @", f"hf:{repo} or hf:{repo}@main")
    if at and not _REVISION.match(revision):
        raise refused("the revision is no branch, tag or commit")
    if _COMMIT.match(revision.lower()) and not _COMMIT.match(revision):
        raise refused("a commit id has lower-case letters", f"hf:{repo}@{revision.lower()}")
    return HubSource(repo, revision or "main")


def acquire_hub(
    source: HubSource, progress: Progress, approve: Approve, rules: HubRules
) -> Snapshot:
    """The verified snapshot of a repository at the commit that the revision names now.

    A snapshot of the cache is held against what the server lists at its commit now; of a full
    commit it is taken without a network as well.

    Raises:
        HubNotFoundError, HubUnreachableError: no repository, or no answer.
        HubTreeError, HubLimitError: the tree breaks a rule.
        HubContentError, LfsPointerError: other bytes than listed.
        HubChangedError: the repository changed during the transaction, or since.
        LicenceUndecidedError, LicenceDecisionError: nobody decided on the licence.
        Refused: as for a directory.
    """
    server = endpoint_identity()
    if _COMMIT.match(source.revision):
        key = _key(server, source, source.revision, rules)
        if (snapshots_root() / key).exists():
            snapshot = cached_snapshot(key, _pin(source), _never, progress)
            # Without an answer there is nothing to compare with; `trlm drift` tells what is gone.
            with (
                suppress(HubUnreachableError, HubNotFoundError),
                hub_client(rules.limits) as client,
            ):
                # Asked first: a listing is asked for again and again where nobody answers.
                resolve(client, source.repo, source.revision)
                require_still_listed(client, source.repo, snapshot)
            return snapshot
    with hub_client(rules.limits) as client:
        commit = resolve(client, source.repo, source.revision)
        transaction = _Transaction(client, server, source, commit, rules, progress, approve)
        key = _key(server, source, commit, rules)
        known = (snapshots_root() / key).exists()
        snapshot = cached_snapshot(key, _pin(source), transaction.build, progress)
        if known:
            require_still_listed(client, source.repo, snapshot)
    return snapshot


def _pin(source: HubSource) -> Pin:
    return Pin("hf", source.spelled)


def _never(out: Path) -> dict[str, Any]:
    raise AssertionError(f"{out} vanished")


def _key(server: str, source: HubSource, commit: str, rules: HubRules) -> str:
    parts = [server, source.repo, source.revision, commit, rules.profile.profile_id]
    decision = rules.decision.file.sha256 if rules.decision else ""
    return canon.content_id(
        {"kind": "hf", "version": HUB_VERSION, "source": parts, "decision": decision}
    )


@dataclass(frozen=True)
class _Transaction:
    client: HubClient
    server: str
    source: HubSource
    commit: str
    rules: HubRules
    progress: Progress
    approve: Approve

    @property
    def _staging(self) -> Path:
        name = canon.content_id([self.source.repo, self.commit, self.server])
        return trlm_home() / "downloads" / "hub" / name

    def build(self, out: Path) -> dict[str, Any]:
        """Fill `out` with the snapshot's files and return its provenance."""
        with locked(self._staging.with_name(f".lock-{self._staging.name}")):
            provenance = self._filled(out)
            shutil.rmtree(self._staging, ignore_errors=True)
        return provenance

    def _filled(self, out: Path) -> dict[str, Any]:
        source, commit = self.source, self.commit
        before = list_tree(self.client, source.repo, commit, self.rules.profile)
        self._require_same(before)
        files = self._staging / "files"
        files.mkdir(parents=True, exist_ok=True)
        documents = [f for f in before.fetched if is_licence(f.path) or is_card(f.path)]
        cached = self._fetch_all(documents, before, files)
        # Before the weights come: whoever must decide need not wait for them.
        repository = f"hf:{source.repo}"
        licence = decide(declared_licence(files), repository, commit, self.rules.decision)
        weights = [f for f in before.fetched if name_use(f.path) == "weights"]
        others = [f for f in before.fetched if f not in (*documents, *weights)]
        cached += self._fetch_all(others, before, files)
        if not any(os.path.lexists(files / f.path) for f in weights):
            # A family that nothing converts, or a contradiction, is told by the declarations alone.
            # Weights that an earlier run left are not read here: nobody has hashed them yet.
            self.approve(files, None)
        cached += self._fetch_all(weights, before, files)
        after = list_tree(self.client, source.repo, commit, self.rules.profile)
        if after.files != before.files:
            raise HubChangedError(where=source.spelled, detail="the tree of the commit changed")
        resolved_after = self._resolved_again()
        received = [_received(files, f) for f in before.fetched]
        provenance = convert_directory(read_tree(files), received, out, self.progress, self.approve)
        return {
            **provenance,
            "licence": licence,
            "hub": {
                "endpoint": self.server,
                "repository": source.repo,
                "requested": source.revision,
                "commit": commit,
                "resolved_after": resolved_after,
                "tree": [f.to_list() for f in before.files],
                "left_out": [list(row) for row in before.left_out],
                "tree_profile": self.rules.profile.to_map(),
                "limits": asdict(self.rules.limits),
                "client_cache": cached,
            },
        }

    def _resolved_again(self) -> str:
        """What the revision means now; empty where the name is gone, which is drift as well."""
        try:
            return resolve(self.client, self.source.repo, self.source.revision)
        except HubNotFoundError:
            return ""

    def _require_same(self, tree: HubTree) -> None:
        """The tree that an earlier, killed run of this transaction saw is still the tree."""
        journal = self._staging / "tree.cbor"
        data = canon.encode([f.to_list() for f in tree.files])
        if journal.exists() and journal.read_bytes() != data:
            shutil.rmtree(self._staging)
            detail = f"commit {self.commit} lists other files than when this transaction began"
            raise HubChangedError(where=self.source.spelled, detail=detail)
        write_atomically(journal, data)

    def _fetch_all(self, wanted: Sequence[HubFile], tree: HubTree, files: Path) -> list[list[str]]:
        """Fetch what is not here whole; returns what the client's own cache gave or got wrong."""
        total, done = sum(f.size for f in wanted), 0
        notes: list[list[str]] = []
        # The configuration first: it names the family, whose list bounds all other documents.
        for file in sorted(wanted, key=lambda f: f.path != CONFIG):
            what, start = f"download {file.path}", done

            def report(count: int, what: str = what, start: int = start) -> None:
                self.progress(what, start + count, total)

            report(0)
            out = files / file.path
            if not is_whole(out, file):
                out.unlink(missing_ok=True)
                note = take_cached(self.source.repo, self.commit, file, out)
                if note:
                    notes.append([file.path, note])
                if not out.exists():
                    fetch(Fetch(self.client, self.source.repo, self.commit, file, out, report))
            done += file.size
            report(file.size)
            if file.path == CONFIG:
                self._require_sizes(tree, out)
        return notes

    def _require_sizes(self, tree: HubTree, config: Path) -> None:
        allowed = family_list(config)
        for file in tree.fetched:
            require_size(file, allowed, self.source.spelled)


def _received(files: Path, file: HubFile) -> SourceFile:
    path = files / file.path
    return SourceFile(file.path.encode(), path.stat().st_size, file_sha256(path))
