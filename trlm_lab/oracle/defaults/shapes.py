"""Widths and counts, as the modules of the source have them; fused projections are counted out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trlm_lab.oracle.defaults.source import Row, Source


def shape_rows(source: Source) -> Iterator[Row]:
    """`model_type` and the sizes of the modules."""
    base, attention, mlp = type(source.base), type(source.attention), type(source.mlp)
    queries, keys, width = head_counts(source)
    heads = ("config.num_attention_heads *", "config.num_attention_heads")
    key_heads = ("config.num_key_value_heads *", "self.num_heads")
    embedding = "config.vocab_size, "
    table: tuple[tuple[str, Any, Any, tuple[str, ...]], ...] = (
        ("model_type", source.config.model_type, type(source.config), ("model_type =",)),
        ("vocab_size", source.embedding.num_embeddings, base, (embedding,)),
        ("hidden_size", source.embedding.embedding_dim, base, (embedding,)),
        ("intermediate_size", _inner_width(source), mlp,
         ("self.gate_proj =", "self.gate_up_proj =", "self.c_fc =")),
        ("num_hidden_layers", len(source.layers), base, ("range(config.num_hidden",)),
        ("num_attention_heads", queries, attention, heads),
        ("num_key_value_heads", keys, attention, key_heads),
        ("head_dim", width, attention, ("self.head_dim =",)),
    )  # fmt: skip
    for name, value, thing, texts in table:
        yield name, value, source.origin(name, thing, *texts)


def head_counts(source: Source) -> tuple[int, int, int]:
    """Query heads, key heads and head width.

    Raises:
        OracleModelError: projections that hold no whole number of heads.
    """
    attention, config = source.attention, source.config
    width = attention.head_dim
    if hasattr(attention, "q_proj"):
        rows = attention.q_proj.out_features, attention.k_proj.out_features
        heads = rows[0] // width, rows[1] // width
    elif hasattr(attention, "qkv_proj"):
        heads = config.num_attention_heads, attention.num_key_value_heads
        rows = heads[0] * width, (attention.qkv_proj.out_features - heads[0] * width) // 2
    else:
        heads = attention.num_heads, attention.num_heads
        rows = attention.split_size, attention.c_attn.nf - 2 * attention.split_size
    if rows != (heads[0] * width, heads[1] * width):
        raise source.refuse(f"{rows} rows of queries and keys are no heads of width {width}")
    return (*heads, width)


def _inner_width(source: Source) -> int:
    mlp = source.mlp
    if hasattr(mlp, "gate_up_proj"):
        return int(mlp.gate_up_proj.out_features) // 2
    return int(mlp.c_fc.nf if hasattr(mlp, "c_fc") else mlp.gate_proj.out_features)
