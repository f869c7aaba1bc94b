"""Weights by their Hugging Face names, read from where they lie, a few rows at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from trlm_lab.errors import ModelFilesError
from trlm_lab.ops.arithmetic import Array
from trlm_lab.ops.matmul import RowBlocks

EMBEDDING = "model.embed_tokens.weight"
FINAL_NORM = "model.norm.weight"
HEAD = "lm_head.weight"

#: The tensor of each operator of a layer, behind `model.layers.{i}.`.
LAYER_TENSORS: dict[str, str] = {
    "attn_norm": "input_layernorm.weight",
    "q_proj": "self_attn.q_proj.weight",
    "k_proj": "self_attn.k_proj.weight",
    "v_proj": "self_attn.v_proj.weight",
    "o_proj": "self_attn.o_proj.weight",
    "mlp_norm": "post_attention_layernorm.weight",
    "gate_proj": "mlp.gate_proj.weight",
    "up_proj": "mlp.up_proj.weight",
    "down_proj": "mlp.down_proj.weight",
}


def tensor_name(op: str, layer: int) -> str:
    """The Hugging Face tensor name of operator `op` in a layer."""
    return f"model.layers.{layer}.{LAYER_TENSORS[op]}"


class Weights(Protocol):
    """Read access to a model's tensors; nothing is copied that was not asked for.

    A tied head is served under its own name, `lm_head.weight`.
    """

    def matrix(self, name: str) -> RowBlocks:
        """A rank-2 tensor, by rows. Raises ModelFilesError where there is none."""
        ...

    def vector(self, name: str) -> Array:
        """A rank-1 tensor. Raises ModelFilesError where there is none."""
        ...


class ArrayWeights:
    """Weights out of a mapping of arrays (or of anything that hands out rows)."""

    def __init__(self, tensors: Mapping[str, RowBlocks], where: str = "weights") -> None:
        self.tensors = tensors
        self.where = where

    def _tensor(self, name: str, rank: int) -> RowBlocks:
        tensor = self.tensors.get(name)
        if tensor is None:
            raise ModelFilesError(where=self.where, detail=f"the tensor {name!r} is missing")
        if len(tensor.shape) != rank:
            detail = f"the tensor {name!r} has the shape {tuple(tensor.shape)}, not rank {rank}"
            raise ModelFilesError(where=self.where, detail=detail)
        return tensor

    def matrix(self, name: str) -> RowBlocks:
        """A rank-2 tensor, by rows."""
        return self._tensor(name, 2)

    def vector(self, name: str) -> Array:
        """A rank-1 tensor."""
        return self._tensor(name, 1)[:]
