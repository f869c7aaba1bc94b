"""The reference tokenizer: a text through every stage, and ids back to bytes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from trlm_lab.errors import TokenIdError
from trlm_lab.text.added_tokens import AddedToken, Allowed, Splitter, matchers
from trlm_lab.text.aligned import Aligned
from trlm_lab.text.coordinates import Span
from trlm_lab.text.decoded import Decoded, LeftOut, decoded
from trlm_lab.text.decoders import Decoder
from trlm_lab.text.models import Model
from trlm_lab.text.normalizers import Normalizer
from trlm_lab.text.post_processors import PostProcessor
from trlm_lab.text.pre_tokenizers import PreTokenizer
from trlm_lab.text.records import Encoding, Stage, StagePiece, Token
from trlm_lab.text.scalar_sets import ScalarSet
from trlm_lab.text.streaming import StreamingDecoder
from trlm_lab.text.text_sets import TextSets, text_sets
from trlm_lab.text.utf8 import BOUNDS, Bounds, checked, text_of

#: A piece, and the id of the added token that it is.
Piece = tuple[Aligned, int | None]


@dataclass(frozen=True)
class Component:
    """One stage: its JSON pointer, its kind, and what it does."""

    pointer: str
    kind: str
    stage: Any


@dataclass(frozen=True)
class Tokenizer:
    """Every stage of one tokenizer.json; built by `read_tokenizer`.

    `notes` says what the file switches on and this does not do: truncation and padding.
    """

    model: Model
    model_kind: str
    added: tuple[AddedToken, ...] = ()
    normalizers: tuple[Component, ...] = ()
    pre_tokenizers: tuple[Component, ...] = ()
    post_processors: tuple[Component, ...] = ()
    decoders: tuple[Component, ...] = ()
    notes: tuple[str, ...] = ()
    sets: TextSets = field(default_factory=text_sets, repr=False)
    #: How added tokens are found in the given text, where it is not by the source's own rule.
    given: Splitter | None = field(default=None, repr=False)

    def encode(
        self,
        text: str,
        *,
        add_special_tokens: bool = False,
        trace: bool = False,
        content: Sequence[Span] = (),
        bounds: Bounds = BOUNDS,
    ) -> Encoding:
        """Tokens of a text; `content` are spans (scalars) that never yield a control token.

        Raises:
            Utf8Error: a lone surrogate.
            TextTooLongError: more bytes or scalars than `bounds` allow.
            UnknownTokenMissingError: the model has nothing for a part of the text.
        """
        checked(text, bounds=bounds)
        run = _Run(self, text, content, trace=trace)
        tokens, normalized = run.tokens(add_special_tokens)
        return Encoding(text, normalized, tuple(tokens), tuple(run.stages))

    def encode_utf8(self, data: bytes, **options: Any) -> Encoding:
        """Tokens of UTF-8 bytes.

        Raises:
            Utf8Error: ill-formed; the first invalid byte is named.
        """
        return self.encode(text_of(data, bounds=options.get("bounds", BOUNDS)), **options)

    def decode(self, ids: Iterable[int], mode: str = "raw") -> Decoded:
        """The bytes of ids: raw, visible (no special tokens, tidied), or diagnostic (escaped).

        Raises:
            TokenIdError: an id without token.
        """
        left_out, clean, hidden = self._way(mode)
        texts = [self._text(number, index) for index, number in enumerate(ids)]
        if left_out.texts:
            texts = [shown for text in texts if (shown := left_out.shown(text)) is not None]
        return decoded(texts, self._decoders, clean=clean, hidden=hidden)

    def stream(self, mode: str = "raw") -> StreamingDecoder:
        """The same token by token."""
        left_out, clean, hidden = self._way(mode)
        return StreamingDecoder(self._text, left_out, self._decoders, clean=clean, hidden=hidden)

    def _way(self, mode: str) -> tuple[LeftOut, bool, ScalarSet | None]:
        """What a mode leaves out, whether it tidies up, what it escapes."""
        visible = mode == "visible"
        hidden = self.sets.hidden if mode == "diagnostic" else None
        texts: frozenset[str] = self._special_texts if visible else frozenset()
        return LeftOut.of(texts, self._decoders), visible, hidden

    @property
    def _decoders(self) -> list[Decoder]:
        return [one.stage for one in self.decoders]

    def token_text(self, number: int) -> str | None:
        """The token of an id; added tokens come before the model's."""
        known = self._added_texts.get(number)
        return self.model.text_of(number) if known is None else known

    def _text(self, number: int, index: int) -> str:
        text = self.token_text(number)
        if text is None:
            raise TokenIdError(got=number, index=index)
        return text

    @cached_property
    def added_forms(self) -> tuple[str, ...]:
        """How each added token is printed: a normalized one in its normalized form."""
        return tuple(
            self._normalized(token.content) if token.normalized else token.content
            for token in self.added
        )

    @property
    def erased(self) -> int | None:
        """The first added token of which the normalizers leave nothing."""
        return next((index for index, form in enumerate(self.added_forms) if not form), None)

    @property
    def ambiguous(self) -> tuple[int, int] | None:
        """The first added token that is looked for with the text of one before it, and that one."""
        seen: dict[str, int] = {}
        for index, (token, form) in enumerate(zip(self.added, self.added_forms, strict=True)):
            if token.normalized and seen.setdefault(form, index) != index:
                return index, seen[form]
        return None

    @cached_property
    def _added_texts(self) -> dict[int, str]:
        rows = zip(self.added, self.added_forms, strict=True)
        return {token.id: form for token, form in rows}

    @cached_property
    def _special_texts(self) -> frozenset[str]:
        # Contents, not normalized forms: what is printed otherwise is left out by no mode.
        return frozenset(token.content for token in self.added if token.special)

    @cached_property
    def special_ids(self) -> frozenset[int]:
        """Ids of control tokens."""
        return frozenset(token.id for token in self.added if token.special)

    @cached_property
    def matchers(self) -> tuple[Splitter, Splitter]:
        """For the text as given, and for the normalized text."""
        given, normalized = matchers(self.added, self.added_forms, self.sets)
        return self.given or given, normalized

    @cached_property
    def content_model(self) -> Model:
        """The model without control tokens."""
        return self.model.without(self.special_ids)

    def _normalized(self, text: str) -> str:
        piece = Aligned.whole(text)
        for one in self.normalizers:
            stage: Normalizer = one.stage
            piece = stage.apply(piece)
        return piece.text


class _Run:
    """One text on its way through the stages."""

    def __init__(
        self, owner: Tokenizer, text: str, content: Sequence[Span], *, trace: bool
    ) -> None:
        self._owner, self._text, self._trace = owner, text, trace
        self._content = _merged(content)
        self.stages: list[Stage] = []

    def tokens(self, insert: bool) -> tuple[list[Token], str]:
        """The tokens, and the normalized text."""
        pieces: list[Piece] = [(Aligned.whole(self._text), None)] if self._text else []
        self._note("/", "input", pieces)
        pieces = self._matched(pieces, self._owner.matchers[0], "given text")
        for one in self._owner.normalizers:
            stage: Normalizer = one.stage
            done = [(p if i is not None else stage.apply(p.rebased()), i) for p, i in pieces]
            pieces = [piece for piece in done if piece[0].text]
            self._note(one.pointer, one.kind, pieces)
        pieces, normalized = _renumbered(pieces)
        pieces = self._matched(pieces, self._owner.matchers[1], "normalized text")
        for one in self._owner.pre_tokenizers:
            cutter: PreTokenizer = one.stage
            pieces = [
                (part, number)
                for piece, number in pieces
                for part in ([piece] if number is not None else cutter.split(piece))
                if part.text
            ]
            self._note(one.pointer, one.kind, pieces)
        tokens = [token for piece in pieces for token in self._model(piece)]
        return self._finished(tokens, insert), normalized

    def _matched(self, pieces: list[Piece], matcher: Splitter, kind: str) -> list[Piece]:
        out: list[Piece] = []
        for piece, number in pieces:
            if number is not None:
                out.append((piece, number))
                continue
            allowed = self._allowed(piece) if self._content else None
            for found, (start, end) in matcher.split(piece.text, allowed):
                out.append((piece.part(start, end).rebased(), found))
        self._note("/added_tokens", kind, out)
        return out

    def _allowed(self, piece: Aligned) -> Allowed:
        def allowed(token: AddedToken, start: int, end: int) -> bool:
            return not token.special or not self._is_content(piece.origin(start, end))

        return allowed

    def _is_content(self, span: Span) -> bool:
        at = bisect_left(self._content, (span[1], 0)) - 1
        return at >= 0 and span[0] < self._content[at][1]

    def _model(self, piece: Piece) -> list[Token]:
        one, number = piece
        if number is not None:
            size = len(one.text)
            return [Token(number, one.text, one.origin(0, size), one.normal_span(0, size))]
        model = self._owner.model
        if self._content and self._is_content(one.origin(0, len(one.text))):
            model = self._owner.content_model
        return [
            Token(part.id, part.text, one.origin(part.start, part.end),
                  one.normal_span(part.start, part.end))
            for part in model.tokenize(one.text)
        ]  # fmt: skip

    def _finished(self, tokens: list[Token], insert: bool) -> list[Token]:
        self._note_tokens("/model", self._owner.model_kind, tokens)
        for one in self._owner.post_processors:
            stage: PostProcessor = one.stage
            tokens = stage.apply(tokens, insert=insert)
            self._note_tokens(one.pointer, one.kind, tokens)
        return tokens

    def _note(self, pointer: str, kind: str, pieces: list[Piece]) -> None:
        if self._trace:
            rows = (
                StagePiece(one.text, one.origin(0, len(one.text)), number) for one, number in pieces
            )
            self.stages.append(Stage(pointer, kind, tuple(rows)))

    def _note_tokens(self, pointer: str, kind: str, tokens: list[Token]) -> None:
        if self._trace:
            rows = (StagePiece(token.text, token.span, token.id) for token in tokens)
            self.stages.append(Stage(pointer, kind, tuple(rows)))


def _merged(spans: Sequence[Span]) -> list[Span]:
    """Disjoint spans, ascending."""
    out: list[Span] = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


def _renumbered(pieces: list[Piece]) -> tuple[list[Piece], str]:
    out: list[Piece] = []
    at = 0
    for piece, number in pieces:
        out.append((piece.as_normalized(at), number))
        at += len(piece.text)
    return out, "".join(piece.text for piece, _ in pieces)
