"""Checkpoint names and THE one ordered ladder that capture, compare and bisection use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from trlm_lab.errors import UnknownNameError

#: Operators of one layer, in the order in which the forward pass meets them.
LAYER_CHECKPOINTS: tuple[str, ...] = (
    "input",
    "attn_norm",
    "q_proj",
    "k_proj",
    "v_proj",
    "q_norm",
    "k_norm",
    "q_rope",
    "k_rope",
    "attn_scores",
    "attn_masked",
    "attn_probs",
    "attn_values",
    "o_proj",
    "post_attn_norm",
    "attn_residual",
    "mlp_norm",
    "gate_proj",
    "up_proj",
    "mlp_act",
    "down_proj",
    "post_mlp_norm",
    "output",
)

#: Axis letters of each checkpoint (see `axes`); "HE" is the joined axis of H times E entries.
CHECKPOINT_AXES: dict[str, tuple[str, ...]] = {
    "embedding": ("T", "D"),
    "input": ("T", "D"),
    "attn_norm": ("T", "D"),
    "q_proj": ("T", "HE"),
    "k_proj": ("T", "KE"),
    "v_proj": ("T", "KE"),
    "q_norm": ("T", "H", "E"),
    "k_norm": ("T", "K", "E"),
    "q_rope": ("T", "H", "E"),
    "k_rope": ("T", "K", "E"),
    "attn_scores": ("H", "T", "S"),
    "attn_masked": ("H", "T", "S"),
    "attn_probs": ("H", "T", "S"),
    "attn_values": ("T", "HE"),
    "o_proj": ("T", "D"),
    "post_attn_norm": ("T", "D"),
    "attn_residual": ("T", "D"),
    "mlp_norm": ("T", "D"),
    "gate_proj": ("T", "F"),
    "up_proj": ("T", "F"),
    "mlp_act": ("T", "F"),
    "down_proj": ("T", "D"),
    "post_mlp_norm": ("T", "D"),
    "output": ("T", "D"),
    "final_norm": ("T", "D"),
    "logits": ("T", "V"),
}

#: Boundaries before the first checkpoint and after the logits.
BOUNDARIES_BEFORE: tuple[str, ...] = ("source", "artifact", "prompt_bytes", "prompt_ids")
BOUNDARIES_AFTER: tuple[str, ...] = ("filter", "prng", "token", "decode", "stop")

_LAYER_NAME = re.compile(r"layers\.(0|[1-9][0-9]*)\.([a-z_]+)\Z")


@dataclass(frozen=True, order=False)
class Checkpoint:
    """A parsed checkpoint name: `op`, and the layer from 0 or None outside the layers."""

    op: str
    layer: int | None = None

    @property
    def name(self) -> str:
        """The full name, as traces and verdicts spell it."""
        return self.op if self.layer is None else f"layers.{self.layer}.{self.op}"

    @property
    def axes(self) -> tuple[str, ...]:
        """Axis letters of the array."""
        return CHECKPOINT_AXES[self.op]


def parse_checkpoint(name: str) -> Checkpoint:
    """Parse a full checkpoint name.

    Raises:
        UnknownNameError: the name is not on the ladder.
    """
    if name in ("embedding", "final_norm", "logits"):
        return Checkpoint(name)
    match = _LAYER_NAME.match(name)
    if match and match[2] in LAYER_CHECKPOINTS:
        return Checkpoint(match[2], int(match[1]))
    raise UnknownNameError(
        kind="checkpoint", name=name, known="embedding, layers.{i}.*, final_norm, logits"
    )


def layer_checkpoint(layer: int, op: str) -> str:
    """The full name of operator `op` in layer `layer`."""
    return Checkpoint(op, layer).name


def ladder_rank(name: str) -> tuple[int, int, int]:
    """Sort key of a checkpoint on the ladder: earlier in the forward pass sorts first."""
    point = parse_checkpoint(name)
    if point.layer is not None:
        return (1, point.layer, LAYER_CHECKPOINTS.index(point.op))
    return {"embedding": (0, 0, 0), "final_norm": (2, 0, 0), "logits": (2, 0, 1)}[point.op]


def in_ladder_order(names: Iterable[str]) -> list[str]:
    """The names sorted by the ladder."""
    return sorted(names, key=ladder_rank)


def is_checkpoint(name: str) -> bool:
    """Whether `name` is a checkpoint of the ladder (`token_ids` and `logits.topk_ids` are not)."""
    if name in ("embedding", "final_norm", "logits"):
        return True
    match = _LAYER_NAME.match(name)
    return match is not None and match[2] in LAYER_CHECKPOINTS


def boundary_rank(name: str) -> tuple[int, int, int]:
    """Sort key of any boundary: `source` to `prompt_ids`, the checkpoints, `filter` to `stop`.

    Raises:
        UnknownNameError: the name is no boundary.
    """
    if name in BOUNDARIES_BEFORE:
        return (BOUNDARIES_BEFORE.index(name) - len(BOUNDARIES_BEFORE), 0, 0)
    if name in BOUNDARIES_AFTER:
        return (3 + BOUNDARIES_AFTER.index(name), 0, 0)
    return ladder_rank(name)
