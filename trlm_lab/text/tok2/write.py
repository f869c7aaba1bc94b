"""A tokenizer into TOK2. The same tokenizer gives the same bytes."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Sequence

from trlm_lab.errors import Tok2CompileError
from trlm_lab.text.ggml.partition import Partition
from trlm_lab.text.sentencepiece import SentencePieceTokenizer
from trlm_lab.text.tok2.layout import DIRECTORY_END, HEADER_LEN, SELF_HASH, Header, aligned, row
from trlm_lab.text.tok2.numbers import (
    BLOCK,
    MAGIC,
    MAJOR,
    MAX_FILE,
    MINOR,
    MODELS,
    NOTES,
    PROFILE_OF,
    ROLES,
    SECTIONS,
)
from trlm_lab.text.tok2.piece_parts import Compilable, parts_of
from trlm_lab.text.tok2.pools import Pools
from trlm_lab.text.tok2.write_model import Vocabulary, model_bytes
from trlm_lab.text.tok2.write_stages import added_bytes, stages_bytes
from trlm_lab.text.tokenizer import Tokenizer

#: Name of a role, and an id that has it.
Role = tuple[str, int]


def write_tok2(
    tokenizer: Tokenizer | SentencePieceTokenizer,
    *,
    roles: Iterable[Role] = (),
    template: bytes = b"",
) -> bytes:
    """The block of bytes; `template` is a compiled chat template, kept as it is.

    Raises:
        Tok2CompileError: the tokenizer has more than TOK2 holds.
    """
    if isinstance(tokenizer, SentencePieceTokenizer):
        return _written(parts_of(tokenizer), roles, template)
    _require_profile(tokenizer)
    return _written(tokenizer, roles, template)


def _require_profile(tokenizer: Tokenizer) -> None:
    other = PROFILE_OF.get(tokenizer.model_kind) != (2 if tokenizer.given else 1)
    if other or not isinstance(tokenizer.given, Partition | None):
        known = ", ".join(MODELS)
        raise Tok2CompileError(what="the tokenizer", got=tokenizer.model_kind, limit=known)


def _written(tokenizer: Compilable, roles: Iterable[Role], template: bytes) -> bytes:
    vocabulary = Vocabulary.of(tokenizer)
    pools = Pools()
    # The walk of the pools: model, added tokens, stages, patterns.
    model = model_bytes(tokenizer, pools)
    added = added_bytes(tokenizer, pools)
    stages = stages_bytes(tokenizer, pools)
    patterns = pools.patterns_bytes()
    sections = {
        "strings": pools.strings_bytes(),
        "sets": pools.sets_bytes(),
        "tables": pools.tables_bytes(),
        "patterns": patterns,
        "stages": stages,
        "added": added,
        "model": model,
        **vocabulary.sections(),
        "roles": _roles_bytes(tokenizer, vocabulary, roles),
        "template": template,
    }
    return _joined(tokenizer, vocabulary, [sections[name] for name in SECTIONS])


def _roles_bytes(tokenizer: Compilable, vocabulary: Vocabulary, roles: Iterable[Role]) -> bytes:
    rows = sorted({(ROLES.index(role) + 1, number) for role, number in roles})
    known = {*vocabulary.ids.tolist(), *(one.id for one in tokenizer.added)}
    for _, number in rows:
        if number not in known:
            raise Tok2CompileError(what="the id of a role", got=number, limit="ids of tokens")
    flat = [number for pair in rows for number in pair]
    return struct.pack(f"<{1 + len(flat)}I", len(rows), *flat)


def _joined(tokenizer: Compilable, vocabulary: Vocabulary, sections: Sequence[bytes]) -> bytes:
    directory, body = bytearray(), bytearray()
    at = DIRECTORY_END
    for kind, data in enumerate(sections, 1):
        if data:
            start = aligned(at)
            body += bytes(start - at) + data
            at = start + len(data)
        directory += row(kind, start if data else 0, len(data))
    if at > MAX_FILE:
        raise Tok2CompileError(what="the length", got=at, limit=f"{MAX_FILE} bytes")
    header = _header(tokenizer, vocabulary, at, sections[-1])
    out = header.pack() + directory + body
    digest = hashlib.sha256(out).digest()
    return out[: SELF_HASH.start] + digest + out[SELF_HASH.stop :]


def _header(tokenizer: Compilable, vocabulary: Vocabulary, length: int, template: bytes) -> Header:
    flags = sum(
        1 << bit
        for bit, name in enumerate(NOTES)
        if any(note.startswith(name) for note in tokenizer.notes)
    )
    return Header(
        MAGIC, MAJOR, MINOR, HEADER_LEN, flags, length, len(SECTIONS), HEADER_LEN,
        MODELS.index(tokenizer.model_kind) + 1, len(vocabulary.tokens), vocabulary.id_limit,
        len(vocabulary.merges), len(tokenizer.added), BLOCK, PROFILE_OF[tokenizer.model_kind],
        bytes(32),
        hashlib.sha256(template).digest() if template else bytes(32), bytes(8),
    )  # fmt: skip
