"""Tokenizers with normalized added tokens, for every engine."""

import itertools
from dataclasses import replace
from typing import Any

from tests.text.components import DECODERS, MODELS, NORMALIZERS, replaced
from tests.text.constructed import added, document
from tests.text.tok2.blocks import Block
from trlm_lab.text import read_tokenizer
from trlm_lab.text.tok2 import write_tok2

#: Texts that some normalizer changes; `<s>` is what lower case makes of the first.
CONTENTS = ("<S>", " X\xe9 ", "\ufb01X", "A B", "he", "\u212b")
NORMALIZED: tuple[tuple[str, ...], ...] = ((), ("normalized",))
FLAGS = [(*a, *b) for a, b in itertools.product(NORMALIZED, [(), ("special",)])]
ERASER = replaced({"Regex": "<x>"}, "")


def one_of_each(normalizer: str, flags: tuple[str, ...], decoder: str = "Fuse") -> dict[str, Any]:
    """A tokenizer whose added tokens have the same flags, beside a plain special one."""
    tokens = [added(text, 900 + number, *flags) for number, text in enumerate(CONTENTS)]
    return document(
        MODELS["fused"],
        normalizer=NORMALIZERS[normalizer],
        decoder=DECODERS[decoder],
        added_tokens=[*tokens, added("<s>", 950, "special")],
    )


def erased() -> dict[str, Any]:
    """A tokenizer whose normalizer leaves nothing of its third added token."""
    tokens = [added("", 1), added("<y>", 2, "normalized"), added("<x>", 3, "normalized")]
    return document(MODELS["bytes"], normalizer=ERASER, added_tokens=tokens)


def erased_block() -> tuple[bytes, int]:
    """The same in TOK2, and the byte where the content of that token stands."""
    return _all_normalized(erased(), 1)


def ambiguous(*flags: str) -> dict[str, Any]:
    """A tokenizer whose normalizer makes one text of its second and its last added token."""
    tokens = [added(text, 1 + i, "normalized", *flags) for i, text in enumerate(("zq", "he", "ZQ"))]
    tokens[0]["normalized"] = False
    tokens.insert(1, added("zQ", 4, "normalized"))
    return document(MODELS["word_piece"], normalizer=NORMALIZERS["Lowercase"], added_tokens=tokens)


def ambiguous_block() -> tuple[bytes, int]:
    """Three such tokens in TOK2, and the byte where the content of the second of them stands."""
    return _all_normalized(ambiguous(), 1)


def _all_normalized(row: dict[str, Any], index: int) -> tuple[bytes, int]:
    """A block in which every added token is normalized; the content of one of them."""
    for token in row["added_tokens"]:
        token["normalized"] = False
    tokenizer = read_tokenizer(row)
    tokens = tuple(replace(token, normalized=True) for token in tokenizer.added)
    data = write_tok2(replace(tokenizer, added=tokens))
    # A row begins with the id.
    place = Block(data).offset("added") + 16 + 16 * index + 8
    assert data[place - 8 : place - 4] == tokens[index].id.to_bytes(4, "little")
    return data, place
