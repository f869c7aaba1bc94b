"""The llama family: norms before each block, rotary positions, a gated MLP."""

from __future__ import annotations

from trlm_lab.describe.families.family import PLAIN, Family
from trlm_lab.describe.families.field_groups import (
    ATTENTION_BIAS,
    ATTENTION_DROPOUT,
    FRAMEWORK_FIELDS,
    HEAD_DIM,
    HIDDEN,
    HIDDEN_ACT,
    PUBLISHER,
    REVIEWER,
    ROPE,
    SIZES,
    SPECIAL_IDS,
    TIED,
    UNREAD,
    identity,
)
from trlm_lab.describe.readings import asks_for
from trlm_lab.describe.rope_rules import WHOLE_HEAD
from trlm_lab.describe.schema import Schema, behaviour, documentary, flag, ignored, only, or_null

CONFIG_SCHEMA = Schema(
    "llama config.json",
    2,
    REVIEWER,
    {
        **FRAMEWORK_FIELDS,
        **identity("llama", "LlamaForCausalLM"),
        **SIZES,
        **HIDDEN,
        **HEAD_DIM,
        **HIDDEN_ACT,
        **TIED,
        **SPECIAL_IDS,
        **ATTENTION_BIAS,
        **ATTENTION_DROPOUT,
        **ROPE,
        "mlp_bias": behaviour(flag, "biases of the MLP projections", asks_for("mlp_bias")),
        "pretraining_tp": behaviour(or_null(only(1)), "slices the projections when above 1"),
        "partial_rotary_factor": ignored("the class rotates the whole head", WHOLE_HEAD),
        "rope_interleaved": ignored("the class pairs the halves of a head", or_null(only(False))),
        "sliding_window": ignored("the class sees every earlier key", only(None)),
        "original_max_position_embeddings": ignored(UNREAD, only(None)),
        "is_llama_config": documentary(PUBLISHER),
    },
)

LLAMA = Family(
    "llama",
    "LlamaForCausalLM",
    CONFIG_SCHEMA,
    {name: value for name, value in PLAIN.items() if name != "mlp_bias"},
    {
        "attention_bias": False,
        "attention_out_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": False,
    },
)
