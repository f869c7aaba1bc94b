"""One hostile container: its name, the change that makes it, and what it must give."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.golden.emit import emit
from tests.golden.sound import Draft, sound

Change = Callable[[Draft, random.Random], str | None]


@dataclass(frozen=True)
class Row:
    """`code` is None for a case that must be accepted."""

    name: str
    code: str | None
    change: Change


@dataclass(frozen=True)
class Hostile:
    """The bytes of a row, and the one finding that it must give."""

    data: bytes | None
    draft: Draft
    finding: tuple[str, str] | None


def made(row: Row) -> Hostile:
    """A row's directory; the same at every call."""
    rng = random.Random(row.name)
    draft = sound(rng)
    place = row.change(draft, rng)
    if draft.document is None or isinstance(draft.document, bytes):
        data, fault = draft.document, None
    else:
        data, fault = emit(draft.document)
    where = f"byte {fault}" if place is None else place
    return Hostile(data, draft, None if row.code is None else (row.code, where))
