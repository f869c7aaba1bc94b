"""Byte-pair encoding, byte-level or on scalars, with the source's rules for what is not known."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from trlm_lab.errors import UnknownTokenMissingError
from trlm_lab.text.coordinates import scalar_of_byte
from trlm_lab.text.models import Part
from trlm_lab.text.models.merging import Merges, Symbol, merged

#: Pieces kept with their tokens; a longer piece than this is not kept.
_KEPT, _LONGEST_KEPT = 20_000, 256


@dataclass(frozen=True)
class Bpe:
    """A vocabulary with ranked merges.

    `prefix` stands before every symbol but the first, `suffix` behind the last. Without unknown
    token a scalar that has no token is left out, and offsets behind it move, as in the source.
    """

    ids: dict[str, int]
    merges: Merges
    unknown: str | None = None
    fuse_unknown: bool = False
    byte_fallback: bool = False
    ignore_merges: bool = False
    prefix: str = ""
    suffix: str = ""
    _texts: dict[int, str] = field(default_factory=dict, repr=False)
    _known: dict[str, tuple[Part, ...]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._texts.update({number: text for text, number in self.ids.items()})

    def text_of(self, number: int) -> str | None:
        """The token of an id."""
        return self._texts.get(number)

    def without(self, numbers: frozenset[int]) -> Bpe:
        """No token and no merge gives one of these ids; the unknown token stays."""
        gone = numbers - {self.ids.get(self.unknown or "", -1)}
        ids = {text: number for text, number in self.ids.items() if number not in gone}
        merges = {pair: made for pair, made in self.merges.items() if made[1] not in gone}
        return replace(self, ids=ids, merges=merges, _texts={}, _known={})

    def tokenize(self, text: str) -> tuple[Part, ...]:
        """The tokens of one piece.

        Raises:
            UnknownTokenMissingError: the unknown token itself has no id.
        """
        known = self._known.get(text)
        if known is None:
            known = self._tokenize(text)
            if len(text) <= _LONGEST_KEPT and len(self._known) < _KEPT:
                self._known[text] = known
        return known

    def _tokenize(self, text: str) -> tuple[Part, ...]:
        if self.ignore_merges and text in self.ids:
            return (Part(self.ids[text], text, 0, len(text)),)
        parts: list[Part] = []
        places = scalar_of_byte(text)
        at = 0
        for number, size in merged(self._symbols(text), self.merges):
            parts.append(Part(number, self._texts[number], places[at], places[at + size - 1] + 1))
            at += size
        return tuple(parts)

    def _symbols(self, text: str) -> list[Symbol]:
        """Ids and sizes in bytes before any merge."""
        out: list[Symbol] = []
        waiting: Symbol | None = None
        last = len(text) - 1
        for index, char in enumerate(text):
            symbol = char if index == 0 else self.prefix + char
            if index == last:
                symbol += self.suffix
            size = len(char.encode())
            number = self.ids.get(symbol)
            if number is not None:
                if waiting:
                    out.append(waiting)
                    waiting = None
                out.append((number, size))
            elif self.byte_fallback and (found := self._bytes(symbol)) is not None:
                # An unknown that waits stays behind these bytes, as in the source.
                out.extend(found)
            elif self.unknown is not None:
                waiting = self._unknown(waiting, size, out)
        return [*out, waiting] if waiting else out

    def _unknown(self, waiting: Symbol | None, size: int, out: list[Symbol]) -> Symbol:
        if waiting and self.fuse_unknown:
            return waiting[0], waiting[1] + size
        if waiting:
            out.append(waiting)
        number = self.ids.get(self.unknown or "")
        if number is None:
            raise UnknownTokenMissingError(text=repr(self.unknown))
        return number, size

    def _bytes(self, symbol: str) -> list[Symbol] | None:
        numbers = [self.ids.get(f"<0x{byte:02X}>") for byte in symbol.encode()]
        found = [(number, 1) for number in numbers if number is not None]
        return found if len(found) == len(numbers) else None
