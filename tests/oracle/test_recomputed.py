"""Each checkpoint of each layer again, from the captured inputs, by NumPy in float64.

The bounds are the textbook ones (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
section 3.1): a sum of n products in any order errs by at most gamma(n) times the sum of the
absolute products, with gamma(n) = n*u / (1 - n*u) and u = 2^-24; a chain of k roundings by
gamma(k) of its value. Elementary functions of the framework are within 2 units in the last place
(4u), as its vector library states.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file

from trlm_lab.base.names import llama_ladder, parse_checkpoint
from trlm_lab.oracle import source_defaults

F64 = NDArray[np.float64]
Bounded = tuple[F64, F64]

U = 2.0**-24
FUNCTION = 4  # roundings that stand for one elementary function: 2 units in the last place
T, H, K, E = 24, 6, 2, 16
EPS = float(np.float32(1e-5))


def gamma(roundings: float) -> float:
    return roundings * U / (1 - roundings * U)


class Recomputation:
    """The llama formulas over captured float32 arrays, widened; each with its error bound."""

    def __init__(self, arrays: dict[str, NDArray[Any]], weights: dict[str, NDArray[Any]]) -> None:
        self._arrays = arrays
        self._weights = weights
        self._frequencies = weights["inv_freq"]

    def at(self, layer: int | None, op: str) -> F64:
        name = op if layer is None else f"layers.{layer}.{op}"
        return self._arrays[name].astype(np.float64)

    def weight(self, name: str) -> F64:
        return self._weights[f"model.{name}.weight"].astype(np.float64)

    def linear(self, x: F64, name: str) -> Bounded:
        w = self.weight(name)
        return x @ w.T, gamma(x.shape[-1]) * (np.abs(x) @ np.abs(w).T)

    def norm(self, x: F64, name: str) -> Bounded:
        # Square, sum, mean, + eps: n + 2 roundings, halved by the root; the root, two products.
        y = self.weight(name) * (x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS))
        return y, gamma((x.shape[-1] + 2) / 2 + FUNCTION + 2) * np.abs(y)

    def rope(self, x: F64) -> Bounded:
        # The source forms the angle in float32: one product, the same in NumPy.
        angle = np.arange(T, dtype=np.float32)[:, None] * self._frequencies
        cos, sin = (f(np.tile(angle, 2).astype(np.float64))[:, None] for f in (np.cos, np.sin))
        half = np.concatenate([-x[..., E // 2 :], x[..., : E // 2]], axis=-1)
        size = np.abs(x * cos) + np.abs(half * sin)
        return x * cos + half * sin, gamma(FUNCTION + 2) * size

    def scores(self, layer: int) -> Bounded:
        q = self.at(layer, "q_rope").transpose(1, 0, 2)
        k = np.repeat(self.at(layer, "k_rope").transpose(1, 2, 0), H // K, axis=0)
        return (q @ k) / 4, gamma(E + 1) * (np.abs(q) @ np.abs(k)) / 4

    def probabilities(self, layer: int) -> Bounded:
        masked = self.at(layer, "attn_masked")
        shifted = masked - masked.max(-1, keepdims=True)
        visible = shifted > -1e30
        e = np.where(visible, np.exp(np.where(visible, shifted, 0)), 0)
        y = e / e.sum(-1, keepdims=True)
        reach = np.where(visible, -shifted, 0).max()
        # The subtraction moves the exponent by u * reach; above and below the line; exp likewise.
        return y, gamma(2 * reach + 2 * FUNCTION + T + 2) * y

    def values(self, layer: int) -> Bounded:
        p = self.at(layer, "attn_probs")
        v = self.at(layer, "v_proj").reshape(T, K, E).transpose(1, 0, 2)
        v = np.repeat(v, H // K, axis=0)
        join = (p @ v).transpose(1, 0, 2).reshape(T, H * E)
        return join, gamma(T) * (p @ np.abs(v)).transpose(1, 0, 2).reshape(T, H * E)

    def activation(self, layer: int) -> Bounded:
        g = self.at(layer, "gate_proj")
        y = g / (1 + np.exp(-g)) * self.at(layer, "up_proj")
        return y, gamma(FUNCTION + 3) * np.abs(y)

    def checkpoint(self, name: str) -> Bounded:
        """The value of a checkpoint from those before it, and how far float32 may be off."""
        point = parse_checkpoint(name)
        layer, op = point.layer, point.op
        if layer is None:
            return self._outside(op)
        prefix = f"layers.{layer}"
        exact = {
            "input": lambda: (
                self.at(None, "embedding") if layer == 0 else self.at(layer - 1, "output")
            ),
            "attn_masked": lambda: self._masked(layer),
        }
        bounded = {
            "attn_norm": lambda: self.norm(self.at(layer, "input"), f"{prefix}.input_layernorm"),
            "q_rope": lambda: self.rope(self.at(layer, "q_proj").reshape(T, H, E)),
            "k_rope": lambda: self.rope(self.at(layer, "k_proj").reshape(T, K, E)),
            "attn_scores": lambda: self.scores(layer),
            "attn_probs": lambda: self.probabilities(layer),
            "attn_values": lambda: self.values(layer),
            "attn_residual": lambda: self._sum(self.at(layer, "input"), self.at(layer, "o_proj")),
            "mlp_norm": lambda: self.norm(
                self.at(layer, "attn_residual"), f"{prefix}.post_attention_layernorm"
            ),
            "mlp_act": lambda: self.activation(layer),
            "output": lambda: self._sum(
                self.at(layer, "attn_residual"), self.at(layer, "down_proj")
            ),
        }
        inputs = {"o_proj": "attn_values", "down_proj": "mlp_act"}
        inputs |= dict.fromkeys(("q_proj", "k_proj", "v_proj"), "attn_norm")
        inputs |= dict.fromkeys(("gate_proj", "up_proj"), "mlp_norm")
        if op in exact:
            return exact[op](), np.zeros(1)
        if op in bounded:
            return bounded[op]()
        block = "mlp" if op in ("gate_proj", "up_proj", "down_proj") else "self_attn"
        return self.linear(self.at(layer, inputs[op]), f"{prefix}.{block}.{op}")

    def _outside(self, op: str) -> Bounded:
        if op == "embedding":
            return self.weight("embed_tokens")[self._arrays["token_ids"]], np.zeros(1)
        if op == "final_norm":
            return self.norm(self.at(3, "output"), "norm")
        return self.linear(self.at(None, "final_norm"), "embed_tokens")

    def _masked(self, layer: int) -> F64:
        future = np.triu(np.ones((T, T), dtype=bool), 1)
        return np.where(future, np.finfo(np.float32).min, self.at(layer, "attn_scores"))

    @staticmethod
    def _sum(a: F64, b: F64) -> Bounded:
        return a + b, U * np.abs(a + b)


@pytest.fixture(scope="session")
def weights(model_dir: Path) -> dict[str, NDArray[Any]]:
    frequencies = np.array(source_defaults(model_dir)["rope_inv_freq"], dtype=np.float32)
    return {**load_file(model_dir / "model.safetensors"), "inv_freq": frequencies}


def _excess(name: str, arrays: dict[str, NDArray[Any]], weights: dict[str, NDArray[Any]]) -> float:
    """Largest error in units of its bound; the bounds do not cover subnormal results."""
    value, bound = Recomputation(arrays, weights).checkpoint(name)
    error = np.abs(arrays[name].astype(np.float64) - value)
    return float((error / (bound + np.finfo(np.float32).tiny)).max())


@pytest.mark.parametrize("name", llama_ladder(4))
def test_checkpoint_follows_from_those_before_it(
    name: str, captured: dict[str, NDArray[Any]], weights: dict[str, NDArray[Any]]
) -> None:
    assert _excess(name, captured, weights) <= 1


@pytest.mark.parametrize("name", llama_ladder(4))
def test_a_wrong_checkpoint_would_be_seen(
    name: str, captured: dict[str, NDArray[Any]], weights: dict[str, NDArray[Any]]
) -> None:
    """Two neighbours swapped along the last axis, which no formula above forgives."""
    wrong = captured[name].copy()
    wrong[..., :2] = wrong[..., 1::-1]
    assert _excess(name, {**captured, name: wrong}, weights) > 1
