"""Small SentencePiece models of every kind, written with the source's own message classes."""

from __future__ import annotations

import base64
import random
from typing import Any

from sentencepiece import sentencepiece_model_pb2 as messages

from tests.text.charsmaps import Writer

NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
#: Letters that occur in pieces; others are unknown.
LETTERS = "abcde\u00e9\u4e16"
WORDS = (
    "\u2581", "\u2581a", "ab", "abc", "bc", "cd", "bcd", "de", "\u2581de", "aa", "aaa",
    "\u2581\u2581", "e\u2581", "\u4e16\u4e16", "ee", "abcd", "\u00e9a", "a\u2581b",
)  # fmt: skip
DEFINED = ("<x>", "ab\u2581", "dd", "ddd", "\u00e9\u00e9", "a b", "  ")
RULES = {
    "\u3000": " ", "\t": " ", "\n": " ", "\u00a0": " ", "\u00c9": "\u00e9", "A": "a",
    "e\u0301": "\u00e9", "\ufb01": "de", "\u200b": "", "\u2026": "  .", "B": " b",
    "\u337f": "\u4e16\u4e16 ", "\u4e17": "\u4e16",
}  # fmt: skip


def model(kind: str, *, seed: int = 1, unused: bool = False, **switches: Any) -> bytes:
    """A model; switches are fields of the specs, and `charsmap`, `defined`, `denormalize`."""
    proto = messages.ModelProto()
    draw = random.Random(f"{seed}{kind}")
    fallback = switches.get("byte_fallback", False)
    add = _adder(proto)
    add("<unk>", 0.0, UNKNOWN)
    add("<s>", 0.0, CONTROL)
    add("</s>", 0.0, CONTROL)
    for text in DEFINED if switches.pop("defined", False) else ():
        add(text, 0.0, USER)
    if fallback:
        for byte in range(256):
            add(f"<0x{byte:02X}>", 0.0, BYTE)
    known = {piece.piece for piece in proto.pieces}
    texts = [text for text in (*LETTERS, *WORDS) if text not in known]
    for text in texts:
        # Few different scores: ties are met often.
        add(text, -float(draw.randint(1, 6)), UNUSED if unused and draw.random() < 0.3 else NORMAL)
    proto.trainer_spec.model_type = getattr(messages.TrainerSpec, kind)
    if switches.pop("charsmap", False):
        proto.normalizer_spec.precompiled_charsmap = charsmap(RULES)
    if switches.pop("denormalize", False):
        proto.denormalizer_spec.precompiled_charsmap = charsmap({"a": "A", "de": "\ufb01"})
        proto.denormalizer_spec.add_dummy_prefix = False
        proto.denormalizer_spec.escape_whitespaces = False
    for name, value in switches.items():
        spec = proto.trainer_spec if name in _TRAINER else proto.normalizer_spec
        setattr(spec, name, value)
    data: bytes = proto.SerializeToString()
    return data


_TRAINER = ("byte_fallback", "treat_whitespace_as_suffix", "unk_surface")


def _adder(proto: Any) -> Any:
    def add(text: str, score: float, kind: int) -> None:
        proto.pieces.add(piece=text, score=score, type=kind)

    return add


def charsmap(rules: dict[str, str]) -> bytes:
    """A compiled table."""
    return base64.b64decode(Writer(rules).encoded())
