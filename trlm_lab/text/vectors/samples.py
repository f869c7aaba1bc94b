"""A text of the corpus by its class and bounds, and what of a tokenizer the corpus depends on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from trlm_lab.text.models.unigram import Unigram
from trlm_lab.text.sentencepiece import SentencePieceTokenizer
from trlm_lab.text.sentencepiece.model_file import CONTROL, NORMAL, UNKNOWN, USER_DEFINED
from trlm_lab.text.tokenizer import Tokenizer
from trlm_lab.text.utf8 import BOUNDS, Bounds

AnyTokenizer = Tokenizer | SentencePieceTokenizer


@dataclass(frozen=True)
class Sample:
    """`repeats` times `data` is the input of the text API; `insert` asks for the post-processor."""

    group: str
    data: bytes
    repeats: int = 1
    insert: bool = False
    bounds: Bounds = BOUNDS


def of_texts(group: str, texts: Iterable[str], *, insert: bool = False) -> Iterator[Sample]:
    """Samples of texts, each text once."""
    for text in dict.fromkeys(texts):
        yield Sample(group, text.encode(), insert=insert)


@dataclass(frozen=True)
class Subject:
    """Texts of added tokens, the unknown token's text, and pieces with scores if paths have any."""

    added: tuple[str, ...]
    unknown: str | None
    scores: Mapping[str, float] = field(default_factory=dict)


def subject_of(tokenizer: AnyTokenizer) -> Subject:
    """What the corpus asks of a tokenizer."""
    if isinstance(tokenizer, SentencePieceTokenizer):
        return _of_pieces(tokenizer)
    model = tokenizer.model
    known = getattr(model, "unknown_id", None)
    unknown = getattr(model, "unknown", None) if known is None else model.text_of(known)
    scores: dict[str, float] = {}
    if isinstance(model, Unigram):
        scores = {piece: model.pieces[number][1] for piece, number in model.ids.items()}
    added = tuple(token.content for token in tokenizer.added)
    return Subject(added, unknown if isinstance(unknown, str) else None, scores)


def _of_pieces(tokenizer: SentencePieceTokenizer) -> Subject:
    pieces = tokenizer.file.pieces
    added = tuple(one.text for one in pieces if one.type in (CONTROL, USER_DEFINED))
    unknown = next((one.text for one in pieces if one.type == UNKNOWN), None)
    scores: dict[str, float] = {}
    if tokenizer.file.kind == "UNIGRAM":
        scores = {one.text: one.score for one in pieces if one.type in (NORMAL, USER_DEFINED)}
    return Subject(added, unknown, scores)
