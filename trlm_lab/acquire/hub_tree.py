"""A repository's tree at one commit: listed before anything is fetched, and judged by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any
from unicodedata import normalize

from trlm_lab.acquire.allow_list import AllowList, general_list
from trlm_lab.acquire.hub_client import HubClient, hub_answers
from trlm_lab.acquire.hub_limits import HubLimits
from trlm_lab.acquire.tree_names import name_problem, name_use
from trlm_lab.acquire.tree_profile import TreeProfile
from trlm_lab.errors import HubLimitError, HubNotFoundError, HubTreeError, TreeProfileError

_COMMIT = re.compile(r"[0-9a-f]{40}\Z")
#: May be a name as well: branches and tags of these letters exist.
_SHORT = re.compile(r"[0-9a-fA-F]{4,39}\Z")


@dataclass(frozen=True)
class HubFile:
    """One listed file: `git_sha1` is the id of its blob, `lfs_sha256` of its LFS object if any."""

    path: str
    size: int
    git_sha1: str
    lfs_sha256: str | None

    def to_list(self) -> list[Any]:
        """Canonical row."""
        return [self.path, self.size, self.git_sha1, self.lfs_sha256 or ""]


@dataclass(frozen=True)
class HubTree:
    """What is listed at a commit, and of it what is fetched and what a profile leaves out."""

    commit: str
    files: tuple[HubFile, ...]
    fetched: tuple[HubFile, ...]
    left_out: tuple[tuple[str, str], ...]


def is_absent(error: HubNotFoundError) -> bool:
    """Whether the server said that it has no such repository or revision."""
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    cause = error.__cause__
    if isinstance(cause, HubNotFoundError):
        cause = cause.__cause__
    return isinstance(cause, RepositoryNotFoundError | RevisionNotFoundError)


def resolve(client: HubClient, repo: str, revision: str) -> str:
    """The full commit of a branch, tag or commit.

    Raises:
        HubNotFoundError: no such repository or revision, or an answer without a commit.
        HubUnreachableError: no answer.
    """
    where = f"hf:{repo}@{revision}"
    try:
        with hub_answers(where):
            seconds = client.limits.silence_seconds
            info = client.api.model_info(repo, revision=revision, timeout=seconds)
    except HubNotFoundError as error:
        if not _SHORT.match(revision):
            raise
        detail = (
            f"{error.detail}; if {revision} is the beginning of a commit id, write all 40 digits"
        )
        raise HubNotFoundError(where=where, detail=detail) from error
    commit = str(info.sha)
    if not _COMMIT.match(commit):
        raise HubNotFoundError(where=where, detail=f"the server names no full commit: {commit!r}")
    if _COMMIT.match(revision) and commit != revision:
        detail = f"the server answers with commit {commit}"
        raise HubNotFoundError(where=where, detail=detail)
    return commit


def list_tree(client: HubClient, repo: str, commit: str, profile: TreeProfile) -> HubTree:
    """Enumerate and judge the tree; nothing is fetched.

    Raises:
        HubTreeError: code, archives, pickles, links, submodules, or paths that leave the tree.
        TreeProfileError: an exception covers weights, a declaration, a card or a licence.
        HubLimitError: more, larger or deeper than the limits.
        HubUnreachableError: no answer.
    """
    files = list_files(client, repo, commit)
    fetched, left_out = _judge(files, profile, f"hf:{repo}@{commit}")
    return HubTree(commit, files, fetched, left_out)


def list_files(client: HubClient, repo: str, commit: str) -> tuple[HubFile, ...]:
    """Every file of the tree, sorted by path, whatever it is; raises as `list_tree`."""
    where = f"hf:{repo}@{commit}"
    with hub_answers(where):
        entries = client.api.list_repo_tree(repo, recursive=True, revision=commit)
        listed = list(islice(entries, 2 * client.limits.files + 1))
    files = tuple(sorted(_files(listed, where), key=lambda f: f.path.encode()))
    _require_folders(listed, files, where)
    _require_limits(files, client.limits, where)
    return files


def _files(listed: list[Any], where: str) -> Iterator[HubFile]:
    from huggingface_hub.hf_api import RepoFile

    seen: set[str] = set()
    for entry in listed:
        if not isinstance(entry, RepoFile):
            continue
        path = entry.path
        parts = path.split("/") if isinstance(path, str) else []
        if not parts or any(p in ("", ".", "..") for p in parts) or not _portable(path):
            raise HubTreeError(where=where, detail=f"the path {path!r} leaves the tree")
        if path in seen:
            raise HubTreeError(where=where, detail=f"the path {path!r} is listed twice")
        seen.add(path)
        yield _file(entry, where)


def _portable(path: str) -> bool:
    """Whether the path is one on every system; JSON can spell texts that have no UTF-8."""
    return not any(c in "\\\0" or "\ud800" <= c <= "\udfff" for c in path)


def _file(entry: Any, where: str) -> HubFile:
    size = entry.lfs.size if entry.lfs else entry.size
    oid = entry.lfs.sha256 if entry.lfs else None
    sound = isinstance(size, int) and not isinstance(size, bool) and size >= 0
    ids = bool(_COMMIT.match(str(entry.blob_id)))
    if oid is not None:
        ids = ids and bool(re.fullmatch("[0-9a-f]{64}", str(oid))) and entry.size == size
    if not sound or not ids:
        detail = f"{entry.path!r} is listed with size {size!r} and ids that are none"
        raise HubTreeError(where=where, detail=detail)
    return HubFile(entry.path, size, entry.blob_id, oid)


def _require_folders(listed: list[Any], files: tuple[HubFile, ...], where: str) -> None:
    """Git lists no empty folder; one without files is a submodule."""
    from huggingface_hub.hf_api import RepoFolder

    for entry in listed:
        if isinstance(entry, RepoFolder) and not any(
            f.path.startswith(f"{entry.path}/") for f in files
        ):
            detail = f"{entry.path!r} is a folder without files: a submodule"
            raise HubTreeError(where=where, detail=detail)


def _require_limits(files: tuple[HubFile, ...], limits: HubLimits, where: str) -> None:
    total = sum(f.size for f in files)
    if len(files) > limits.files:
        raise HubLimitError(where=where, detail=f"more than {limits.files} files")
    for file in files:
        if file.size > limits.file_bytes:
            detail = f"{file.path!r} has {file.size} bytes, the limit is {limits.file_bytes}"
            raise HubLimitError(where=where, detail=detail)
        if file.path.count("/") >= limits.depth:
            detail = f"{file.path!r} lies deeper than {limits.depth} folders"
            raise HubLimitError(where=where, detail=detail)
    if total > limits.total_bytes:
        detail = f"{total} bytes in all, the limit is {limits.total_bytes}"
        raise HubLimitError(where=where, detail=detail)


def _judge(
    files: tuple[HubFile, ...], profile: TreeProfile, where: str
) -> tuple[tuple[HubFile, ...], tuple[tuple[str, str], ...]]:
    fetched: list[HubFile] = []
    left_out: list[tuple[str, str]] = []
    for file in files:
        reason = profile.reason(file.path)
        problem = name_problem(file.path)
        used = name_use(file.path) in ("weights", "taken", "index")
        if reason and used:
            raise TreeProfileError(
                where=where, detail=f"it would leave out {file.path!r}: {reason}"
            )
        if reason:
            left_out.append((file.path, reason))
        elif problem:
            raise HubTreeError(where=where, detail=f"{file.path!r}: {problem}")
        elif used:
            require_size(file, general_list(), where)
            fetched.append(file)
        else:
            left_out.append((file.path, "no part of the model: listed, not fetched"))
    _require_apart(fetched, where)
    return tuple(fetched), tuple(left_out)


def require_size(file: HubFile, allowed: AllowList, where: str) -> None:
    """Refuse a document that is larger than any of its kind.

    Raises:
        HubLimitError: it is.
    """
    detail = "" if name_use(file.path) == "weights" else allowed.problem(file.path, file.size)
    if detail:
        raise HubLimitError(where=where, detail=detail)


def _require_apart(fetched: list[HubFile], where: str) -> None:
    """Some file systems have one place for names that differ in case or composition alone."""
    seen: dict[str, str] = {}
    for file in fetched:
        other = seen.setdefault(_folded(file.path), file.path)
        if other != file.path:
            detail = f"{other!r} and {file.path!r} are one name to some file systems"
            raise HubTreeError(where=where, detail=detail)


def _folded(path: str) -> str:
    return normalize("NFC", normalize("NFC", path).casefold())
