"""A small random llama in the Hugging Face layout, with norms that are not all one."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Case
from trlm_lab.oracle import TorchRunner
from trlm_lab.oracle.loading import quiet_framework

LAYERS = 4


@pytest.fixture(scope="session")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """V 512, L 4, D 96, H 6, K 2, E 16, F 256, tied; seeded."""
    path = tmp_path_factory.mktemp("llama-small")
    # The saver draws its progress bar whatever the logging settings say.
    with quiet_framework() as transformers, contextlib.redirect_stderr(io.StringIO()):
        import torch

        config = transformers.LlamaConfig(
            vocab_size=512, hidden_size=96, intermediate_size=256, num_hidden_layers=LAYERS,
            num_attention_heads=6, num_key_value_heads=2, head_dim=16,
            max_position_embeddings=256, rms_norm_eps=1e-5, tie_word_embeddings=True,
            rope_parameters={"rope_type": "default", "rope_theta": 1e4},
        )  # fmt: skip
        torch.manual_seed(7)
        model = transformers.LlamaForCausalLM(config)
        for name, weight in model.named_parameters():
            if "norm" in name:
                weight.data += 0.2 * torch.randn_like(weight)
            else:
                weight.data *= 5
        model.save_pretrained(path)
    return path


@pytest.fixture
def altered_dir(model_dir: Path, tmp_path: Path) -> Callable[..., Path]:
    """Copies the model directory with changed keys of config.json; None removes a key."""

    def alter(**changes: Any) -> Path:
        copy = tmp_path / "altered"
        shutil.copytree(model_dir, copy)
        row = json.loads((copy / "config.json").read_bytes())
        row = {k: v for k, v in {**row, **changes}.items() if v is not None}
        (copy / "config.json").write_text(json.dumps(row))
        return copy

    return alter


@pytest.fixture(scope="session")
def session(model_dir: Path) -> Iterator[Any]:
    """An opened session with two threads."""
    with TorchRunner(threads=2).open(Subject(model_dir=model_dir)) as opened:
        yield opened


@pytest.fixture(scope="session")
def long_case() -> Case:
    rng = np.random.default_rng(3)
    return Case("long", tuple(int(t) for t in rng.integers(0, 512, 24)))


@pytest.fixture(scope="session")
def captured(session: Any, long_case: Case) -> dict[str, NDArray[Any]]:
    """Every array of the long case by name."""
    return {o.name: o.values for o in session.run(long_case)}
