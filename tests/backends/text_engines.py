"""The runtime's tokenizer beside the reference and the source, on one document."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

import tokenizers

from trlm_lab.backends.abi_host import Host
from trlm_lab.backends.abi_tokenizer import MODES, AbiTokenizer
from trlm_lab.backends.native import NativeHost
from trlm_lab.errors import TrlmError
from trlm_lab.text import Tokenizer, read_tokenizer
from trlm_lab.text.coordinates import Coordinates, Span
from trlm_lab.text.tok2 import write_tok2

Rows = TypeVar("Rows")

#: Ids and offsets in bytes; a code where the text is refused.
Answer = tuple[list[int], list[Span]] | str


@dataclass(frozen=True)
class Wanted:
    """What the reference says, remembered for the second engine."""

    reference: Tokenizer
    block: bytes
    source: tokenizers.Tokenizer
    answers: dict[Any, Answer] = field(default_factory=dict)

    def answer(self, text: str, special: bool, content: tuple[Span, ...] = ()) -> Answer:
        """Of the reference, held against the source where that can be asked."""
        key = text, special, content
        if key not in self.answers:
            self.answers[key] = self._answer(text, special, content)
        return self.answers[key]

    def _answer(self, text: str, special: bool, content: tuple[Span, ...]) -> Answer:
        try:
            found = self.reference.encode(text, add_special_tokens=special, content=content)
        except TrlmError as error:
            return error.code
        answer = found.ids, [(a, b) for a, b in found.offsets()]
        if not content:
            source = self.source.encode(text, add_special_tokens=special)
            place = Coordinates(text)
            assert answer == (source.ids, [place.utf8(span) for span in source.offsets])
        return answer


@cache
def _wanted(document: str) -> Wanted:
    source = tokenizers.Tokenizer.from_str(document)
    source.no_truncation()
    source.no_padding()
    reference = read_tokenizer(json.loads(document))
    return Wanted(reference, write_tok2(reference), source)


class Held:
    """One tokenizer.json in the runtime, held against the others."""

    def __init__(self, host: Host, document: dict[str, Any]) -> None:
        self.wanted = _wanted(json.dumps(document))
        self.ours = AbiTokenizer(host, self.wanted.block)

    def __enter__(self) -> "Held":
        return self

    def __exit__(self, *exc: object) -> None:
        self.ours.close()

    def answer(self, text: str, special: bool = False, content: tuple[Span, ...] = ()) -> Answer:
        """Ids and offsets of the runtime."""
        place = Coordinates(text)
        spans = [place.utf8(span) for span in content]
        return answered(self.ours, text.encode(), special, spans)

    def require_same(
        self, text: str, *, special: bool = False, content: tuple[Span, ...] = ()
    ) -> None:
        """Ids and offsets, or the code of the refusal."""
        wanted = self.wanted.answer(text, special, content)
        assert self.answer(text, special, content) == wanted, ascii(text)

    def require_decoded(self, ids: list[int]) -> None:
        """Bytes and text in every mode."""
        for mode in MODES:
            wanted = self.wanted.reference.decode(ids, mode)
            assert self.ours.decode(ids, mode) == (wanted.data, wanted.text), (ids, mode)


def thinned(host: Host, rows: Sequence[Rows], step: int) -> Sequence[Rows]:
    """All for the native library; of the same source in WebAssembly, where calls are dear, some."""
    return rows if isinstance(host, NativeHost) else rows[::step]


def answered(
    tokenizer: AbiTokenizer, text: bytes, special: bool = False, content: list[Span] | None = None
) -> Answer:
    """Ids and offsets of the runtime, or the code of the refusal."""
    try:
        ids, offsets = tokenizer.encode(text, add_special_tokens=special, content=content or ())
    except TrlmError as error:
        return error.code
    return ids.tolist(), [(a, b) for a, b in offsets.tolist()]
