"""The effective configuration that every engine reads: nothing is left to an engine's defaults."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base import canon
from trlm_lab.base.records.checks import require
from trlm_lab.base.records.config_rules import check_rules, check_type


@dataclass(frozen=True)
class EffectiveConfig:
    """Materialised configuration of a decoder; Hugging Face key names where it has the field.

    Floats that the source uses as float32 are stored as the float32 value. What a family implies
    stands here as a value of its own, so that an engine needs no table of families:

    - `rms_norm_eps` or `layer_norm_epsilon`, exactly one of them, says which norm it is;
      `norm_unit_offset` that the factor of an RMS norm is 1 + w.
    - `norm_placement`: `pre` (before attention and before the MLP), `post` (behind each, before
      the residual is added), `sandwich` (both).
    - `qk_norm`: `none`, `head` (each head alone, E weights), `joined` (over all heads at once).
    - `rope_order`: `half_split`, `interleaved`, or `none` with theta 0: then positions are learned
      and added to the embedding. `rope_inv_freq` are the source's own float32 values; fewer than
      E/2 rotate the first coordinates of a head only. `rope_attention_factor` multiplies cosine
      and sine. `rope_local_inv_freq` (from `rope_local_base_freq`) rotate the sliding layers where
      these have frequencies of their own; else the list is empty.
    - `layer_types`: `full_attention` or `sliding_attention`, one a layer; in a sliding layer a
      query sees the last `sliding_window` keys, its own among them.
    - `hidden_act`: `silu`, `gelu_tanh`, `gelu_erf`; `mlp_gated` whether it multiplies a gate.
    - `attention_bias` is of queries, keys and values, `attention_out_bias` of the projection
      behind them, `mlp_bias` of all projections of the MLP.
    - `attn_logit_softcapping`, `final_logit_softcapping`: cap * tanh(x / cap), null for none.
    """

    model_type: str
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    max_position_embeddings: int
    rms_norm_eps: float | None
    layer_norm_epsilon: float | None
    norm_unit_offset: bool
    norm_placement: str
    qk_norm: str
    rope_theta: float
    rope_inv_freq: tuple[float, ...]
    rope_order: str
    rope_attention_factor: float
    rope_local_base_freq: float | None
    rope_local_inv_freq: tuple[float, ...]
    attention_scale: float
    attn_logit_softcapping: float | None
    final_logit_softcapping: float | None
    sliding_window: int | None
    layer_types: tuple[str, ...]
    hidden_act: str
    mlp_gated: bool
    embedding_scale: float
    tie_word_embeddings: bool
    attention_bias: bool
    attention_out_bias: bool
    mlp_bias: bool
    bos_token_id: int | None
    eos_token_id: tuple[int, ...]
    pad_token_id: int | None
    unk_token_id: int | None

    def __post_init__(self) -> None:
        for f in fields(self):
            check_type(f"config.{f.name}", str(f.type), getattr(self, f.name))
        check_rules({f.name: getattr(self, f.name) for f in fields(self)})

    @property
    def norm_eps(self) -> float:
        """Epsilon of every norm, a float32 value."""
        found = self.layer_norm_epsilon if self.rms_norm_eps is None else self.rms_norm_eps
        assert found is not None  # the rules want exactly one
        return found

    @property
    def inv_freq(self) -> NDArray[np.float32]:
        """Inverse frequencies of the full layers, float32, half the rotated coordinates."""
        return np.asarray(self.rope_inv_freq, dtype=np.float32)

    def slides(self, layer: int) -> bool:
        """Whether the layer sees only the last `sliding_window` keys."""
        return self.layer_types[layer] == "sliding_attention"

    def layer_inv_freq(self, layer: int) -> NDArray[np.float32]:
        """Inverse frequencies of one layer; empty where positions are learned."""
        local = self.slides(layer) and bool(self.rope_local_inv_freq)
        return np.asarray(
            self.rope_local_inv_freq if local else self.rope_inv_freq, dtype=np.float32
        )

    @property
    def config_id(self) -> str:
        """SHA-256 of the canonical encoding of the map."""
        return canon.content_id(self.to_map())

    def to_map(self) -> dict[str, Any]:
        """The map that goes into the `.slm` configuration section."""
        row = {f.name: getattr(self, f.name) for f in fields(self)}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in row.items()}

    @classmethod
    def from_map(cls, row: dict[str, Any]) -> EffectiveConfig:
        """Inverse of `to_map`. Raises RecordError on unknown, missing or ill-typed keys."""
        known = {f.name for f in fields(cls)}
        unknown, missing = sorted(set(row) - known), sorted(known - set(row))
        require(not unknown, "config", f"unknown fields {unknown}")
        require(not missing, "config", f"missing fields {missing}")
        lists: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}
        return cls(**lists)
