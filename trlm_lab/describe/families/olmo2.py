"""The olmo2 family: norms behind each block, queries and keys normed over all heads at once."""

from __future__ import annotations

from trlm_lab.describe.families.family import PLAIN, Family
from trlm_lab.describe.families.field_groups import (
    ATTENTION_BIAS,
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
from trlm_lab.describe.readings import asks_for
from trlm_lab.describe.rope_rules import WHOLE_HEAD
from trlm_lab.describe.schema import Schema, flag, ignored

CONFIG_SCHEMA = Schema(
    "olmo2 config.json",
    1,
    REVIEWER,
    {
        **FRAMEWORK_FIELDS,
        **identity("olmo2", "Olmo2ForCausalLM"),
        **SIZES,
        **WIDTH_AND_HEAD,
        **HIDDEN_ACT,
        **TIED,
        **SPECIAL_IDS,
        **ATTENTION_BIAS,
        **ATTENTION_DROPOUT,
        **ROPE,
        "mlp_bias": ignored(UNREAD, flag, asks_for("mlp_bias")),
        "partial_rotary_factor": ignored("the class rotates the whole head", WHOLE_HEAD),
    },
)

OLMO2 = Family(
    "olmo2",
    "Olmo2ForCausalLM",
    CONFIG_SCHEMA,
    {**PLAIN, "norm_placement": "post", "qk_norm": "joined"},
    {"attention_bias": False, "attention_out_bias": False, "tie_word_embeddings": False},
)
