"""The whole model in literal loops over single float32 numbers, written from the formats page."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.backends.reference_model import CASE, CONFIG, F32, arrays
from tests.ops.literal_sum import add_up
from trlm_lab.ops import elementary
from trlm_lab.ops.arithmetic import Array

T = len(CASE.token_ids)
H, K, E = CONFIG.num_attention_heads, CONFIG.num_key_value_heads, CONFIG.head_dim


def one(function: Callable[[Array], Array], x: F32) -> F32:
    """An elementary function of one number."""
    return F32(function(np.array([x], F32))[0])


def swiglu(gate: F32, up: F32) -> F32:
    """SiLU of the gate, times up."""
    return F32(F32(gate / F32(F32(1) + one(elementary.exp, -gate))) * up)


def rotated(x: Array, heads: int) -> Array:
    """Halves (i, i + E/2) turned by position times inverse frequency."""
    x = x.reshape(T, heads, E)
    out = x.copy()
    for t in range(T):
        for i in range(E // 2):
            angle = F32(F32(t) * F32(CONFIG.rope_inv_freq[i]))
            cos, sin = one(elementary.cos, angle), one(elementary.sin, angle)
            for h in range(heads):
                a, b = x[t, h, i], x[t, h, i + E // 2]
                out[t, h, i] = F32(F32(a * cos) - F32(b * sin))
                out[t, h, i + E // 2] = F32(F32(b * cos) + F32(a * sin))
    return out


class LiteralModel:
    """One forward pass over the case; `seen` holds every checkpoint in order."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.weights: dict[str, Any] = arrays()
        self.seen: dict[str, Array] = {}

    def forward(self) -> dict[str, Array]:
        """All checkpoints."""
        table = self.weights["model.embed_tokens.weight"]
        x = self.keep("embedding", [table[i] for i in CASE.token_ids])
        for n in range(CONFIG.num_hidden_layers):
            x = self.layer(n, x)
        x = self.keep("final_norm", self.norm(x, "model.norm.weight"))
        self.keep("logits", self.linear(x, "lm_head.weight"))
        return self.seen

    def keep(self, name: str, values: Any) -> Array:
        self.seen[name] = np.array(values, F32)
        return self.seen[name]

    def linear(self, x: Array, name: str) -> list[list[F32]]:
        return [[self.dot(row, out) for out in self.weights[name]] for row in x]

    def dot(self, a: Array, b: Array) -> F32:
        return add_up([F32(x * y) for x, y in zip(a, b, strict=True)], self.lanes)

    def norm(self, x: Array, name: str) -> list[list[F32]]:
        rows = []
        for row in x:
            mean = F32(self.dot(row, row) / F32(len(row)))
            scale = F32(F32(1) / np.sqrt(F32(mean + F32(CONFIG.rms_norm_eps))))
            pairs = zip(row, self.weights[name], strict=True)
            rows.append([F32(g * F32(v * scale)) for v, g in pairs])
        return rows

    def layer(self, n: int, x: Array) -> Array:
        p, w = f"layers.{n}.", f"model.layers.{n}."
        self.keep(p + "input", x)
        y = self.keep(p + "attn_norm", self.norm(x, w + "input_layernorm.weight"))
        q, k, v = (
            self.keep(f"{p}{i}_proj", self.linear(y, f"{w}self_attn.{i}_proj.weight"))
            for i in "qkv"
        )
        q, k = self.keep(p + "q_rope", rotated(q, H)), self.keep(p + "k_rope", rotated(k, K))
        y = self.attention(p, q, k, v.reshape(T, K, E))
        y = self.keep(p + "o_proj", self.linear(y, w + "self_attn.o_proj.weight"))
        x = self.keep(p + "attn_residual", x + y)
        return self.keep(p + "output", x + self.mlp(p, w, x))

    def attention(self, p: str, q: Array, k: Array, v: Array) -> Array:
        scores, probs = np.zeros((H, T, T), F32), np.zeros((H, T, T), F32)
        mixed = np.zeros((T, H, E), F32)
        for h in range(H):
            g = h // (H // K)
            for t in range(T):
                dots = [self.dot(q[t, h], k[s, g]) for s in range(T)]
                scores[h, t] = [F32(d * F32(CONFIG.attention_scale)) for d in dots]
                probs[h, t, : t + 1] = self.softmax(scores[h, t, : t + 1])
                for s in range(t + 1):
                    for i in range(E):
                        product = F32(probs[h, t, s] * v[s, g, i])
                        mixed[t, h, i] = F32(mixed[t, h, i] + product)
        self.keep(p + "attn_scores", scores)
        later = np.triu(np.ones((T, T), bool), 1)
        self.keep(p + "attn_masked", np.where(later, np.finfo(F32).min, scores))
        self.keep(p + "attn_probs", probs)
        return self.keep(p + "attn_values", mixed.reshape(T, -1))

    def softmax(self, row: Array) -> list[F32]:
        powers = [one(elementary.exp, F32(s - max(row))) for s in row]
        total = add_up(powers, self.lanes)
        return [F32(x / total) for x in powers]

    def mlp(self, p: str, w: str, x: Array) -> Array:
        y = self.keep(p + "mlp_norm", self.norm(x, w + "post_attention_layernorm.weight"))
        gate, up = (
            self.keep(f"{p}{i}_proj", self.linear(y, f"{w}mlp.{i}_proj.weight"))
            for i in ("gate", "up")
        )
        rows = zip(gate, up, strict=True)
        act = [[swiglu(a, b) for a, b in zip(r, s, strict=True)] for r, s in rows]
        y = self.keep(p + "mlp_act", act)
        return self.keep(p + "down_proj", self.linear(y, w + "mlp.down_proj.weight"))
