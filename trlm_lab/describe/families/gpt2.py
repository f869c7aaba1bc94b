"""The gpt2 family: LayerNorm, learned positions, biases everywhere, a plain MLP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trlm_lab.describe.families.family import Family
from trlm_lab.describe.families.field_groups import (
    CLASSIFIER,
    FRAMEWORK_FIELDS,
    KNOWN_ACTIVATION,
    REVIEWER,
    SPECIAL_IDS,
    TIED,
    TRAINING,
    UNREAD,
    identity,
    size,
)
from trlm_lab.describe.readings import activation, asks_for
from trlm_lab.describe.schema import (
    Schema,
    behaviour,
    bounded,
    documentary,
    flag,
    ignored,
    only,
    or_null,
)


def _width(value: Any, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The heads share the width evenly, and the MLP is four times as wide unless told."""
    heads = document.get("n_head")
    head = {"head_dim": value // heads} if heads else {}
    wide = {} if document.get("n_inner") else {"intermediate_size": 4 * value}
    return {"hidden_size": value, **head, **wide}


CONFIG_SCHEMA = Schema(
    "gpt2 config.json",
    1,
    REVIEWER,
    {
        **FRAMEWORK_FIELDS,
        **identity("gpt2", "GPT2LMHeadModel"),
        **TIED,
        **SPECIAL_IDS,
        **size("vocab_size", "rows of the embedding"),
        **size("layer_norm_epsilon", "added to the variance in every norm"),
        "n_embd": behaviour(bounded("hidden_size"), "width of the residual stream", _width),
        "n_inner": behaviour(
            or_null(bounded("intermediate_size")),
            "width of the MLP; null for four times n_embd",
            asks_for("intermediate_size"),
        ),
        "n_layer": behaviour(bounded("num_hidden_layers"), "depth", asks_for("num_hidden_layers")),
        "n_head": behaviour(
            bounded("num_attention_heads"),
            "heads, of queries as of keys and values",
            asks_for("num_attention_heads", "num_key_value_heads"),
        ),
        "n_positions": behaviour(
            bounded("max_position_embeddings"),
            "context, and rows of the position embedding",
            asks_for("max_position_embeddings"),
        ),
        "n_ctx": ignored(
            UNREAD, bounded("max_position_embeddings"), asks_for("max_position_embeddings")
        ),
        "activation_function": behaviour(KNOWN_ACTIVATION, "activation of the MLP", activation),
        "scale_attn_weights": behaviour(only(True), "the scores are divided by a root"),
        "scale_attn_by_inverse_layer_idx": behaviour(only(False), "a scale of each layer's own"),
        "reorder_and_upcast_attn": behaviour(only(False), "another order of the scores' product"),
        "add_cross_attention": behaviour(only(False), "attends to the states of an encoder"),
        "resid_pdrop": documentary(TRAINING),
        "embd_pdrop": documentary(TRAINING),
        "attn_pdrop": documentary(TRAINING),
        **{
            f"summary_{name}": documentary(CLASSIFIER)
            for name in ("type", "use_proj", "activation", "proj_to_labels", "first_dropout")
        },
        "output_past": documentary("what an older framework's `use_cache` was called", flag),
    },
)

GPT2 = Family(
    "gpt2",
    "GPT2LMHeadModel",
    CONFIG_SCHEMA,
    {
        "rms_norm_eps": None,
        "norm_unit_offset": False,
        "norm_placement": "pre",
        "qk_norm": "none",
        "rope_order": "none",
        "mlp_gated": False,
        "embedding_scale": 1.0,
        "attn_logit_softcapping": None,
        "final_logit_softcapping": None,
        "attention_bias": True,
        "attention_out_bias": True,
        "mlp_bias": True,
        "sliding_window": None,
    },
    {"tie_word_embeddings": True},
    ("transformer.wte.weight", "wte.weight"),
)
