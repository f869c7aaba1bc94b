"""A SentencePiece tokenizer taken apart into what TOK2 holds, and put together again."""

from __future__ import annotations

from dataclasses import dataclass

from trlm_lab.errors import Tok2CompileError
from trlm_lab.text.added_tokens import AddedToken
from trlm_lab.text.scalar_sets import ScalarSet
from trlm_lab.text.sentencepiece import SentencePieceTokenizer
from trlm_lab.text.sentencepiece.model_file import UNKNOWN, ModelFile
from trlm_lab.text.text_sets import TextSets
from trlm_lab.text.tok2.piece_stages import NAMES, PieceNormalizer, PieceSurface
from trlm_lab.text.tokenizer import Component, Tokenizer

_NOBODY = ScalarSet(())
_NORMALIZER, _DECODER = NAMES


@dataclass(frozen=True)
class PieceParts:
    """The same fields as a `Tokenizer` has: one normalizer, one decoder, no added tokens."""

    model: ModelFile
    model_kind: str
    normalizers: tuple[Component, ...]
    decoders: tuple[Component, ...]
    sets: TextSets
    notes: tuple[str, ...]
    pre_tokenizers: tuple[Component, ...] = ()
    post_processors: tuple[Component, ...] = ()
    added: tuple[AddedToken, ...] = ()
    given: None = None


#: What a writer takes.
Compilable = Tokenizer | PieceParts


def parts_of(tokenizer: SentencePieceTokenizer) -> PieceParts:
    """The parts."""
    file = tokenizer.file
    normalizer = PieceNormalizer(file.normalizer, file.suffix)
    surface = PieceSurface(file.unknown_surface, file.denormalizer)
    return PieceParts(
        file,
        f"SentencePiece {file.kind}",
        (Component(*NAMES[_NORMALIZER], normalizer),),
        (Component(*NAMES[_DECODER], surface),),
        TextSets(_NOBODY, _NOBODY, tokenizer.hidden),
        tokenizer.notes,
    )


def texts_of(file: ModelFile) -> dict[str, int]:
    """Ids by text.

    Raises:
        Tok2CompileError: two pieces of one text.
    """
    texts: dict[str, int] = {}
    for number, piece in enumerate(file.pieces):
        if texts.setdefault(piece.text, number) != number:
            raise Tok2CompileError(
                what="a piece", got=repr(piece.text), limit="one piece of each text"
            )
    return texts


def unknown_id(file: ModelFile) -> int | None:
    """The id of the unknown piece."""
    return next((n for n, piece in enumerate(file.pieces) if piece.type == UNKNOWN), None)
