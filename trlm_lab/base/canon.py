"""Deterministic CBOR (RFC 8949 section 4.2.1) and content identities built on it.

Map keys are texts; NaN, infinities, tags and duplicate keys are refused both ways. Decoding
re-encodes and compares, so a value has exactly one accepted spelling.
"""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache
from typing import Any

import cbor2
import numpy as np
from numpy.typing import NDArray

from trlm_lab.errors import NotCanonicalError, NotEncodableError

NODE_DOMAIN = b"tinyrustlm-conformance-node-v1"
MAX_DEPTH = 64
_LEAVES = frozenset({str, bytes, bool, type(None)})


def _is_plain(value: Any, depth: int = 0) -> bool:
    """Whether a value has an encoding and is of the very types that decoding makes.

    The usual case, decided without a copy and without naming places; `_checked` decides the rest.
    """
    kind = type(value)
    if kind is dict:
        if any(type(key) is not str for key in value):
            return False
        items = value.values()
    elif kind is list:
        items = value
    else:
        return (
            kind in _LEAVES
            or (kind is int and -(2**64) <= value < 2**64)
            or (kind is float and math.isfinite(value))
        )
    if items and depth == MAX_DEPTH:
        return False
    # Long lists are of one type: ids, hashes, numbers. These take no step of Python an item.
    kinds = set(map(type, items))
    if kinds <= _LEAVES:
        return True
    if kinds == {int}:
        return bool(min(items) >= -(2**64) and max(items) < 2**64)
    if kinds == {float}:
        return all(map(math.isfinite, items))
    return all(type(item) in _LEAVES or _is_plain(item, depth + 1) for item in items)


def _checked(value: Any, where: str, depth: int = 0) -> Any:
    if depth > MAX_DEPTH:
        raise NotEncodableError(where=where, detail=f"nesting deeper than {MAX_DEPTH}")
    if value is None or isinstance(value, (bool, str, bytes)):
        return value
    if isinstance(value, int):
        if not -(2**64) <= value < 2**64:
            raise NotEncodableError(where=where, detail=f"integer {value} needs a bignum")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotEncodableError(where=where, detail=f"the float {value} is not finite")
        return value
    if isinstance(value, (list, tuple)):
        return [_checked(v, f"{where}[{i}]", depth + 1) for i, v in enumerate(value)]
    if isinstance(value, dict):
        bad = [k for k in value if not isinstance(k, str)]
        if bad:
            raise NotEncodableError(where=where, detail=f"map key {bad[0]!r} is no text")
        return {k: _checked(v, f"{where}.{k}", depth + 1) for k, v in value.items()}
    raise NotEncodableError(where=where, detail=f"a {type(value).__name__} has no encoding")


def encode(value: Any) -> bytes:
    """Encode a value of texts, bytes, integers, finite floats, lists and text-keyed maps.

    Raises:
        NotEncodableError: the value has no canonical form; `where` is the path inside it.
    """
    return cbor2.dumps(value if _is_plain(value) else _checked(value, "$"), canonical=True)


def decode(data: bytes, *, where: str = "") -> Any:
    """Decode bytes that must be in canonical form.

    Raises:
        NotCanonicalError: malformed, non-shortest, wrongly ordered, duplicated or trailing bytes.
    """
    try:
        value = cbor2.loads(data)
        again = encode(value)
    except NotEncodableError as error:
        raise NotCanonicalError(where=where, detail=error.detail) from error
    except Exception as error:
        # cbor2 raises its own errors, and ValueError or RecursionError on hostile input.
        raise NotCanonicalError(where=where, detail=f"{type(error).__name__}: {error}") from error
    if again != data:
        raise NotCanonicalError(where=where, detail="re-encoding gives other bytes")
    return value


def sha256_hex(data: bytes | memoryview) -> str:
    """SHA-256 as hex."""
    return hashlib.sha256(data).hexdigest()


def content_id(value: Any) -> str:
    """SHA-256 of the canonical encoding, as hex."""
    return sha256_hex(encode(value))


def node_id(node_type: str, metadata: dict[str, Any], children: list[str]) -> str:
    """Identity of a receipt node; children are hex ids, in order."""
    raw = [bytes.fromhex(child) for child in children]
    return sha256_hex(NODE_DOMAIN + encode(node_type) + encode(metadata) + encode(raw))


def stored_node_id(data: bytes, node_type: str, children: int) -> str:
    """Identity of a node by its stored form, which was decoded: type and number of children.

    The form is the map of type, children and metadata, so that the three parts of the identity
    stand in it as they are hashed, and nothing is encoded again.
    """
    kind = _type_bytes(node_type)
    at = len(b"\xa3\x64type") + len(kind) + len(b"\x68children")
    end = at + len(_head(children)) + 34 * children
    metadata = end + len(b"\x68metadata")
    return sha256_hex(NODE_DOMAIN + kind + data[metadata:] + data[at:end])


@lru_cache(maxsize=64)
def _type_bytes(node_type: str) -> bytes:
    return encode(node_type)


def _head(count: int) -> bytes:
    """The beginning of a list of so many items."""
    if count < 24:
        return bytes([0x80 + count])
    size = 1 if count < 1 << 8 else 2 if count < 1 << 16 else 4
    return bytes([0x98 + size.bit_length() - 1]) + count.to_bytes(size, "big")


def array_sha256(array: NDArray[Any]) -> str:
    """SHA-256 of the raw little-endian C-order bytes; dtype and shape are not in it."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    raw: memoryview = little.reshape(-1).view(np.uint8).data
    return sha256_hex(raw)
