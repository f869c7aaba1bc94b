"""The three fields of a float32, for the eye: sign, exponent, significand, and the value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trlm_lab.base.bits import ulp_distance
from trlm_lab.base.records import Mismatch


@dataclass(frozen=True)
class BitFields:
    """One float32 taken apart; the fields are binary digits, `value` its shortest decimal."""

    hex: str
    sign: str
    exponent: str
    significand: str
    value: str

    @property
    def digits(self) -> str:
        """All 32 binary digits."""
        return self.sign + self.exponent + self.significand


def bit_fields(bits: str) -> BitFields:
    """Fields of a float32 given as eight hex digits."""
    word = int(bits, 16)
    digits = f"{word:032b}"
    value = np.uint32(word).view(np.float32)
    return BitFields(bits, digits[0], digits[1:9], digits[9:], str(value))


def marked(one: BitFields, other: BitFields) -> str:
    """The binary digits of `one` in three groups as HTML; those unlike `other`'s are marked."""
    pairs = list(zip(one.digits, other.digits, strict=True))
    digits = [f"<mark>{a}</mark>" if a != b else a for a, b in pairs]
    groups = ("".join(part) for part in (digits[:1], digits[1:9], digits[9:]))
    return " ".join(group.replace("</mark><mark>", "") for group in groups)


def mismatch_bits(found: Mismatch) -> list[dict[str, str]]:
    """Rows (side, hex, value, marked) of the first failing element; `marked` is HTML.

    Empty where the mismatch names no element.
    """
    if found.reference_bits is None or found.candidate_bits is None:
        return []
    oracle, engine = bit_fields(found.reference_bits), bit_fields(found.candidate_bits)
    return [
        {"side": side, "hex": one.hex, "value": one.value, "marked": marked(one, other)}
        for side, one, other in (("oracle", oracle, engine), ("engine", engine, oracle))
    ]


def steps_apart(found: Mismatch) -> int | None:
    """Float32 steps between the two values; None without them, or where one is not finite."""
    if found.reference_bits is None or found.candidate_bits is None:
        return None
    pair = [
        np.array([int(b, 16)], dtype=np.uint32).view(np.float32)
        for b in (found.reference_bits, found.candidate_bits)
    ]
    if not all(np.isfinite(p).all() for p in pair):
        return None
    return int(ulp_distance(pair[0], pair[1])[0])
