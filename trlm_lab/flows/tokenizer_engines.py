"""Tokenizer engines by name: libraries of the sources, reference, runtime; one form of answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from trlm_lab.base import strict_json
from trlm_lab.errors import (
    EngineFileKindError,
    UnknownNameError,
)
from trlm_lab.flows.compiled_tokenizer import (
    read_block,
    read_gguf_file,
    read_model,
    read_small,
)
from trlm_lab.flows.tokenizer_requests import (
    SMALL,
    Closes,
    Request,
    Row,
    TokenizerEngine,
    TokenizerFile,
    encoding_row,
)
from trlm_lab.flows.tokenizer_runtime import chromium, native, wasm
from trlm_lab.flows.tokenizer_sources import HuggingFace, LlamaCpp, SentencePieceLibrary
from trlm_lab.text import MODES, StreamingDecoder, Tokenizer, read_tokenizer
from trlm_lab.text.sentencepiece import SentencePieceTokenizer

__all__ = [
    "ENGINES",
    "Request",
    "Row",
    "TokenizerEngine",
    "open_tokenizer",
    "source_engine",
    "tokenizer_opened",
]


def open_tokenizer(path: Path, engine: str) -> TokenizerEngine:
    """The engine over one tokenizer: tokenizer.json, GGUF, SentencePiece, TOK2 or an artifact.

    Raises:
        UnknownNameError: no engine of this name.
        EngineFileKindError: the engine does not read files of this kind.
        PathMissingError, JsonError, GgufError: no readable file.
        TokenizerFieldError, TokenizerKindError, TokenizerVocabularyError, MergeDuplicateError,
        PatternUnsupportedError, SentencePieceFileError, SentencePieceFieldError: the reference does
        not build it.
        BtokError, Bpe1Error: a tokenizer of SLM1 that is not sound.
        Tok2Error, SlmError: a compiled tokenizer, or the artifact around it, that is not sound.
        TokenizerFileError: the source's library does not load it; an artifact without tokenizer.
        RuntimeRefusedError: the runtime does not open a compiled tokenizer, BTOK or BPE1.
        MissingPackageError, PeerMissingError, EngineMissingError: the library is not installed.
        NativeBuildError, CompilerMissingError: the runtime cannot be compiled.
    """
    if engine not in ENGINES:
        known = ", ".join(ENGINES)
        raise UnknownNameError(where="--engine", kind="engine", name=engine, known=known)
    file = TokenizerFile.at(path)
    if file.kind not in ENGINES[engine]:
        fit = ", ".join(name for name, kinds in ENGINES.items() if file.kind in kinds)
        raise EngineFileKindError(where=str(path), engine=engine, kind=file.kind, known=fit)
    return ENGINES[engine][file.kind](file)


@contextmanager
def tokenizer_opened(path: Path, engine: str) -> Iterator[TokenizerEngine]:
    """The same, closed at the end where it is to be closed. Raises as `open_tokenizer`."""
    opened = open_tokenizer(path, engine)
    try:
        yield opened
    finally:
        if isinstance(opened, Closes):
            opened.close()


def source_engine(path: Path) -> str:
    """The engine that is the source for a file: what the others are held against.

    Raises:
        PathMissingError: no such file.
    """
    return SOURCES[TokenizerFile.at(path).kind]


def read_reference(file: TokenizerFile) -> Tokenizer | SentencePieceTokenizer:
    """The reference tokenizer of a file."""
    if file.kind == "GGUF":
        return read_gguf_file(file.path)
    if file.kind == "SentencePiece":
        return read_model(file.path)
    if file.kind in COMPILED:
        return read_block(file.path)
    if small := read_small(file.path):
        return small
    return read_tokenizer(strict_json.load_object(file.path))


class Reference:
    """The reference tokenizer."""

    def __init__(self, file: TokenizerFile) -> None:
        self.tokenizer = read_reference(file)
        self.notes: Sequence[str] = self.tokenizer.notes

    def tokenize(self, request: Request) -> Row:
        """Every stage is there on request."""
        found = self.tokenizer.encode(
            request.text,
            add_special_tokens=request.add_special_tokens,
            trace=request.trace,
            content=request.content,
        )
        return encoding_row(found, trace=request.trace)

    def decode(self, ids: list[int], mode: str) -> Row:
        """Exact bytes in every mode."""
        found = self.tokenizer.decode(ids, mode)
        return {"bytes_hex": found.data.hex(), "text": found.text}

    def stream(self, mode: str) -> StreamingDecoder:
        """Exact bytes in every mode."""
        return self.tokenizer.stream(mode)


COMPILED = ("TOK2", "SLM1", "SLM2")
_KINDS = ("tokenizer.json", "GGUF", "SentencePiece", *COMPILED, *SMALL)
#: What the runtime opens, if need be after compiling it.
_COMPILABLE = ("tokenizer.json", "GGUF", "SentencePiece", *COMPILED, *SMALL)
#: The engine that publishes what a file of a kind means; of compiled ones it is the reference.
SOURCES = {
    "tokenizer.json": "hf", "GGUF": "llama.cpp", "SentencePiece": "sentencepiece",
    **dict.fromkeys((*COMPILED, *SMALL), "python"),
}  # fmt: skip
#: Engines, and how each opens the kinds of files that it reads.
ENGINES: dict[str, dict[str, Callable[[TokenizerFile], TokenizerEngine]]] = {
    "hf": {"tokenizer.json": HuggingFace},
    "llama.cpp": {"GGUF": LlamaCpp},
    "sentencepiece": {"SentencePiece": SentencePieceLibrary},
    "python": dict.fromkeys(_KINDS, Reference),
    "native": dict.fromkeys(_COMPILABLE, native),
    "wasm": dict.fromkeys(_COMPILABLE, wasm),
    "wasm@chromium": dict.fromkeys(_COMPILABLE, chromium),
}


def require_mode(mode: str) -> None:
    """Refuse a decode mode that does not exist.

    Raises:
        UnknownNameError: no such mode.
    """
    if mode not in MODES:
        raise UnknownNameError(where="--mode", kind="mode", name=mode, known=", ".join(MODES))
