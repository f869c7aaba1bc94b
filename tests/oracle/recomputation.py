"""Each checkpoint again, from the captured ones before it, by NumPy in float64, with a bound.

The bounds are the textbook ones (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
sections 1.9 and 3.1): a sum of n products in any order errs by at most gamma(n) times the sum of
the absolute products, with gamma(n) = n*u / (1 - n*u) and u = 2^-24; a chain of k roundings by
gamma(k) of its value; a variance by gamma(n) times its condition. Elementary functions of the
framework are within 2 units in the last place (4u), as its vector library states.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.names import parse_checkpoint
from trlm_lab.base.records import EffectiveConfig

F64 = NDArray[np.float64]
Arrays = Mapping[str, NDArray[Any]]
Bounded = tuple[F64, F64]

U = 2.0**-24
FUNCTION = 4  # roundings that stand for one elementary function: 2 units in the last place
EXACT = np.zeros(1)


def gamma(roundings: float) -> float:
    return roundings * U / (1 - roundings * U)


class Recomputation:
    """The formulas that a configuration names, over captured float32 arrays, widened.

    `weights` are by operator: `q_proj.0` is the weight of q_proj in layer 0 as (out, in),
    `q_proj.0.bias` its bias; `embedding`, `positions`, `final_norm` and `lm_head` stand alone.
    """

    def __init__(self, config: EffectiveConfig, arrays: Arrays, weights: Arrays) -> None:
        self._config, self._arrays, self._weights = config, arrays, weights
        self._tokens = len(arrays["token_ids"])

    def excess(self, name: str) -> float:
        """Largest error in units of its bound; the bounds do not cover subnormal results."""
        value, bound = self.checkpoint(name)
        error = np.abs(self._arrays[name].astype(np.float64) - value)
        return float((error / (bound + np.finfo(np.float32).tiny)).max())

    def checkpoint(self, name: str) -> Bounded:
        """The value of a checkpoint from those before it, and how far float32 may be off."""
        point = parse_checkpoint(name)
        if point.layer is None:
            return self._outside(point.op)
        own: dict[str, Callable[[int], Bounded]] = {
            "input": self._input,
            "q_rope": lambda layer: self._rope(layer, "q"),
            "k_rope": lambda layer: self._rope(layer, "k"),
            "attn_scores": self._scores,
            "attn_masked": self._masked,
            "attn_probs": self._probabilities,
            "attn_values": self._values,
            "attn_residual": lambda layer: self._sum(layer, "input", "post_attn_norm", "o_proj"),
            "mlp_act": self._activation,
            "output": lambda layer: self._sum(layer, "attn_residual", "post_mlp_norm", "down_proj"),
        }
        if point.op in own:
            return own[point.op](point.layer)
        if point.op.endswith("norm"):
            return self._norm_of(point.layer, point.op)
        return self._linear(self._into(point.layer, point.op), f"{point.op}.{point.layer}")

    def _has(self, layer: int, op: str) -> bool:
        return f"layers.{layer}.{op}" in self._arrays

    def _at(self, layer: int, *ops: str) -> F64:
        """The first of these checkpoints that the model has."""
        op = next(op for op in ops if self._has(layer, op))
        return self._arrays[f"layers.{layer}.{op}"].astype(np.float64)

    def _weight(self, name: str) -> F64:
        return self._weights[name].astype(np.float64)

    def _into(self, layer: int, op: str) -> F64:
        if op in ("o_proj", "down_proj"):
            return self._at(layer, "attn_values" if op == "o_proj" else "mlp_act")
        before = ("mlp_norm", "attn_residual") if op in ("gate_proj", "up_proj") else (
            "attn_norm", "input")  # fmt: skip
        return self._at(layer, *before)

    def _outside(self, op: str) -> Bounded:
        if op == "embedding":
            rows = self._weight("embedding")[self._arrays["token_ids"]]
            y = rows * self._config.embedding_scale
            return y, EXACT if self._config.embedding_scale == 1 else U * np.abs(y)
        if op == "final_norm":
            return self._norm(self._at(self._config.num_hidden_layers - 1, "output"), "final_norm")
        x = self._arrays["final_norm"].astype(np.float64)
        return self._capped(self._linear(x, "lm_head"), self._config.final_logit_softcapping)

    def _input(self, layer: int) -> Bounded:
        if layer > 0:
            return self._at(layer - 1, "output"), EXACT
        rows = self._arrays["embedding"].astype(np.float64)
        if self._config.rope_order != "none":
            return rows, EXACT
        y = rows + self._weight("positions")[: self._tokens]
        return y, U * np.abs(y)

    def _linear(self, x: F64, name: str) -> Bounded:
        w = self._weight(name)
        y, size = x @ w.T, np.abs(x) @ np.abs(w).T
        if f"{name}.bias" in self._weights:
            bias = self._weight(f"{name}.bias")
            return y + bias, gamma(x.shape[-1] + 1) * (size + np.abs(bias))
        return y, gamma(x.shape[-1]) * size

    def _norm_of(self, layer: int, op: str) -> Bounded:
        before = {
            "attn_norm": ("input",), "q_norm": ("q_proj",), "k_norm": ("k_proj",),
            "post_attn_norm": ("o_proj",), "mlp_norm": ("attn_residual",),
            "post_mlp_norm": ("down_proj",),
        }  # fmt: skip
        x, name = self._at(layer, *before[op]), f"{op}.{layer}"
        if op not in ("q_norm", "k_norm"):
            return self._norm(x, name)
        heads = (self._tokens, -1, self._config.head_dim)
        if self._config.qk_norm == "head":
            return self._norm(x.reshape(heads), name)
        y, bound = self._norm(x, name)
        return y.reshape(heads), bound.reshape(heads)

    def _norm(self, x: F64, name: str) -> Bounded:
        w, n, eps = self._weight(name), x.shape[-1], self._config.norm_eps
        if self._config.layer_norm_epsilon is not None:
            return self._layer_norm(x, w, self._weight(f"{name}.bias"))
        factor = 1 + w if self._config.norm_unit_offset else w
        # Square, sum, mean, + eps: n + 2 roundings, halved by the root; the root, two products,
        # and the sum with one.
        y = factor * (x / np.sqrt((x * x).mean(-1, keepdims=True) + eps))
        return y, gamma((n + 2) / 2 + FUNCTION + 3) * np.abs(y)

    def _layer_norm(self, x: F64, w: F64, bias: F64) -> Bounded:
        n, mean = x.shape[-1], x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        root = 1 / np.sqrt(variance + self._config.norm_eps)
        core = (x - mean) * root * w
        condition = np.sqrt(1 + mean * mean / variance)
        # The mean errs by its sum, the difference by two roundings of either term, the root by
        # half of what the variance does.
        shifted = gamma(n + 1) * np.abs(x).mean(-1, keepdims=True)
        shifted = shifted + gamma(2) * (np.abs(x) + np.abs(mean))
        roundings = (n + 3) * condition / 2 + FUNCTION + 3
        relative = roundings * U / (1 - roundings * U)
        bound = np.abs(root * w) * shifted + relative * np.abs(core) + U * np.abs(core + bias)
        return core + bias, bound

    def _rope(self, layer: int, which: str) -> Bounded:
        config = self._config
        x = self._at(layer, f"{which}_norm", f"{which}_proj")
        x = x.reshape(self._tokens, -1, config.head_dim)
        # The source forms the angle in float32: one product, the same in NumPy.
        angle = np.arange(self._tokens, dtype=np.float32)[:, None] * config.layer_inv_freq(layer)
        wide = 2 * angle.shape[1]
        turning, rest = x[..., :wide], x[..., wide:]
        cos, sin = (f(np.tile(angle, 2).astype(np.float64))[:, None] for f in (np.cos, np.sin))
        cos, sin = cos * config.rope_attention_factor, sin * config.rope_attention_factor
        half = np.concatenate([-turning[..., wide // 2 :], turning[..., : wide // 2]], axis=-1)
        size = np.abs(turning * cos) + np.abs(half * sin)
        y = np.concatenate([turning * cos + half * sin, rest], axis=-1)
        return y, np.concatenate([gamma(FUNCTION + 3) * size, np.zeros_like(rest)], axis=-1)

    def _scores(self, layer: int) -> Bounded:
        config, heads = self._config, (self._tokens, -1, self._config.head_dim)
        q = self._at(layer, "q_rope", "q_proj").reshape(heads).transpose(1, 0, 2)
        k = self._at(layer, "k_rope", "k_proj").reshape(heads).transpose(1, 2, 0)
        k = np.repeat(k, config.num_attention_heads // config.num_key_value_heads, axis=0)
        scale = config.attention_scale
        scores = (q @ k) * scale, gamma(config.head_dim + 1) * (np.abs(q) @ np.abs(k)) * scale
        return self._capped(scores, config.attn_logit_softcapping)

    @staticmethod
    def _capped(scores: Bounded, cap: float | None) -> Bounded:
        if cap is None:
            return scores
        x, bound = scores
        y = cap * np.tanh(x / cap)
        # tanh never widens an error; one division before it, the function and one product.
        return y, bound + U * np.abs(x) + gamma(FUNCTION + 1) * np.abs(y)

    def _masked(self, layer: int) -> Bounded:
        i, j = np.arange(self._tokens)[:, None], np.arange(self._tokens)
        hidden = j > i
        if self._config.slides(layer):
            assert self._config.sliding_window is not None
            hidden |= i - j >= self._config.sliding_window
        return np.where(hidden, np.finfo(np.float32).min, self._at(layer, "attn_scores")), EXACT

    def _probabilities(self, layer: int) -> Bounded:
        masked = self._at(layer, "attn_masked")
        shifted = masked - masked.max(-1, keepdims=True)
        visible = shifted > -1e30
        e = np.where(visible, np.exp(np.where(visible, shifted, 0)), 0)
        y = e / e.sum(-1, keepdims=True)
        reach = np.where(visible, -shifted, 0).max()
        # The subtraction moves the exponent by u * reach; above and below the line; exp likewise.
        return y, gamma(2 * reach + 2 * FUNCTION + self._tokens + 2) * y

    def _values(self, layer: int) -> Bounded:
        config, p = self._config, self._at(layer, "attn_probs")
        v = self._at(layer, "v_proj").reshape(self._tokens, -1, config.head_dim).transpose(1, 0, 2)
        v = np.repeat(v, config.num_attention_heads // config.num_key_value_heads, axis=0)
        join = (p @ v).transpose(1, 0, 2).reshape(self._tokens, -1)
        size = (p @ np.abs(v)).transpose(1, 0, 2).reshape(self._tokens, -1)
        return join, gamma(self._tokens) * size

    def _activation(self, layer: int) -> Bounded:
        known = {"silu": _silu, "gelu_tanh": _gelu_tanh, "gelu_erf": _gelu_erf}
        y, bound = known[self._config.hidden_act](self._at(layer, "gate_proj", "up_proj"))
        if not self._config.mlp_gated:
            return y, bound
        up = self._at(layer, "up_proj")
        return y * up, bound * np.abs(up) * (1 + U) + U * np.abs(y * up)

    def _sum(self, layer: int, old: str, *new: str) -> Bounded:
        y = self._at(layer, old) + self._at(layer, *new)
        return y, U * np.abs(y)


def _silu(x: F64) -> Bounded:
    y = x / (1 + np.exp(-x))
    return y, gamma(FUNCTION + 2) * np.abs(y)


def _gelu_tanh(x: F64) -> Bounded:
    argument = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    t = np.tanh(argument)
    # An argument of a power, two products, a sum and a rounded constant; where 1 + tanh cancels,
    # the error of tanh is all there is.
    moved = gamma(FUNCTION + 5) * np.abs(argument) * (1 - t * t) + gamma(FUNCTION + 1)
    y = 0.5 * x * (1 + t)
    return y, 0.5 * np.abs(x) * moved + gamma(3) * np.abs(y)


_ERF = np.frompyfunc(math.erf, 1, 1)


def _gelu_erf(x: F64) -> Bounded:
    e = _ERF(x / np.sqrt(2)).astype(np.float64)
    # The slope of erf times its argument is at most 1.
    y = 0.5 * x * (1 + e)
    return y, 0.5 * np.abs(x) * gamma(FUNCTION + 4) + gamma(3) * np.abs(y)
