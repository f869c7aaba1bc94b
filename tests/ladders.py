"""The ladder of a llama, written down rather than derived from a configuration."""

from trlm_lab.base.names import LAYER_CHECKPOINTS, layer_checkpoint

#: Checkpoints that every llama-family engine exposes, per layer.
LLAMA_LAYER_CHECKPOINTS: tuple[str, ...] = tuple(
    name
    for name in LAYER_CHECKPOINTS
    if name not in {"q_norm", "k_norm", "post_attn_norm", "post_mlp_norm"}
)


def llama_ladder(layers: int) -> list[str]:
    """Every checkpoint of a llama-family model with `layers` layers, in order."""
    inner = [layer_checkpoint(i, op) for i in range(layers) for op in LLAMA_LAYER_CHECKPOINTS]
    return ["embedding", *inner, "final_norm", "logits"]
