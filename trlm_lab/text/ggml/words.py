"""llama.cpp's own normalizer for BERT: words of cleaned scalars, punctuation and ideographs apart.

A scalar with accent becomes the first scalar of its decomposition, and marks are left out; so a
letter is plain whether it came composed or not. Source of facts: llm_tokenizer_wpm_session in
src/llama-vocab.cpp of llama-cpp-python 0.3.36.
"""

from __future__ import annotations

from dataclasses import dataclass

from trlm_lab.text.aligned import Aligned
from trlm_lab.text.ggml import tables
from trlm_lab.text.ggml.models import PHANTOM

IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip
_SPACE, _CUT, _LOST, _LETTER = range(4)


@dataclass(frozen=True)
class GgmlWords:
    """Words with the phantom space before each."""

    lowercase: bool
    strip_accents: bool

    def split(self, piece: Aligned) -> list[Aligned]:
        """The words of one piece."""
        changed = [self._changed(ord(char)) for char in piece.text]
        text = "".join([chr(code) for code, _ in changed])
        clean = Aligned(text, piece.source, piece.normal, piece.base)
        words: list[list[int]] = [[]]
        for place, (_, kind) in enumerate(changed):
            if kind in (_SPACE, _CUT) and words[-1]:
                words.append([])
            if kind in (_CUT, _LETTER):
                words[-1].append(place)
            if kind == _CUT:
                words.append([])
        return [clean.kept(word).prefixed(PHANTOM) for word in words if word]

    def _changed(self, code: int) -> tuple[int, int]:
        """A scalar in its plain form, and what it does to words."""
        if self.strip_accents:
            code = tables.plain().get(code, code)
        flags = tables.flags()[code]
        if flags & tables.SPACE:
            return code, _SPACE
        lost = tables.CONTROL | (tables.MARK if self.strip_accents else 0)
        if code in (0, 0xFFFD) or flags & lost:
            return code, _LOST
        sign = code < 0x7F and flags & tables.SYMBOL
        apart = flags & tables.PUNCTUATION or sign or _is_ideograph(code)
        if self.lowercase:
            code = tables.lower().get(code, code)
        return code, _CUT if apart else _LETTER


def _is_ideograph(code: int) -> bool:
    return any(low <= code <= high for low, high in IDEOGRAPHS)
