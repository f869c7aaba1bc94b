"""Unicode normalization forms over the source engine's own tables, with alignments.

Decomposition puts the parts of a scalar after each other and sorts marks by combining class;
composition joins a starter with the marks behind it that nothing blocks. Hangul is arithmetic.
Source of facts: Unicode Standard Annex 15 and chapter 3.12 of the standard.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from trlm_lab.text.aligned import Aligned, Change
from trlm_lab.text.tables import char_map, numbers, pairs

FORMS = ("NFC", "NFD", "NFKC", "NFKD")
_S, _L, _V, _T = 0xAC00, 0x1100, 0x1161, 0x11A7
_LS, _VS, _TS = 19, 21, 28


@dataclass(frozen=True)
class FormTables:
    """What a form needs; the compatible parts and the compositions are empty where it does not."""

    canonical: dict[int, str]
    compatible: dict[int, str]
    classes: dict[str, int]
    composed: dict[str, str]


@cache
def form_tables(form: str) -> FormTables:
    """The source engine's own."""
    return FormTables(
        char_map("canonical"),
        char_map("compatible") if "K" in form else {},
        numbers("combining"),
        pairs("composed") if form.endswith("C") else {},
    )


def normal_form(piece: Aligned, form: str, tables: FormTables) -> Aligned:
    """The piece in one of the four forms."""
    if piece.text.isascii():
        return piece
    changes = _decomposed(piece.text, tables)
    if form.endswith("C"):
        changes = _composed(changes, tables)
    return piece.transformed(changes)


def _parts(char: str, tables: FormTables) -> str:
    code = ord(char)
    if _S <= code < _S + _LS * _VS * _TS:
        index = code - _S
        tail = index % _TS
        lead = chr(_L + index // (_VS * _TS)) + chr(_V + index % (_VS * _TS) // _TS)
        return lead + (chr(_T + tail) if tail else "")
    return tables.compatible.get(code) or tables.canonical.get(code, char)


def _decomposed(text: str, tables: FormTables) -> list[Change]:
    classes = tables.classes
    out: list[Change] = []
    marks: list[tuple[int, Change]] = []
    for scalar in text:
        for index, char in enumerate(_parts(scalar, tables)):
            change = (char, 1 if index else 0)
            if rank := classes.get(char, 0):
                marks.append((rank, change))
                continue
            out += [one for _, one in sorted(marks, key=lambda mark: mark[0])]
            marks.clear()
            out.append(change)
    return out + [one for _, one in sorted(marks, key=lambda mark: mark[0])]


def _pair(first: str, second: str, composed: dict[str, str]) -> str | None:
    left, right = ord(first), ord(second)
    if _L <= left < _L + _LS and _V <= right < _V + _VS:
        return chr(_S + ((left - _L) * _VS + right - _V) * _TS)
    syllable = _S <= left < _S + _LS * _VS * _TS and (left - _S) % _TS == 0
    if syllable and _T < right < _T + _TS:
        return chr(left + right - _T)
    return composed.get(first + second)


def _composed(changes: list[Change], tables: FormTables) -> list[Change]:
    """Joined pairs; the change of a joined scalar also removes what was joined to it."""
    classes = tables.classes
    out: list[Change] = []
    starter = -1
    before = 0
    for char, change in changes:
        rank = classes.get(char, 0)
        adjacent = starter == len(out) - 1
        if starter >= 0 and (adjacent or before < rank):
            base, moved = out[starter]
            if (made := _pair(base, char, tables.composed)) is not None:
                out[starter] = (made, moved + change - 1)
                continue
        if rank == 0:
            starter = len(out)
        out.append((char, change))
        before = rank
    return out
