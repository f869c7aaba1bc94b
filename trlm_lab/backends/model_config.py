"""The effective configuration of a plain llama model directory, from its `config.json`.

For a directory that nobody has described yet. Only the plain family is taken: whatever would change
behaviour beyond it is refused, never ignored. Inverse frequencies are computed from the base in
float64 and rounded; those that a source materialised itself (in an `.slm`, or handed to the runner)
are better evidence and may differ in the last bit.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from trlm_lab.base import strict_json
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.errors import ModelFilesError, RecordError, UnsupportedModelError
from trlm_lab.ops.rotation import inverse_frequencies

#: Field, and the only values that leave the plain forward pass as it is.
PLAIN: dict[str, tuple[Any, ...]] = {
    "model_type": ("llama",),
    "hidden_act": ("silu",),
    "attention_bias": (False, None),
    "mlp_bias": (False, None),
    "rope_scaling": (None,),
    "sliding_window": (None,),
    "partial_rotary_factor": (None, 1.0),
    "quantization_config": (None,),
}
#: Fields that must be integers, with no default.
COUNTS = (
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "max_position_embeddings",
)


def _number(row: dict[str, Any], name: str, where: str, kind: type[int] | type[float]) -> Any:
    value = row.get(name)
    ok = isinstance(value, (int, float) if kind is float else int) and not isinstance(value, bool)
    if not ok:
        raise ModelFilesError(where=where, detail=f"the field {name!r} is {value!r}")
    return kind(value)  # type: ignore[arg-type]


def _beyond(where: str, detail: str) -> UnsupportedModelError:
    """The refusal of what only the source can say in full."""
    way_out = "a directory that nobody described runs as a plain llama only: pack it first"
    return UnsupportedModelError(where=where, detail=f"{detail}; {way_out}")


def _rope_theta(row: dict[str, Any], where: str) -> float:
    """The base, from `rope_parameters` (newer files) or the top level."""
    parameters = row.get("rope_parameters")
    if parameters is None:
        return float(_number(row, "rope_theta", where, float))
    if not isinstance(parameters, dict):
        raise ModelFilesError(where=where, detail="the field 'rope_parameters' is no object")
    kind = parameters.get("rope_type", "default")
    if kind != "default" or set(parameters) - {"rope_type", "rope_theta"}:
        raise _beyond(where, f"rope_parameters are {parameters}")
    return float(_number(parameters, "rope_theta", where, float))


def _token_ids(row: dict[str, Any], where: str) -> dict[str, Any]:
    eos = row.get("eos_token_id")
    ids = {n: row.get(n) for n in ("bos_token_id", "pad_token_id", "unk_token_id")}
    ends = tuple(eos) if isinstance(eos, list) else () if eos is None else (eos,)
    for name, value in [*ids.items(), *(("eos_token_id", e) for e in ends)]:
        if value is not None and type(value) is not int:
            raise ModelFilesError(where=where, detail=f"the field {name!r} is {value!r}")
    return {**ids, "eos_token_id": ends}


def config_of_model_dir(root: Path) -> EffectiveConfig:
    """The configuration of a plain llama directory.

    Raises:
        JsonError: `config.json` is missing or no JSON object.
        ModelFilesError: a field is missing, ill-typed, or contradicts another.
        UnsupportedModelError: it asks for a behaviour beyond the plain family.
    """
    where = str(root / "config.json")
    row = strict_json.load_object(root / "config.json")
    for name, allowed in PLAIN.items():
        if row.get(name) not in allowed:
            raise _beyond(where, f"{name} is {row.get(name)!r}")
    counts = {name: _number(row, name, where, int) for name in COUNTS}
    heads = max(counts["num_attention_heads"], 1)
    head_dim = row.get("head_dim") or counts["hidden_size"] // heads
    theta = _rope_theta(row, where)
    try:
        return EffectiveConfig(
            **counts,
            model_type="llama",
            num_key_value_heads=row.get("num_key_value_heads") or heads,
            head_dim=head_dim,
            rms_norm_eps=float(np.float32(_number(row, "rms_norm_eps", where, float))),
            layer_norm_epsilon=None,
            norm_unit_offset=False,
            norm_placement="pre",
            qk_norm="none",
            rope_theta=float(np.float32(theta)),
            rope_inv_freq=tuple(float(f) for f in inverse_frequencies(theta, head_dim)),
            rope_order="half_split",
            rope_attention_factor=1.0,
            rope_local_base_freq=None,
            rope_local_inv_freq=(),
            attention_scale=float(np.float32(head_dim**-0.5)),
            attn_logit_softcapping=None,
            final_logit_softcapping=None,
            sliding_window=None,
            layer_types=("full_attention",) * counts["num_hidden_layers"],
            hidden_act="silu",
            mlp_gated=True,
            embedding_scale=1.0,
            tie_word_embeddings=row.get("tie_word_embeddings") is True,
            attention_bias=False,
            attention_out_bias=False,
            mlp_bias=False,
            **_token_ids(row, where),
        )
    except (RecordError, TypeError, ZeroDivisionError) as error:
        raise ModelFilesError(where=where, detail=f"contradicts itself: {error}") from error
