"""Which files of a local model directory are taken, passed over, or reason to refuse it.

Links, code, pickles and archives are refused: nothing here would run them, but a tree that carries
them is not the plain data that a receipt describes. Hidden files and folders are passed over.
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
_WEIGHTS = re.compile(r"model(-[0-9]{5}-of-[0-9]{5})?\.safetensors\Z")
INDEX = "model.safetensors.index.json"
_REFUSED = {
    ".py", ".pyc", ".so", ".sh", ".exe", ".dll", ".js", ".bin", ".pt", ".pth", ".ckpt", ".pkl",
    ".pickle", ".joblib", ".h5", ".msgpack", ".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst",
    ".7z", ".rar", ".whl",
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
    names = _walk(root)
    top = [name for name in names if "/" not in name]
    weights = tuple(name for name in top if _WEIGHTS.match(name))
    taken = tuple(name for name in top if name in _TAKEN or _EVIDENCE.match(name))
    if "config.json" not in taken or not weights:
        detail = "a model directory has config.json and model*.safetensors"
        raise TreeError(where=str(root), detail=detail)
    used = {*weights, *taken, INDEX}
    ignored = tuple(name for name in names if name not in used)
    return ModelTree(root, weights, taken, ignored, INDEX in top)


def _walk(root: Path) -> list[str]:
    names: list[str] = []
    total = 0
    pending = [(root, 1)]
    while pending:
        folder, depth = pending.pop()
        for path in sorted(folder.iterdir()):
            if path.name.startswith("."):
                continue
            name = path.relative_to(root).as_posix()
            if path.is_symlink():
                raise TreeError(where=str(path), detail="this is a link")
            if path.is_dir():
                if depth >= MAX_DEPTH:
                    raise TreeError(where=str(path), detail=f"deeper than {MAX_DEPTH} folders")
                pending.append((path, depth + 1))
                continue
            total += _admitted_size(path)
            names.append(name)
    if len(names) > MAX_FILES or total > MAX_TOTAL_BYTES:
        raise TreeError(where=str(root), detail=f"{len(names)} files of {total} bytes are too many")
    return sorted(names)


def _admitted_size(path: Path) -> int:
    if path.suffix.lower() in _REFUSED:
        raise TreeError(
            where=str(path), detail=f"{path.suffix} files are code, pickles or archives"
        )
    if not path.is_file():
        raise TreeError(where=str(path), detail="this is no plain file")
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise TreeError(where=str(path), detail=f"{size} bytes are above the limit")
    return size
