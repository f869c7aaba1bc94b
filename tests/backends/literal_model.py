"""Any model in literal loops over single float32 numbers, written from the formats page."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.ops.literal_sum import add_up
from trlm_lab.base.records import Case, EffectiveConfig
from trlm_lab.ops import elementary
from trlm_lab.ops.arithmetic import Array

F32 = np.float32
LOWEST = np.finfo(F32).min
#: Where the norm of each place lies among the tensors of a layer.
NORMS = {
    "pre": {"attn_norm": "input_layernorm", "mlp_norm": "post_attention_layernorm"},
    "post": {"post_attn_norm": "post_attention_layernorm",
             "post_mlp_norm": "post_feedforward_layernorm"},
    "sandwich": {"attn_norm": "input_layernorm", "post_attn_norm": "post_attention_layernorm",
                 "mlp_norm": "pre_feedforward_layernorm",
                 "post_mlp_norm": "post_feedforward_layernorm"},
}  # fmt: skip


def one(function: Callable[[Array], Array], x: F32) -> F32:
    """An elementary function of one number."""
    return F32(function(np.array([x], F32))[0])


def silu(x: F32) -> F32:
    """x / (1 + exp(-x))."""
    return F32(x / F32(F32(1) + one(elementary.exp, -x)))


def gelu_tanh(x: F32) -> F32:
    """(0.5*x) * (1 + tanh(c * (x + 0.044715*((x*x)*x))))."""
    cube = F32(F32(x * x) * x)
    inner = F32(F32(np.sqrt(2 / np.pi)) * F32(x + F32(F32(0.044715) * cube)))
    return F32(F32(F32(0.5) * x) * F32(F32(1) + one(elementary.tanh, inner)))


def gelu_erf(x: F32) -> F32:
    """(0.5*x) * (1 + erf(x * sqrt(1/2)))."""
    inner = F32(x * F32(np.sqrt(0.5)))
    return F32(F32(F32(0.5) * x) * F32(F32(1) + one(elementary.erf, inner)))


ACTIVATIONS = {"silu": silu, "gelu_tanh": gelu_tanh, "gelu_erf": gelu_erf}


def capped(x: F32, cap: float | None) -> F32:
    """cap * tanh(x / cap), or x."""
    return x if cap is None else F32(F32(cap) * one(elementary.tanh, F32(x / F32(cap))))


class LiteralModel:
    """One forward pass over a case; `seen` holds every checkpoint in order."""

    def __init__(
        self, config: EffectiveConfig, weights: dict[str, Any], case: Case, lanes: int
    ) -> None:
        self.config, self.weights, self.case, self.lanes = config, weights, case, lanes
        self.tokens = len(case.token_ids)
        self.seen: dict[str, Array] = {}

    def forward(self) -> dict[str, Array]:
        """All checkpoints."""
        c, table = self.config, self.weights["model.embed_tokens.weight"]
        rows = [[F32(v * F32(c.embedding_scale)) for v in table[i]] for i in self.case.token_ids]
        x = self.keep("embedding", rows)
        if c.rope_order == "none":
            learned = self.weights["model.embed_positions.weight"]
            x = np.array([[F32(a + b) for a, b in zip(x[t], learned[t], strict=True)]
                          for t in range(self.tokens)])  # fmt: skip
        for n in range(c.num_hidden_layers):
            x = self.layer(n, x)
        x = self.keep("final_norm", self.norm(x, "model.norm"))
        logits = self.linear(x, "lm_head")
        self.keep("logits", [[capped(v, c.final_logit_softcapping) for v in r] for r in logits])
        return self.seen

    def keep(self, name: str, values: Any) -> Array:
        self.seen[name] = np.array(values, F32)
        return self.seen[name]

    def linear(self, x: Array, module: str) -> list[list[F32]]:
        rows = [[self.dot(row, out) for out in self.weights[f"{module}.weight"]] for row in x]
        bias = self.weights.get(f"{module}.bias")
        if bias is None:
            return rows
        return [[F32(v + b) for v, b in zip(row, bias, strict=True)] for row in rows]

    def dot(self, a: Array, b: Array) -> F32:
        return self.total([F32(x * y) for x, y in zip(a, b, strict=True)])

    def total(self, terms: list[F32]) -> F32:
        return add_up(terms, self.lanes)

    def norm(self, x: Array, module: str) -> list[list[F32]]:
        layer_norm = self.config.layer_norm_epsilon is not None
        return [(self.layer_norm if layer_norm else self.rms_norm)(row, module) for row in x]

    def rms_norm(self, row: Array, module: str) -> list[F32]:
        c, weight = self.config, self.weights[f"{module}.weight"]
        mean = F32(self.dot(row, row) / F32(len(row)))
        scale = F32(F32(1) / np.sqrt(F32(mean + F32(c.rms_norm_eps))))
        factors = [F32(F32(1) + w) if c.norm_unit_offset else w for w in weight]
        return [F32(g * F32(v * scale)) for v, g in zip(row, factors, strict=True)]

    def layer_norm(self, row: Array, module: str) -> list[F32]:
        weight, bias = self.weights[f"{module}.weight"], self.weights[f"{module}.bias"]
        mean = F32(self.total(list(row)) / F32(len(row)))
        centred = [F32(v - mean) for v in row]
        variance = F32(self.total([F32(v * v) for v in centred]) / F32(len(row)))
        scale = F32(F32(1) / np.sqrt(F32(variance + F32(self.config.layer_norm_epsilon))))
        return [F32(F32(F32(v * scale) * w) + b)
                for v, w, b in zip(centred, weight, bias, strict=True)]  # fmt: skip

    def maybe_norm(self, op: str, n: int, x: Array) -> Array:
        module = NORMS[self.config.norm_placement].get(op)
        if module is None:
            return x
        return self.keep(f"layers.{n}.{op}", self.norm(x, f"model.layers.{n}.{module}"))

    def project(self, op: str, n: int, x: Array, part: str = "self_attn") -> Array:
        return self.keep(f"layers.{n}.{op}", self.linear(x, f"model.layers.{n}.{part}.{op}"))

    def layer(self, n: int, x: Array) -> Array:
        x = self.keep(f"layers.{n}.input", x)
        y = self.attention(n, self.maybe_norm("attn_norm", n, x))
        y = self.maybe_norm("post_attn_norm", n, self.project("o_proj", n, y))
        x = self.keep(f"layers.{n}.attn_residual", x + y)
        y = self.mlp(n, self.maybe_norm("mlp_norm", n, x))
        y = self.maybe_norm("post_mlp_norm", n, self.project("down_proj", n, y, "mlp"))
        return self.keep(f"layers.{n}.output", x + y)

    def mlp(self, n: int, x: Array) -> Array:
        act = ACTIVATIONS[self.config.hidden_act]
        if not self.config.mlp_gated:
            up = self.project("up_proj", n, x, "mlp")
            return self.keep(f"layers.{n}.mlp_act", [[act(v) for v in row] for row in up])
        gate, up = (self.project(op, n, x, "mlp") for op in ("gate_proj", "up_proj"))
        rows = zip(gate, up, strict=True)
        return self.keep(
            f"layers.{n}.mlp_act",
            [[F32(act(a) * b) for a, b in zip(r, s, strict=True)] for r, s in rows],
        )

    def attention(self, n: int, x: Array) -> Array:
        c = self.config
        q, k, v = (self.project(op, n, x) for op in ("q_proj", "k_proj", "v_proj"))
        q = self.head_norm("q_norm", n, q, c.num_attention_heads)
        k = self.head_norm("k_norm", n, k, c.num_key_value_heads)
        if c.rope_order != "none":
            q = self.keep(f"layers.{n}.q_rope", self.rotated(n, q))
            k = self.keep(f"layers.{n}.k_rope", self.rotated(n, k))
        return self.mixed(n, q, k, v.reshape(self.tokens, -1, c.head_dim))

    def head_norm(self, op: str, n: int, x: Array, heads: int) -> Array:
        c, module = self.config, f"model.layers.{n}.self_attn.{op}"
        split = x.reshape(self.tokens, heads, c.head_dim)
        if c.qk_norm == "none":
            return split
        if c.qk_norm == "joined":
            rows = np.array(self.norm(x, module), F32)
        else:
            rows = np.array([self.norm(token, module) for token in split], F32)
        return self.keep(f"layers.{n}.{op}", rows.reshape(split.shape))

    def rotated(self, n: int, x: Array) -> Array:
        """Pairs (i, i + P) turned by position times inverse frequency; the rest stands still."""
        c, out = self.config, x.copy()
        local = c.layer_types[n] == "sliding_attention" and c.rope_local_inv_freq
        frequencies = c.rope_local_inv_freq if local else c.rope_inv_freq
        for t in range(self.tokens):
            for i, frequency in enumerate(frequencies):
                angle, j = F32(F32(t) * F32(frequency)), i + len(frequencies)
                cos = F32(one(elementary.cos, angle) * F32(c.rope_attention_factor))
                sin = F32(one(elementary.sin, angle) * F32(c.rope_attention_factor))
                for h in range(x.shape[1]):
                    a, b = x[t, h, i], x[t, h, j]
                    out[t, h, i] = F32(F32(a * cos) - F32(b * sin))
                    out[t, h, j] = F32(F32(b * cos) + F32(a * sin))
        return out

    def mixed(self, n: int, q: Array, k: Array, v: Array) -> Array:
        c, p, T = self.config, f"layers.{n}.", self.tokens
        H, E, group = q.shape[1], c.head_dim, q.shape[1] // k.shape[1]
        sees = [self.visible(n, t) for t in range(T)]
        scores, probs = np.zeros((H, T, T), F32), np.zeros((H, T, T), F32)
        masked, mixed = np.full((H, T, T), LOWEST, F32), np.zeros((T, H, E), F32)
        for h in range(H):
            for t in range(T):
                dots = [F32(self.dot(q[t, h], k[s, h // group]) * F32(c.attention_scale))
                        for s in range(T)]  # fmt: skip
                scores[h, t] = [capped(d, c.attn_logit_softcapping) for d in dots]
                masked[h, t, sees[t]] = scores[h, t, sees[t]]
                probs[h, t, sees[t]] = self.softmax(scores[h, t, sees[t]])
                for s in sees[t]:
                    for i in range(E):
                        product = F32(probs[h, t, s] * v[s, h // group, i])
                        mixed[t, h, i] = F32(mixed[t, h, i] + product)
        self.keep(p + "attn_scores", scores)
        self.keep(p + "attn_masked", masked)
        self.keep(p + "attn_probs", probs)
        return self.keep(p + "attn_values", mixed.reshape(T, -1))

    def visible(self, n: int, t: int) -> list[int]:
        """The keys that query t sees, oldest first."""
        slides = self.config.layer_types[n] == "sliding_attention"
        window = self.config.sliding_window if slides else self.tokens
        return [s for s in range(t + 1) if t - s < window]

    def softmax(self, row: Array) -> list[F32]:
        powers = [one(elementary.exp, F32(s - max(row))) for s in row]
        total = self.total(powers)
        return [F32(x / total) for x in powers]
