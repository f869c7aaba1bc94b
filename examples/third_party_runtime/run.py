#!/usr/bin/env python3
"""pocket-llama: a llama in one file, NumPy only.  usage: run.py [--bug NAME] REQUEST OUTDIR

Stands for any runtime that its author wants to put on trial. It knows nothing of the workbench;
`serve` is all that had to be added to speak trlm-process-v1.
"""

import argparse
import fnmatch
import json
import pathlib

import numpy as np

VERSION = "0.1"
BUGS = {
    "rope": "pairs neighbours (2i, 2i+1) where the weights expect halves (i, i + E/2)",
    "eps": "norm epsilon 1e-2 for whatever the config says",
    "gqa": "key/value heads tiled over the query heads, not repeated",
    "scale": "scores not divided by sqrt(E)",
    "mask": "every query sees one key too many",
    "act": "GELU where SiLU belongs",
    "swap": "gate and up matrices exchanged",
    "residual": "second residual add forgotten in the last layer",
    "norm": "final norm skipped",
    "head": "output head one row late",
}


# ---- files -------------------------------------------------------------------------------------


def load_weights(folder):
    """every tensor of every *.safetensors in folder, as float32"""
    out = {}
    for path in sorted(pathlib.Path(folder).glob("*.safetensors")):
        raw = np.memmap(path, np.uint8, "r")
        n = int(raw[:8].view("<u8")[0])
        head = json.loads(raw[8 : 8 + n].tobytes())
        for name, t in head.items():
            if name != "__metadata__":
                a, b = (8 + n + x for x in t["data_offsets"])
                kind = {"F32": "<f4", "F16": "<f2"}[t["dtype"]]
                flat = np.frombuffer(raw[a:b].tobytes(), kind)
                out[name] = flat.reshape(t["shape"]).astype(np.float32)
    return out


def save(path, tensors):
    """tensors as one safetensors file"""
    head, at = {}, 0
    for k, v in tensors.items():
        kind = "I64" if v.dtype == np.int64 else "F32"
        head[k] = {"dtype": kind, "shape": list(v.shape), "data_offsets": [at, at + v.nbytes]}
        at += v.nbytes
    text = json.dumps(head).encode()
    with pathlib.Path(path).open("wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        for v in tensors.values():
            f.write(np.ascontiguousarray(v).tobytes())


# ---- the model ---------------------------------------------------------------------------------


class Llama:
    def __init__(self, folder, bug=None):
        c = json.loads((pathlib.Path(folder) / "config.json").read_text())
        self.w, self.bug = load_weights(folder), bug
        self.L, self.H = c["num_hidden_layers"], c["num_attention_heads"]
        self.K = c.get("num_key_value_heads") or self.H
        self.E = c.get("head_dim") or c["hidden_size"] // self.H
        self.eps = 1e-2 if bug == "eps" else c["rms_norm_eps"]
        theta = c.get("rope_theta") or c["rope_parameters"]["rope_theta"]
        self.freq = (1.0 / theta ** (np.arange(0, self.E, 2) / self.E)).astype(np.float32)
        tied = c.get("tie_word_embeddings") or "lm_head.weight" not in self.w
        self.head = self.w["model.embed_tokens.weight" if tied else "lm_head.weight"]

    def norm(self, x, name):
        rms = np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(self.eps))
        return x / rms * self.w[name]

    def rope(self, x, pos):
        angle = pos.astype(np.float32)[:, None, None] * self.freq
        c, s = np.cos(angle), np.sin(angle)
        if self.bug == "rope":
            a, b = x[..., 0::2], x[..., 1::2]
            return np.stack([a * c - b * s, b * c + a * s], -1).reshape(x.shape)
        a, b = np.split(x, 2, -1)
        return np.concatenate([a * c - b * s, b * c + a * s], -1)

    def attention(self, x, pos, i, tap):
        T, E = len(x), self.E
        q, k, v = (x @ self.w[f"model.layers.{i}.self_attn.{n}_proj.weight"].T for n in "qkv")
        tap(q_proj=q, k_proj=k, v_proj=v)
        q, k = self.rope(q.reshape(T, -1, E), pos), self.rope(k.reshape(T, -1, E), pos)
        tap(q_rope=q, k_rope=k)
        group = np.arange(self.H)
        group = group % self.K if self.bug == "gqa" else group // (self.H // self.K)
        k, v = k[:, group], v.reshape(T, -1, E)[:, group]
        scores = np.einsum("the,she->hts", q, k)
        scores = scores if self.bug == "scale" else scores / np.float32(np.sqrt(E))
        hidden = np.triu(np.ones((T, T), bool), 2 if self.bug == "mask" else 1)
        masked = np.where(hidden, np.float32(-np.inf), scores)
        p = np.exp(masked - masked.max(-1, keepdims=True))
        p = p / p.sum(-1, keepdims=True)
        mixed = np.einsum("hts,she->the", p, v).reshape(T, -1)
        tap(attn_scores=scores, attn_masked=masked, attn_probs=p, attn_values=mixed)
        return mixed @ self.w[f"model.layers.{i}.self_attn.o_proj.weight"].T

    def mlp(self, x, i, tap):
        g, u, d = (self.w[f"model.layers.{i}.mlp.{n}_proj.weight"] for n in ("gate", "up", "down"))
        g, u = (u, g) if self.bug == "swap" else (g, u)
        g, u = x @ g.T, x @ u.T
        tap(gate_proj=g, up_proj=u)
        if self.bug == "act":
            a = 0.5 * g * (1 + np.tanh(np.float32(0.7978845608) * (g + 0.044715 * g**3)))
        else:
            a = g / (1 + np.exp(-g))
        tap(mlp_act=a * u)
        return (a * u) @ d.T

    def forward(self, ids, pos):
        """all checkpoints of one pass, under the names of the protocol"""
        seen = {}
        x = self.w["model.embed_tokens.weight"][ids]
        seen["embedding"] = x
        for i in range(self.L):

            def tap(i=i, **kw):
                seen.update({f"layers.{i}.{k}": v for k, v in kw.items()})

            tap(input=x)
            y = self.norm(x, f"model.layers.{i}.input_layernorm.weight")
            tap(attn_norm=y)
            y = self.attention(y, pos, i, tap)
            x = x + y
            tap(o_proj=y, attn_residual=x)
            y = self.norm(x, f"model.layers.{i}.post_attention_layernorm.weight")
            tap(mlp_norm=y)
            y = self.mlp(y, i, tap)
            tap(down_proj=y)
            x = y if self.bug == "residual" and i == self.L - 1 else x + y
            tap(output=x)
        x = x if self.bug == "norm" else self.norm(x, "model.norm.weight")
        seen["final_norm"] = x
        head = np.roll(self.head, 1, 0) if self.bug == "head" else self.head
        seen["logits"] = x @ head.T
        return seen


# ---- trlm-process-v1 ---------------------------------------------------------------------------


def cannot(case):
    """why a case is beyond this runtime, or None"""
    if 0 in case.get("attention_mask", []):
        return "no padding masks"
    extra = set(case) - {"case_id", "token_ids", "position_ids", "attention_mask"}
    return f"unknown field {min(extra)}" if extra else None


def serve(request, outdir, bug):
    wanted, refused = request["checkpoints"], {}
    if request.get("decode_steps"):
        refused = {c["case_id"]: "prefill only" for c in request["cases"]}
    model = Llama(request["model_dir"], bug)
    for case in request["cases"]:
        why = refused.get(case["case_id"]) or cannot(case)
        if why:
            refused[case["case_id"]] = why
            continue
        ids = np.array(case["token_ids"], np.int64)
        pos = np.array(case.get("position_ids", range(len(ids))), np.int64)
        tensors = model.forward(ids, pos)
        keep = {k: v for k, v in tensors.items() if any(fnmatch.fnmatch(k, w) for w in wanted)}
        keep = {k: v.astype(np.float32, copy=False) for k, v in keep.items()}
        save(outdir / f"{case['case_id']}.safetensors", {"token_ids": ids, **keep})
    report = {"schema": "trlm.process.report.v1", "engine": "pocket-llama", "version": VERSION}
    report |= {"profile": "float32, BLAS order", "not_supported": refused}
    (outdir / "report.json").write_text(json.dumps(report))


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--bug", choices=BUGS, help="; ".join(f"{k}: {v}" for k, v in BUGS.items()))
    p.add_argument("request", type=pathlib.Path)
    p.add_argument("outdir", type=pathlib.Path)
    a = p.parse_args()
    serve(json.loads(a.request.read_text()), a.outdir, a.bug)


if __name__ == "__main__":
    main()
