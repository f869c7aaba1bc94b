"""A SentencePiece model as a tokenizer: ids and offsets as the source's own library gives them.

Source of facts: PopulateSentencePieceText and Decode in sentencepiece_processor.cc of
sentencepiece 0.2.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from trlm_lab.errors import TokenIdError
from trlm_lab.text.coordinates import Span
from trlm_lab.text.decoded import Decoded, LeftOut, decoded
from trlm_lab.text.records import Encoding, Stage, StagePiece, Token
from trlm_lab.text.scalar_sets import ScalarSet
from trlm_lab.text.sentencepiece.decoding import PieceDecoder
from trlm_lab.text.sentencepiece.model_file import CONTROL, UNKNOWN, ModelFile
from trlm_lab.text.sentencepiece.normalizer import Normalized, Normalizer
from trlm_lab.text.sentencepiece.segments import Segment, Segmenter
from trlm_lab.text.streaming import StreamingDecoder
from trlm_lab.text.text_sets import text_sets
from trlm_lab.text.utf8 import BOUNDS, Bounds, checked, text_of


@dataclass(frozen=True)
class SentencePieceTokenizer:
    """Every stage of one model; built by `read_sentencepiece`.

    Control symbols stand for no text, so that content never yields one; the file declares none
    that would be put around a text.
    """

    file: ModelFile
    normalizer: Normalizer
    decoder: PieceDecoder
    model: Segmenter
    byte_ids: tuple[int, ...]
    notes: tuple[str, ...] = ()
    #: What has no shape to be shown.
    hidden: ScalarSet = field(default_factory=lambda: text_sets().hidden, repr=False)

    def encode(
        self,
        text: str,
        *,
        add_special_tokens: bool = False,
        trace: bool = False,
        content: Sequence[Span] = (),
        bounds: Bounds = BOUNDS,
    ) -> Encoding:
        """Tokens of a text. A token that shares a scalar with the next one ends before it.

        Raises:
            Utf8Error: a lone surrogate.
            TextTooLongError: more bytes or scalars than `bounds` allow.
        """
        checked(text, bounds=bounds)
        normalized = self.normalizer.apply(text)
        segments = self.model.segments(normalized.text)
        tokens = self._tokens(normalized, segments)
        stages = self._stages(text, normalized, segments, tokens) if trace else ()
        return Encoding(text, normalized.text, tuple(tokens), stages)

    def encode_utf8(self, data: bytes, **options: Any) -> Encoding:
        """Tokens of UTF-8 bytes.

        Raises:
            Utf8Error: ill-formed; the first invalid byte is named.
        """
        return self.encode(text_of(data, bounds=options.get("bounds", BOUNDS)), **options)

    def decode(self, ids: Iterable[int], mode: str = "raw") -> Decoded:
        """The bytes of ids: raw, visible (as the source decodes), or diagnostic (escaped).

        Raises:
            TokenIdError: an id without piece.
        """
        texts = [self._text(number, index) for index, number in enumerate(ids)]
        hidden = self.hidden if mode == "diagnostic" else None
        return decoded(texts, [self.decoder], clean=mode == "visible", hidden=hidden)

    def stream(self, mode: str = "raw") -> StreamingDecoder:
        """The same token by token."""
        hidden = self.hidden if mode == "diagnostic" else None
        visible = mode == "visible"
        nothing = LeftOut(frozenset(), placed=False)
        return StreamingDecoder(self._text, nothing, [self.decoder], clean=visible, hidden=hidden)

    def token_text(self, number: int) -> str | None:
        """The piece of an id."""
        pieces = self.file.pieces
        return pieces[number].text if 0 <= number < len(pieces) else None

    @cached_property
    def special_ids(self) -> frozenset[int]:
        """Ids of control symbols."""
        return frozenset(n for n, piece in enumerate(self.file.pieces) if piece.type == CONTROL)

    @cached_property
    def unknown_id(self) -> int:
        """The id of the unknown piece; -1 where bytes stand for everything."""
        types = [piece.type for piece in self.file.pieces]
        return types.index(UNKNOWN) if UNKNOWN in types else -1

    def _text(self, number: int, index: int) -> str:
        text = self.token_text(number)
        if text is None:
            raise TokenIdError(got=number, index=index)
        return text

    def _tokens(self, normalized: Normalized, segments: list[Segment]) -> list[Token]:
        out: list[Token] = []
        unknown = self.unknown_id
        after_unknown = False
        for start, end, number in segments:
            text = normalized.text[start:end]
            span = (normalized.origin[start], normalized.origin[end])
            if number < 0 and self.byte_ids:
                out += self._bytes(text, span, (start, end))
            elif number < 0 and after_unknown:
                before = out[-1]
                out[-1] = Token(
                    unknown, before.text + text, (before.span[0], span[1]), (before.normal[0], end)
                )
            else:
                out.append(Token(unknown if number < 0 else number, text, span, (start, end)))
            after_unknown = number < 0
        return out

    def _bytes(self, text: str, span: Span, normal: Span) -> list[Token]:
        """Bytes of an unknown piece; the last one has its extent, those before have none."""
        data = text.encode()
        rows: list[Token] = []
        for index, byte in enumerate(data):
            last = index == len(data) - 1
            rows.append(
                Token(
                    self.byte_ids[byte],
                    f"<0x{byte:02X}>",
                    span if last else (span[0], span[0]),
                    normal if last else (normal[0], normal[0]),
                )
            )
        return rows

    def _stages(
        self, text: str, normalized: Normalized, segments: list[Segment], tokens: list[Token]
    ) -> tuple[Stage, ...]:
        """The text, the normalized text, the model's pieces, and the tokens."""
        origin = normalized.origin
        whole = (origin[0], origin[-1]) if origin else (0, 0)
        cuts = tuple(
            StagePiece(normalized.text[a:b], (origin[a], origin[b]), None if n < 0 else n)
            for a, b, n in segments
        )
        ends = tuple(StagePiece(token.text, token.span, token.id) for token in tokens)
        return (
            Stage("/", "input", (StagePiece(text, (0, len(text))),) if text else ()),
            Stage("/normalizer_spec", "SentencePiece", (StagePiece(normalized.text, whole),)),
            Stage("/pieces", self.file.kind, cuts),
            Stage("/trainer_spec/byte_fallback", "unknown pieces", ends),
        )
