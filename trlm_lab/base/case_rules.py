"""What must hold of a case on a model: one rule and one error code for every engine and file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from trlm_lab.base.records import Case
from trlm_lab.errors import (
    AllKeysMaskedError,
    ContextLengthError,
    MaskValueError,
    PositionRangeError,
    TokenRangeError,
)

#: Sines and cosines of the evaluation profiles are pinned below this angle, in radians.
PINNED_POSITIONS: Final = 1 << 20


def check_case(case: Case, vocab: int, context: int | None, window: int | None = None) -> None:
    """Refuse a case that a model of `vocab` ids and `context` positions cannot be asked.

    A `context` of None means that the model's files declare none; `window` is what a query of a
    sliding layer sees, None where no layer slides or the caller cannot know.

    Raises:
        TokenRangeError: a token outside the vocabulary.
        ContextLengthError: more tokens than the context.
        PositionRangeError: a negative position, or one at or beyond the context.
        MaskValueError: a mask entry other than 0 and 1.
        AllKeysMaskedError: a query sees no key: the first, where its own is hidden, or one whose
            window holds hidden keys only.
    """
    where = f"case {case.case_id}"
    check_tokens(case.token_ids, vocab, where)
    if context is not None and len(case.token_ids) > context:
        raise ContextLengthError(where=where, tokens=len(case.token_ids), limit=context)
    check_positions(case.position_ids or (), context, where)
    _check_mask(case.attention_mask or (1,), where, window)


def check_decoding(
    case: Case, steps: int, vocab: int, context: int | None, window: int | None = None
) -> None:
    """Refuse a case that, with `steps` greedy tokens behind it, outgrows the model.

    Raises:
        ContextLengthError, PositionRangeError: the steps end beyond the context.
        Refused: as `check_case`.
    """
    check_case(case, vocab, context, window)
    where, tokens = f"case {case.case_id}", len(case.token_ids) + steps
    if context is not None and tokens > context:
        raise ContextLengthError(where=where, tokens=tokens, limit=context)
    last = (case.position_ids or range(len(case.token_ids)))[-1]
    check_positions([last + steps], context, f"{where}, decode step {steps - 1}")


def check_tokens(token_ids: Sequence[int], vocab: int, where: str) -> None:
    """Refuse ids outside the vocabulary. Raises TokenRangeError."""
    for index, token in enumerate(token_ids):
        if not 0 <= token < vocab:
            place = f"{where}: token_ids[{index}]"
            raise TokenRangeError(where=place, token=int(token), index=index, vocab=vocab)


def check_positions(positions: Sequence[int], context: int | None, where: str) -> None:
    """Refuse positions that the model does not declare. Raises PositionRangeError."""
    limit = PINNED_POSITIONS if context is None else min(context, PINNED_POSITIONS)
    for index, position in enumerate(positions):
        if not 0 <= position < limit:
            place = f"{where}: position_ids[{index}]"
            raise PositionRangeError(where=place, position=int(position), index=index, limit=limit)


def _check_mask(mask: Sequence[int], where: str, window: int | None) -> None:
    for index, bit in enumerate(mask):
        if bit not in (0, 1):
            place = f"{where}: attention_mask[{index}]"
            raise MaskValueError(where=place, value=bit, index=index)
    last = None  # the nearest visible key; causality makes it one at or before the query
    for index, bit in enumerate(mask):
        last = index if bit else last
        if last is None or (window is not None and index - last >= window):
            raise AllKeysMaskedError(where=f"{where}: attention_mask[{index}]", row=index)
