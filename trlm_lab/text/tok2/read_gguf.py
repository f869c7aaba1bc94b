"""Models and decoding of profile 2: those of GGUF files, as llama.cpp runs them."""

from __future__ import annotations

from collections.abc import Sequence

from trlm_lab.text.ggml.decoding import Pieces
from trlm_lab.text.ggml.models import GgmlBpe, GgmlSpm, GgmlWordPiece, names_of
from trlm_lab.text.models import Model
from trlm_lab.text.models.merging import Merges
from trlm_lab.text.tok2.numbers import AS_TEXT, BYTE, BYTE_NAME, PLAIN, SILENT
from trlm_lab.text.tok2.read_model import Parameters
from trlm_lab.text.tok2.section import Section
from trlm_lab.text.tok2.stage_kinds import PieceFlags


def built_gguf(
    found: Parameters, texts: dict[str, int], merges: Merges, ranks: Sequence[int]
) -> Model:
    """The model; `texts` of a BPE are tokens and what only merges make."""
    if found.kind == "GGUF BPE":
        ids = {text: number for text, number in texts.items() if number < found.real}
        whole, raw, lines = (bool(found.flags >> bit & 1) for bit in (1, 3, 4))
        return GgmlBpe(ids, merges, texts, whole, raw, lines, names_of(ids))
    if found.kind == "GGUF SPM":
        return GgmlSpm(texts, {text: ranks[n] for text, n in texts.items()}, names_of(texts))
    longest = max(map(len, texts), default=0)
    return GgmlWordPiece(texts, found.unknown_id or 0, longest, names_of(texts))


def require_bytes(section: Section, found: Parameters, texts: dict[str, int]) -> None:
    """Refuse a vocabulary merged by scores that lacks a byte; `section` is the model's."""
    if found.kind != "GGUF SPM":
        return
    for byte in range(256):
        if f"<0x{byte:02X}>" not in texts and (byte > 0x7F or chr(byte) not in texts):
            section.fail(0, "the token of a byte", f"missing for {byte}", "one for each")


def pieces_of(
    section: Section, flags: PieceFlags, kinds: Sequence[int], texts: dict[str, int], real: int
) -> Pieces:
    """The decoder; `section` is that of the kinds, its last bytes."""
    first = len(section) - len(kinds)
    rows: dict[int, set[str]] = {PLAIN: set(), BYTE: set(), SILENT: set()}
    for text, number in texts.items():
        kind = kinds[number]
        phantom = kind != AS_TEXT and number >= real
        if phantom or (kind == BYTE and not BYTE_NAME.fullmatch(text)):
            section.fail(first + number, "a kind", kind, f"another one of {text!r}")
        if kind != AS_TEXT:
            rows[kind].add(text)
    plain, byte, silent = (frozenset(rows[kind]) for kind in (PLAIN, BYTE, SILENT))
    return Pieces(flags.visible, plain, byte, silent, flags.strip_first)
