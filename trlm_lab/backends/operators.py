"""The operators of one layer as replaceable callables: the seam at which a fault is planted.

The forward pass of `forward` calls nothing but the fields of an `Operators`, asks for one a
layer through `operators_for(layer)` (None for what stands outside the layers: embedding, positions,
final norm, head), reads weights only through a `Weights`, and passes every checkpoint through
`perturb(name, values)` before the value flows on. To plant a fault, replace one field with
`dataclasses.replace(sound, rope=wrong)` for one layer, wrap the weights, or perturb one checkpoint;
hand the three to the engine as a `Plant`. Files and hashes are never touched.

Field by field (arrays are in the profile's type; the checkpoint that first shows a change stands in
brackets). A field that a model has no use for is never called.

- `embedding(table, token_ids)` (V, D), (T,) -> T D                        [embedding]
- `embedding_scale(x, scale)` -> T D, where the scale is not 1             [embedding]
- `positions(x, table, positions)` T D, (positions, D), (T,) -> T D, where positions are learned
                                                                           [layers.0.input]
- `norm_factor(name, weight)` -> the factor of an RMS norm, 1 + w or the weight as it is
                                                                           [as `rms_norm`]
- `rms_norm(name, x, factor, eps)` over the last axis, shape of x          [attn_norm,
  post_attn_norm, mlp_norm, post_mlp_norm, final_norm with x T D; q_norm, k_norm with x T N E, or
  T (N E) where they are joined; `name` says which]
- `layer_norm(name, x, weight, bias, eps)` -> T D                          [attn_norm, mlp_norm,
  final_norm; `name` says which]
- `project(name, x, weight)` -> T O                                        [q_proj, k_proj, v_proj,
  o_proj, gate_proj, up_proj, down_proj, logits; `name` says which]
- `bias(name, y, bias)` -> T O, where the projection has one               [as `project`]
- `rope(name, x, positions, inv_freq, factor)` T N E -> T N E; fewer than E/2 frequencies turn the
  first coordinates, `factor` multiplies cosines and sines                 [q_rope, k_rope]
- `remember(cache, k, v)` appends to a layer's `LayerCache`, returns all keys and values, S K E
                                                                           [attn_scores for keys,
  attn_values for values]
- `kv_of_head(heads, kv_heads)` -> H, key/value head of each query head    [attn_scores]
- `scores(q, k, kv_of_head, scale)` -> H T S                               [attn_scores]
- `softcap(name, x, cap)` -> shape of x, where the model caps              [attn_scores, logits;
  `name` says which]
- `mask(queries, keys, keep, window)` -> Bool T S, True is visible; `window` None for all keys
                                                                           [attn_masked]
- `softmax(scores, visible)` -> H T S                                      [attn_probs]
- `values(probs, v, kv_of_head, visible)` -> T H E                         [attn_values]
- `gate(gate, up)` -> T F, activation and product of a gated MLP           [mlp_act]
- `activate(up)` -> T F, activation of a plain MLP                         [mlp_act]
- `residual(name, old, new)` -> T D                                        [attn_residual, output]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.backends.kv_cache import LayerCache, remember
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.attention import attention_scores, attention_values, grouped_heads
from trlm_lab.ops.bias import add_bias
from trlm_lab.ops.embedding import add_positions, embedding, scaled_embedding
from trlm_lab.ops.gated import ACTIVATIONS, gated
from trlm_lab.ops.layer_norm import layer_norm
from trlm_lab.ops.masks import causal_mask, sliding_window_mask, without_padding
from trlm_lab.ops.matmul import RowBlocks, matmul
from trlm_lab.ops.residual import residual
from trlm_lab.ops.rms_norm import rms_norm, unit_offset
from trlm_lab.ops.rope import rope
from trlm_lab.ops.rope_interleaved import rope_interleaved
from trlm_lab.ops.softcap import softcap
from trlm_lab.ops.softmax import softmax

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Operators:
    """One callable an operator; see the module's docstring for shapes and boundaries."""

    embedding: Callable[[RowBlocks, Ints], Array]
    embedding_scale: Callable[[Array, float], Array]
    positions: Callable[[Array, RowBlocks, Ints], Array]
    norm_factor: Callable[[str, Array], Array]
    rms_norm: Callable[[str, Array, Array, float], Array]
    layer_norm: Callable[[str, Array, Array, Array, float], Array]
    project: Callable[[str, Array, RowBlocks], Array]
    bias: Callable[[str, Array, Array], Array]
    rope: Callable[[str, Array, Ints, Array, float], Array]
    remember: Callable[[LayerCache, Array, Array], tuple[Array, Array]]
    kv_of_head: Callable[[int, int], NDArray[Any]]
    scores: Callable[[Array, Array, NDArray[Any], float], Array]
    softcap: Callable[[str, Array, float], Array]
    mask: Callable[[int, int, Bools | None, int | None], Bools]
    softmax: Callable[[Array, Bools], Array]
    values: Callable[[Array, Array, NDArray[Any], Bools], Array]
    gate: Callable[[Array, Array], Array]
    activate: Callable[[Array], Array]
    residual: Callable[[str, Array, Array], Array]


def visibility(queries: int, keys: int, keep: Bools | None, window: int | None) -> Bools:
    """Causal mask of the last `queries` of `keys` tokens, within a window, padding keys hidden."""
    if window is None:
        visible = causal_mask(queries, keys)
    else:
        visible = sliding_window_mask(queries, window, keys)
    return visible if keep is None else without_padding(visible, keep)


def sound_operators(arithmetic: Arithmetic, config: EffectiveConfig) -> Operators:
    """The operators as the profile and the configuration have them."""
    a, act = arithmetic, config.hidden_act
    rotate = rope_interleaved if config.rope_order == "interleaved" else rope
    offset = config.norm_unit_offset
    return Operators(
        embedding=partial(embedding, arithmetic=a),
        embedding_scale=partial(scaled_embedding, arithmetic=a),
        positions=partial(add_positions, arithmetic=a),
        norm_factor=lambda name, weight: unit_offset(weight, a) if offset else weight,
        rms_norm=lambda name, x, factor, eps: rms_norm(x, factor, eps, a),
        layer_norm=lambda name, x, weight, bias, eps: layer_norm(x, weight, bias, eps, a),
        project=lambda name, x, weight: matmul(x, weight, a),
        bias=lambda name, y, bias: add_bias(y, bias, a),
        rope=lambda name, x, positions, inv_freq, factor: rotate(x, positions, inv_freq, a, factor),
        remember=remember,
        kv_of_head=grouped_heads,
        scores=partial(attention_scores, arithmetic=a),
        softcap=lambda name, x, cap: softcap(x, cap, a),
        mask=visibility,
        softmax=partial(softmax, arithmetic=a),
        values=partial(attention_values, arithmetic=a),
        gate=lambda gate, up: gated(gate, up, act, a),
        activate=lambda up: ACTIVATIONS[act](up, a),
        residual=lambda name, old, new: residual(old, new, a),
    )
