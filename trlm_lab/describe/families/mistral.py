"""The mistral family: a llama whose layers all see a window of keys where one is given."""

from __future__ import annotations

from trlm_lab.describe.families.family import PLAIN, Family
from trlm_lab.describe.families.field_groups import (
    ATTENTION_DROPOUT,
    FRAMEWORK_FIELDS,
    HEAD_DIM,
    HIDDEN,
    HIDDEN_ACT,
    REVIEWER,
    ROPE,
    SIZES,
    SPECIAL_IDS,
    TIED,
    UNREAD_BIASES,
    identity,
)
from trlm_lab.describe.readings import every_layer_slides
from trlm_lab.describe.rope_rules import WHOLE_HEAD
from trlm_lab.describe.schema import Schema, behaviour, bounded, ignored, only, or_null

_WINDOW = "keys that a query sees, in every layer"

CONFIG_SCHEMA = Schema(
    "mistral config.json",
    1,
    REVIEWER,
    {
        **FRAMEWORK_FIELDS,
        **identity("mistral", "MistralForCausalLM"),
        **SIZES,
        **HIDDEN,
        **HEAD_DIM,
        **HIDDEN_ACT,
        **TIED,
        **SPECIAL_IDS,
        **ATTENTION_DROPOUT,
        **UNREAD_BIASES,
        **ROPE,
        "sliding_window": behaviour(
            or_null(bounded("sliding_window")), _WINDOW, every_layer_slides
        ),
        "layer_types": behaviour(only(None), "another class is meant, whose layers differ"),
        "partial_rotary_factor": ignored("the class rotates the whole head", WHOLE_HEAD),
    },
)

MISTRAL = Family(
    "mistral",
    "MistralForCausalLM",
    CONFIG_SCHEMA,
    {**PLAIN, "attention_bias": False, "attention_out_bias": False},
    {"tie_word_embeddings": False},
)
