"""Faults of the file as a whole: cut, longer, too deep, too large, absent."""

import random
from collections.abc import Callable, Iterator

from tests.golden.emit import Raw, emit, head
from tests.golden.hostile.row import Change, Row
from tests.golden.sound import Draft


def _as_bytes(change: Callable[[bytes], tuple[bytes, str]]) -> Change:
    def on_draft(draft: Draft, rng: random.Random) -> str:
        draft.document, place = change(emit(draft.document)[0])
        return place

    return on_draft


def _deep(levels: int, unit: bytes) -> Change:
    def change(draft: Draft, rng: random.Random) -> None:
        # The document itself is the first level; so the 16th unit is the 17th.
        draft.document["x_deep"] = Raw(unit * levels + b"\x00", 15 * len(unit))

    return change


def _accept_deep(draft: Draft, rng: random.Random) -> None:
    draft.document["x_deep"] = Raw(b"\x81" * 15 + b"\x00", None)


def _fifteen_deep_observation(draft: Draft, rng: random.Random) -> None:
    draft.document["observations"][0]["x_deep"] = Raw(b"\x81" * 14 + b"\x00", 13)


def _last_item(data: bytes) -> int:
    """Offset of the last value: 32 bytes of an identity."""
    assert data[-34:-32] == b"\x58\x20"
    return len(data) - 34


def _many_items(data: bytes) -> tuple[bytes, str]:
    return head(4, 1_000_000) + b"\x00" * 1_000_000, f"byte {5 + 999_999}"


def whole_rows() -> Iterator[Row]:
    cut = {
        "GOLDEN_TRUNCATED nothing": lambda data: (b"", "byte 0"),
        "GOLDEN_TRUNCATED last byte": lambda d: (d[:-1], f"byte {_last_item(d)}"),
        "GOLDEN_TRUNCATED before a value": lambda d: (d[:-34], f"byte {len(d) - 34}"),
        "GOLDEN_TRUNCATED head alone": lambda d: (d[:1], "byte 0"),
        "GOLDEN_TRUNCATED argument": lambda d: (b"\x1b\x00\x00", "byte 0"),
        "GOLDEN_TRUNCATED float": lambda d: (b"\xfb\x7f\xf0", "byte 0"),
        "GOLDEN_TRUNCATED text": lambda d: (b"\x62\xff", "byte 0"),
        "GOLDEN_TRAILING zero": lambda d: (d + b"\x00", f"byte {len(d)}"),
        "GOLDEN_TRAILING newline": lambda d: (d + b"\n", f"byte {len(d)}"),
        "GOLDEN_TRAILING itself": lambda d: (d + d, f"byte {len(d)}"),
        "GOLDEN_TRAILING after another value": lambda d: (b"\x00" + d, "byte 1"),
        "GOLDEN_TAG in front": lambda d: (b"\xd9\xd9\xf7" + d, "byte 0"),
        "GOLDEN_SIZE items": _many_items,
        "GOLDEN_SIZE bytes": lambda d: (d + b"\x00" * (1 << 24), "case.cbor"),
    }
    for name, change in cut.items():
        yield Row(name, name.split()[0], _as_bytes(change))
    yield Row("GOLDEN_DEPTH one too many", "GOLDEN_DEPTH", _deep(16, b"\x81"))
    yield Row("GOLDEN_DEPTH bomb of lists", "GOLDEN_DEPTH", _deep(200_000, b"\x81"))
    yield Row("GOLDEN_DEPTH bomb of maps", "GOLDEN_DEPTH", _deep(50_000, b"\xa1\x61a"))
    yield Row("GOLDEN_DEPTH in an observation", "GOLDEN_DEPTH", _fifteen_deep_observation)
    yield Row("accepted: sixteen levels", None, _accept_deep)
    yield Row("GOLDEN_CASE_MISSING", "GOLDEN_CASE_MISSING", _no_document)


def _no_document(draft: Draft, rng: random.Random) -> str:
    draft.document = None
    return "case.cbor"
