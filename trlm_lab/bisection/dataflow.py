"""Which checkpoints see which: what a sound checkpoint proves about hidden ones before it.

The ladder is a line, the forward pass is not: queries, keys and values are siblings, and so are
gate and up. A sound `k_rope` says nothing about a hidden `q_rope` that stands before it on the
ladder; a sound `attn_scores` does. Inside a layer the table below says what feeds what; a
checkpoint of a later layer, `final_norm` and `logits` see everything before them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final

from trlm_lab.base.names import Checkpoint, ladder_rank, parse_checkpoint

#: Operator -> the operators of its layer that read it directly, whichever of them a family has.
READERS: Final[dict[str, tuple[str, ...]]] = {
    "input": ("attn_norm", "q_proj", "k_proj", "v_proj", "attn_residual"),
    "attn_norm": ("q_proj", "k_proj", "v_proj"),
    "q_proj": ("q_norm", "q_rope", "attn_scores"),
    "k_proj": ("k_norm", "k_rope", "attn_scores"),
    "v_proj": ("attn_values",),
    "q_norm": ("q_rope", "attn_scores"),
    "k_norm": ("k_rope", "attn_scores"),
    "q_rope": ("attn_scores",),
    "k_rope": ("attn_scores",),
    "attn_scores": ("attn_masked",),
    "attn_masked": ("attn_probs",),
    "attn_probs": ("attn_values",),
    "attn_values": ("o_proj",),
    "o_proj": ("post_attn_norm", "attn_residual"),
    "post_attn_norm": ("attn_residual",),
    "attn_residual": ("mlp_norm", "gate_proj", "up_proj", "output"),
    "mlp_norm": ("gate_proj", "up_proj"),
    "gate_proj": ("mlp_act",),
    "up_proj": ("mlp_act",),
    "mlp_act": ("down_proj",),
    "down_proj": ("post_mlp_norm", "output"),
    "post_mlp_norm": ("output",),
    "output": (),
}


@cache
def _seen_by(op: str) -> frozenset[str]:
    """The operators of the same layer that depend on `op`, directly or not."""
    direct = READERS[op]
    return frozenset(direct).union(*(_seen_by(reader) for reader in direct))


def depends(later: str, earlier: str) -> bool:
    """Whether the checkpoint `later` is computed from `earlier`."""
    if ladder_rank(later) <= ladder_rank(earlier):
        return False
    left, right = parse_checkpoint(earlier), parse_checkpoint(later)
    if left.layer is None or left.layer != right.layer:
        return True
    return right.op in _seen_by(left.op)


def last_proof(sound: Iterable[str], unproved: Iterable[str], boundary: str) -> str | None:
    """The last sound checkpoint before `boundary` with nothing open at or before it.

    `unproved` are the checkpoints before the boundary that nobody judged sound. One of them stays
    open unless a sound checkpoint depends on it. All names are in ladder order.
    """
    earlier = [name for name in sound if ladder_rank(name) < ladder_rank(boundary)]
    still_open = [
        name
        for name in unproved
        if ladder_rank(name) < ladder_rank(boundary)
        and not any(depends(seer, name) for seer in _candidates(earlier, name))
    ]
    if still_open:
        first = ladder_rank(still_open[0])
        earlier = [name for name in earlier if ladder_rank(name) < first]
    return earlier[-1] if earlier else None


def _candidates(sound: list[str], name: str) -> list[str]:
    # Anything beyond the layer sees everything, so the last sound one and the layer's own suffice.
    layer = parse_checkpoint(name).layer
    own = [other for other in sound if parse_checkpoint(other).layer == layer]
    return [*own, *sound[-1:]]


def segment(name: str) -> int:
    """-1 for the embedding, the layer's number, or a number beyond any layer for the tail."""
    point: Checkpoint = parse_checkpoint(name)
    if point.layer is not None:
        return point.layer
    return -1 if point.op == "embedding" else 2**31
