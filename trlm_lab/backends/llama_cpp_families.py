"""What llama.cpp computes of each family that its converter takes; everything else is refused.

Its converter passes over fields that change the result: windows of families in which llama.cpp has
none, a scale of the queries that it derives itself, layers in another pattern than its own. Facts:
`src/models/*.cpp` and `conversion/*.py` of llama.cpp in the llama-cpp-python 0.3.36 sdist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

#: All fields of a configuration, defaults of its class included.
Fields = Mapping[str, Any]
#: Why llama.cpp computes something else, or empty.
Rule = Callable[[Fields], str]

_SLIDING = "sliding_attention"
#: Layers of the 27B models, whose scale llama.cpp takes of the hidden size.
_LARGE = {"gemma2": 46, "gemma3_text": 62}
#: Every which layer sees everything.
_PERIOD = {"gemma2": 2, "gemma3_text": 6}


def refusal(fields: Fields) -> str:
    """Why llama.cpp does not compute this model, or empty."""
    family = fields.get("model_type")
    rules = RULES.get(family) if isinstance(family, str) else None
    if rules is None:
        return f"the export knows no family {family!r}"
    return next((said for rule in rules if (said := rule(fields))), "")


def unseen_window(fields: Fields) -> int | None:
    """A window that llama.cpp does not apply: no case may be longer. None where it has none."""
    if fields["model_type"] in _PERIOD:
        return None
    layers = fields.get("layer_types")
    slides = layers is None or _SLIDING in layers
    window = fields.get("sliding_window") if slides else None
    return None if window is None else int(window)


def _is(name: str, *values: Any) -> Rule:
    def rule(fields: Fields) -> str:
        value = fields.get(name)
        return "" if value in values else f"{name} is {value!r:.80}"

    return rule


def _even_width(fields: Fields) -> str:
    """llama.cpp shares the hidden size among the heads."""
    even = fields["hidden_size"] // fields["num_attention_heads"]
    width = fields.get("head_dim") or even
    return "" if width == even else f"head_dim is {width}, llama.cpp takes {even}"


def _plain_rope(fields: Fields) -> str:
    """One set of frequencies, unscaled; Gemma 3's full layers may be stretched linearly."""
    rope = fields.get("rope_parameters") or {}
    kinds = rope if "rope_type" not in rope else {"": rope}
    for layers, row in kinds.items():
        known = ("default", "linear") if layers == "full_attention" else ("default",)
        if row["rope_type"] not in known:
            return f"rope_type is {row['rope_type']!r:.40}"
    return ""


def _query_scale(fields: Fields) -> str:
    """llama.cpp scales by the head width; in the 27B models by what the heads share."""
    shared = fields["hidden_size"] // fields["num_attention_heads"]
    large = fields["num_hidden_layers"] == _LARGE[fields["model_type"]]
    wanted, given = shared if large else fields["head_dim"], fields["query_pre_attn_scalar"]
    return "" if given == wanted else f"query_pre_attn_scalar is {given}, llama.cpp takes {wanted}"


def _period(fields: Fields) -> str:
    period = _PERIOD[fields["model_type"]]
    wanted = [i % period < period - 1 for i in range(fields["num_hidden_layers"])]
    found = [kind == _SLIDING for kind in fields["layer_types"]]
    return "" if found == wanted else f"layer_types: every {period}th layer must see everything"


def _gpt2_width(fields: Fields) -> str:
    """The converter writes four times the hidden size."""
    inner, wanted = fields.get("n_inner"), 4 * fields["n_embd"]
    return "" if inner in (None, wanted) else f"n_inner is {inner}, llama.cpp takes {wanted}"


_SILU = _is("hidden_act", "silu")
_NO_BIAS = _is("attention_bias", None, False)
_GEMMA = (
    _is("hidden_activation", "gelu_pytorch_tanh"),
    _NO_BIAS,
    _plain_rope,
    _query_scale,
    _period,
)
_GPT2_ACTIVATION = _is("activation_function", "gelu_new", "gelu_pytorch_tanh")

#: By `model_type`.
RULES: Mapping[str, tuple[Rule, ...]] = {
    "llama": (_SILU, _plain_rope, _NO_BIAS, _is("mlp_bias", None, False)),
    "mistral": (_SILU, _plain_rope),
    "qwen2": (_SILU, _plain_rope, _even_width),
    "qwen3": (_SILU, _plain_rope, _NO_BIAS),
    "gemma2": (*_GEMMA, _is("tie_word_embeddings", True)),
    "gemma3_text": (*_GEMMA, _is("attn_logit_softcapping", None)),
    "gpt2": (_GPT2_ACTIVATION, _gpt2_width),
    "olmo2": (_SILU, _plain_rope, _NO_BIAS, _even_width),
    "phi3": (_SILU, _plain_rope, _even_width),
}
