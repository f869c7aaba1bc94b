"""A second writer of CBOR for the tests: it also writes what no encoder should."""

import struct
from dataclasses import dataclass
from typing import Any

from trlm_lab.base import canon


@dataclass(frozen=True)
class Raw:
    """Bytes that stand in a document as they are; `fault` is the offset of the item at fault."""

    data: bytes
    fault: int | None = 0


@dataclass(frozen=True)
class Pairs:
    """A map of pairs in this order, repeated keys included."""

    rows: tuple[tuple[Any, Any], ...]


def head(major: int, argument: int) -> bytes:
    """An initial byte with its argument, shortest form."""
    if argument < 24:
        return bytes([major << 5 | argument])
    width = next(i for i in range(4) if argument < 1 << (8 << i))
    return bytes([major << 5 | 24 + width]) + argument.to_bytes(1 << width, "big")


def key_order(key: str) -> tuple[int, bytes]:
    raw = key.encode()
    return len(raw), raw


def emit(value: Any) -> tuple[bytes, int | None]:
    """Bytes of a value, and the offset of the first `Raw` item's fault in them."""
    out, faults = bytearray(), []

    def put(item: Any) -> None:
        if isinstance(item, Raw):
            if item.fault is not None:
                faults.append(len(out) + item.fault)
            out.extend(item.data)
        elif isinstance(item, dict):
            put(Pairs(tuple(sorted(item.items(), key=lambda pair: key_order(pair[0])))))
        elif isinstance(item, Pairs):
            out.extend(head(5, len(item.rows)))
            for pair in item.rows:
                put(pair[0])
                put(pair[1])
        elif isinstance(item, list):
            out.extend(head(4, len(item)))
            for one in item:
                put(one)
        elif isinstance(item, str):
            out.extend(head(3, len(item.encode())) + item.encode())
        elif isinstance(item, bytes):
            out.extend(head(2, len(item)) + item)
        else:
            out.extend(canon.encode(item))

    put(value)
    return bytes(out), faults[0] if faults else None


def half(value: float) -> bytes:
    return b"\xf9" + struct.pack(">e", value)


def single(value: float) -> bytes:
    return b"\xfa" + struct.pack(">f", value)


def double(value: float) -> bytes:
    return b"\xfb" + struct.pack(">d", value)
