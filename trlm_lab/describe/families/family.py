"""What the describer knows of a family: its closed schema, and what its class fixes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trlm_lab.base.model_parts import EMBEDDING
from trlm_lab.describe.schema import Schema

#: What most of the families have in common.
PLAIN: Mapping[str, Any] = {
    "layer_norm_epsilon": None,
    "norm_unit_offset": False,
    "norm_placement": "pre",
    "qk_norm": "none",
    "rope_order": "half_split",
    "mlp_gated": True,
    "embedding_scale": 1.0,
    "attn_logit_softcapping": None,
    "final_logit_softcapping": None,
    "mlp_bias": False,
}


@dataclass(frozen=True)
class Family:
    """A family by the `model_type` of its `config.json` and the one class that decodes with it.

    `fixed` are fields of the effective configuration that the class sets whatever a file says, and
    `unless_said` those that it sets where no key says otherwise. Both are only held against what
    the running source supplies; nothing is taken from here. `embedding` are the names that its
    token embedding may have in a weight file.
    """

    model_type: str
    architecture: str
    schema: Schema
    fixed: Mapping[str, Any]
    unless_said: Mapping[str, Any] = field(default_factory=dict)
    embedding: tuple[str, ...] = (EMBEDDING,)
