"""Which files of a local model directory are taken, passed over, or reason to refuse it.

Links, repositories inside the repository, and whatever is of no kind that a model's tree holds by
its name, its first bytes or its mode (code, pickles, archives) are refused: nothing here would run
them, but a tree that carries them is not the plain data that a receipt describes. Only the
bookkeeping of version control and download clients at the top is passed over unseen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from trlm_lab.acquire.allow_list import CONFIG, AllowList, family_list, general_list
from trlm_lab.acquire.lfs_pointer import MOST_BYTES, read_pointer
from trlm_lab.acquire.tree_content import content_problem
from trlm_lab.acquire.tree_names import BOOKKEEPING, INDEX, name_problem, name_use
from trlm_lab.errors import LfsPointerError, ShardError, TreeError, TrlmError

MAX_FILES = 4096
MAX_DEPTH = 4
MAX_FILE_BYTES = 64 << 30
MAX_TOTAL_BYTES = 256 << 30


@dataclass(frozen=True)
class ModelTree:
    """Relative names, sorted: `weights` are converted, `taken` copied, `ignored` only listed."""

    root: Path
    weights: tuple[str, ...]
    taken: tuple[str, ...]
    ignored: tuple[str, ...]
    has_index: bool
    allowed: AllowList


def read_tree(root: Path) -> ModelTree:
    """Enumerate and judge a model directory, by names and by the first bytes of what is no weight.

    Raises:
        TreeError: a link, a refused kind of file, a limit, or no config or weights.
        LfsPointerError: a Git LFS pointer where the object should be.
    """
    tree, problems = judged_tree(root)
    if problems:
        raise problems[0]
    if tree.has_index and not tree.weights:
        raise ShardError(where=INDEX, detail="the index stands there without any of its shards")
    if CONFIG not in tree.taken or not tree.weights:
        detail = "a model directory has config.json and model*.safetensors"
        raise TreeError(where=str(root), detail=detail)
    return tree


def judged_tree(root: Path) -> tuple[ModelTree, list[TrlmError]]:
    """The tree with every problem of it; a directory that lacks files has none for that."""
    problems: list[TrlmError] = []
    names = _walk(root, problems)
    weights = tuple(name for name in names if name_use(name) == "weights")
    taken = tuple(name for name in names if name_use(name) == "taken")
    ignored = tuple(name for name in names if name_use(name) == "other")
    allowed = family_list(root / CONFIG) if CONFIG in taken else general_list()
    problems += _oversized(root, [*taken, INDEX] if INDEX in names else taken, allowed)
    return ModelTree(root, weights, taken, ignored, INDEX in names, allowed), problems


def _oversized(root: Path, names: Iterable[str], allowed: AllowList) -> Iterator[TrlmError]:
    for name in names:
        detail = allowed.problem(name, (root / name).stat().st_size)
        if detail:
            yield TreeError(where=str(root / name), detail=detail)


def _walk(root: Path, problems: list[TrlmError]) -> list[str]:
    names: list[str] = []
    total = 0
    pending = [(root, 1)]
    while pending:
        folder, depth = pending.pop()
        for path in sorted(folder.iterdir()):
            problem = _problem(root, path, depth)
            if problem:
                problems.append(problem)
            elif depth == 1 and path.name in BOOKKEEPING:
                continue
            elif path.is_dir():
                pending.append((path, depth + 1))
            else:
                total += path.stat().st_size
                names.append(path.relative_to(root).as_posix())
        if len(names) > MAX_FILES or total > MAX_TOTAL_BYTES:
            detail = f"{len(names)} files of {total} bytes are too many"
            problems.append(TreeError(where=str(root), detail=detail))
            break
    return sorted(names)


def _problem(root: Path, path: Path, depth: int) -> TrlmError | None:
    detail = _rule(root, path, depth)
    if detail:
        return TreeError(where=str(path), detail=detail)
    if path.is_file() and path.stat().st_size <= MOST_BYTES:
        pointer = read_pointer(path)
        if pointer is not None:
            return LfsPointerError(where=str(path), oid=pointer.oid, size=pointer.size)
    return None


def _rule(root: Path, path: Path, depth: int) -> str:
    if path.is_symlink():
        return "this is a link"
    if path.name == ".git" and (depth > 1 or not path.is_dir()):
        return "this belongs to a submodule, whose files no revision of this tree pins"
    if path.is_dir():
        return f"deeper than {MAX_DEPTH} folders" if depth >= MAX_DEPTH else ""
    if not path.is_file():
        return "this is no plain file"
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        return f"{size} bytes are above the limit"
    name = path.relative_to(root).as_posix()
    return name_problem(name) or _content_rule(path, name)


def _content_rule(path: Path, name: str) -> str:
    """Containers of weights have readers of their own."""
    use = name_use(name)
    if use == "weights" or (use == "bookkeeping" and "/" not in name):
        return ""
    return content_problem(path, taken=use in ("taken", "index"))
