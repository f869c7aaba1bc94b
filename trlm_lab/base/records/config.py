"""The effective configuration that every engine reads, and the defaults the source supplied."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base import canon
from trlm_lab.base.config_bounds import CONFIG_BOUNDS
from trlm_lab.base.records.checks import require


@dataclass(frozen=True)
class SourceDefault:
    """A value that the pinned source supplied, and where in the source it comes from."""

    name: str
    value: Any
    origin: str


@dataclass(frozen=True)
class SourceDefaults:
    """Values read out of the running source framework for one model (never re-implemented).

    `framework` names package and version, e.g. "transformers 5.24.0, torch 2.13.0".
    For the llama family `values` holds at least `rope_inv_freq` (float32 list), `head_dim`,
    `attention_scale`, `rms_norm_eps`, `rope_theta`, and every key of the effective configuration.
    """

    framework: str
    values: tuple[SourceDefault, ...]

    def __getitem__(self, name: str) -> Any:
        for default in self.values:
            if default.name == name:
                return default.value
        raise KeyError(name)


def _is_id(value: Any) -> bool:
    return type(value) is int and value >= 0


#: Whether a value has the type that a field of the configuration declares.
_HAS_TYPE: dict[str, Callable[[Any], bool]] = {
    "str": lambda v: isinstance(v, str),
    "bool": lambda v: isinstance(v, bool),
    "int": lambda v: type(v) is int,
    "float": lambda v: isinstance(v, float),
    "int | None": lambda v: v is None or _is_id(v),
    "tuple[int, ...]": lambda v: isinstance(v, tuple) and all(map(_is_id, v)),
    "tuple[float, ...]": lambda v: (
        isinstance(v, tuple) and all(isinstance(x, float) and math.isfinite(x) for x in v)
    ),
}


@dataclass(frozen=True)
class EffectiveConfig:
    """Materialised configuration of a llama-family model; Hugging Face key names.

    Floats that the source uses as float32 are stored as the float32 value. `rope_inv_freq` are the
    source's own E/2 float32 inverse frequencies; `rope_order` is `half_split` or `interleaved`.
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
    rms_norm_eps: float
    rope_theta: float
    rope_inv_freq: tuple[float, ...]
    rope_order: str
    attention_scale: float
    hidden_act: str
    tie_word_embeddings: bool
    attention_bias: bool
    mlp_bias: bool
    bos_token_id: int | None
    eos_token_id: tuple[int, ...]
    pad_token_id: int | None
    unk_token_id: int | None

    def __post_init__(self) -> None:
        for f in fields(self):
            value, wanted = getattr(self, f.name), str(f.type)
            require(_HAS_TYPE[wanted](value), f"config.{f.name}", f"{value!r} is no {wanted}")
        for name in ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
                     "num_attention_heads", "num_key_value_heads", "head_dim",
                     "max_position_embeddings"):  # fmt: skip
            problem = CONFIG_BOUNDS[name].problem(getattr(self, name))
            require(not problem, f"config.{name}", problem)
        groups = self.num_attention_heads % self.num_key_value_heads
        require(groups == 0, "config.num_key_value_heads", "does not divide the query heads")
        require(self.head_dim % 2 == 0, "config.head_dim", "is odd, RoPE pairs coordinates")
        require(
            len(self.rope_inv_freq) == self.head_dim // 2,
            "config.rope_inv_freq",
            f"{len(self.rope_inv_freq)} frequencies for head_dim {self.head_dim}",
        )
        for name in ("rms_norm_eps", "rope_theta", "attention_scale"):
            value = getattr(self, name)
            require(math.isfinite(value) and value > 0, f"config.{name}", f"{value} is not > 0")
            # A value beyond float32 becomes infinite, which is not the value either.
            with np.errstate(over="ignore"):
                exact = float(np.float32(value)) == value
            require(exact, f"config.{name}", "is no float32 value")
        for name in ("rms_norm_eps", "rope_theta"):
            problem = CONFIG_BOUNDS[name].problem(getattr(self, name))
            require(not problem, f"config.{name}", problem)

    @property
    def inv_freq(self) -> NDArray[np.float32]:
        """Inverse frequencies, float32, shape (E/2,)."""
        return np.asarray(self.rope_inv_freq, dtype=np.float32)

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
