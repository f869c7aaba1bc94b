"""Norms, MLP, embedding and head: kind and factor are asked of the live modules by probes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from trlm_lab.oracle.defaults.source import Row, Source, float32

#: Which norms a layer has, by module name, and what that placement is called.
_PLACEMENTS: dict[tuple[str, ...], str] = {
    ("input_layernorm", "post_attention_layernorm"): "pre",
    ("ln_1", "ln_2"): "pre",
    ("post_attention_layernorm", "post_feedforward_layernorm"): "post",
    ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
     "post_feedforward_layernorm"): "sandwich",
}  # fmt: skip
#: The names of the MLP's projections, the gate first where it has one.
_MLPS = (("gate_proj", "up_proj", "down_proj"), ("gate_up_proj", "down_proj"), ("c_fc", "c_proj"))


def block_rows(source: Source) -> Iterator[Row]:
    """What stands around attention.

    Raises:
        OracleModelError: norms, an activation or biases that no effective configuration can say.
    """
    yield from _norm_rows(source)
    yield from _mlp_rows(source)
    yield from _embedding_rows(source)


def _norm_rows(source: Source) -> Iterator[Row]:
    present = tuple(name for name, _ in source.first.named_children() if _is_norm(name))
    placement = _PLACEMENTS.get(present)
    if placement is None:
        raise source.refuse(f"a layer has the norms {present}")
    norm = getattr(source.first, present[0])
    epsilons = [_epsilon(other) for other in source.base.modules() if type(other) is type(norm)]
    epsilon = float32(source.same("epsilon of the norms", epsilons))
    centred, offset = _probe_norm(norm)
    block = type(source.first)
    # Torch's own LayerNorm is no source of transformers: the block that makes it says it all.
    texts = ("+ self.variance_epsilon", "+ self.eps")
    used = (block, "config.layer_norm_epsilon") if centred else (type(norm), *texts)
    factor = (
        (block, "nn.LayerNorm(") if centred else (type(norm), "self.weight *", "(1.0 + self.weight")
    )
    name = "layer_norm_epsilon" if centred else "rms_norm_eps"
    other = "rms_norm_eps" if centred else "layer_norm_epsilon"
    yield name, epsilon, source.origin(name, *used)
    yield other, None, source.place(*used)
    yield "norm_unit_offset", offset, source.place(*factor)
    yield "norm_placement", placement, source.place(block, f"self.{present[0]}(")


def _is_norm(name: str) -> bool:
    return name.endswith("layernorm") or name.startswith("ln_")


def _epsilon(norm: Any) -> float:
    return float(norm.variance_epsilon if hasattr(norm, "variance_epsilon") else norm.eps)


def _probe_norm(norm: Any) -> tuple[bool, bool]:
    """Whether the norm takes the mean away, and whether a factor of 0 is stored for one of 1."""
    import torch

    live = copy.deepcopy(norm).to_empty(device="cpu")
    with torch.no_grad():
        for parameter in live.parameters():
            parameter.zero_()
        offset = bool(live(torch.ones(1, *live.weight.shape)).any())
        live.weight.fill_(1.0)
        centred = not bool(live(torch.ones(1, *live.weight.shape)).any())
    return centred, offset


def _mlp_rows(source: Source) -> Iterator[Row]:
    mlp = source.mlp
    names = next(names for names in _MLPS if all(hasattr(mlp, name) for name in names))
    gated = names[0].startswith("gate")
    biases = [getattr(mlp, name).bias is not None for name in names]
    act = next(getattr(mlp, name) for name in ("act_fn", "activation_fn", "act")
               if hasattr(mlp, name))  # fmt: skip
    use = ("self.act_fn(", "self.activation_fn(", "self.act(")
    made = ("self.act_fn =", "self.activation_fn =", "self.act =")
    yield "hidden_act", _activation(source, act), source.origin("hidden_act", type(mlp), *made)
    yield "mlp_gated", gated, source.place(type(mlp), *use)
    bias = source.same("bias of the MLP", biases)
    yield "mlp_bias", bias, source.origin("mlp_bias", type(mlp), f"self.{names[0]} =")


def _activation(source: Source, act: Any) -> str:
    """The name of the function that the live module computes, by its values in float64.

    The three differ by 1e-4 and more on this grid; float64 errs by less than 1e-12.
    """
    import torch
    from torch.nn import functional

    known: dict[str, Callable[[Any], Any]] = {
        "silu": functional.silu,
        "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
        "gelu_erf": functional.gelu,
    }
    grid = torch.linspace(-6, 6, 49, dtype=torch.float64)
    values = act(grid)
    for name, function in known.items():
        if torch.allclose(values, function(grid), rtol=0, atol=1e-9):
            return name
    raise source.refuse(f"the activation {type(act).__name__} is none of {', '.join(known)}")


def _embedding_rows(source: Source) -> Iterator[Row]:
    base, model = type(source.base), source.model
    embedding = type(source.embedding)
    if hasattr(source.embedding, "scalar_embed_scale"):
        origin = source.place(base, "embed_scale=")
    else:
        origin = source.place(base, "self.embed_tokens(input_ids)", "self.wte(input_ids)")
    yield "embedding_scale", _embedding_scale(source.embedding, embedding), origin
    tied = model.lm_head.weight is source.embedding.weight
    origin = source.origin("tie_word_embeddings", type(model), "_tied_weights_keys")
    yield "tie_word_embeddings", tied, origin
    capped = source.says(type(model).forward, "final_logit_softcapping")
    cap = source.config.final_logit_softcapping if capped else None
    name = "final_logit_softcapping"
    origin = source.origin(name, type(model), "logits / self.config", "self.lm_head(")
    yield name, None if cap is None else float32(cap), origin


def _embedding_scale(module: Any, kind: Any) -> float:
    """What the source's embedding makes of a row of ones."""
    import torch

    if not hasattr(module, "scalar_embed_scale"):
        return 1.0
    live = kind(1, 1, None, embed_scale=module.scalar_embed_scale)
    with torch.no_grad():
        live.weight.fill_(1.0)
        return float(live(torch.zeros(1, dtype=torch.int64))[0, 0])
