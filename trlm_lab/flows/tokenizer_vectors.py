"""Golden vectors of a tokenizer written to a file, and an engine judged by such a file alone."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.blobs import write_atomically
from trlm_lab.base.plain_file import read_plain, read_start
from trlm_lab.errors import (
    RecordError,
    Refused,
    VectorsFileError,
)
from trlm_lab.flows.tokenizer_engines import read_reference, tokenizer_opened
from trlm_lab.flows.tokenizer_profiles import profile_of_file
from trlm_lab.flows.tokenizer_requests import (
    Request,
    TakesUtf8,
    TokenizerEngine,
    TokenizerFile,
)
from trlm_lab.text import BOUNDS, MODES, text_of
from trlm_lab.text.vectors import (
    Parting,
    TokenizerBytes,
    Vector,
    VectorSet,
    first_parting,
    vector_set,
)

#: The largest tokenizer.json in use has 33 MB, its vectors as much again.
MAX_VECTOR_BYTES = 256 << 20
#: The kind of a file shows in its first bytes, but for this one.
_NAMES = {"SentencePiece": "tokenizer.model"}
Answer = dict[str, Any]


def make_vector_set(path: Path) -> VectorSet:
    """The minimum corpus for a tokenizer of any kind, by the reference.

    Raises:
        PathMissingError, and whatever the reference refuses.
    """
    file = TokenizerFile.at(path)
    tokenizer = read_reference(file)
    data = read_plain(path)
    held = TokenizerBytes(file.kind, canon.sha256_hex(data), data)
    return vector_set(tokenizer, profile_of_file(file, tokenizer), held)


def write_vectors(found: VectorSet, out: Path) -> dict[str, Any]:
    """The set into a file, whole or not at all; returns what is said about it."""
    data = found.encode()
    write_atomically(out, data)
    return vectors_row(found, data)


def vectors_row(found: VectorSet, data: bytes) -> dict[str, Any]:
    """What is said about a set: hashes, sizes, vectors by class, and how many can be inverted."""
    made = [one.expected for one in found.vectors if one.expected]
    return {
        "sha256": canon.sha256_hex(data),
        "bytes": len(data),
        "profile_id": found.profile.profile_id,
        "tokenizer_sha256": found.tokenizer.sha256,
        "vectors": len(found.vectors),
        "invertible": sum(one.invertible for one in made),
        "refused": len(found.vectors) - len(made),
        "classes": found.counts(),
    }


def read_vectors(path: Path) -> VectorSet:
    """A set out of a file.

    Raises:
        VectorsFileError: too large, or no set of vectors.
        NotCanonicalError: no canonical CBOR.
        NotPlainFileError: a pipe, device or directory.
    """
    try:
        data = unpacked(read_start(path, MAX_VECTOR_BYTES))
        if len(data) > MAX_VECTOR_BYTES:
            raise VectorsFileError(where=str(path), detail=f"more than {MAX_VECTOR_BYTES} bytes")
        return VectorSet.decode(data, where=path.name)
    except zlib.error as error:
        raise VectorsFileError(where=str(path), detail=f"gzip: {error}") from error
    except FileNotFoundError as error:
        raise VectorsFileError(where=str(path), detail="there is no such file") from error
    except RecordError as error:
        raise VectorsFileError(where=error.where, detail=error.detail) from error


def unpacked(data: bytes) -> bytes:
    """The bytes themselves, or what they are the gzip form of, up to the limit and one more."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, MAX_VECTOR_BYTES + 1)


@dataclass(frozen=True)
class Judged:
    """How many vectors an engine agrees with, and where it parts from the others."""

    engine: str
    total: int
    partings: tuple[Parting, ...]
    shows: tuple[str, ...]

    def row(self) -> dict[str, Any]:
        """JSON-ready row."""
        return {
            "engine": self.engine,
            "vectors": self.total,
            "agree": self.total - len(self.partings),
            "judged_by": list(self.shows),
            "partings": [one.row() for one in self.partings],
        }


def judge_vectors(found: VectorSet, engine: str) -> Judged:
    """Every vector through an engine over the tokenizer that the set holds.

    Raises:
        UnknownNameError, TokenizerEngineMissingError, MissingPackageError: no such engine here.
    """
    with _opened(found.tokenizer, engine) as opened:
        reach = _REACH.get(engine, _everything)(found)
        partings: list[Parting] = []
        shows: dict[str, None] = {}
        for vector in found.vectors:
            answer, decoded = _answers(opened, vector, reach)
            shows.update(dict.fromkeys(key for key in answer if key != "offset_unit"))
            shows.update(
                {f"decode {mode} {key}": None for mode in decoded for key in decoded[mode]}
            )
            if parting := first_parting(vector, answer, decoded):
                partings.append(parting)
    return Judged(engine, len(found.vectors), tuple(partings), tuple(shows))


@contextmanager
def _opened(file: TokenizerBytes, engine: str) -> Iterator[TokenizerEngine]:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / _NAMES.get(file.kind, "tokenizer.json")
        path.write_bytes(file.data)
        with tokenizer_opened(path, engine) as opened:
            yield opened


def _answers(
    engine: TokenizerEngine, vector: Vector, reach: Mapping[str, tuple[str, ...]]
) -> tuple[Answer, dict[str, Answer]]:
    """The answer to a vector, and what its ids decode to in the modes that the engine has."""
    try:
        answer = _tokenized(engine, vector)
    except Refused as error:
        return {"failure": {"code": error.code, "index": error.facts.get("index")}}, {}
    decoded: dict[str, Answer] = {}
    if vector.expected:
        for mode, keys in reach.items():
            row = engine.decode(list(vector.expected.ids), mode)
            whole = {"data": bytes.fromhex(row["bytes_hex"]), "text": row["text"]}
            decoded[mode] = {key: whole[key] for key in keys}
    return answer, decoded


def _tokenized(engine: TokenizerEngine, vector: Vector) -> Answer:
    """By the engine that takes bytes, where the bounds are its own; else as text that is one."""
    insert = vector.add_special_tokens
    if isinstance(engine, TakesUtf8) and vector.bounds == BOUNDS:
        return engine.tokenize_utf8(vector.input, add_special_tokens=insert, trace=True)
    text = text_of(vector.input, bounds=vector.bounds)
    return engine.tokenize(Request(text, add_special_tokens=insert, trace=True))


def _everything(found: VectorSet) -> Mapping[str, tuple[str, ...]]:
    return dict.fromkeys(MODES, ("data", "text"))


def _library(found: VectorSet) -> Mapping[str, tuple[str, ...]]:
    """The `tokenizers` library decodes to text, and tidies up in its raw mode as well."""
    tidies = any(one.parameters.get("cleanup") for one in found.profile.decoding.stages)
    return dict.fromkeys(("visible",) if tidies else ("raw", "visible"), ("text",))


def _llama_cpp(found: VectorSet) -> Mapping[str, tuple[str, ...]]:
    """It tidies up in every mode, where it does."""
    tidies = any(one.stage == "Tidied" for one in found.profile.decoding.stages)
    return {"visible": ("data", "text")} if tidies else _everything(found)


def _sentencepiece(found: VectorSet) -> Mapping[str, tuple[str, ...]]:
    """It decodes to text, and leaves control symbols out in every mode."""
    return {"visible": ("text",)}


#: What each engine decodes exactly: modes, and whether to bytes or to text.
_REACH: dict[str, Callable[[VectorSet], Mapping[str, tuple[str, ...]]]] = {
    "hf": _library,
    "llama.cpp": _llama_cpp,
    "sentencepiece": _sentencepiece,
}
