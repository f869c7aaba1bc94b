"""Feed mutations of a file to the runtime: `runtime_fuzz.py ENGINE FILE COUNT SEED FIRST LAST`.

Each mutation changes bytes between FIRST and LAST (the whole file where LAST is 0) or cuts the
file. A load that succeeds is followed by a short case. Prints how often each error came, as JSON; a
crash of the runtime ends this process without it.
"""

from __future__ import annotations

import json
import random
import struct
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from trlm_lab.backends.abi_host import Host, Scratch, last_error
from trlm_lab.backends.build_native import built, wanted_build
from trlm_lab.backends.native import NativeHost
from trlm_lab.backends.wasm_module import MODULE
from trlm_lab.backends.wasm_wasmtime import WasmtimeHost
from trlm_lab.errors import RuntimeMemoryError, RuntimeRefusedError, TrlmError

EDGES = (0, 1, 2, 63, 64, 127, 255, 256, 4095, 4096, 1 << 20, (1 << 31) - 1, 1 << 31,
         (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 64, (1 << 64) - 1)  # fmt: skip


def mutate(data: bytes, rng: random.Random, first: int, last: int) -> bytes:
    """One to three small changes; a changed length is often repeated in the header."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(first, last)
        kind = rng.randrange(7)
        if kind == 0:
            out[at] = rng.randrange(256)
        elif kind == 1:
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            word = struct.pack("<Q", rng.choice(EDGES))[: rng.choice((2, 4, 8))]
            out[at : at + len(word)] = word
        elif kind == 3:
            size = rng.choice((2, 4, 8))
            old = int.from_bytes(out[at : at + size], "little")
            new = (old + rng.choice((-64, -1, 1, 64, 4096))) % (1 << 8 * size)
            out[at : at + size] = new.to_bytes(size, "little")
        elif kind == 4:
            source = rng.randrange(first, last)
            size = rng.randrange(1, 129)
            out[at : at + size] = out[source : source + size]
        elif kind == 5:
            del out[at : at + rng.randrange(1, 65)]
        else:
            del out[rng.randrange(len(out)) :]
        last = min(last, len(out))
        if last <= first:
            break
    if len(out) >= 136 and rng.randrange(2):
        out[128:136] = len(out).to_bytes(8, "little")
    return bytes(out)


def attempt(host: Host, data: bytes) -> str:
    """What the runtime says to a file, and to a short case where it loads."""
    with Scratch(host, np.frombuffer(data, dtype=np.uint8)) as file:
        model = host.call("trlm_model_load", file.address, len(data))
        if model == 0:
            return _name(last_error(host))
        try:
            return _run(host, model)
        finally:
            host.call("trlm_model_free", model)


def _run(host: Host, model: int) -> str:
    with Scratch(host, np.array([1, 0], dtype=np.uint32)) as tokens:
        if host.call("trlm_case_begin", model, tokens.address, 2, 0, 0, 0):
            return "case: " + _name(last_error(host))
    while host.call("trlm_case_step", model) == 1:
        for i in range(host.call("trlm_checkpoint_count", model)):
            size = 4 * host.call("trlm_checkpoint_len", model, i)
            host.bytes_at(host.call("trlm_checkpoint_data", model, i), size).sum()
    return "loaded"


def _name(error: TrlmError) -> str:
    assert isinstance(error, (RuntimeRefusedError, RuntimeMemoryError))
    assert error.detail
    return str(error.facts.get("error_name", error.code))


def main() -> None:
    """See the module."""
    engine, path = sys.argv[1], Path(sys.argv[2])
    count, seed, first, last = map(int, sys.argv[3:7])
    data, rng = path.read_bytes(), random.Random(seed)
    host: Host = (
        NativeHost(built(wanted_build()))
        if engine == "native"
        else WasmtimeHost(MODULE.read_bytes())
    )
    seen = Counter(attempt(host, mutate(data, rng, first, last or len(data))) for _ in range(count))
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
