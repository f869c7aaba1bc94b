"""The phi3 family: fused projections, a window in every layer, part of a head rotated."""

from __future__ import annotations

from trlm_lab.describe.families.family import PLAIN, Family
from trlm_lab.describe.families.field_groups import (
    ATTENTION_DROPOUT,
    FRAMEWORK_FIELDS,
    HIDDEN_ACT,
    REVIEWER,
    SIZES,
    SPECIAL_IDS,
    TIED,
    TRAINING,
    UNREAD,
    UNREAD_BIASES,
    WIDTH_AND_HEAD,
    identity,
    size,
)
from trlm_lab.describe.readings import every_layer_slides
from trlm_lab.describe.rope_rules import rope_object, rotated_share, rotates
from trlm_lab.describe.schema import (
    Schema,
    behaviour,
    bounded,
    documentary,
    ignored,
    number,
    only,
    or_null,
    whole,
)

#: The class turns `yarn` and `su` into `longrope`, whose frequencies depend on the length.
_KINDS = ("default",)
_SHARE = or_null(number(1 / 64, 1.0))
_WINDOW = "keys that a query sees, in every layer"

CONFIG_SCHEMA = Schema(
    "phi3 config.json",
    1,
    REVIEWER,
    {
        **FRAMEWORK_FIELDS,
        **identity("phi3", "Phi3ForCausalLM"),
        **SIZES,
        **WIDTH_AND_HEAD,
        **HIDDEN_ACT,
        **TIED,
        **SPECIAL_IDS,
        **ATTENTION_DROPOUT,
        **UNREAD_BIASES,
        **size("rope_theta", "base of the rotary frequencies"),
        "rope_scaling": behaviour(
            rope_object(_KINDS, _SHARE), "changes the rotary frequencies", rotates
        ),
        "rope_parameters": behaviour(
            rope_object(_KINDS, _SHARE), "base and kind of rotation", rotates
        ),
        "partial_rotary_factor": behaviour(_SHARE, "rotated share of a head", rotated_share),
        "original_max_position_embeddings": behaviour(
            whole(1, 2**31 - 1), "read by kinds of rotation that are refused here"
        ),
        "sliding_window": behaviour(
            or_null(bounded("sliding_window")), _WINDOW, every_layer_slides
        ),
        "resid_pdrop": documentary(TRAINING),
        "embd_pdrop": documentary(TRAINING),
        "lm_head_bias": ignored(UNREAD, only(False)),
        "full_attn_mod": ignored(UNREAD),
        "interpolate_factor": ignored(UNREAD),
    },
)

PHI3 = Family(
    "phi3",
    "Phi3ForCausalLM",
    CONFIG_SCHEMA,
    {**PLAIN, "attention_bias": False, "attention_out_bias": False},
    {"tie_word_embeddings": False},
)
