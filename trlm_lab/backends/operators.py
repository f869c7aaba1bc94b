"""The operators of one layer as replaceable callables: the seam at which a fault is planted.

The forward pass of `llama_forward` calls nothing but the fields of an `Operators`, asks for one a
layer through `operators_for(layer)` (None for what stands outside the layers: embedding, final
norm, head), reads weights only through a `Weights`, and passes every checkpoint through
`perturb(name, values)` before the value flows on. To plant a fault, replace one field with
`dataclasses.replace(sound, rope=wrong)` for one layer, wrap the weights, or perturb one checkpoint;
hand the three to the engine as a `Plant`. Files and hashes are never touched.

Field by field (arrays are in the profile's type; the checkpoint that first shows a change stands in
brackets):

- `embedding(table, token_ids)` (V, D), (T,) -> T D                        [embedding]
- `rms_norm(name, x, weight, eps)` -> T D                                  [attn_norm, mlp_norm,
  final_norm; `name` says which]
- `project(name, x, weight)` -> T O                                        [q_proj, k_proj, v_proj,
  o_proj, gate_proj, up_proj, down_proj, logits; `name` says which]
- `rope(name, x, positions, inv_freq)` T N E -> T N E                      [q_rope, k_rope]
- `remember(cache, k, v)` appends to a layer's `LayerCache`, returns all keys and values, S K E
                                                                           [attn_scores for keys,
  attn_values for values]
- `kv_of_head(heads, kv_heads)` -> H, key/value head of each query head    [attn_scores]
- `scores(q, k, kv_of_head, scale)` -> H T S                               [attn_scores]
- `mask(queries, keys, keep)` -> Bool T S, True is visible                 [attn_masked]
- `softmax(scores, visible)` -> H T S                                      [attn_probs]
- `values(probs, v, kv_of_head, visible)` -> T H E                         [attn_values]
- `gate(gate, up)` -> T F                                                  [mlp_act]
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
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.attention import attention_scores, attention_values, grouped_heads
from trlm_lab.ops.embedding import embedding
from trlm_lab.ops.gated import silu_gate
from trlm_lab.ops.masks import causal_mask, without_padding
from trlm_lab.ops.matmul import RowBlocks, matmul
from trlm_lab.ops.residual import residual
from trlm_lab.ops.rms_norm import rms_norm
from trlm_lab.ops.rope import rope
from trlm_lab.ops.rope_interleaved import rope_interleaved
from trlm_lab.ops.softmax import softmax

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Operators:
    """One callable an operator; see the module's docstring for shapes and boundaries."""

    embedding: Callable[[RowBlocks, Ints], Array]
    rms_norm: Callable[[str, Array, Array, float], Array]
    project: Callable[[str, Array, RowBlocks], Array]
    rope: Callable[[str, Array, Ints, Array], Array]
    remember: Callable[[LayerCache, Array, Array], tuple[Array, Array]]
    kv_of_head: Callable[[int, int], NDArray[Any]]
    scores: Callable[[Array, Array, NDArray[Any], float], Array]
    mask: Callable[[int, int, Bools | None], Bools]
    softmax: Callable[[Array, Bools], Array]
    values: Callable[[Array, Array, NDArray[Any], Bools], Array]
    gate: Callable[[Array, Array], Array]
    residual: Callable[[str, Array, Array], Array]


def causal_visibility(queries: int, keys: int, keep: Bools | None) -> Bools:
    """Causal mask of the last `queries` of `keys` tokens, padding keys hidden."""
    visible = causal_mask(queries, keys)
    return visible if keep is None else without_padding(visible, keep)


def sound_operators(arithmetic: Arithmetic, rope_order: str = "half_split") -> Operators:
    """The operators as the profile has them."""
    rotate = rope if rope_order == "half_split" else rope_interleaved
    return Operators(
        embedding=partial(embedding, arithmetic=arithmetic),
        rms_norm=lambda name, x, weight, eps: rms_norm(x, weight, eps, arithmetic),
        project=lambda name, x, weight: matmul(x, weight, arithmetic),
        rope=lambda name, x, positions, inv_freq: rotate(x, positions, inv_freq, arithmetic),
        remember=remember,
        kv_of_head=grouped_heads,
        scores=partial(attention_scores, arithmetic=arithmetic),
        mask=causal_visibility,
        softmax=partial(softmax, arithmetic=arithmetic),
        values=partial(attention_values, arithmetic=arithmetic),
        gate=partial(silu_gate, arithmetic=arithmetic),
        residual=lambda name, old, new: residual(old, new, arithmetic),
    )
