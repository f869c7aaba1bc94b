"""A small SLM2 writer from the byte tables alone, for tests of the runtime's own reader.

It shares nothing with the packer, so that a mistake in one does not hide in both.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tests.plain_llama import plain_llama
from trlm_lab.base import canon
from trlm_lab.base.bits import bits_of
from trlm_lab.base.records import EffectiveConfig

F32 = NDArray[np.float32]
PIECE = 1 << 20
ROLES = ("other", "embedding", "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj",
         "down_proj", "attn_norm", "mlp_norm", "final_norm", "lm_head")  # fmt: skip


def tiny_config(**changes: object) -> EffectiveConfig:
    """A llama of two layers whose sizes are all different and none is a multiple of 64."""
    theta = 10000.0
    head_dim = int(changes.get("head_dim", 10))  # type: ignore[call-overload]
    exponents = np.arange(0, head_dim, 2, dtype=np.float32) / np.float32(head_dim)
    frequencies = np.float32(1) / np.power(np.float32(theta), exponents, dtype=np.float32)
    base = EffectiveConfig(
        **plain_llama(2), vocab_size=67, hidden_size=36, intermediate_size=90,
        num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=2, head_dim=head_dim,
        max_position_embeddings=64, rms_norm_eps=float(np.float32(1e-5)), rope_theta=theta,
        rope_inv_freq=tuple(float(f) for f in frequencies),
        attention_scale=float(np.float32(head_dim**-0.5)), tie_word_embeddings=True, bos_token_id=1,
        eos_token_id=(2,), pad_token_id=None, unk_token_id=0,
    )  # fmt: skip
    if "num_hidden_layers" in changes and "layer_types" not in changes:
        changes["layer_types"] = ("full_attention",) * int(changes["num_hidden_layers"])  # type: ignore[call-overload]
    return replace(base, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Weight:
    """A named matrix or vector, or an alias where `values` is None."""

    name: str
    role: str
    values: F32 | None


def tiny_weights(config: EffectiveConfig, seed: int = 7) -> list[Weight]:
    """Seeded weights under their Hugging Face names."""
    rng = np.random.default_rng(seed)
    D, F, E = config.hidden_size, config.intermediate_size, config.head_dim
    HE, KE = config.num_attention_heads * E, config.num_key_value_heads * E

    def matrix(rows: int, cols: int) -> F32:
        return (rng.random((rows, cols), dtype=np.float32) - np.float32(0.5)) * np.float32(0.4)

    def norm() -> F32:
        return np.float32(1) + (rng.random(D, dtype=np.float32) - np.float32(0.5)) / np.float32(4)

    weights = [Weight("model.embed_tokens.weight", "embedding", matrix(config.vocab_size, D))]
    for i in range(config.num_hidden_layers):
        p = f"model.layers.{i}."
        weights += [
            Weight(p + "input_layernorm.weight", "attn_norm", norm()),
            Weight(p + "self_attn.q_proj.weight", "q_proj", matrix(HE, D)),
            Weight(p + "self_attn.k_proj.weight", "k_proj", matrix(KE, D)),
            Weight(p + "self_attn.v_proj.weight", "v_proj", matrix(KE, D)),
            Weight(p + "self_attn.o_proj.weight", "o_proj", matrix(D, HE)),
            Weight(p + "post_attention_layernorm.weight", "mlp_norm", norm()),
            Weight(p + "mlp.gate_proj.weight", "gate_proj", matrix(F, D)),
            Weight(p + "mlp.up_proj.weight", "up_proj", matrix(F, D)),
            Weight(p + "mlp.down_proj.weight", "down_proj", matrix(D, F)),
        ]
    weights.append(Weight("model.norm.weight", "final_norm", norm()))
    head = None if config.tie_word_embeddings else matrix(config.vocab_size, D)
    return [*weights, Weight("lm_head.weight", "lm_head", head)]


def quantize(values: F32) -> tuple[bytes, bytes]:
    """Code plane and scale plane of q8_r128."""
    rows, cols = values.shape
    padded = np.zeros((rows, -(-cols // 128) * 128), dtype=np.float32)
    padded[:, :cols] = values
    groups = padded.reshape(rows, -1, 128)
    scales = (np.abs(groups).max(axis=2) / np.float32(127)).astype(np.float16)
    wide = np.where(scales == 0, 1, scales).astype(np.float32)[:, :, None]
    codes = np.clip(np.rint(groups / wide), -127, 127).astype(np.int8).reshape(rows, -1)
    return codes[:, : -(-cols // 64) * 64].tobytes(), scales.tobytes()


def dequantize(values: F32) -> F32:
    """The matrix that a q8_r128 reader sees."""
    codes, scales = quantize(values)
    rows, cols = values.shape
    code = np.frombuffer(codes, np.int8).reshape(rows, -1)[:, :cols].astype(np.float32)
    scale = np.frombuffer(scales, np.float16).reshape(rows, -1).astype(np.float32)
    return code * np.repeat(scale, 128, axis=1)[:, :cols]


def _pad(data: bytearray, alignment: int) -> int:
    data += bytes(-len(data) % alignment)
    return len(data)


@dataclass
class _Row:
    """What the directory says about one tensor; offsets are relative to the body."""

    weight: Weight
    dims: tuple[int, ...]
    q8: bool
    data_off: int = 0
    data: bytes = b""
    aux_off: int = 0
    aux: bytes = b""

    @property
    def sha(self) -> bytes:
        return hashlib.sha256(self.data + self.aux).digest()[:16]

    def descriptor(self, index: int, body_off: int, target: _Row) -> bytes:
        alias = self.weight.values is None
        end = self.aux_off + len(self.aux) if self.aux else self.data_off + len(self.data)
        first = self.data_off // PIECE
        cols = self.dims[-1]
        dims = (*self.dims, 0, 0, 0, 0, 0)[:6]
        return struct.pack(
            "<I4HI2BH6II3QQIIII16sI12x",
            index, ROLES.index(self.weight.role), 4 if self.q8 else 1, int(alias),
            int(self.q8 and not alias), int(alias), len(self.dims), len(self.dims), 0, *dims, 0,
            len(target.data), 0 if alias else body_off + self.data_off, len(self.data),
            body_off + self.aux_off if self.aux else 0, len(self.aux),
            0 if alias else 0xFFFFFFFF, 0 if alias else first,
            0 if alias else (end - 1) // PIECE - first + 1, target.sha,
            0 if alias else (-(-cols // 64) * 64 if self.q8 else cols * 4),
        )  # fmt: skip


def _body(weights: list[Weight], quant: str) -> tuple[bytes, list[_Row]]:
    body, rows = bytearray(), []
    for weight in weights:
        values = weight.values
        if values is None:
            rows.append(_Row(weight, rows[0].dims, rows[0].q8))
            continue
        row = _Row(weight, values.shape, quant == "q8_r128" and values.ndim == 2)
        row.data, row.aux = quantize(values) if row.q8 else (values.tobytes(), b"")
        row.data_off = _pad(body, 64)
        body += row.data
        if row.aux:
            row.aux_off = _pad(body, 64)
            body += row.aux
        rows.append(row)
    return bytes(body), rows


def _merkle(leaves: list[bytes]) -> bytes:
    if len(leaves) == 1:
        return leaves[0]
    cut = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + _merkle(leaves[:cut]) + _merkle(leaves[cut:])).digest()


def _strings(names: list[str]) -> bytes:
    spans, text = b"", b""
    for name in names:
        spans += struct.pack("<II", len(text), len(name))
        text += name.encode()
    return struct.pack("<I", len(names)) + spans + text


def write_slm(
    config: EffectiveConfig,
    weights: list[Weight],
    quant: str = "f32",
    *,
    config_bytes: bytes | None = None,
    tokenizer: bytes = b"TOK?",
) -> bytes:
    """A whole SLM2 file. `quant` is `f32` or `q8_r128`."""
    body, rows = _body(weights, quant)
    encoded = canon.encode(config.to_map()) if config_bytes is None else config_bytes
    strings = _strings([w.name for w in weights])
    pieces = [body[i : i + PIECE] for i in range(0, len(body), PIECE)]
    front = bytearray(256)
    places: dict[str, int] = {}
    for name, data, alignment in (
        ("strings", strings, 1),
        ("config", encoded, 1),
        ("directory", bytes(128 * len(rows)), 16),
        ("tokenizer", tokenizer, 1),
        ("pieces", bytes(56 * len(pieces)), 16),
        ("shards", bytes(52), 16),
        ("body", b"", 4096),
    ):
        places[name] = _pad(front, alignment)
        front += data
    start = places["body"]
    for i, row in enumerate(rows):
        target = rows[0] if row.weight.values is None else row
        at = places["directory"] + 128 * i
        front[at : at + 128] = row.descriptor(i, start, target)
    for i, piece in enumerate(pieces):
        at = places["pieces"] + 56 * i
        digest = hashlib.sha256(piece).digest()
        fields = (i, 0, start + i * PIECE, len(piece), len(piece), digest)
        front[at : at + 56] = struct.pack("<IIQII32s", *fields)
    shard = (0, 0, 0, 0, len(body), hashlib.sha256(body).digest())
    front[places["shards"] : places["shards"] + 52] = struct.pack("<IHHIQ32s", *shard)
    c = config
    front[:256] = struct.pack(
        "<4s2HIIQ6I3I I QIHHQIIQIIQQQ32s32sQQQQ24x",
        b"SLM2", 2, 0, 256, 0, 0, c.vocab_size, c.num_hidden_layers, c.num_attention_heads,
        c.num_key_value_heads, c.head_dim, c.intermediate_size, c.max_position_embeddings,
        bits_of(c.rope_theta), bits_of(c.rms_norm_eps), c.hidden_size, places["directory"],
        len(rows), 128, 0, places["pieces"], len(pieces), len(strings), places["shards"], 1,
        len(encoded), places["tokenizer"], len(tokenizer), start + len(body), bytes(32),
        _merkle([hashlib.sha256(b"\0" + p).digest() for p in pieces]), 0, places["strings"],
        places["config"], start,
    )  # fmt: skip
    blank = front[:136] + bytes(72) + front[208:]
    front[136:168] = hashlib.sha256(blank + body).digest()
    return bytes(front) + body
