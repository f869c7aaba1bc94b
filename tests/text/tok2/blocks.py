"""TOK2 blocks taken apart and sealed again, so that only what a test changes is wrong."""

import base64
import hashlib
import struct
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from tests.text.components import (
    ADDED,
    DECODERS,
    MODELS,
    NORMALIZERS,
    POST_PROCESSORS,
    PRE_TOKENIZERS,
    kind,
    split,
)
from tests.text.constructed import document, word_level
from trlm_lab.text import Tokenizer, read_tokenizer
from trlm_lab.text.tok2 import write_tok2
from trlm_lab.text.tok2.layout import DIRECTORY_END, SELF_HASH, Header, aligned, row, rows
from trlm_lab.text.tok2.numbers import SECTIONS

NAMES = ("ignore_merges", "unigram_bytes", "word_piece")
#: Every node of patterns.
PATTERN = r"(?:ab|a(?>c+)|(?=d)d*?e|(?<!xy)[^\s\p{L}]{2,5}|q?+x|)z|\p{Lu}+(?<=A)| ?\w"


def _charsmap() -> str:
    """A table with the one key `a`, whose text is `b`."""
    units = [0] * 512
    units[0] = 256 << 10
    units[256 ^ 0x61] = 1 << 10 | 1 << 8 | 0x61
    units[256 ^ 0x61 ^ 1] = 1 << 31
    return base64.b64encode(struct.pack("<513I", 2048, *units) + b"b\0").decode()


def _rich(model: str, number: int) -> dict[str, Any]:
    """Every component of the tests, a third of each list in each of three tokenizers."""
    precompiled = kind("Precompiled", precompiled_charsmap=_charsmap())
    normal = [*NORMALIZERS.values(), precompiled]
    cuts = [*PRE_TOKENIZERS.values()]
    lists = {
        "normalizer": ("normalizers", normal),
        "pre_tokenizer": ("pretokenizers", cuts),
        "post_processor": ("processors", [*POST_PROCESSORS.values()]),
        "decoder": ("decoders", [*DECODERS.values()]),
    }
    stages = {
        name: kind("Sequence", **{members: [one for one in every[number::3] if one]})
        for name, (members, every) in lists.items()
    }
    padding = {"padding": {"x": 1}} if number else {}
    return document(MODELS[model], added_tokens=ADDED, **stages, **padding)


@cache
def tokenizer(name: str) -> Tokenizer:
    """A tokenizer with many stages, by its model; `pattern` has one stage with all nodes."""
    if name == "pattern":
        return read_tokenizer(document(word_level(["a"]), pre_tokenizer=split(PATTERN, "Isolated")))
    return read_tokenizer(_rich(name, NAMES.index(name)))


@cache
def compiled(name: str) -> bytes:
    """The same in TOK2, with roles and a template."""
    roles = [("bos", 1), ("eos", 1), ("eos", 0)]
    return write_tok2(tokenizer(name), roles=roles, template=b"IR")


class Block:
    """Header and sections of a sound block, for changing."""

    def __init__(self, data: bytes) -> None:
        self.header = Header.unpack(data)
        self.sections = {
            name: bytearray(data[offset : offset + length])
            for name, (_, offset, length, _) in zip(SECTIONS, rows(data), strict=True)
        }

    def set(self, **fields: Any) -> None:
        """Change header fields."""
        self.header = replace(self.header, **fields)

    def number(self, section: str, at: int) -> int:
        """A number of a section."""
        return int(struct.unpack_from("<I", self.sections[section], at)[0])

    def put(self, section: str, at: int, value: int, code: str = "I") -> None:
        """Write a number into a section."""
        struct.pack_into(f"<{code}", self.sections[section], at, value)

    def offset(self, section: str) -> int:
        """Where a section will begin."""
        end = DIRECTORY_END
        for name, data in self.sections.items():
            start = aligned(end)
            if name == section:
                return start
            end = start + len(data) if data else end
        raise KeyError(section)

    def sealed(self) -> bytes:
        """All of it with fitting offsets, length and hashes."""
        directory, body = bytearray(), bytearray()
        for index, (name, data) in enumerate(self.sections.items(), 1):
            offset = self.offset(name) if data else 0
            directory += row(index, offset, len(data))
            if data:
                body += bytes(offset - DIRECTORY_END - len(body)) + data
        template = bytes(self.sections["template"])
        digest = hashlib.sha256(template).digest() if template else bytes(32)
        length = DIRECTORY_END + len(body)
        header = replace(self.header, file_len=length, template_sha256=digest)
        return resealed(header.pack() + directory + body)


def resealed(data: bytes) -> bytes:
    """The bytes with the hash that they have."""
    zeroed = data[: SELF_HASH.start] + bytes(32) + data[SELF_HASH.stop :]
    digest = hashlib.sha256(zeroed).digest()
    return data[: SELF_HASH.start] + digest + data[SELF_HASH.stop :]


def patched(at: int, value: bytes) -> Callable[[bytes], bytes]:
    """Bytes put into a block, which is then sealed."""
    return lambda data: resealed(data[:at] + value + data[at + len(value) :])
