"""Nothing crashes the runtime: mutations, odd addresses, null and silly arguments."""

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.backends.runtime_edits import (
    BODY,
    CONFIG,
    PIECE_TABLE,
    SHARD_TABLE,
    TENSOR_DIR,
    get,
    refusal,
)
from tests.backends.runtime_rules import NORM
from trlm_lab.backends.abi_host import last_error
from trlm_lab.backends.native import NativeHost
from trlm_lab.backends.wasm_wasmtime import WasmtimeRunner
from trlm_lab.base.interfaces import Runner
from trlm_lab.errors import SlmError
from trlm_lab.slm.read import open_slm

HERE = Path(__file__).parent


def test_a_file_at_an_odd_address_gives_the_same_bits(host: NativeHost, tiny: ModuleType) -> None:
    from trlm_lab.backends.abi_session import AbiSession
    from trlm_lab.base.records import Case, EngineIdentity

    config = tiny.tiny_config()
    data = tiny.write_slm(config, tiny.tiny_weights(config))
    room = np.zeros(len(data) + 64, dtype=np.uint8)
    found = []
    for shift in (0, 1, 2, 3):
        room[shift : shift + len(data)] = np.frombuffer(data, dtype=np.uint8)
        model = host.call("trlm_model_load", int(room.ctypes.data) + shift, len(data))
        session = AbiSession(host, model, EngineIdentity("x", "", "", ""))
        found.append([seen.values.tobytes() for seen in session.run(Case("a", (3, 5, 9)))])
        host.call("trlm_model_free", model)
    assert found[0] == found[1] == found[2] == found[3]


def test_hashes_that_do_not_hold_are_named(host: NativeHost, sound_file: bytes) -> None:
    start = get(bytearray(sound_file), TENSOR_DIR)
    places = {
        1: 140,
        2: get(bytearray(sound_file), PIECE_TABLE) + 30,
        4: start + 128 * NORM + 100,
        8: get(bytearray(sound_file), SHARD_TABLE) + 30,
    }
    for bit, at in places.items():
        data = bytearray(sound_file)
        data[at] ^= 1
        buffer = np.frombuffer(bytes(data), dtype=np.uint8)
        model = host.call("trlm_model_load", int(buffer.ctypes.data), len(data))
        assert host.call("trlm_model_verify", model, bit) == (1 << 32) - 116
        others = 15 & ~bit & ~1
        assert host.call("trlm_model_verify", model, others) == 0
        host.call("trlm_model_free", model)


def test_null_and_silly_arguments_are_refused(host: NativeHost, sound_file: bytes) -> None:
    assert host.call("trlm_model_load", 0, 100) == 0
    assert last_error(host).facts["error_name"] == "NULL_POINTER"
    assert host.call("trlm_case_step", 0) == (1 << 32) - 502
    assert host.call("trlm_checkpoint_data", 0, 0) == 0
    assert host.call("trlm_model_info", 0, 0) == (1 << 32) - 1
    buffer = np.frombuffer(sound_file, dtype=np.uint8)
    model = host.call("trlm_model_load", int(buffer.ctypes.data), len(sound_file))
    refused = {
        "NO_CASE": ("trlm_case_step", model),
        "EMPTY_CASE": ("trlm_case_begin", model, buffer.ctypes.data, 0, 0, 0, 0),
        "CONTEXT": ("trlm_case_begin", model, buffer.ctypes.data, 1 << 40, 0, 0, 0),
        "ARGUMENT": ("trlm_model_verify", model, 16),
        "NULL_POINTER": ("trlm_case_begin", model, 0, 1, 0, 0, 0),
    }
    for name, (export, *arguments) in refused.items():
        assert host.call(export, *map(int, arguments)) >= 1 << 31
        assert last_error(host).facts["error_name"] == name
    host.call("trlm_model_free", model)


@pytest.mark.slow
@pytest.mark.parametrize("quant", ["f32", "q8_r128"])
@pytest.mark.parametrize(("part", "count"), [("front", 6000), ("config", 3000), ("body", 1000)])
@pytest.mark.parametrize(("engine", "share"), [("native", 1), ("wasm", 4)])
def test_no_mutation_crashes_the_runtime(
    tiny_file: Callable[..., Path],
    host: NativeHost,
    require: Callable[[Runner], None],
    quant: str,
    part: str,
    count: int,
    engine: str,
    share: int,
) -> None:
    if engine == "wasm":
        require(WasmtimeRunner())
    path = tiny_file(quant)
    data = bytearray(path.read_bytes())
    first, last = {
        "front": (0, get(data, BODY)),
        "config": (get(data, CONFIG), get(data, CONFIG) + get(data, (108, "I"))),
        "body": (get(data, BODY), 0),
    }[part]
    arguments = (engine, path, count // share, share, first, last)
    done = subprocess.run(
        [sys.executable, str(HERE / "runtime_fuzz.py"), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    seen = json.loads(done.stdout)
    assert sum(seen.values()) == count // share
    assert len(seen) > 2, seen


@pytest.mark.slow
@pytest.mark.parametrize("quant", ["f32", "q8_r128"])
def test_the_runtime_refuses_what_the_other_reader_refuses(
    tiny_file: Callable[..., Path], host: NativeHost, fuzz: ModuleType, quant: str
) -> None:
    """Two readers written apart: the runtime's is never the laxer one."""
    data = tiny_file(quant).read_bytes()
    rng, both = random.Random(5), 0
    for _ in range(3000):
        changed = fuzz.mutate(data, rng, 0, get(bytearray(data), BODY))
        if _refused(changed):
            assert refusal(host, changed) != "loaded"
            both += 1
    assert both > 1000


def _refused(data: bytes) -> bool:
    try:
        open_slm(data)
    except SlmError:
        return True
    return False
