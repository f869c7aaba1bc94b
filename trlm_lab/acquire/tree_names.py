"""What a file of a model repository is, by its name alone; one rule for folders and for the Hub."""

from __future__ import annotations

import os
import re
from pathlib import PurePosixPath
from typing import Literal

from trlm_lab.acquire.allow_list import general_list
from trlm_lab.base.document_names import is_card, is_licence

Use = Literal["weights", "taken", "index", "bookkeeping", "other"]

_TEMPLATES = re.compile(r"additional_chat_templates/[^/]+\.jinja\Z")
_WEIGHTS = re.compile(r"model(-[0-9]{5}-of-[0-9]{5})?\.safetensors\Z")
INDEX = "model.safetensors.index.json"
#: What the publisher did not put there: a clone's own data, a download client's, a desktop's.
BOOKKEEPING = {".git", ".cache", ".gitattributes", ".gitignore", ".DS_Store"}
#: File systems hold 255 bytes; unfinished files carry a longer name.
LONGEST_NAME = 240
_PICTURES = {".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".pdf", ".md"}
#: What else may lie beside a model and is never read: plain texts and tables, further declarations
#: and vocabularies, weights in a container that holds nothing but numbers, our own records. Code
#: has too many names to list; so whatever is not here is refused.
_PLAIN = _PICTURES | {
    ".txt", ".rst", ".bib", ".cff", ".csv", ".tsv", ".json", ".jsonl", ".yaml", ".yml", ".toml",
    ".jinja", ".model", ".vocab", ".bpe", ".spm", ".tiktoken", ".safetensors", ".gguf", ".cbor",
    ".ico", ".bmp", ".avif", ".tif", ".tiff", ".mp4", ".wav", ".mp3", ".flac",
}  # fmt: skip
_PLAIN_NAMES = {
    ".gitattributes", ".gitignore", ".gitkeep", ".DS_Store", "AUTHORS", "CHANGELOG", "CITATION",
    "CONTRIBUTING", "CONTRIBUTORS", "VERSION",
}  # fmt: skip


def name_use(name: str) -> Use:
    """What the file `name` (relative, with `/`) is to a model."""
    if _WEIGHTS.match(name):
        return "weights"
    # Optional and conflicting declarations are kept, never chosen between.
    if name in general_list().declarations or _TEMPLATES.match(name):
        return "taken"
    if is_licence(name) or is_card(name):
        return "taken"
    if name == INDEX:
        return "index"
    return "bookkeeping" if name.split("/")[0] in BOOKKEEPING else "other"


def is_document(name: str) -> bool:
    """Whether people read this file and no program does: cards, licences, pictures."""
    suffix = PurePosixPath(name).suffix.lower()
    return is_licence(name) or is_card(name) or suffix in _PICTURES


def _is_plain(path: PurePosixPath) -> bool:
    if path.name in _PLAIN_NAMES or path.suffix.lower() in _PLAIN:
        return True
    return name_use(str(path)) != "other"


def name_problem(name: str) -> str:
    """Why a file of this name may not be in a model's tree, or empty."""
    path = PurePosixPath(name)
    if not name.isprintable():
        return "its name holds characters that no terminal shows as they are"
    if len(os.fsencode(path.name)) > LONGEST_NAME:
        return f"its name has more than {LONGEST_NAME} bytes"
    if ".gitmodules" in path.parts or ".git" in path.parts[1:]:
        return "this belongs to a submodule, whose files no revision of this tree pins"
    if not _is_plain(path):
        kind = f"{path.suffix} files" if path.suffix else "files without a suffix"
        return f"{kind} are no part of a model's tree: code, pickles or archives come in such files"
    if len(path.parts) == 1 and path.suffix == ".safetensors" and not _WEIGHTS.match(name):
        return "a second set of weights beside model*.safetensors; no rule says which one is meant"
    return ""
