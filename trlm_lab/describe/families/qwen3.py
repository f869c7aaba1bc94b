"""The qwen3 family: each head of queries and keys is normed before it is rotated."""

from __future__ import annotations

from trlm_lab.describe.families.family import PLAIN, Family
from trlm_lab.describe.families.field_groups import (
    ATTENTION_BIAS,
    ATTENTION_DROPOUT,
    FRAMEWORK_FIELDS,
    HIDDEN,
    HIDDEN_ACT,
    REVIEWER,
    ROPE,
    SIZES,
    SPECIAL_IDS,
    TIED,
    UNREAD,
    identity,
    size,
)
from trlm_lab.describe.families.windows import SWITCHED_WINDOW
from trlm_lab.describe.readings import asks_for
from trlm_lab.describe.rope_rules import WHOLE_HEAD
from trlm_lab.describe.schema import Schema, flag, ignored, only, or_null

CONFIG_SCHEMA = Schema(
    "qwen3 config.json",
    1,
    REVIEWER,
    {
        **FRAMEWORK_FIELDS,
        **identity("qwen3", "Qwen3ForCausalLM"),
        **SIZES,
        **HIDDEN,
        **size("head_dim", "width of a head"),
        **HIDDEN_ACT,
        **TIED,
        **SPECIAL_IDS,
        **SWITCHED_WINDOW,
        **ATTENTION_BIAS,
        **ATTENTION_DROPOUT,
        **ROPE,
        "mlp_bias": ignored(UNREAD, flag, asks_for("mlp_bias")),
        "use_mrope": ignored("of the family that sees pictures", or_null(only(False))),
        "partial_rotary_factor": ignored("the class rotates the whole head", WHOLE_HEAD),
    },
)

QWEN3 = Family(
    "qwen3",
    "Qwen3ForCausalLM",
    CONFIG_SCHEMA,
    {**PLAIN, "qk_norm": "head"},
    {"attention_bias": False, "attention_out_bias": False, "tie_word_embeddings": False},
)
