"""The reference engine against the whole model in literal loops over single numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.backends.reference_model import (
    CASE,
    CONFIG,
    EXACT,
    F32,
    MODEL,
    arrays,
    assert_same,
    observed,
    session,
)
from trlm_lab.backends.profiles import REFERENCE_PROFILES
from trlm_lab.backends.reference import ReferenceRunner
from trlm_lab.base.bits import same_bits
from trlm_lab.base.names import is_checkpoint
from trlm_lab.ops import elementary
from trlm_lab.ops.arithmetic import Array


def add_up(terms: list[F32], lanes: int) -> F32:
    partial = [F32(0)] * lanes
    for i, term in enumerate(terms):
        partial[i % lanes] = F32(partial[i % lanes] + term)
    while len(partial) > 1:
        half = len(partial) // 2
        partial = [F32(partial[i] + partial[i + half]) for i in range(half)]
    return partial[0]


def one(function: Callable[[Array], Array], x: F32) -> F32:
    return F32(function(np.array([x], F32))[0])


def literal_forward(lanes: int) -> dict[str, Array]:
    """The whole model by loops over single float32 numbers, written from the formats page."""
    w: dict[str, Any] = arrays()
    c, ids = CONFIG, CASE.token_ids
    T, H, K, E = len(ids), c.num_attention_heads, c.num_key_value_heads, c.head_dim
    seen: dict[str, Array] = {}

    def keep(name: str, values: Any) -> Array:
        seen[name] = np.array(values, F32)
        return seen[name]

    def linear(x: Array, name: str) -> list[list[F32]]:
        return [
            [add_up([F32(a * b) for a, b in zip(r, o, strict=True)], lanes) for o in w[name]]
            for r in x
        ]

    def norm(x: Array, name: str) -> list[list[F32]]:
        rows = []
        for r in x:
            total = add_up([F32(v * v) for v in r], lanes)
            mean = F32(total / F32(len(r)))
            scale = F32(F32(1) / np.sqrt(F32(mean + F32(c.rms_norm_eps))))
            rows.append([F32(g * F32(v * scale)) for v, g in zip(r, w[name], strict=True)])
        return rows

    def rotated(x: Array, heads: int) -> Array:
        out = x.reshape(T, heads, E).copy()
        for t in range(T):
            for i in range(E // 2):
                angle = F32(F32(t) * F32(c.rope_inv_freq[i]))
                cos, sin = one(elementary.cos, angle), one(elementary.sin, angle)
                for h in range(heads):
                    a, b = x.reshape(T, heads, E)[t, h, i], x.reshape(T, heads, E)[t, h, i + E // 2]
                    out[t, h, i] = F32(F32(a * cos) - F32(b * sin))
                    out[t, h, i + E // 2] = F32(F32(b * cos) + F32(a * sin))
        return out

    def attend(p: str, q: Array, k: Array, v: Array) -> Array:
        scores, probs = np.zeros((H, T, T), F32), np.zeros((H, T, T), F32)
        mixed = np.zeros((T, H, E), F32)
        for h in range(H):
            g = h // (H // K)
            for t in range(T):
                for s in range(T):
                    dot = add_up([F32(q[t, h, e] * k[s, g, e]) for e in range(E)], lanes)
                    scores[h, t, s] = F32(dot * F32(c.attention_scale))
                top = max(scores[h, t, : t + 1])
                e = [one(elementary.exp, F32(s - top)) for s in scores[h, t, : t + 1]]
                total = add_up(e, lanes)
                probs[h, t, : t + 1] = [F32(x / total) for x in e]
                for s in range(t + 1):
                    for i in range(E):
                        product = F32(probs[h, t, s] * v[s, g, i])
                        mixed[t, h, i] = F32(mixed[t, h, i] + product)
        keep(p + "attn_scores", scores)
        later = np.triu(np.ones((T, T), bool), 1)
        keep(p + "attn_masked", np.where(later, np.finfo(F32).min, scores))
        keep(p + "attn_probs", probs)
        return keep(p + "attn_values", mixed.reshape(T, -1))

    x = keep("embedding", [w["model.embed_tokens.weight"][i] for i in ids])
    for n in range(c.num_hidden_layers):
        p, name = f"layers.{n}.", f"model.layers.{n}."
        keep(p + "input", x)
        y = keep(p + "attn_norm", norm(x, name + "input_layernorm.weight"))
        q, k, v = (
            keep(p + f"{i}_proj", linear(y, name + f"self_attn.{i}_proj.weight")) for i in "qkv"
        )
        q, k = keep(p + "q_rope", rotated(q, H)), keep(p + "k_rope", rotated(k, K))
        y = attend(p, q, k, v.reshape(T, K, E))
        y = keep(p + "o_proj", linear(y, name + "self_attn.o_proj.weight"))
        x = keep(p + "attn_residual", x + y)
        y = keep(p + "mlp_norm", norm(x, name + "post_attention_layernorm.weight"))
        gate, up = (
            keep(p + f"{i}_proj", linear(y, name + f"mlp.{i}_proj.weight")) for i in ("gate", "up")
        )
        act = [
            [
                F32(F32(a / F32(F32(1) + one(elementary.exp, -a))) * b)
                for a, b in zip(r, s, strict=True)
            ]
            for r, s in zip(gate, up, strict=True)
        ]
        y = keep(p + "down_proj", linear(keep(p + "mlp_act", act), name + "mlp.down_proj.weight"))
        x = keep(p + "output", x + y)
    keep("logits", linear(keep("final_norm", norm(x, "model.norm.weight")), "lm_head.weight"))
    return seen


@pytest.mark.parametrize(("profile", "lanes"), [("scalar-f32-v1", 1), ("lanes16-f32-v1", 16)])
def test_every_checkpoint_has_the_bits_of_the_literal_loops(profile: str, lanes: int) -> None:
    expected = literal_forward(lanes)
    got = observed(session(profile).run(CASE))
    assert list(expected) == [n for n in got if is_checkpoint(n)]
    assert [n for n in expected if not same_bits(got[n], expected[n])] == []


def test_profiles_differ_in_bits_and_hardly_in_value() -> None:
    scalar, lanes, wide = (observed(session(p).run(CASE))["logits"] for p in REFERENCE_PROFILES)
    assert not same_bits(scalar, lanes)
    assert not same_bits(scalar, wide)
    order = [np.argsort(logits, axis=1)[:, -3:].tolist() for logits in (scalar, lanes, wide)]
    assert order[0] == order[1] == order[2]


@pytest.mark.parametrize("profile", EXACT)
def test_threads_change_no_bit(profile: str) -> None:
    threaded = ReferenceRunner(profile, threads=2).start(MODEL)
    assert_same(observed(session(profile).run(CASE)), observed(threaded.run(CASE)))


def test_an_exp_that_is_off_by_one_ulp_changes_the_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = observed(session().run(CASE))
    exact = elementary.exp
    monkeypatch.setattr(elementary, "exp", lambda x: np.nextafter(exact(x), F32(np.inf)))
    off = observed(session().run(CASE))
    changed = [n for n in sound if not same_bits(sound[n], off[n])]
    assert changed[0] == "layers.0.attn_probs"
    assert "logits" in changed
