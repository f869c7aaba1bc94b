"""The gemma2 family: norms around each block, soft caps, every other layer slides."""

from __future__ import annotations

from trlm_lab.describe.families.family import Family
from trlm_lab.describe.families.field_groups import REVIEWER, UNREAD, identity
from trlm_lab.describe.families.gemma import CAP, GEMMA_FIELDS, GEMMA_FIXED, GEMMA_UNLESS_SAID
from trlm_lab.describe.readings import asks_even_null
from trlm_lab.describe.rope_rules import rope_object, rotates
from trlm_lab.describe.schema import Schema, behaviour, ignored

CONFIG_SCHEMA = Schema(
    "gemma2 config.json",
    1,
    REVIEWER,
    {
        **GEMMA_FIELDS,
        **identity("gemma2", "Gemma2ForCausalLM"),
        "rope_scaling": behaviour(rope_object(), "changes the rotary frequencies", rotates),
        "rope_parameters": behaviour(rope_object(), "base and kind of rotation", rotates),
        "attn_logit_softcapping": behaviour(
            CAP, "bends the scores; null for none", asks_even_null("attn_logit_softcapping")
        ),
        "sliding_window_size": ignored(UNREAD),
    },
)

GEMMA2 = Family("gemma2", "Gemma2ForCausalLM", CONFIG_SCHEMA, GEMMA_FIXED, GEMMA_UNLESS_SAID)
