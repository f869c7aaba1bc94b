"""The dtype and shape that each tensor of a runtime must have, from the model's configuration."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trlm_lab.backends.process_files import read_object
from trlm_lab.base.names import parse_checkpoint
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.errors import ModelShapeError, UnknownNameError
from trlm_lab.ops.top_k import TRACE_TOP_K

#: Names of the accepted types in the tensor file.
F32 = "F32"
I64 = "I64"

#: Older configurations (GPT-2) name the same sizes differently.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "vocab_size": ("vocab_size",),
    "hidden_size": ("hidden_size", "n_embd"),
    "num_hidden_layers": ("num_hidden_layers", "n_layer"),
    "num_attention_heads": ("num_attention_heads", "n_head"),
    "num_key_value_heads": ("num_key_value_heads",),
    "head_dim": ("head_dim",),
    "intermediate_size": ("intermediate_size", "n_inner"),
    "context": ("max_position_embeddings", "n_positions"),
}

_STEP = re.compile(r"step(0|[1-9][0-9]{0,8})\.(.+)\Z")
_CHUNK = re.compile(r"logits\.chunk(0|[1-9][0-9]{0,8})\Z")
_PER_TOKEN_IDS = ("token_ids", "position_ids", "attention_mask")


@dataclass(frozen=True)
class Expected:
    """dtype and shape of a tensor; None in the shape is any size."""

    dtype: str
    shape: tuple[int | None, ...]

    def mismatch(self, dtype: str, shape: tuple[int, ...]) -> str | None:
        """What is wrong with a found dtype and shape, or None."""
        if dtype != self.dtype:
            return f"dtype {dtype}, expected {self.dtype}"
        same = len(shape) == len(self.shape) and all(
            want in (None, got) for want, got in zip(self.shape, shape, strict=True)
        )
        wanted = ["any" if size is None else size for size in self.shape]
        return None if same else f"shape {list(shape)}, expected {wanted}"


@dataclass(frozen=True)
class ModelShapes:
    """Sizes of a model, one an axis letter."""

    L: int
    D: int
    H: int
    K: int
    E: int
    F: int
    V: int
    #: Positions that the model declares; None where its files declare none.
    context: int | None = None

    @classmethod
    def of_config(cls, config: EffectiveConfig) -> ModelShapes:
        """From an effective configuration."""
        return cls(
            L=config.num_hidden_layers,
            D=config.hidden_size,
            H=config.num_attention_heads,
            K=config.num_key_value_heads,
            E=config.head_dim,
            F=config.intermediate_size,
            V=config.vocab_size,
            context=config.max_position_embeddings,
        )

    @classmethod
    def of_model_dir(cls, model_dir: Path) -> ModelShapes:
        """From the `config.json` of a model directory of any family.

        Raises:
            ModelShapeError: missing, malformed, or without a size.
        """
        path = model_dir / "config.json"

        def refusal(detail: str) -> ModelShapeError:
            return ModelShapeError(where=str(path), detail=detail)

        row = read_object(path.resolve(), refusal)
        inner = row.get("text_config")
        return cls._of_row(inner if isinstance(inner, dict) else row, refusal)

    @classmethod
    def _of_row(cls, row: dict[str, Any], refusal: Any) -> ModelShapes:
        def size(name: str, default: int | None = None) -> int:
            given = (row[key] for key in SYNONYMS[name] if row.get(key) is not None)
            value = next(given, default)
            if type(value) is not int or not 0 < value < 2**31:
                raise refusal(f"{name} is {value!r:.40}, no size")
            return value

        declared = any(row.get(key) is not None for key in SYNONYMS["context"])
        hidden, heads = size("hidden_size"), size("num_attention_heads")
        return cls(
            L=size("num_hidden_layers"),
            D=hidden,
            H=heads,
            K=size("num_key_value_heads", heads),
            E=size("head_dim", hidden // heads),
            F=size("intermediate_size", 4 * hidden),
            V=size("vocab_size"),
            context=size("context") if declared else None,
        )

    @property
    def top_k(self) -> int:
        """How many top logits a trace holds."""
        return min(TRACE_TOP_K, self.V)

    def expected(self, name: str, tokens: int) -> Expected:
        """What a tensor of a case of `tokens` tokens must be.

        Decode step s has one query and tokens + s + 1 keys.

        Raises:
            UnknownNameError: neither on the ladder of this model nor one of the settled extras.
        """
        step = _STEP.match(name)
        if step is None:
            return self._plain(name, tokens, tokens)
        return self._plain(step[2], 1, tokens + int(step[1]) + 1)

    def _plain(self, name: str, tokens: int, keys: int) -> Expected:
        extra = self._extra(name, tokens)
        return self._checkpoint(name, tokens, keys) if extra is None else extra

    def _extra(self, name: str, tokens: int) -> Expected | None:
        if name in _PER_TOKEN_IDS:
            return Expected(I64, (tokens,))
        if name == "generated":
            return Expected(I64, (None,))
        if name == "logits.topk_ids":
            return Expected(I64, (tokens, self.top_k))
        if name == "logits.topk_values":
            return Expected(F32, (tokens, self.top_k))
        return Expected(F32, (tokens, None)) if _CHUNK.match(name) else None

    def _checkpoint(self, name: str, tokens: int, keys: int) -> Expected:
        point = parse_checkpoint(name)
        if point.layer is not None and point.layer >= self.L:
            known = f"layers 0 to {self.L - 1}"
            raise UnknownNameError(where=name, kind="checkpoint", name=name, known=known)
        sizes = {**vars(self), "T": tokens, "S": keys}
        sizes |= {"HE": self.H * self.E, "KE": self.K * self.E}
        return Expected(F32, tuple(sizes[axis] for axis in point.axes))


def step_number(name: str) -> int | None:
    """The number of a `step{s}.<name>`, or None."""
    match = _STEP.match(name)
    return int(match[1]) if match else None


def chunk_number(name: str) -> int | None:
    """The number of a `logits.chunk{c}`, or None."""
    match = _CHUNK.match(name)
    return int(match[1]) if match else None
