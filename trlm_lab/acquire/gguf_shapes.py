"""The shapes that the keys of a GGUF file give its tensors, and the key that a tensor denies.

Held before any row moves: queries and keys are put in another order head by head, so a head width
that the matrices deny would mix rows of different heads without any trace in the shapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trlm_lab.acquire.gguf_architecture import architecture_of
from trlm_lab.acquire.gguf_file import GgufFile, GgufTensor
from trlm_lab.errors import GgufFieldError

_HIDDEN, _FFN = "embedding_length", "feed_forward_length"
_QUERIES, _KEYS = "attention.head_count", "attention.head_count_kv"
_WIDTH = "attention.key_length"
#: The tensors, by their part of the name, in the order in which a contradiction is told: a matrix
#: of queries before one of keys, since the head width that both share is judged by the first.
_AXES: dict[str, tuple[str, ...]] = {
    "token_embd": ("vocab_size", _HIDDEN),
    "output": ("vocab_size", _HIDDEN),
    "output_norm": (_HIDDEN,),
    "attn_norm": (_HIDDEN,),
    "attn_q": (_QUERIES, _HIDDEN),
    "attn_k": (_KEYS, _HIDDEN),
    "attn_v": (_KEYS, _HIDDEN),
    "attn_output": (_HIDDEN, _QUERIES),
    "attn_q_norm": (_WIDTH,),
    "attn_k_norm": (_WIDTH,),
    "post_attention_norm": (_HIDDEN,),
    "ffn_norm": (_HIDDEN,),
    "ffn_gate": (_FFN, _HIDDEN),
    "ffn_up": (_FFN, _HIDDEN),
    "ffn_down": (_HIDDEN, _FFN),
    "post_ffw_norm": (_HIDDEN,),
}


def require_shapes(file: GgufFile, values: Mapping[str, Any], origins: Mapping[str, str]) -> None:
    """Every known tensor of the file has the shape that its keys give; others are passed over.

    `values` and `origins` are those of the converted configuration.

    Raises:
        GgufFieldError: a tensor denies a key; its place and both sizes are named.
    """
    sizes = {
        "vocab_size": values["vocab_size"],
        _HIDDEN: values["hidden_size"],
        _FFN: values["intermediate_size"],
        _QUERIES: values["num_attention_heads"] * values["head_dim"],
        _KEYS: values["num_key_value_heads"] * values["head_dim"],
        _WIDTH: values["head_dim"],
    }
    prefix = architecture_of(file).prefix
    order = {part: number for number, part in enumerate(_AXES)}
    known = [t for t in file.tensors.values() if _part(t) in order]
    for tensor in sorted(known, key=lambda t: order[_part(t)]):
        axes = _AXES[_part(tensor)]
        wanted = tuple(sizes[axis] for axis in axes)
        if tensor.shape != wanted:
            axis = _first_denied(tensor, axes, wanted)
            detail = f"{_said(axis, values, origins)}; {tensor.name} is {list(tensor.shape)}"
            raise GgufFieldError(
                where=file.path.name,
                key=_key(prefix, axis, origins),
                detail=f"{detail}, the keys give {list(wanted)}",
            )


def _part(tensor: GgufTensor) -> str:
    parts = tensor.name.split(".")
    return parts[-2] if len(parts) > 1 else ""


def _first_denied(tensor: GgufTensor, axes: tuple[str, ...], wanted: tuple[int, ...]) -> str:
    if len(tensor.shape) != len(axes):
        return axes[-1]
    pairs = zip(axes, tensor.shape, wanted, strict=True)
    return next(axis for axis, got, size in pairs if got != size)


def _key(prefix: str, axis: str, origins: Mapping[str, str]) -> str:
    """The key to blame: a stated head width before the number of query heads."""
    stated = origins["head_dim"]
    if axis in (_QUERIES, _WIDTH) and stated.startswith(prefix):
        return stated
    return prefix + axis


def _said(axis: str, values: Mapping[str, Any], origins: Mapping[str, str]) -> str:
    if axis in (_QUERIES, _KEYS):
        name = "num_attention_heads" if axis == _QUERIES else "num_key_value_heads"
        return f"{values[name]} heads of width {values['head_dim']} ({origins['head_dim']})"
    names = {_HIDDEN: "hidden_size", _FFN: "intermediate_size", _WIDTH: "head_dim"}
    return str(values[names.get(axis, axis)])
