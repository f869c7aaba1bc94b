"""The forward pass of any effective configuration over replaceable operators.

`ModelForward.advance` runs a chunk of tokens behind those in the cache and yields every checkpoint
that the model has, in ladder order, so a prefill is one call on an empty cache and a decode step
one call with one token. It knows no family: what a model does stands in its `EffectiveConfig`, what
it has in `base.model_parts`. See `operators` for the seam. Memory: one layer's activations and one
block of weights.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trlm_lab.backends.kv_cache import KvCache
from trlm_lab.backends.operators import Bools, Ints, Operators
from trlm_lab.backends.weights import Weights
from trlm_lab.base.model_parts import (
    EMBEDDING,
    FINAL_NORM,
    HEAD,
    POSITIONS,
    has_bias,
    layer_ops,
    tensor_name,
)
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


def bias_of(weight: str) -> str:
    """The name of the bias beside a weight."""
    return weight.removesuffix("weight") + "bias"


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
class ModelForward:
    """A model ready to run: configuration, weights and the seam."""

    config: EffectiveConfig
    weights: Weights
    arithmetic: Arithmetic
    operators_for: Callable[[int | None], Operators]
    perturb: Perturb = unperturbed

    @cached_property
    def layer_ops(self) -> frozenset[str]:
        """The checkpoints of a layer that the model has."""
        return frozenset(layer_ops(self.config))

    def new_cache(self) -> KvCache:
        """A cache of no tokens."""
        c = self.config
        return KvCache.empty(
            c.num_hidden_layers, c.num_key_value_heads, c.head_dim, self.arithmetic.dtype
        )

    def advance(self, chunk: Chunk) -> Iterator[Observation]:
        """Run a chunk: `embedding`, every layer, `final_norm`, `logits`, then the top-k pair."""
        x = yield from self._embedding(chunk)
        for layer in range(self.config.num_hidden_layers):
            x = yield from self._layer(layer, x, chunk)
        normed = self._normed("final_norm", None, x, FINAL_NORM)
        normed = yield from self._show("final_norm", normed)
        logits = yield from self._logits(normed)
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

    def _embedding(self, chunk: Chunk) -> Observing:
        """Rows of the tokens, scaled and shown; learned positions join them behind that."""
        ops, config = self.operators_for(None), self.config
        x = ops.embedding(self.weights.matrix(EMBEDDING), chunk.token_ids)
        if config.embedding_scale != 1.0:
            x = ops.embedding_scale(x, config.embedding_scale)
        x = yield from self._show("embedding", x)
        if config.rope_order == "none":
            x = ops.positions(x, self.weights.matrix(POSITIONS), chunk.positions)
        return x

    def _logits(self, x: Array) -> Observing:
        ops, cap = self.operators_for(None), self.config.final_logit_softcapping
        logits = ops.project("logits", x, self.weights.matrix(HEAD))
        if cap is not None:
            logits = ops.softcap("logits", logits, cap)
        return (yield from self._show("logits", logits))

    def _normed(self, op: str, layer: int | None, x: Array, name: str) -> Array:
        """The model's norm over the last axis with the weights of tensor `name`."""
        ops, eps = self.operators_for(layer), self.config.norm_eps
        weight = self.weights.vector(name)
        if has_bias(self.config, op):
            return ops.layer_norm(op, x, weight, self.weights.vector(bias_of(name)), eps)
        return ops.rms_norm(op, x, ops.norm_factor(op, weight), eps)

    def _project(self, op: str, layer: int, x: Array) -> Observing:
        ops, name = self.operators_for(layer), tensor_name(self.config, op, layer)
        y = ops.project(op, x, self.weights.matrix(name))
        if has_bias(self.config, op):
            y = ops.bias(op, y, self.weights.vector(bias_of(name)))
        return (yield from self._show(layer_checkpoint(layer, op), y))

    def _norm(self, op: str, layer: int, x: Array) -> Observing:
        """The norm `op`, or x itself in a model that has none there."""
        if op not in self.layer_ops:
            return x
        y = self._normed(op, layer, x, tensor_name(self.config, op, layer))
        return (yield from self._show(layer_checkpoint(layer, op), y))

    def _residual(self, op: str, layer: int, old: Array, new: Array) -> Observing:
        y = self.operators_for(layer).residual(op, old, new)
        return (yield from self._show(layer_checkpoint(layer, op), y))

    def _layer(self, layer: int, x: Array, chunk: Chunk) -> Observing:
        x = yield from self._show(layer_checkpoint(layer, "input"), x)
        normed = yield from self._norm("attn_norm", layer, x)
        mixed = yield from self._attention(layer, normed, chunk)
        update = yield from self._project("o_proj", layer, mixed)
        update = yield from self._norm("post_attn_norm", layer, update)
        x = yield from self._residual("attn_residual", layer, x, update)
        normed = yield from self._norm("mlp_norm", layer, x)
        update = yield from self._mlp(layer, normed)
        update = yield from self._norm("post_mlp_norm", layer, update)
        return (yield from self._residual("output", layer, x, update))

    def _mlp(self, layer: int, x: Array) -> Observing:
        """Projections to `down_proj`, (T, D) to (T, D)."""
        ops = self.operators_for(layer)
        if self.config.mlp_gated:
            gate = yield from self._project("gate_proj", layer, x)
            up = yield from self._project("up_proj", layer, x)
            act = ops.gate(gate, up)
        else:
            up = yield from self._project("up_proj", layer, x)
            act = ops.activate(up)
        act = yield from self._show(layer_checkpoint(layer, "mlp_act"), act)
        return (yield from self._project("down_proj", layer, act))

    def _attention(self, layer: int, x: Array, chunk: Chunk) -> Observing:
        """Projections to `attn_values`, (T, D) to (T, H*E)."""
        ops, config = self.operators_for(layer), self.config
        q = yield from self._project("q_proj", layer, x)
        k = yield from self._project("k_proj", layer, x)
        v = yield from self._project("v_proj", layer, x)
        q = yield from self._head_norm("q_norm", layer, q)
        k = yield from self._head_norm("k_norm", layer, k)
        q = yield from self._rotate("q_rope", layer, q, chunk)
        k = yield from self._rotate("k_rope", layer, k, chunk)
        keys, values = ops.remember(chunk.cache.layers[layer], k, self._heads(v))
        heads = ops.kv_of_head(config.num_attention_heads, config.num_key_value_heads)
        probs, visible = yield from self._probabilities(layer, q, keys, chunk)
        mixed = ops.values(probs, values, heads, visible).reshape(len(q), -1)
        return (yield from self._show(layer_checkpoint(layer, "attn_values"), mixed))

    def _probabilities(
        self, layer: int, q: Array, keys: Array, chunk: Chunk
    ) -> Generator[Observation, None, tuple[Array, Bools]]:
        """`attn_scores` to `attn_probs`, (H, T, S), and what is visible, (T, S)."""
        ops, config = self.operators_for(layer), self.config
        heads = ops.kv_of_head(config.num_attention_heads, config.num_key_value_heads)
        scores = ops.scores(q, keys, heads, config.attention_scale)
        if config.attn_logit_softcapping is not None:
            scores = ops.softcap("attn_scores", scores, config.attn_logit_softcapping)
        scores = yield from self._show(layer_checkpoint(layer, "attn_scores"), scores)
        window = config.sliding_window if config.slides(layer) else None
        visible = ops.mask(len(q), len(keys), chunk.keep, window)
        masked = np.where(visible, scores, scores.dtype.type(MASKED_SCORE))
        masked = yield from self._show(layer_checkpoint(layer, "attn_masked"), masked)
        probs = ops.softmax(masked, visible)
        probs = yield from self._show(layer_checkpoint(layer, "attn_probs"), probs)
        return probs, visible

    def _heads(self, x: Array) -> Array:
        """(T, N*E) as (T, N, E)."""
        return x.reshape(len(x), -1, self.config.head_dim)

    def _head_norm(self, op: str, layer: int, x: Array) -> Observing:
        """Queries or keys as (T, N, E), normed where the model does it."""
        if op not in self.layer_ops:
            return self._heads(x)
        x = x if self.config.qk_norm == "joined" else self._heads(x)
        y = self._normed(op, layer, x, tensor_name(self.config, op, layer))
        return (yield from self._show(layer_checkpoint(layer, op), self._heads(y)))

    def _rotate(self, op: str, layer: int, x: Array, chunk: Chunk) -> Observing:
        """Turn (T, N, E) by position, where positions are not learned."""
        if op not in self.layer_ops:
            return x
        inv_freq, factor = self.config.layer_inv_freq(layer), self.config.rope_attention_factor
        y = self.operators_for(layer).rope(op, x, chunk.positions, inv_freq, factor)
        return (yield from self._show(layer_checkpoint(layer, op), y))
