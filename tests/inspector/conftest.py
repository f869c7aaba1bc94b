"""A sound llama artifact in memory, made by the writer that the inspector does not know."""

from typing import Any

import numpy as np
import pytest

from tests.plain_llama import plain_llama
from trlm_lab.base.model_parts import EMBEDDING, HEAD, model_tensors
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.quant import FORMATS
from trlm_lab.slm.numbers import DType, Role
from trlm_lab.slm.plan import TensorSpec
from trlm_lab.slm.write import assemble

CONFIG = EffectiveConfig(
    **plain_llama(1),
    vocab_size=6,
    hidden_size=8,
    intermediate_size=12,
    num_hidden_layers=1,
    num_attention_heads=2,
    num_key_value_heads=1,
    head_dim=4,
    max_position_embeddings=16,
    rms_norm_eps=float(np.float32(1e-5)),
    rope_theta=10000.0,
    rope_inv_freq=(1.0, float(np.float32(0.01))),
    attention_scale=0.5,
    tie_word_embeddings=True,
    bos_token_id=1,
    eos_token_id=(2,),
    pad_token_id=None,
    unk_token_id=None,
)


def built(
    quant: DType = DType.q8_r128, config: dict[str, Any] | None = None,
    tokenizer: bytes = b"tokenizer bytes", **spoil: Any,
) -> bytes:  # fmt: skip
    """The artifact; `spoil` maps a tensor's last name part to a function over (data, scales)."""
    rng = np.random.default_rng(5)
    specs, payloads = [], {}
    for t in model_tensors(CONFIG):
        dtype = quant if len(t.shape) == 2 else DType.f32
        alias = EMBEDDING if t.name == HEAD else None
        specs.append(TensorSpec(t.name, Role[t.role], dtype, t.shape, alias))
        values = rng.standard_normal(t.shape).astype(np.float32)
        planes = (
            FORMATS["q8_r128"].quantize(values)
            if dtype == DType.q8_r128
            else (values.tobytes(), b"")
        )
        for name, change in spoil.items():
            if name in t.name:
                planes = change(*planes)
        payloads[t.name] = planes
    del payloads[HEAD]
    return assemble(specs, config or CONFIG.to_map(), payloads, tokenizer)


@pytest.fixture(scope="session")
def sound() -> bytes:
    return built()
