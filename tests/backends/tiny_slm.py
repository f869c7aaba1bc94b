"""A small SLM2 writer from the byte tables alone, for tests of the runtime's own reader.

It shares nothing with the packer, so that a mistake in one does not hide in both.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.backends.tiny_families import family_fields
from trlm_lab.base import canon
from trlm_lab.base.bits import bits_of
from trlm_lab.base.model_parts import ModelTensor, model_tensors
from trlm_lab.base.records import EffectiveConfig

F32 = NDArray[np.float32]
PIECE = 1 << 20
ROLES = ("other", "embedding", "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj",
         "down_proj", "attn_norm", "mlp_norm", "final_norm", "lm_head", "q_norm", "k_norm",
         "post_attn_norm", "post_mlp_norm", "position_embedding", "q_proj_bias", "k_proj_bias",
         "v_proj_bias", "o_proj_bias", "gate_proj_bias", "up_proj_bias", "down_proj_bias",
         "attn_norm_bias", "mlp_norm_bias", "final_norm_bias")  # fmt: skip


def tiny_config(family: str = "llama", **changes: object) -> EffectiveConfig:
    """A family's small model, whose sizes are all different and none is a multiple of 64."""
    return EffectiveConfig(**family_fields(family, **changes))


@dataclass(frozen=True)
class Weight:
    """A named matrix or vector, or an alias where `values` is None."""

    name: str
    role: str
    values: F32 | None


def tiny_weights(config: EffectiveConfig, seed: int = 7) -> list[Weight]:
    """Seeded weights of any configuration under their Hugging Face names."""
    rng = np.random.default_rng(seed)

    def values(tensor: ModelTensor) -> F32 | None:
        if tensor.role == "lm_head" and config.tie_word_embeddings:
            return None
        centred = rng.random(tensor.shape, dtype=np.float32) - np.float32(0.5)
        if len(tensor.shape) == 2 or tensor.role.endswith("_bias"):
            return np.asarray(centred * np.float32(0.4))
        # The factor of a norm is near 1; where it is 1 + w, the weight is near 0.
        return np.asarray(np.float32(not config.norm_unit_offset) + centred / np.float32(4))

    return [Weight(t.name, t.role, values(t)) for t in model_tensors(config)]


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
        bits_of(c.rope_theta), bits_of(c.norm_eps), c.hidden_size, places["directory"],
        len(rows), 128, 0, places["pieces"], len(pieces), len(strings), places["shards"], 1,
        len(encoded), places["tokenizer"], len(tokenizer), start + len(body), bytes(32),
        _merkle([hashlib.sha256(b"\0" + p).digest() for p in pieces]), 0, places["strings"],
        places["config"], start,
    )  # fmt: skip
    blank = front[:136] + bytes(72) + front[208:]
    front[136:168] = hashlib.sha256(blank + body).digest()
    return bytes(front) + body
