"""The keys of families with full and sliding layers beside one another."""

from __future__ import annotations

from typing import Any

from trlm_lab.base.config_bounds import shown
from trlm_lab.describe.families.field_groups import Fields
from trlm_lab.describe.readings import (
    asks_for,
    no_window_if_off,
    slides_behind,
    window_if_any,
    window_where_used,
)
from trlm_lab.describe.rope_rules import LAYERS
from trlm_lab.describe.schema import behaviour, bounded, flag, or_null, whole

_WINDOW = "keys that a query sees in a sliding layer"


def layer_kinds(value: Any) -> str:
    """Accept a list of the two kinds of layers, of at most as many as a model may have."""
    if isinstance(value, list) and len(value) <= 1024 and all(one in LAYERS for one in value):
        return ""
    return f"{shown(value)} is no list of {list(LAYERS)}"


LAYER_TYPES: Fields = {
    "layer_types": behaviour(
        or_null(layer_kinds), "which layers slide, one a layer", asks_for("layer_types")
    )
}

#: A window that is there whether or not a layer has it.
WINDOW: Fields = {
    "sliding_window": behaviour(or_null(bounded("sliding_window")), _WINDOW, window_if_any)
}

#: A window that has to be switched on.
SWITCHED_WINDOW: Fields = {
    **LAYER_TYPES,
    "use_sliding_window": behaviour(flag, "whether any layer slides", no_window_if_off),
    "sliding_window": behaviour(or_null(bounded("sliding_window")), _WINDOW, window_where_used),
    "max_window_layers": behaviour(
        whole(0, 2**31 - 1), "how many layers are full before the sliding ones", slides_behind
    ),
}
