"""Pieces of a SentencePiece model back to text, with the exact bytes.

Source of facts: Decode in sentencepiece_processor.cc of sentencepiece 0.2.3, which goes from ids to
pieces and back: where two pieces have one text, the control symbol, byte or unknown counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from trlm_lab.text.sentencepiece.decoding_stream import PieceStream
from trlm_lab.text.sentencepiece.model_file import BYTE, CONTROL, NORMAL, UNKNOWN, ModelFile
from trlm_lab.text.sentencepiece.normalizer import SPACE, Normalizer

_RESERVED = (CONTROL, UNKNOWN, BYTE)


@dataclass(frozen=True)
class PieceDecoder:
    """One decoder for all: `clean` is the source's own way, else control symbols are shown.

    The space that the normalizer put at the beginning is taken away again in both. A byte that is
    no UTF-8 is U+FFFD by itself, as in the source, where `lossy` asks for it; bytes with another
    piece between them make no scalar then.
    """

    file: ModelFile
    denormalizer: Normalizer | None
    kinds: dict[str, int] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for text, _, kind in self.file.pieces:
            if kind in _RESERVED or text not in self.kinds:
                self.kinds[text] = kind

    def apply(self, texts: list[str], *, lossy: bool, clean: bool) -> list[str]:
        """One text."""
        run = _Run(self.file, visible=clean)
        for text in texts:
            run.take(text, self._kind(text))
        if not lossy and not self.denormalizer:
            return [b"".join(run.parts).decode("utf-8", "surrogateescape")]
        shown = "".join([_replaced(part) for part in run.parts])
        return [self.denormalizer.apply(shown).text if self.denormalizer else shown]

    def stream(self, *, lossy: bool, clean: bool) -> PieceStream | None:
        """The same piece by piece; a denormalizer has to see all of them."""
        if self.denormalizer:
            return None
        run = _Run(self.file, visible=clean)
        return PieceStream(run, self._kind, _replaced if lossy else None)

    def _kind(self, text: str) -> int:
        return self.kinds.get(text, NORMAL)


def _replaced(part: bytes) -> str:
    """Bytes as text, each that is no UTF-8 replaced."""
    shown = part.decode("utf-8", "surrogateescape")
    return "".join(["\ufffd" if "\ud800" <= char < "\ue000" else char for char in shown])


class _Run:
    def __init__(self, file: ModelFile, *, visible: bool) -> None:
        self._file, self._visible = file, visible
        #: Bytes of one piece, or of several byte pieces that follow one another.
        self.parts: list[bytes] = []
        self.in_bytes = self._written = False
        self._at_start = True
        self._space_taken = False

    def take(self, text: str, kind: int) -> None:
        """One piece."""
        if kind == BYTE:
            byte = bytes([int(text[3:5], 16)])
            self.parts.append(self.parts.pop() + byte if self.in_bytes else byte)
            self.in_bytes = self._written = True
            return
        self.in_bytes = False
        if self._space_taken or self._written:
            self._at_start = False
        self._space_taken = False
        if kind == CONTROL:
            # Shown or not, it is nothing to the space at the beginning.
            self.parts.append(b"" if self._visible else text.encode())
            return
        if kind == UNKNOWN:
            text = self._file.unknown_surface if self._visible else text
        else:
            text = self._spaced(text)
        self._written = self._written or bool(text)
        self.parts.append(text.encode())

    def _spaced(self, text: str) -> str:
        """The piece with spaces, and without the one that the normalizer put there."""
        spec = self._file.normalizer
        spaces = spec.add_dummy_prefix or spec.remove_extra_whitespaces
        if self._at_start and spaces and text.startswith(SPACE):
            text = text[1:]
            # Where all spaces at the beginning go, the next piece is at the beginning too.
            self._space_taken = not spec.remove_extra_whitespaces
        return text.replace(SPACE, " ")
