"""Positions: rotary frequencies from the source's own rotary class, or learned rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trlm_lab.errors import CaptureError
from trlm_lab.oracle.defaults.source import Row, Source, float32


@dataclass(frozen=True)
class Rotation:
    """One table of frequencies: its kind, base, values, and the factor of cosine and sine."""

    kind: str
    theta: float
    frequencies: list[float]
    factor: float


def position_rows(source: Source) -> Iterator[Row]:
    """Context length, order of rotation and frequencies; learned positions have none.

    Raises:
        OracleModelError: two factors of cosine and sine in one model.
        CaptureError: a rotation that pairs coordinates in an unknown way.
    """
    yield from _learned(source) if hasattr(source.base, "wpe") else _rotary(source)


def _learned(source: Source) -> Iterator[Row]:
    base = type(source.base)
    origin = source.origin("max_position_embeddings", base, "self.wpe =")
    yield "max_position_embeddings", source.base.wpe.num_embeddings, origin
    values: tuple[tuple[str, Any], ...] = (
        ("rope_theta", 0.0), ("rope_inv_freq", []), ("rope_type", "none"),
        ("rope_attention_scaling", 1.0), ("rope_attention_factor", 1.0), ("rope_order", "none"),
        ("rope_local_base_freq", None), ("rope_local_inv_freq", []),
    )  # fmt: skip
    for name, value in values:
        yield name, value, source.place(base, "self.wpe(position_ids)")


def _rotary(source: Source) -> Iterator[Row]:
    thing = type(source.base.rotary_emb)
    full, local = _rotations(source)
    length = source.base.rotary_emb.max_seq_len_cached
    scaling = ("self.attention_scaling", "_attention_scaling")
    theta = ('rope_parameters["rope_theta"]', '["rope_theta"]')
    table: tuple[tuple[str, Any, tuple[str, ...]], ...] = (
        ("max_position_embeddings", length, ("self.max_seq_len_cached =",)),
        ("rope_theta", float32(full.theta), theta),
        ("rope_inv_freq", full.frequencies, ("self.inv_freq =", "_inv_freq")),
        ("rope_type", full.kind, ("self.rope_type =", "self.rope_type[")),
        ("rope_attention_scaling", full.factor, scaling),
        ("rope_attention_factor", float32(full.factor), scaling),
        ("rope_local_base_freq", float32(local.theta) if local else None, theta),
        ("rope_local_inv_freq", local.frequencies if local else [],
         ("self.inv_freq =", "_inv_freq")),
    )  # fmt: skip
    for name, value, texts in table:
        yield name, value, source.origin(name, thing, *texts)
    rotate = source.module.rotate_half
    yield "rope_order", _order(rotate), source.place(rotate, "torch.cat")


def _rotations(source: Source) -> tuple[Rotation, Rotation | None]:
    """The frequencies of the full layers, and those of the sliding ones if they are others."""
    # The model lies on the meta device, where a table has no values: build it once more.
    rotary = type(source.base.rotary_emb)(source.config)
    parameters = source.config.rope_parameters
    kinds = rotary.rope_type
    found = {}
    for layer_type, kind in (kinds if isinstance(kinds, dict) else {"": kinds}).items():
        stem = f"{layer_type}_" if layer_type else ""
        theta = (parameters[layer_type] if layer_type else parameters)["rope_theta"]
        values = getattr(rotary, f"{stem}inv_freq").float().tolist()
        factor = float(getattr(rotary, f"{stem}attention_scaling"))
        found[layer_type] = Rotation(kind, theta, values, factor)
    first = found.get("full_attention") or next(iter(found.values()))
    local = found.get("sliding_attention") if "full_attention" in found else None
    if local and local.factor != first.factor:
        raise source.refuse(f"rotations scaled by {first.factor} and by {local.factor}")
    return first, local


def _order(rotate: Any) -> str:
    """Ask the source's own rotation which coordinates it pairs."""
    import torch

    turned = rotate(torch.tensor([0.0, 1.0, 2.0, 3.0])).tolist()
    orders = {(-2.0, -3.0, 0.0, 1.0): "half_split", (-1.0, 0.0, -3.0, 2.0): "interleaved"}
    order = orders.get(tuple(turned))
    if order is None:
        raise CaptureError(where="rotate_half", detail=f"0, 1, 2, 3 becomes {turned}")
    return order
