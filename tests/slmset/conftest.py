"""An SLM2 file of four pieces, and sets of it that can be changed."""

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trlm_lab.slm.numbers import DType, Role
from trlm_lab.slm.plan import TensorSpec
from trlm_lab.slm.write import assemble
from trlm_lab.slmset import Manifest, split
from trlm_lab.slmset.manifest import read_manifest

CONFIG: dict[str, Any] = {
    "model_type": "llama", "vocab_size": 300, "hidden_size": 1024, "intermediate_size": 5,
    "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4,
    "max_position_embeddings": 16, "rms_norm_eps": float(np.float32(1e-5)),
    "rope_theta": 10000.0, "rope_order": "half_split",
}  # fmt: skip


def made() -> bytes:
    """3.4 MiB that compress: codes with scales, then float32."""
    codes = np.resize(np.arange(251, dtype=np.uint8) % 100, (1200, 1024)).astype(np.int8)
    scales = np.full((1200, 8), 0.5, "<f2")
    rows = np.resize(np.linspace(0, 1, 77, dtype="<f4"), (600, 1024))
    specs = [
        TensorSpec("codes", Role.other, DType.q8_r128, (1200, 1024)),
        TensorSpec("floats", Role.other, DType.f32, (600, 1024)),
    ]
    payloads = {"codes": (codes.tobytes(), scales.tobytes()), "floats": (rows.tobytes(), b"")}
    return assemble(specs, CONFIG, payloads, b"token")


@pytest.fixture(scope="session")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("artifact") / "model.slm"
    path.write_bytes(made())
    return path


@pytest.fixture(scope="session")
def sets(artifact: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The set of a codec with two pieces a shard, made once."""
    root = tmp_path_factory.mktemp("sets")

    def get(codec: str) -> Path:
        if not (root / codec).exists():
            split(artifact, root / codec, codec=codec, shard_pieces=2)
        return root / codec

    return get


@pytest.fixture
def copied(sets: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy of the set that a test may damage."""

    def copy(codec: str) -> Path:
        target = tmp_path / f"{codec}.slmset"
        return Path(shutil.copytree(sets(codec), target))

    return copy


def rewrite(root: Path, change: Callable[[Manifest], Manifest]) -> None:
    """Change the manifest."""
    path = root / "manifest.cbor"
    path.write_bytes(change(read_manifest(root)).encode())


def stored_as(root: Path, index: int, stored: bytes) -> None:
    """Give a piece other stored bytes, with every hash of stored bytes that holds."""
    manifest = read_manifest(root)
    shard = manifest.pieces[index].shard_index
    name = root / f"shard-{shard:05d}.bin"
    old, parts, rows, at = name.read_bytes(), [], list(manifest.pieces), 0
    for i, piece in enumerate(manifest.pieces):
        if piece.shard_index == shard:
            own = old[piece.file_off : piece.file_off + piece.stored_len]
            data = stored if i == index else own
            digest = hashlib.sha256(data).digest()
            rows[i] = replace(piece, file_off=at, stored_len=len(data), stored_sha256=digest)
            parts.append(data)
            at += len(data)
    whole = b"".join(parts)
    name.write_bytes(whole)
    shards = list(manifest.shards)
    shards[shard] = replace(
        shards[shard], shard_len=len(whole), shard_sha256=hashlib.sha256(whole).digest()
    )
    changed = replace(manifest, pieces=tuple(rows), shards=tuple(shards))
    (root / "manifest.cbor").write_bytes(changed.encode())
