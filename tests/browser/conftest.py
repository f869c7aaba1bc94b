"""A tiny packed model made in memory, and the browser, which must be here in CI."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.plain_llama import plain_llama
from trlm_lab.backends.browser import ChromiumRunner, ChromiumSession
from trlm_lab.base.interfaces import Runner, Subject
from trlm_lab.base.model_parts import EMBEDDING, HEAD, model_tensors
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.slm.numbers import DType, Role
from trlm_lab.slm.plan import TensorSpec
from trlm_lab.slm.write import assemble

VOCAB, HIDDEN, LAYERS, HEADS, KV_HEADS, HEAD_DIM, FFN = 70, 32, 2, 4, 2, 8, 48


def _config() -> EffectiveConfig:
    frequencies = tuple(float(np.float32(10000.0 ** (-i / 4))) for i in range(HEAD_DIM // 2))
    return EffectiveConfig(
        **plain_llama(LAYERS), vocab_size=VOCAB, hidden_size=HIDDEN, intermediate_size=FFN,
        num_hidden_layers=LAYERS, num_attention_heads=HEADS, num_key_value_heads=KV_HEADS,
        head_dim=HEAD_DIM, max_position_embeddings=64, rms_norm_eps=float(np.float32(1e-5)),
        rope_theta=10000.0, rope_inv_freq=frequencies,
        attention_scale=float(np.float32(HEAD_DIM**-0.5)), tie_word_embeddings=True, bos_token_id=1,
        eos_token_id=(2,), pad_token_id=2, unk_token_id=0,
    )  # fmt: skip


def _specs() -> list[TensorSpec]:
    return [
        TensorSpec(t.name, Role[t.role], DType.f32, t.shape, EMBEDDING if t.name == HEAD else None)
        for t in model_tensors(_config())
    ]


def _payload(index: int, spec: TensorSpec) -> tuple[bytes, bytes]:
    """Weights from a counter and integer arithmetic alone, so that they are the same everywhere."""
    count = int(np.prod(spec.dims))
    mixed = (np.arange(count, dtype=np.uint64) + np.uint64(7919 * index)) * np.uint64(2654435761)
    centred = (mixed >> np.uint64(16)).astype(np.uint16).astype(np.float32) / np.float32(65536)
    values = centred - np.float32(0.5)
    if len(spec.dims) == 1:
        values = np.float32(1) + values * np.float32(0.25)
    return values.astype("<f4").tobytes(), b""


def packed(tokenizer: bytes) -> bytes:
    """The tiny model with a tokenizer section."""
    specs = _specs()
    stored = [spec for spec in specs if spec.alias_of is None]
    payloads = {spec.name: _payload(index, spec) for index, spec in enumerate(stored)}
    return assemble(specs, _config().to_map(), payloads, tokenizer)


@pytest.fixture(scope="session")
def tiny_slm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A two-layer llama of seeded weights, packed as float32, without tokenizer."""
    path = tmp_path_factory.mktemp("tiny") / "tiny.slm"
    path.write_bytes(packed(b""))
    return path


@pytest.fixture(scope="session")
def tiny_subject(tiny_slm: Path) -> Subject:
    return Subject(artifact=tiny_slm)


@pytest.fixture(scope="module")
def session(chromium: ChromiumRunner, tiny_subject: Subject) -> Iterator[ChromiumSession]:
    """An open session that the tests of a module share; it survives refused cases."""
    with chromium.open(tiny_subject) as opened:
        yield opened


@pytest.fixture(scope="session")
def chromium(require: Callable[[Runner], None]) -> ChromiumRunner:
    """The runner; where no browser is here the test says how to get one."""
    runner = ChromiumRunner()
    require(runner)
    return runner
