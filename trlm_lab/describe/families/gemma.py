"""The keys that both Gemma families share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trlm_lab.describe.families.family import PLAIN
from trlm_lab.describe.families.field_groups import (
    ATTENTION_BIAS,
    ATTENTION_DROPOUT,
    FRAMEWORK_FIELDS,
    HIDDEN,
    KNOWN_ACTIVATION,
    SIZES,
    SPECIAL_IDS,
    TIED,
    UNREAD,
    Fields,
    size,
)
from trlm_lab.describe.families.windows import LAYER_TYPES, WINDOW
from trlm_lab.describe.readings import activation, asks_even_null, asks_for, score_scale
from trlm_lab.describe.rope_rules import WHOLE_HEAD
from trlm_lab.describe.schema import Check, behaviour, flag, ignored, number, only, or_null, whole

CAP: Check = or_null(number(2.0**-20, 2.0**20))

GEMMA_FIELDS: Fields = {
    **FRAMEWORK_FIELDS,
    **SIZES,
    **HIDDEN,
    **size("head_dim", "width of a head"),
    **TIED,
    **SPECIAL_IDS,
    **LAYER_TYPES,
    **WINDOW,
    **ATTENTION_BIAS,
    **ATTENTION_DROPOUT,
    **size("rope_theta", "base of the rotary frequencies"),
    "hidden_activation": behaviour(KNOWN_ACTIVATION, "activation of the gate", activation),
    "hidden_act": ignored("the class reads hidden_activation", KNOWN_ACTIVATION, activation),
    "query_pre_attn_scalar": behaviour(
        number(2.0**-20, 2.0**20), "the scores are divided by its root", score_scale
    ),
    "final_logit_softcapping": behaviour(
        CAP, "bends the logits; null for none", asks_even_null("final_logit_softcapping")
    ),
    "use_bidirectional_attention": behaviour(
        or_null(only(False)), "a query would see later keys, too"
    ),
    "partial_rotary_factor": ignored("the class rotates the whole head", WHOLE_HEAD),
    "mlp_bias": ignored(UNREAD, flag, asks_for("mlp_bias")),
}

#: An integer: one layer in so many is full.
PATTERN: Check = whole(1, 1024)

#: The scale of the embedding follows from its width, the caps from the files.
_FOLLOWS = ("embedding_scale", "attn_logit_softcapping", "final_logit_softcapping")
GEMMA_FIXED: Mapping[str, Any] = {
    **{name: value for name, value in PLAIN.items() if name not in _FOLLOWS},
    "norm_unit_offset": True,
    "norm_placement": "sandwich",
}
GEMMA_UNLESS_SAID: Mapping[str, Any] = {
    "attention_bias": False,
    "attention_out_bias": False,
    "tie_word_embeddings": True,
}
