"""The forward pass of the llama family over replaceable operators, one observation a checkpoint.

`LlamaForward.advance` runs a chunk of tokens behind those in the cache and yields every checkpoint
in ladder order, so a prefill is one call on an empty cache and a decode step one call with one
token. See `operators` for the seam. Memory: one layer's activations and one block of weights.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

import numpy as np

from trlm_lab.backends.kv_cache import KvCache
from trlm_lab.backends.operators import Bools, Ints, Operators
from trlm_lab.backends.weights import EMBEDDING, FINAL_NORM, HEAD, Weights, tensor_name
from trlm_lab.base.names import layer_checkpoint
from trlm_lab.base.records import EffectiveConfig, Observation
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.masks import MASKED_SCORE
from trlm_lab.ops.top_k import top_k

#: The one quiet NaN of traces, bits 7fc00000.
CANONICAL_NAN = np.uint32(0x7FC00000).view(np.float32)

Perturb = Callable[[str, Array], Array]
#: A generator that yields observations on its way to a value.
Observing = Generator[Observation, None, Array]


def unperturbed(name: str, values: Array) -> Array:
    """The values as they are."""
    return values


@dataclass(frozen=True)
class Chunk:
    """Tokens to run, their positions (both int64, T) and the cache they are appended to."""

    token_ids: Ints
    positions: Ints
    cache: KvCache

    @property
    def keep(self) -> Bools | None:
        """Which of all keys are no padding, or None where none is."""
        return None if all(self.cache.keep) else np.asarray(self.cache.keep, dtype=np.bool_)


@dataclass(frozen=True)
class LlamaForward:
    """A model ready to run: configuration, weights and the seam."""

    config: EffectiveConfig
    weights: Weights
    arithmetic: Arithmetic
    operators_for: Callable[[int | None], Operators]
    perturb: Perturb = unperturbed

    def new_cache(self) -> KvCache:
        """A cache of no tokens."""
        c = self.config
        return KvCache.empty(
            c.num_hidden_layers, c.num_key_value_heads, c.head_dim, self.arithmetic.dtype
        )

    def advance(self, chunk: Chunk) -> Iterator[Observation]:
        """Run a chunk: `embedding`, every layer, `final_norm`, `logits`, then the top-k pair."""
        ops, config = self.operators_for(None), self.config
        table = self.weights.matrix(EMBEDDING)
        x = yield from self._show("embedding", ops.embedding(table, chunk.token_ids))
        for layer in range(config.num_hidden_layers):
            x = yield from self._layer(layer, x, chunk)
        weight = self.weights.vector(FINAL_NORM)
        normed = ops.rms_norm("final_norm", x, weight, config.norm_eps)
        normed = yield from self._show("final_norm", normed)
        head = ops.project("logits", normed, self.weights.matrix(HEAD))
        logits = yield from self._show("logits", head)
        ids, values = top_k(logits.astype(np.float32))
        yield Observation("logits.topk_ids", ids)
        yield Observation("logits.topk_values", values)

    def _show(self, name: str, values: Array) -> Observing:
        """Perturb, yield a float32 copy that the receiver owns, and let the value flow on."""
        values = self.perturb(name, values)
        with np.errstate(all="ignore"):
            seen = np.array(values, dtype=np.float32, order="C")
        # Which NaN an operation gives is the processor's choice; traces spell it one way.
        seen[np.isnan(seen)] = CANONICAL_NAN
        yield Observation(name, seen)
        return values

    def _project(self, op: str, layer: int, x: Array) -> Observing:
        weight = self.weights.matrix(tensor_name(op, layer))
        y = self.operators_for(layer).project(op, x, weight)
        return (yield from self._show(layer_checkpoint(layer, op), y))

    def _norm(self, op: str, layer: int, x: Array) -> Observing:
        weight = self.weights.vector(tensor_name(op, layer))
        y = self.operators_for(layer).rms_norm(op, x, weight, self.config.norm_eps)
        return (yield from self._show(layer_checkpoint(layer, op), y))

    def _residual(self, op: str, layer: int, old: Array, new: Array) -> Observing:
        y = self.operators_for(layer).residual(op, old, new)
        return (yield from self._show(layer_checkpoint(layer, op), y))

    def _layer(self, layer: int, x: Array, chunk: Chunk) -> Observing:
        x = yield from self._show(layer_checkpoint(layer, "input"), x)
        normed = yield from self._norm("attn_norm", layer, x)
        mixed = yield from self._attention(layer, normed, chunk)
        update = yield from self._project("o_proj", layer, mixed)
        x = yield from self._residual("attn_residual", layer, x, update)
        normed = yield from self._norm("mlp_norm", layer, x)
        gate = yield from self._project("gate_proj", layer, normed)
        up = yield from self._project("up_proj", layer, normed)
        act = self.operators_for(layer).gate(gate, up)
        act = yield from self._show(layer_checkpoint(layer, "mlp_act"), act)
        update = yield from self._project("down_proj", layer, act)
        return (yield from self._residual("output", layer, x, update))

    def _attention(self, layer: int, x: Array, chunk: Chunk) -> Observing:
        """Projections to `attn_values`, (T, D) to (T, H*E)."""
        ops, config = self.operators_for(layer), self.config
        q = yield from self._project("q_proj", layer, x)
        k = yield from self._project("k_proj", layer, x)
        v = yield from self._project("v_proj", layer, x)
        q = yield from self._rotate("q_rope", layer, q, chunk)
        k = yield from self._rotate("k_rope", layer, k, chunk)
        keys, values = ops.remember(
            chunk.cache.layers[layer], k, v.reshape(len(v), -1, config.head_dim)
        )
        heads = ops.kv_of_head(config.num_attention_heads, config.num_key_value_heads)
        scores = ops.scores(q, keys, heads, config.attention_scale)
        scores = yield from self._show(layer_checkpoint(layer, "attn_scores"), scores)
        visible = ops.mask(len(q), len(keys), chunk.keep)
        masked = np.where(visible, scores, scores.dtype.type(MASKED_SCORE))
        masked = yield from self._show(layer_checkpoint(layer, "attn_masked"), masked)
        probs = ops.softmax(masked, visible)
        probs = yield from self._show(layer_checkpoint(layer, "attn_probs"), probs)
        mixed = ops.values(probs, values, heads, visible).reshape(len(q), -1)
        return (yield from self._show(layer_checkpoint(layer, "attn_values"), mixed))

    def _rotate(self, op: str, layer: int, x: Array, chunk: Chunk) -> Observing:
        heads = x.reshape(len(x), -1, self.config.head_dim)
        inv_freq = self.config.inv_freq
        y = self.operators_for(layer).rope(op, heads, chunk.positions, inv_freq)
        return (yield from self._show(layer_checkpoint(layer, op), y))
