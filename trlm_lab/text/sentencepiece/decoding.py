"""Ids of a SentencePiece model back to text, with the exact bytes.

Source of facts: Decode in sentencepiece_processor.cc of sentencepiece 0.2.3.
"""

from __future__ import annotations

from trlm_lab.text.decoded import Decoded, escaped
from trlm_lab.text.sentencepiece.model_file import BYTE, CONTROL, UNKNOWN, ModelFile
from trlm_lab.text.sentencepiece.normalizer import SPACE, Normalizer


def decoded(file: ModelFile, denormalizer: Normalizer | None, ids: list[int], mode: str) -> Decoded:
    """Bytes and text of ids; `visible` is the source's own way, `raw` shows control symbols too.

    The space that the normalizer put at the beginning is taken away again in every mode. A byte
    that is no UTF-8 is U+FFFD in the text, each by itself, as in the source.
    """
    run = _Run(file, visible=mode == "visible")
    for number in ids:
        run.take(number)
    data = bytes(run.out)
    text = _lossy(data)
    if denormalizer:
        text = denormalizer.apply(text).text
        data = text.encode()
    return Decoded(data, escaped(data) if mode == "diagnostic" else text)


def _lossy(data: bytes) -> str:
    shown = data.decode("utf-8", "surrogateescape")
    return "".join(["\ufffd" if "\ud800" <= char < "\ue000" else char for char in shown])


class _Run:
    def __init__(self, file: ModelFile, *, visible: bool) -> None:
        self._file, self._visible = file, visible
        self.out = bytearray()
        self._at_start = True
        self._space_taken = False

    def take(self, number: int) -> None:
        """One id."""
        text, _, kind = self._file.pieces[number]
        if kind == BYTE:
            self.out.append(int(text[3:5], 16))
            return
        if self._space_taken or self.out:
            self._at_start = False
        self._space_taken = False
        if kind == CONTROL:
            self.out += b"" if self._visible else text.encode()
        elif kind == UNKNOWN:
            self.out += (self._file.unknown_surface if self._visible else text).encode()
        else:
            self._write(text)

    def _write(self, text: str) -> None:
        spec = self._file.normalizer
        spaces = spec.add_dummy_prefix or spec.remove_extra_whitespaces
        if self._at_start and spaces and text.startswith(SPACE):
            text = text[1:]
            # Where all spaces at the beginning go, the next piece is at the beginning too.
            self._space_taken = not spec.remove_extra_whitespaces
        self.out += text.replace(SPACE, " ").encode()
