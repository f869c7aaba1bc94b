"""Small snapshots written by the safetensors library, tied or not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from tests.pack.tiny_described import Described
from tests.plain_llama import plain_llama
from trlm_lab.base.model_parts import EMBEDDING, HEAD, model_tensors
from trlm_lab.base.records import EffectiveConfig

Weights = dict[str, NDArray[Any]]


def tiny_config(**changes: Any) -> EffectiveConfig:
    """Hidden 96 and ffn 200: rows with half a group and with padding."""
    row: dict[str, Any] = {
        **plain_llama(2),
        "vocab_size": 50,
        "hidden_size": 96,
        "intermediate_size": 200,
        "num_hidden_layers": 2,
        "num_attention_heads": 6,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "max_position_embeddings": 64,
        "rms_norm_eps": float(np.float32(1e-5)),
        "rope_theta": 10000.0,
        "rope_inv_freq": tuple(float(np.float32(10000.0 ** (-i / 8))) for i in range(8)),
        "attention_scale": 0.25,
        "tie_word_embeddings": True,
        "bos_token_id": 1,
        "eos_token_id": (2,),
        "pad_token_id": 2,
        "unk_token_id": 0,
    }
    row |= changes
    if "num_hidden_layers" in changes and "layer_types" not in changes:
        row["layer_types"] = ("full_attention",) * row["num_hidden_layers"]
    return EffectiveConfig(**row)


def tiny_weights(config: EffectiveConfig) -> Weights:
    """Random float32 tensors; the tied head is left out."""
    rng = np.random.default_rng(7)
    weights = {
        t.name: (rng.standard_normal(t.shape) * 0.1).astype(np.float32)
        for t in model_tensors(config)
    }
    if config.tie_word_embeddings:
        del weights[HEAD]
    weights[EMBEDDING][3, :] = 0  # a group of zeros
    return weights


@pytest.fixture
def config() -> EffectiveConfig:
    return tiny_config()


@pytest.fixture
def weights(config: EffectiveConfig) -> Weights:
    return tiny_weights(config)


Snapshot = Callable[[Weights], Path]


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    """snapshot(weights) -> the directory of a snapshot with these weights."""

    def write(weights: Weights) -> Path:
        root = tmp_path / "snapshot"
        root.mkdir(exist_ok=True)
        save_file(weights, root / "model.safetensors", metadata={"format": "pt"})
        (root / "config.json").write_text(json.dumps({"model_type": "llama"}))
        (root / "LICENSE").write_text("terms")
        (root / "provenance.json").write_text("{}")
        return root

    return write


@pytest.fixture(scope="session")
def tiny_described(tiny_models: Callable[[str], Path]) -> Callable[[str], Described]:
    """The tiny model of a family, described once."""
    from trlm_lab.describe import effective_config
    from trlm_lab.oracle import source_defaults

    found: dict[str, Described] = {}

    def described(family: str) -> Described:
        if family not in found:
            root = tiny_models(family)
            found[family] = Described(root, effective_config(root, source_defaults(root)))
        return found[family]

    return described
