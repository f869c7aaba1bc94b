"""A small container with every dtype, and a way to patch its fields."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from trlm_lab.slm.layout import HEADER, PIECE_DESC, SHARD_DESC, TENSOR_DESC
from trlm_lab.slm.numbers import DType, Role
from trlm_lab.slm.plan import TensorSpec
from trlm_lab.slm.write import assemble

CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "vocab_size": 7,
    "hidden_size": 8,
    "intermediate_size": 5,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 4,
    "max_position_embeddings": 16,
    "rms_norm_eps": float(np.float32(1e-5)),
    "rope_theta": 10000.0,
    "rope_order": "half_split",
}

#: Index of each tensor in the small file.
EMBED, NORM, HALF, BRAIN, HEAD = range(5)


def small_specs() -> list[TensorSpec]:
    return [
        TensorSpec("embed", Role.embedding, DType.q8_r128, (7, 8)),
        TensorSpec("norm", Role.final_norm, DType.f32, (8,)),
        TensorSpec("half", Role.other, DType.f16, (2, 3)),
        TensorSpec("brain", Role.other, DType.bf16, (2, 2, 3)),
        TensorSpec("head", Role.lm_head, DType.q8_r128, (7, 8), "embed"),
    ]


def small_payloads() -> dict[str, tuple[bytes, bytes]]:
    codes = np.zeros((7, 64), np.int8)
    codes[:, :8] = np.arange(56).reshape(7, 8) - 28
    scales = np.full((7, 1), 0.5, "<f2")
    return {
        "embed": (codes.tobytes(), scales.tobytes()),
        "norm": (np.linspace(0.5, 1.5, 8, dtype="<f4").tobytes(), b""),
        "half": (np.arange(6, dtype="<f2").tobytes(), b""),
        "brain": ((np.arange(12, dtype="<f4").view("<u4") >> 16).astype("<u2").tobytes(), b""),
    }


@pytest.fixture(scope="session")
def small() -> bytes:
    """The small file: 5 tensors, 1 piece, a tokenizer section of 5 bytes."""
    return assemble(small_specs(), CONFIG, small_payloads(), b"token")


Patch = Callable[..., bytes]


@pytest.fixture
def patch(small: bytes) -> Patch:
    """patch("header" | "tensor" | "piece" | "shard", index, field=value, ...) -> changed bytes."""
    header = HEADER.unpack(memoryview(small), 0)

    def change(table: str, index: int = 0, data: bytes = small, **values: Any) -> bytes:
        kind, start = {
            "header": (HEADER, 0),
            "tensor": (TENSOR_DESC, header["tensor_dir_off"]),
            "piece": (PIECE_DESC, header["piece_table_off"]),
            "shard": (SHARD_DESC, header["shard_table_off"]),
        }[table]
        start += index * kind.size
        row = kind.unpack(memoryview(data), start) | values
        return data[:start] + kind.pack(row) + data[start + kind.size :]

    return change
