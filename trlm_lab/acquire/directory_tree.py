"""Which files of a local model directory are taken, passed over, or reason to refuse it.

Links, code, pickles, archives and repositories inside the repository are refused: nothing here
would run them, but a tree that carries them is not the plain data that a receipt describes. Only
the bookkeeping of version control and download clients at the top is passed over unseen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from trlm_lab.errors import TreeError

MAX_FILES = 4096
MAX_DEPTH = 4
MAX_FILE_BYTES = 64 << 30
MAX_TOTAL_BYTES = 256 << 30

#: Taken byte for byte. Optional and conflicting declarations are kept, never chosen between.
_TAKEN = {
    "config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json",
    "special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt", "tokenizer.model",
    "chat_template.jinja", "chat_template.json", "processor_config.json",
    "preprocessor_config.json",
}  # fmt: skip
_EVIDENCE = re.compile(r"(LICEN[CS]E|NOTICE|COPYING|README|USE_POLICY)(\.(md|txt))?\Z", re.I)
_TEMPLATES = re.compile(r"additional_chat_templates/[^/]+\.jinja\Z")
_WEIGHTS = re.compile(r"model(-[0-9]{5}-of-[0-9]{5})?\.safetensors\Z")
INDEX = "model.safetensors.index.json"
#: What the publisher did not put there: a clone's own data, a download client's, a desktop's.
_BOOKKEEPING = {".git", ".cache", ".gitattributes", ".gitignore", ".DS_Store"}
_REFUSED = {
    ".py", ".pyc", ".pyd", ".so", ".sh", ".exe", ".dll", ".dylib", ".js", ".jar", ".bin", ".pt",
    ".pth", ".ckpt", ".pkl", ".pickle", ".joblib", ".npy", ".npz", ".h5", ".msgpack", ".zip",
    ".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar", ".whl",
}  # fmt: skip


@dataclass(frozen=True)
class ModelTree:
    """Relative names, sorted: `weights` are converted, `taken` copied, `ignored` only listed."""

    root: Path
    weights: tuple[str, ...]
    taken: tuple[str, ...]
    ignored: tuple[str, ...]
    has_index: bool


def read_tree(root: Path) -> ModelTree:
    """Enumerate and judge a model directory; no file is opened.

    Raises:
        TreeError: a link, a refused kind of file, a limit, or no config or weights.
    """
    tree, problems = judged_tree(root)
    if problems:
        raise problems[0]
    if "config.json" not in tree.taken or not tree.weights:
        detail = "a model directory has config.json and model*.safetensors"
        raise TreeError(where=str(root), detail=detail)
    return tree


def judged_tree(root: Path) -> tuple[ModelTree, list[TreeError]]:
    """The tree with every problem of it; a directory that lacks files has none for that."""
    problems: list[TreeError] = []
    names = _walk(root, problems)
    weights = tuple(name for name in names if _WEIGHTS.match(name))
    taken = tuple(
        name for name in names if name in _TAKEN or _EVIDENCE.match(name) or _TEMPLATES.match(name)
    )
    used = {*weights, *taken, INDEX}
    ignored = tuple(name for name in names if name not in used)
    return ModelTree(root, weights, taken, ignored, INDEX in names), problems


def _walk(root: Path, problems: list[TreeError]) -> list[str]:
    names: list[str] = []
    total = 0
    pending = [(root, 1)]
    while pending:
        folder, depth = pending.pop()
        for path in sorted(folder.iterdir()):
            detail = _problem(path, depth)
            if detail:
                problems.append(TreeError(where=str(path), detail=detail))
            elif depth == 1 and path.name in _BOOKKEEPING:
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


def _problem(path: Path, depth: int) -> str:
    if path.is_symlink():
        return "this is a link"
    submodule = path.name == ".git" and (depth > 1 or not path.is_dir())
    if submodule or path.name == ".gitmodules":
        return "this belongs to a submodule, whose files no revision of this tree pins"
    if path.is_dir():
        return f"deeper than {MAX_DEPTH} folders" if depth >= MAX_DEPTH else ""
    if not path.is_file():
        return "this is no plain file"
    if path.suffix.lower() in _REFUSED:
        return f"{path.suffix} files are code, pickles or archives"
    if depth == 1 and path.suffix == ".safetensors" and not _WEIGHTS.match(path.name):
        return "a second set of weights beside model*.safetensors; no rule says which one is meant"
    size = path.stat().st_size
    return f"{size} bytes are above the limit" if size > MAX_FILE_BYTES else ""
