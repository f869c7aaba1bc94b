"""Refusals of the runtime over texts and ids, as the reference has them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trlm_lab.errors import (
    PatternStepsError,
    RuntimeRefusedError,
    TextTooLongError,
    TokenIdError,
    TrlmError,
    UnknownTokenMissingError,
    Utf8Error,
)

_UTF8, _TOO_LONG, _UNKNOWN, _TOKEN_ID, _STEPS = 701, 702, 703, 704, 705


def require_words(ids: Sequence[int], before: int = 0) -> None:
    """Refuse ids that the ABI has no room for; so many ids came before these.

    Raises:
        TokenIdError: one of 2^32 or more.
    """
    for index, number in enumerate(ids, before):
        if number >= 1 << 32:
            raise TokenIdError(got=number, index=index)


def text_error(error: TrlmError, ids: Sequence[int] = (), before: int = 0) -> TrlmError:
    """The runtime's refusal of a text, or of ids before which there were so many others."""
    if not isinstance(error, RuntimeRefusedError):
        return error
    number, detail = error.facts["number"], error.facts["detail"]
    index = int(error.where.split()[-1]) if error.where[-1:].isdigit() else 0
    if number == _UTF8:
        return Utf8Error(detail=detail, index=index)
    if number == _TOO_LONG:
        got, _, rest = detail.partition(" ")
        unit, _, limit = rest.partition(", at most ")
        return TextTooLongError(got=int(got), unit=unit, limit=int(limit))
    if number == _UNKNOWN:
        return UnknownTokenMissingError(text=detail.removeprefix("no token stands for "))
    if number == _STEPS:
        steps, steps_a_byte = map(int, re.findall(r"\d+", detail))
        return PatternStepsError(steps=steps, steps_a_byte=steps_a_byte)
    if number == _TOKEN_ID:
        return TokenIdError(got=ids[index - before], index=index)
    return error
