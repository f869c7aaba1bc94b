"""Every byte of a small SLM2 file flipped, and every cut of it, is refused.

By the reader in Python: `tests/slm/test_every_byte.py`. The same of SLM1: `tests/slm1`,
`tests/inspector/test_slm1.py`, `test_slm1_runtime.py`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.backends.tiny_slm import tiny_config, tiny_weights, write_slm
from trlm_lab.backends.build_native import built, wanted_build
from trlm_lab.backends.native import NativeHost, NativeRunner
from trlm_lab.inspector import inspect_bytes

Refuses = Callable[[bytes], bool]
#: Every hash that the runtime recomputes.
ALL_HASHES = 15


def small() -> bytes:
    """A whole model of some thousand bytes, quantized."""
    config = tiny_config(
        vocab_size=4, hidden_size=2, intermediate_size=2, num_hidden_layers=1,
        num_attention_heads=1, num_key_value_heads=1, head_dim=2, rope_inv_freq=(1.0,),
        layer_types=("full_attention",), bos_token_id=1, eos_token_id=(2,), pad_token_id=None,
    )  # fmt: skip
    return write_slm(config, tiny_weights(config), "q8_r128")


SMALL = small()


def inspector_refuses(data: bytes) -> bool:
    return bool(inspect_bytes(memoryview(data)).findings)


@pytest.fixture(scope="module")
def runtime_refuses(require: Any) -> Refuses:
    require(NativeRunner())
    host = NativeHost(built(wanted_build(())))

    def refuses(data: bytes) -> bool:
        held = np.frombuffer(data, np.uint8)
        model = host.call("trlm_model_load", held.ctypes.data if data else 0, len(data))
        if not model:
            return True
        status = host.call("trlm_model_verify", model, ALL_HASHES)
        host.call("trlm_model_free", model)
        return status != 0

    return refuses


def missed(refuses: Refuses, places: range, sizes: range) -> list[int]:
    """Flips that pass, and the negated lengths of cuts that do."""
    assert not refuses(SMALL)
    changed, found = bytearray(SMALL), []
    for at in places:
        changed[at] ^= 1 << at % 8
        if not refuses(bytes(changed)):
            found.append(at)
        changed[at] ^= 1 << at % 8
    return found + [-size for size in sizes if not refuses(SMALL[:size])]


def test_the_runtime_refuses_every_flip_and_every_cut(runtime_refuses: Refuses) -> None:
    assert missed(runtime_refuses, range(len(SMALL)), range(len(SMALL))) == []


def test_the_inspector_finds_every_flip_of_the_body() -> None:
    """Of the front: `tests/inspector/test_inspect.py`."""
    assert missed(inspector_refuses, range(4096, len(SMALL)), range(4090, len(SMALL), 37)) == []
