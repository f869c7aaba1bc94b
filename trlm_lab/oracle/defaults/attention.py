"""Attention: scale, cap, norms of queries and keys, biases, and which layers slide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trlm_lab.oracle.defaults.shapes import head_counts
from trlm_lab.oracle.defaults.source import Row, Source, attention_of, float32


def attention_rows(source: Source) -> Iterator[Row]:
    """What attention does.

    Raises:
        OracleModelError: attention in both directions, or of several scales.
    """
    if not source.attention.is_causal:
        raise source.refuse("attention in both directions")
    kind = type(source.attention)
    scales = [attention_of(layer).scaling for layer in source.layers]
    scale = float32(source.same("scale of attention", scales))
    origin = source.origin("attention_scale", kind, "self.scaling =", "self.scaling /=")
    yield "attention_scale", scale, origin
    yield from _cap_rows(source, kind)
    yield from _norm_rows(source, kind)
    yield from _bias_rows(source, kind)
    yield from _window_rows(source)


def _cap_rows(source: Source, kind: Any) -> Iterator[Row]:
    """A cap counts only where the attention hands it on: Gemma 3 keeps the field and does not."""
    name = "attn_logit_softcapping"
    if source.says(kind.forward, "softcap="):
        cap = source.attention.attn_logit_softcapping
        origin = source.origin(name, kind, "softcap=")
        yield name, None if cap is None else float32(cap), origin
    else:
        yield name, None, source.place(source.module.eager_attention_forward, "* scaling")


def _norm_rows(source: Source, kind: Any) -> Iterator[Row]:
    if not hasattr(source.attention, "q_norm"):
        yield "qk_norm", "none", source.place(kind, "(hidden_states)")
        return
    queries, keys, width = head_counts(source)
    norms = source.attention.q_norm, source.attention.k_norm
    widths = tuple(norm.weight.shape[0] for norm in norms)
    if widths not in ((width, width), (queries * width, keys * width)):
        raise source.refuse(f"norms of queries and keys over {widths} coordinates")
    # With one head each the two are the same norm.
    joined = widths != (width, width)
    yield "qk_norm", "joined" if joined else "head", source.place(kind, "self.q_norm(")


def _bias_rows(source: Source, kind: Any) -> Iterator[Row]:
    attention = source.attention
    names = next(
        names
        for names in (("q_proj", "k_proj", "v_proj"), ("qkv_proj",), ("c_attn",))
        if hasattr(attention, names[0])
    )
    biases = [getattr(attention, name).bias is not None for name in names]
    out = "o_proj" if hasattr(attention, "o_proj") else "c_proj"
    bias = source.same("bias of queries, keys and values", biases)
    yield "attention_bias", bias, source.origin("attention_bias", kind, f"self.{names[0]} =")
    has_bias = getattr(attention, out).bias is not None
    yield "attention_out_bias", has_bias, source.place(kind, f"self.{out} =")


def _window_rows(source: Source) -> Iterator[Row]:
    """Which mask the source's forward pass gives each layer."""
    base, config = type(source.base), source.config
    count, text = len(source.layers), "create_causal_mask("
    types = ["full_attention"] * count
    if source.says(base.forward, "self.config.layer_types[i]"):
        types, text = list(config.layer_types), "self.config.layer_types[i]"
    elif source.says(base.forward, "create_sliding_window_causal_mask"):
        text = "create_sliding_window_causal_mask"
        if config.sliding_window is not None:
            types = ["sliding_attention"] * count
    slides = "sliding_attention" in types
    window = config.sliding_window if slides else None
    yield "layer_types", types, source.origin("layer_types", base, text)
    yield "sliding_window", window, source.origin("sliding_window", base, text)
