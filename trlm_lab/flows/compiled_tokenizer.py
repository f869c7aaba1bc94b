"""Compiled tokenizers as files: TOK2 alone or in an artifact, and compiling one."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from trlm_lab.acquire.gguf_file import read_gguf
from trlm_lab.base import strict_json
from trlm_lab.base.blobs import write_atomically
from trlm_lab.base.output_file import require_output
from trlm_lab.base.plain_file import read_plain, read_start
from trlm_lab.errors import (
    Bpe1Error,
    BtokError,
    Tok2CompileError,
    Tok2Error,
    TokenizerFileError,
)
from trlm_lab.flows.model_templates import declared_template
from trlm_lab.flows.tokenizer_requests import TokenizerFile
from trlm_lab.flows.tokenizer_section import Role, compiled_template, file_roles, piece_roles
from trlm_lab.pack.artifact_file import map_file
from trlm_lab.pack.slm1 import open_slm1_file
from trlm_lab.slm.read import open_slm
from trlm_lab.text import Tokenizer, read_tokenizer
from trlm_lab.text.ggml import read_gguf_tokenizer
from trlm_lab.text.sentencepiece import SentencePieceTokenizer, read_sentencepiece
from trlm_lab.text.slm1 import (
    Btok,
    bpe1_tokenizer,
    btok_tokenizer,
    read_bpe1,
    read_btok,
    read_section,
)
from trlm_lab.text.tok2 import MAGIC, read_tok2, write_tok2

_KINDS = ("tokenizer.json", "GGUF", "SentencePiece", "BTOK", "BPE1")
#: Of a SentencePiece model; the largest published ones have 5 MB.
MAX_MODEL_BYTES = 64 << 20


#: What else is read of a model directory.
_READ = (
    "tokenizer_config.json", "chat_template.jinja", "chat_template.json", "processor_config.json",
    "preprocessor_config.json",
)  # fmt: skip


def tokenizer_block(path: Path) -> memoryview:
    """The bytes of a `.tok2`, or those of the tokenizer section of a `.slm`.

    Raises:
        SlmError, Slm1Error: the artifact is malformed.
    """
    view = map_file(path)
    if bytes(view[:4]) == b"SLM1":
        return open_slm1_file(path).tokenizer
    return open_slm(view, where=path.name).tokenizer if bytes(view[:4]) == b"SLM2" else view


def read_block(path: Path) -> Tokenizer | SentencePieceTokenizer:
    """The tokenizer of a `.tok2` or `.slm`; an artifact may hold another than TOK2 instead.

    Raises:
        Tok2Error: the first rule that the block breaks.
        TokenizerFileError: the artifact has no tokenizer.
    """
    block = tokenizer_block(path)
    if not block:
        raise TokenizerFileError(where=str(path), detail="the tokenizer section is empty")
    if bytes(block[:1]) == b"{":
        return read_tokenizer(strict_json.loads(bytes(block), where=path.name))
    if bytes(block[:4]) in (b"BTOK", b"BPE1"):
        source = read_section(block)
        return btok_tokenizer(source) if isinstance(source, Btok) else bpe1_tokenizer(source)
    return read_tok2(block).tokenizer


def read_gguf_file(path: Path) -> Tokenizer:
    """The tokenizer of a GGUF file.

    Raises:
        GgufError: the container breaks a rule.
        TokenizerFieldError, TokenizerKindError, TokenizerVocabularyError: the reference does not
        build it.
    """
    fields = read_gguf(path).fields
    return read_gguf_tokenizer({key: field.value for key, field in fields.items()})


def read_model(path: Path) -> SentencePieceTokenizer:
    """The tokenizer of a SentencePiece model.

    Raises:
        TokenizerFileError: the file is larger than any model.
        SentencePieceFileError, SentencePieceFieldError, TokenizerKindError, TokenizerFieldError,
        TokenizerVocabularyError: the reference does not build it.
    """
    data = read_start(path, MAX_MODEL_BYTES)
    if len(data) > MAX_MODEL_BYTES:
        raise TokenizerFileError(where=str(path), detail=f"more than {MAX_MODEL_BYTES} bytes")
    return read_sentencepiece(data)


def read_small(path: Path) -> Tokenizer | None:
    """The tokenizer of a BTOK or BPE1 file; None of another one.

    Raises:
        BtokError, Bpe1Error: the first field that breaks a rule.
    """
    view = map_file(path)
    if bytes(view[:4]) == b"BTOK":
        return btok_tokenizer(read_btok(view))
    if bytes(view[:4]) == b"BPE1":
        return bpe1_tokenizer(read_bpe1(view))
    return None


def check_small(path: Path) -> list[dict[str, str]]:
    """Findings over a BTOK or BPE1 file."""
    try:
        read_small(path)
    except (BtokError, Bpe1Error) as error:
        return [error.as_finding()]
    return []


def check_block(path: Path) -> list[dict[str, str]]:
    """Findings of the strict reader over a `.tok2`, or the TOK2 section of a `.slm`."""
    block = tokenizer_block(path)
    if bytes(block[:4]) != MAGIC and path.suffix != ".tok2":
        return []
    try:
        read_tok2(block)
    except Tok2Error as error:
        return [error.as_finding()]
    return []


def compile_file(path: Path, out: Path) -> dict[str, Any]:
    """Write the TOK2 of a tokenizer.json, or of a model directory with its roles and template.

    GGUF, BTOK and BPE1 files are taken too, and SentencePiece models with the roles that they name.

    Raises:
        OutputIsInputError, OutputNotPlainError: `out` is a file that is read, or no plain file.
        PathMissingError: nothing is there.
        Tok2CompileError: a file of another kind, or more than TOK2 holds.
        TemplateUnsupportedError and its neighbours: the template is outside the subset.
    """
    file = path / "tokenizer.json" if path.is_dir() else path
    config, *others = (path / name for name in _READ)
    require_output(out, file, config, *others)
    tokenizer = _source(file)
    roles: list[Role] = []
    template = b""
    if isinstance(tokenizer, SentencePieceTokenizer):
        roles = piece_roles(tokenizer)
    elif path.is_dir():
        roles = file_roles(tokenizer, strict_json.load_object(config)) if config.exists() else []
        template = compiled_template(declared_template(path))
    elif TokenizerFile.at(file).kind == "GGUF":
        template = compiled_template(declared_template(file))
    block = write_tok2(tokenizer, roles=roles, template=template)
    write_atomically(out, block)
    return {
        "path": str(out),
        "sha256": hashlib.sha256(block).hexdigest(),
        "bytes": len(block),
        "source_bytes": len(read_plain(file)),
        "roles": [list(role) for role in roles],
        "template_bytes": len(template),
    }


def _source(file: Path) -> Tokenizer | SentencePieceTokenizer:
    kind = TokenizerFile.at(file).kind
    if kind not in _KINDS:
        limit = f"tokenizers of {', '.join(_KINDS)}"
        raise Tok2CompileError(where=str(file), what="the file", got=kind, limit=limit)
    if kind == "GGUF":
        return read_gguf_file(file)
    if kind == "SentencePiece":
        return read_model(file)
    return read_small(file) or read_tokenizer(strict_json.load_object(file))
