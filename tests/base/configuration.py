"""The map of a sound effective configuration, as small as one can be."""

from typing import Any

import numpy as np

from tests.plain_llama import plain_llama

#: What a plain llama implies, as a map has it.
PLAIN = {k: list(v) if isinstance(v, tuple) else v for k, v in plain_llama(1).items()}
SOUND: dict[str, Any] = {
    **PLAIN,
    "vocab_size": 6,
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 4,
    "max_position_embeddings": 16,
    "rms_norm_eps": float(np.float32(1e-5)),
    "rope_theta": 10000.0,
    "rope_inv_freq": [1.0, 0.5],
    "attention_scale": 0.5,
    "tie_word_embeddings": True,
    "bos_token_id": 1,
    "eos_token_id": [2],
    "pad_token_id": None,
    "unk_token_id": 0,
}
