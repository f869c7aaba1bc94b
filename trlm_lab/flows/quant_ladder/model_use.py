"""What a tensor does in its model: its operator, what goes into it, and the operator anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.backends.profiles import evaluation_profile
from trlm_lab.base.model_parts import has_bias, layer_ops
from trlm_lab.base.names import layer_checkpoint
from trlm_lab.flows.quant_ladder.subject import LadderSubject
from trlm_lab.ops.softcap import softcap
from trlm_lab.rungs import layer_normed, rms_normed, scalar_dot

Array = NDArray[Any]
#: Vectors of the model beside the tensor, by name: biases, norm weights.
Vectors = dict[str, Array]
#: Checkpoints by name.
Seen = dict[str, Array]

_PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
_LOOKUPS = ("embedding", "position_embedding")


@dataclass(frozen=True)
class ModelUse:
    """`operator` and `layer` are checkpoints; `inputs` is what goes into the operator."""

    operator: str
    inputs: str
    layer: str

    @classmethod
    def of(cls, subject: LadderSubject) -> ModelUse:
        """The use of a tensor by its role; a bias is used where its weight is."""
        config, role = subject.config, subject.role.removesuffix("_bias")
        last = config.num_hidden_layers - 1
        if role == "embedding":
            return cls("embedding", "embedding", layer_checkpoint(0, "output"))
        if role == "position_embedding":
            return cls(layer_checkpoint(0, "input"), "embedding", layer_checkpoint(0, "output"))
        if role == "final_norm":
            below = layer_checkpoint(last, "output")
            return cls("final_norm", below, below)
        if role == "lm_head":
            return cls("logits", "final_norm", layer_checkpoint(last, "output"))
        assert subject.layer is not None
        inputs = _input_of(role, layer_ops(config))
        return cls(*(layer_checkpoint(subject.layer, name) for name in (role, inputs, "output")))


def _input_of(role: str, ops: tuple[str, ...]) -> str:
    """The checkpoint that an operator of a layer reads."""
    fixed = {
        "o_proj": "attn_values",
        "down_proj": "mlp_act",
        "attn_norm": "input",
        "post_attn_norm": "o_proj",
        "mlp_norm": "attn_residual",
        "post_mlp_norm": "down_proj",
        "q_norm": "q_proj",
        "k_norm": "k_proj",
    }
    if role in fixed:
        return fixed[role]
    if role in ("gate_proj", "up_proj"):
        return "mlp_norm" if "mlp_norm" in ops else "attn_residual"
    return "attn_norm" if "attn_norm" in ops else "input"


def multiplies(subject: LadderSubject) -> bool:
    """Whether the model takes dot products with the tensor's rows."""
    return subject.role in (*_PROJECTIONS, "lm_head")


def is_lookup(subject: LadderSubject) -> bool:
    """Whether rows of the tensor are looked up."""
    return subject.role in _LOOKUPS


def looked_up(subject: LadderSubject, tokens: tuple[int, ...], span: tuple[int, int]) -> list[int]:
    """Positions of the case at which one of these rows is looked up."""
    rows = tokens if subject.role == "embedding" else tuple(range(len(tokens)))
    return [at for at, row in enumerate(rows) if span[0] <= row < span[1]]


def output_rows(
    subject: LadderSubject, seen: Seen, tokens: tuple[int, ...], span: tuple[int, int]
) -> Array:
    """What the operator shows of these rows, rows first."""
    values = seen[ModelUse.of(subject).operator]
    if is_lookup(subject):
        return values[looked_up(subject, tokens, span)]
    if multiplies(subject):
        return np.ascontiguousarray(values.T[span[0] : span[1]])
    return values[None]


def operator_rows(
    subject: LadderSubject,
    weights: Array,
    seen: Seen,
    tokens: tuple[int, ...],
    span: tuple[int, int],
    beside: Vectors,
) -> Array:
    """The operator computed from rows of the tensor and what goes into it, rows first."""
    x = seen[ModelUse.of(subject).inputs]
    if subject.role == "embedding":
        rows = [tokens[at] - span[0] for at in looked_up(subject, tokens, span)]
        scale = np.float32(subject.config.embedding_scale)
        return weights[rows] if scale == 1 else weights[rows] * scale
    if subject.role == "position_embedding":
        at = looked_up(subject, tokens, span)
        return x[at] + weights[[position - span[0] for position in at]]
    if multiplies(subject):
        return np.ascontiguousarray(_projected(subject, weights, x, span, beside).T)
    return _vector_used(subject, weights[0], x, beside)[None]


def _projected(
    subject: LadderSubject, weights: Array, x: Array, span: tuple[int, int], beside: Vectors
) -> Array:
    y = scalar_dot(x, weights)
    sparse = subject.stored.sparse
    if sparse is not None:
        y = y + scalar_dot(x, sparse.dense(*span))
    if "bias" in beside:
        y = y + beside["bias"][None, span[0] : span[1]]
    cap = subject.config.final_logit_softcapping
    if subject.role == "lm_head" and cap is not None:
        y = softcap(y, cap, evaluation_profile("scalar-f32-v1").arithmetic())
    return y


def _vector_used(subject: LadderSubject, vector: Array, x: Array, beside: Vectors) -> Array:
    config, role = subject.config, subject.role
    if role.endswith("_proj_bias"):
        return beside["projected"] + vector
    weight, bias = beside.get("weight", vector), beside.get("bias")
    if role.endswith("_bias"):
        bias = vector
    shape = x.shape
    if role in ("q_norm", "k_norm"):
        shape = (len(x), -1, config.head_dim)
        x = x if config.qk_norm == "joined" else x.reshape(-1, config.head_dim)
    if bias is not None:
        return layer_normed(x, weight, bias, config.norm_eps)
    factor = np.float32(1) + weight if config.norm_unit_offset else weight
    return rms_normed(x, factor, config.norm_eps).reshape(shape)


def names_beside(subject: LadderSubject) -> dict[str, str]:
    """The vectors or the matrix that the operator needs beside the tensor: key to name."""
    config, role = subject.config, subject.role.removesuffix("_bias")
    if role in _LOOKUPS or role == "lm_head" or not has_bias(config, role):
        return {}
    stem = subject.name.rsplit(".", 1)[0]
    if subject.role.endswith("_bias"):
        return {"matrix" if role in _PROJECTIONS else "weight": f"{stem}.weight"}
    return {"bias": f"{stem}.bias"}
