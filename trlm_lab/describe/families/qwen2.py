"""The qwen2 family: biases of queries, keys and values, and a window that may be switched on."""

from __future__ import annotations

from trlm_lab.describe.families.family import PLAIN, Family
from trlm_lab.describe.families.field_groups import (
    ATTENTION_DROPOUT,
    FRAMEWORK_FIELDS,
    HIDDEN_ACT,
    REVIEWER,
    ROPE,
    SIZES,
    SPECIAL_IDS,
    TIED,
    UNREAD,
    WIDTH_AND_HEAD,
    identity,
)
from trlm_lab.describe.families.windows import SWITCHED_WINDOW
from trlm_lab.describe.readings import asks_for
from trlm_lab.describe.rope_rules import WHOLE_HEAD
from trlm_lab.describe.schema import Schema, flag, ignored, only, or_null

CONFIG_SCHEMA = Schema(
    "qwen2 config.json",
    1,
    REVIEWER,
    {
        **FRAMEWORK_FIELDS,
        **identity("qwen2", "Qwen2ForCausalLM"),
        **SIZES,
        **WIDTH_AND_HEAD,
        **HIDDEN_ACT,
        **TIED,
        **SPECIAL_IDS,
        **SWITCHED_WINDOW,
        **ATTENTION_DROPOUT,
        **ROPE,
        "attention_bias": ignored(
            "the class has biases of queries, keys and values", flag, asks_for("attention_bias")
        ),
        "mlp_bias": ignored(UNREAD, flag, asks_for("mlp_bias")),
        "use_mrope": ignored("of the family that sees pictures", or_null(only(False))),
        "partial_rotary_factor": ignored("the class rotates the whole head", WHOLE_HEAD),
    },
)

QWEN2 = Family(
    "qwen2",
    "Qwen2ForCausalLM",
    CONFIG_SCHEMA,
    {**PLAIN, "attention_bias": True, "attention_out_bias": False},
    {"tie_word_embeddings": False},
)
