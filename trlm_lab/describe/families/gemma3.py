"""The gemma3 family (text): sliding layers with rotary frequencies of their own."""

from __future__ import annotations

from trlm_lab.describe.families.family import Family
from trlm_lab.describe.families.field_groups import REVIEWER, identity, size
from trlm_lab.describe.families.gemma import (
    CAP,
    GEMMA_FIELDS,
    GEMMA_FIXED,
    GEMMA_UNLESS_SAID,
    PATTERN,
)
from trlm_lab.describe.readings import one_full_in
from trlm_lab.describe.rope_rules import rope_object, rope_objects, rotates, rotates_by_layer
from trlm_lab.describe.schema import Schema, behaviour, ignored

CONFIG_SCHEMA = Schema(
    "gemma3_text config.json",
    1,
    REVIEWER,
    {
        **GEMMA_FIELDS,
        **identity("gemma3_text", "Gemma3ForCausalLM"),
        **size("rope_local_base_freq", "base of the frequencies in the sliding layers"),
        "rope_scaling": behaviour(rope_object(), "changes the full layers' frequencies", rotates),
        "rope_parameters": behaviour(
            rope_objects(), "base and kind of rotation, by kind of layer", rotates_by_layer
        ),
        "sliding_window_pattern": behaviour(PATTERN, "one layer in so many is full", one_full_in),
        "_sliding_window_pattern": ignored(
            "the class reads the name without the dash", PATTERN, one_full_in
        ),
        "attn_logit_softcapping": ignored(
            "kept by the attention class and never handed to the scores", CAP
        ),
    },
)

GEMMA3 = Family(
    "gemma3_text",
    "Gemma3ForCausalLM",
    CONFIG_SCHEMA,
    {**GEMMA_FIXED, "qk_norm": "head", "attn_logit_softcapping": None},
    GEMMA_UNLESS_SAID,
)
