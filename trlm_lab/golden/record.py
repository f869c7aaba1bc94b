"""What a golden container says, as frozen records; arrays stay in its blobs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from trlm_lab.golden.limits import ITEM_SIZES, SCHEMA


@dataclass(frozen=True)
class GoldenInput:
    """The input: UTF-8 text, bytes or token ids (u32 little-endian); or a commitment to it."""

    kind: str
    data_or_commitment: bytes
    position_ids: tuple[int, ...] | None = None
    attention_mask: tuple[int, ...] | None = None
    extras: dict[str, Any] = field(default_factory=dict)

    def to_map(self) -> dict[str, Any]:
        """The map of the file; absent fields are left out."""
        return _present(self)


@dataclass(frozen=True)
class GoldenObservation:
    """One array or slice of one; `sha256` is the hex name of the blob with its bytes."""

    name: str
    semantic_role: str
    shape: tuple[int, ...]
    dtype: str
    data_blob_hash: bytes
    tolerance_profile: bytes
    layer: int | None = None
    slice_description: str | None = None
    byte_order: str = "little"
    layout: str = "c"
    extras: dict[str, Any] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """Hex name of the blob."""
        return self.data_blob_hash.hex()

    @property
    def nbytes(self) -> int:
        """Length of the blob."""
        return math.prod(self.shape) * ITEM_SIZES[self.dtype]

    def to_map(self) -> dict[str, Any]:
        """The map of the file; absent fields are left out."""
        return _present(self)


@dataclass(frozen=True)
class GoldenTopK:
    """One of the highest logits: token id and the four bytes of its f32, little-endian."""

    id: int
    logit_bits: bytes
    extras: dict[str, Any] = field(default_factory=dict)

    def to_map(self) -> dict[str, Any]:
        """The map of the file."""
        return _present(self)


@dataclass(frozen=True)
class GoldenCase:
    """The whole document; identities are 32 bytes each."""

    case_id: bytes
    case_class: str
    source_identity: bytes
    effective_config_identity: bytes
    tokenizer_identity: bytes
    template_identity: bytes
    oracle_generator_identity: bytes
    input: GoldenInput
    observations: tuple[GoldenObservation, ...]
    top_k: tuple[GoldenTopK, ...]
    generator_receipt: bytes
    expected_tokens: tuple[int, ...] | None = None
    raw_output_commitment: bytes | None = None
    extras: dict[str, Any] = field(default_factory=dict)

    def to_map(self) -> dict[str, Any]:
        """The map that `base.canon.encode` turns into the bytes of `case.cbor`."""
        return {"schema": SCHEMA, **_present(self)}


def _present(record: Any) -> dict[str, Any]:
    """Fields that are there, tuples as lists, with the `x_` keys beside them."""
    row: dict[str, Any] = {
        k: _plain(v) for k, v in vars(record).items() if v is not None and k != "extras"
    }
    row.update(record.extras)
    return row


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.to_map() if hasattr(value, "to_map") else value
