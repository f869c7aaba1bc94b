"""The F32 GGUF of a model directory, cached by content.

A llama is written here (`llama_cpp_gguf`), which asks for no more than the package gguf; every
other family by llama.cpp's own converter, which must be in the cache.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trlm_lab.backends.llama_cpp_converter import SCRIPT, convert, require_converter
from trlm_lab.backends.llama_cpp_families import unseen_window
from trlm_lab.backends.llama_cpp_gguf import write_gguf
from trlm_lab.backends.llama_cpp_sdist import SDIST_SHA256
from trlm_lab.backends.process_files import read_object
from trlm_lab.base import canon, strict_json
from trlm_lab.base.blobs import file_sha256, write_atomically
from trlm_lab.base.home import trlm_home
from trlm_lab.errors import ModelFilesError

#: Part of the cache key: raise it when the bytes of an export change.
EXPORT_VERSION = 1

_GGUF, _FIELDS = "whole.gguf", "fields.json"


@dataclass(frozen=True)
class Export:
    """An exported model, and the window that llama.cpp would not apply to it, or None."""

    gguf: Path
    window: int | None = None

    def refused_length(self, tokens: int) -> str | None:
        """Why a case of so many tokens cannot be run, or None."""
        if self.window is None or tokens <= self.window:
            return None
        return f"{tokens} tokens are more than the window of {self.window}, which it does not apply"


def export_of(model_dir: Path) -> Export:
    """The export of a model directory, from the cache or made now.

    Raises:
        ModelFilesError: it is no readable model directory.
        UnsupportedModelError: llama.cpp computes something else than this model.
        PeerMissingError, ConversionError: as `convert`.
    """
    if _family(model_dir) == "llama":
        return Export(_cached(model_dir, "gguf-f32", _written, (_GGUF,)))
    return converted(model_dir)


def converted(model_dir: Path) -> Export:
    """The export by llama.cpp's own converter, whatever the family.

    Raises:
        UnsupportedModelError, PeerMissingError, ConversionError: as `convert`.
    """
    require_converter()
    writer = f"converter {SDIST_SHA256} {file_sha256(SCRIPT)}"
    gguf = _cached(model_dir, writer, _converted, (_GGUF, _FIELDS))
    return Export(gguf, unseen_window(strict_json.load_object(_beside(gguf, _FIELDS))))


def _written(model_dir: Path, room: Path) -> None:
    write_gguf(model_dir, room / _GGUF)


def _converted(model_dir: Path, room: Path) -> None:
    fields = convert(model_dir, room / _GGUF)
    (room / _FIELDS).write_text(json.dumps(fields), encoding="utf-8")


def _family(model_dir: Path) -> object:
    path = model_dir / "config.json"

    def unread(detail: str) -> ModelFilesError:
        return ModelFilesError(where=str(path), detail=detail)

    return read_object(path.resolve(), unread).get("model_type")


def _cached(
    model_dir: Path, writer: str, write: Callable[[Path, Path], None], files: tuple[str, ...]
) -> Path:
    """The GGUF in the cache, where the recorded hashes of it and of what lies beside it hold.

    Its name is the content id of what went in.
    """
    parts = [model_dir / "config.json", *sorted(model_dir.glob("*.safetensors"))]
    sources = [[part.name, file_sha256(part)] for part in parts]
    path = trlm_home() / "gguf" / f"{canon.content_id([writer, EXPORT_VERSION, sources])}.gguf"
    record = path.with_suffix(".sha256")
    if not (record.is_file() and _sums(path, files) == record.read_bytes()):
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written beside the goal, then renamed: a kill leaves nothing under the name.
        with tempfile.TemporaryDirectory(prefix=".tmp-", dir=path.parent) as room:
            write(model_dir, Path(room))
            for file in files:
                (Path(room) / file).replace(_beside(path, file))
        write_atomically(record, _sums(path, files))
    return path


def _beside(path: Path, file: str) -> Path:
    """Where a file of an export lies."""
    return path.with_suffix(Path(file).suffix)


def _sums(path: Path, files: tuple[str, ...]) -> bytes:
    """The hashes of the files of an export, or nothing where one is missing."""
    places = [_beside(path, file) for file in files]
    if not all(place.is_file() for place in places):
        return b""
    return " ".join(map(file_sha256, places)).encode()
