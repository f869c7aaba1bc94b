"""The frame of a TOK2 block: header, directory, padding and hashes, checked before any section."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import NoReturn

from trlm_lab.errors import (
    Tok2Error,
    Tok2FlagsError,
    Tok2HashError,
    Tok2LengthError,
    Tok2LimitError,
    Tok2ReservedError,
    Tok2SectionError,
    Tok2VersionError,
)
from trlm_lab.text.tok2.hashing import merge_buckets, token_buckets
from trlm_lab.text.tok2.layout import (
    DIRECTORY_END,
    HEADER_LEN,
    OFFSETS,
    SELF_HASH,
    Header,
    aligned,
    rows,
)
from trlm_lab.text.tok2.numbers import (
    BLOCK,
    DENSE,
    MAGIC,
    MAJOR,
    MAX_ADDED,
    MAX_FILE,
    MAX_IDS,
    MAX_MERGES,
    MAX_TOKENS,
    MERGED,
    MINOR,
    MODELS,
    NOTES,
    PROFILE_OF,
    PROFILES,
    SECTIONS,
    WITH_ADDED,
)

#: Bytes of section 12 for each token.
SCORE_BYTES = {
    "Unigram": 8, "GGUF BPE": 1, "GGUF SPM": 5, "GGUF WPM": 1,
    **{name: 5 for name in MODELS if PROFILE_OF[name] == 3},
}  # fmt: skip
_FIXED = {
    "magic": MAGIC, "major": MAJOR, "minor": MINOR, "header_len": HEADER_LEN,
    "section_count": len(SECTIONS), "section_dir_off": HEADER_LEN, "block_size": BLOCK,
}  # fmt: skip


@dataclass(frozen=True)
class Frame:
    """The header, and the bytes of each section with where it begins."""

    header: Header
    sections: dict[str, tuple[memoryview, int]]
    model: str


def _fail(error: type[Tok2Error], at: int, field: str, got: object, expected: object) -> NoReturn:
    raise error(where=f"byte {at}", field=field, got=got, expected=expected)


def read_frame(view: memoryview) -> Frame:
    """The frame of a block, rules 1 to 11 of docs/formats/tok2.

    Raises:
        Tok2LengthError, Tok2VersionError, Tok2FlagsError, Tok2ReservedError, Tok2LimitError,
        Tok2SectionError, Tok2HashError: the first rule that is broken.
    """
    if len(view) < DIRECTORY_END:
        _fail(Tok2LengthError, 0, "the length", len(view), f"at least {DIRECTORY_END}")
    header = Header.unpack(view)
    _header(header, len(view))
    sections = _directory(view)
    _padding(view, sections)
    _hashes(view, header, sections)
    _lengths(header, sections)
    return Frame(header, sections, MODELS[header.model_kind - 1])


def _header(header: Header, length: int) -> None:
    for name, expected in _FIXED.items():
        if getattr(header, name) != expected:
            _fail(Tok2VersionError, OFFSETS[name], name, getattr(header, name), expected)
    if not 1 <= header.profile <= len(PROFILES):
        known = f"1 to {len(PROFILES)}"
        _fail(Tok2VersionError, OFFSETS["profile"], "profile", header.profile, known)
    if header.flags >> len(NOTES):
        _fail(Tok2FlagsError, OFFSETS["flags"], "flags", header.flags, f"below {1 << len(NOTES)}")
    if header.file_len != length or length > MAX_FILE:
        _fail(Tok2LengthError, OFFSETS["file_len"], "file_len", header.file_len, length)
    if any(header.reserved):
        _fail(Tok2ReservedError, OFFSETS["reserved"], "reserved", header.reserved.hex(), "zeros")
    _counts(header)


def _counts(header: Header) -> None:
    kinds = [n for n, name in enumerate(MODELS, 1) if PROFILE_OF[name] == header.profile]
    tokens = header.token_count
    if header.model_kind not in kinds:
        known = f"{kinds[0]} to {kinds[-1]}"
        _fail(Tok2LimitError, OFFSETS["model_kind"], "model_kind", header.model_kind, known)
    kind = MODELS[header.model_kind - 1]
    least = tokens
    most = tokens if kind in DENSE or not tokens else MAX_IDS
    limits = {
        "token_count": (0, MAX_TOKENS),
        "id_limit": (least, most),
        "merge_count": (0, MAX_MERGES if kind in MERGED else 0),
        "added_count": (0, MAX_ADDED if header.profile in WITH_ADDED else 0),
    }
    for name, (low, high) in limits.items():
        value = getattr(header, name)
        if not low <= value <= high:
            _fail(Tok2LimitError, OFFSETS[name], name, value, f"{low} to {high}")


def _directory(view: memoryview) -> dict[str, tuple[memoryview, int]]:
    out: dict[str, tuple[memoryview, int]] = {}
    end = DIRECTORY_END
    for index, (kind, offset, length, reserved) in enumerate(rows(view)):
        at, name = HEADER_LEN + 16 * index, SECTIONS[index]
        if kind != index + 1:
            _fail(Tok2SectionError, at, "the kind of a section", kind, index + 1)
        if reserved:
            _fail(Tok2SectionError, at + 12, f"the reserved field of {name}", reserved, 0)
        expected = aligned(end) if length else 0
        if offset != expected:
            _fail(Tok2SectionError, at + 4, f"the offset of {name}", offset, expected)
        if offset + length > len(view):
            left = max(len(view) - offset, 0)
            _fail(Tok2SectionError, at + 8, f"the length of {name}", length, f"at most {left}")
        end = offset + length if length else end
        out[name] = (view[offset : offset + length], offset)
    if end != len(view):
        _fail(Tok2LengthError, OFFSETS["file_len"], "file_len", len(view), f"the end {end}")
    return out


def _padding(view: memoryview, sections: dict[str, tuple[memoryview, int]]) -> None:
    end = DIRECTORY_END
    for data, offset in sections.values():
        if not data:
            continue
        for at in range(end, offset):
            if view[at]:
                _fail(Tok2ReservedError, at, "padding", view[at], 0)
        end = offset + len(data)


def _hashes(view: memoryview, header: Header, sections: dict[str, tuple[memoryview, int]]) -> None:
    digest = hashlib.sha256(view[: SELF_HASH.start])
    digest.update(bytes(32))
    digest.update(view[SELF_HASH.stop :])
    if digest.digest() != header.self_sha256:
        got = header.self_sha256.hex()
        _fail(Tok2HashError, OFFSETS["self_sha256"], "self_sha256", got, digest.hexdigest())
    template = sections["template"][0]
    wanted = hashlib.sha256(template).digest() if template else bytes(32)
    if header.template_sha256 != wanted:
        got = header.template_sha256.hex()
        _fail(Tok2HashError, OFFSETS["template_sha256"], "template_sha256", got, wanted.hex())


def _lengths(header: Header, sections: dict[str, tuple[memoryview, int]]) -> None:
    tokens, merges, kind = header.token_count, header.merge_count, MODELS[header.model_kind - 1]
    wanted = {
        "added": 16 + 16 * header.added_count,
        "model": 48,
        "order": 4 * (tokens + header.id_limit),
        "index": 4 * (token_buckets(tokens) + 1) + 5 * tokens,
        "merges": 16 * merges + 4 * (merge_buckets(merges) + 1) if kind in MERGED else 0,
        "scores": tokens * SCORE_BYTES.get(kind, 0),
    }
    for name, length in wanted.items():
        found = len(sections[name][0])
        if found != length:
            at = HEADER_LEN + 16 * SECTIONS.index(name) + 8
            _fail(Tok2SectionError, at, f"the length of {name}", found, length)
