"""SLM1 in the runtime: the reference's bits in every form, the reader's verdict on bad bytes."""

import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.slm1.made import KNOWN, LITTLE, SHAPE, TIED, code_of, made, sealed
from trlm_lab.backends.abi_host import last_error
from trlm_lab.backends.abi_session import AbiSession
from trlm_lab.backends.build_native import built, wanted_build
from trlm_lab.backends.model_files import open_artifact
from trlm_lab.backends.native import NativeHost, NativeRunner
from trlm_lab.backends.reference import ReferenceRunner
from trlm_lab.backends.wasm_module import MODULE
from trlm_lab.backends.wasm_wasmtime import WasmtimeHost, WasmtimeRunner
from trlm_lab.base.interfaces import Runner, Subject
from trlm_lab.base.records import Case, EngineIdentity
from trlm_lab.errors import Slm1ChecksumError
from trlm_lab.slm1.codecs import DType
from trlm_lab.slm1.frequencies import inverse_frequencies
from trlm_lab.slm1.header import bits_of_float

CASE = Case("a", (256, 72, 101, 108, 108, 111, 255, 0, 257))
#: What the runtime calls each family of rules.
NAMES = {
    "SLM1_VERSION": {"MAGIC", "VERSION", "HEADER_LEN"},
    "SLM1_LENGTH": {"TRUNCATED", "LENGTH"},
    "SLM1_FLAGS": {"FLAGS"},
    "SLM1_SHAPE": {"CONFIG_FIELD", "TENSOR"},
    "SLM1_RANGE": {"RANGE"},
    "SLM1_ALIGNMENT": {"ALIGNMENT"},
    "SLM1_OVERLAP": {"OVERLAP"},
    "SLM1_RESERVED": {"RESERVED"},
    "SLM1_TOKENIZER": {"BTOK", "BPE1", "CONFIG_DISAGREES"},
    "SLM1_UNKNOWN_NUMBER": {"UNKNOWN_NUMBER"},
    "SLM1_TENSOR_SET": {"TENSOR_UNEXPECTED", "TENSOR_MISSING", "ALIAS"},
    "SLM1_CHECKSUM": {"CHECKSUM"},
    "SLM1_CHECKSUM_PROFILE": {"CHECKSUM_PROFILE"},
    "SLM1_SCALE": {"SCALE"},
    "SLM1_NONFINITE": {"NONFINITE"},
}


def observed(runner: Runner, path: Path) -> dict[str, bytes]:
    with runner.open(Subject(artifact=path)) as session:
        return {one.name: np.array(one.values).tobytes() for one in session.run(CASE)}


Opened = Callable[[Path], AbiSession]


@pytest.fixture(scope="module", params=[NativeRunner, WasmtimeRunner])
def opened(request: pytest.FixtureRequest, require: Any) -> Opened:
    """Opens a file in the engine; one WebAssembly instance serves all of them."""
    runner = request.param()
    require(runner)
    if request.param is NativeRunner:
        return lambda path: runner.open(Subject(artifact=path))
    host, nobody = WasmtimeHost(MODULE.read_bytes()), EngineIdentity("x", "", "", "")

    def load(path: Path) -> AbiSession:
        model = host.call("trlm_model_load", *host.copy(path))
        assert model, str(last_error(host))
        return AbiSession(host, model, nobody)

    return load


@pytest.mark.parametrize("dtype", list(DType))
def test_the_bits_are_those_of_the_reference(dtype: DType, tmp_path: Path, opened: Opened) -> None:
    for name, shape in (("untied", SHAPE), ("tied", TIED)):
        path = tmp_path / f"{name}.slm"
        path.write_bytes(made(dtype, shape))
        wanted = observed(ReferenceRunner(), path)
        got = {one.name: np.array(one.values).tobytes() for one in opened(path).run(CASE)}
        assert {n for n in wanted if wanted[n] != got[n]} == set()
        assert len(got) == len(wanted)


def test_both_derive_the_same_frequencies(tmp_path: Path, require: object) -> None:
    """A head of 64 coordinates and other bases, seen in rotated queries far from position 0."""
    require(NativeRunner())  # type: ignore[operator]
    for theta in (10000.0, 500000.0, float(np.float32(123.456))):
        shape = replace(
            KNOWN, hidden=8, layers=1, heads=1, kv_heads=1, ffn=2, max_context=9000,
            rope_theta_bits=bits_of_float(theta),
        )  # fmt: skip
        path = tmp_path / "model.slm"
        path.write_bytes(made(DType.f32, shape))
        assert open_artifact(path).config.rope_inv_freq == inverse_frequencies(theta, 64)
        case = Case("far", (1, 2, 3), position_ids=(8000, 8001, 8999))
        seen = []
        for runner in (ReferenceRunner(), NativeRunner()):
            with runner.open(Subject(artifact=path)) as session:
                seen.append({o.name: np.array(o.values).tobytes() for o in session.run(case)})
        assert seen[0]["layers.0.q_rope"] == seen[1]["layers.0.q_rope"]


def test_a_damaged_file_is_run_by_nobody(tmp_path: Path) -> None:
    data = bytearray(made())
    data[1000] ^= 1
    path = tmp_path / "bad.slm"
    path.write_bytes(data)
    with pytest.raises(Slm1ChecksumError):
        open_artifact(path)


class Loader:
    """Opens bytes in the native library and gives the name of its refusal, or an empty text."""

    def __init__(self) -> None:
        self.host = NativeHost(built(wanted_build(())))

    def __call__(self, data: bytes) -> str:
        held = np.frombuffer(data, np.uint8)
        model = self.host.call("trlm_model_load", held.ctypes.data if data else 0, len(data))
        if model:
            self.host.call("trlm_model_free", model)
            return ""
        return str(last_error(self.host).facts["error_name"])


@pytest.fixture(scope="module")
def load(require: object) -> Loader:
    require(NativeRunner())  # type: ignore[operator]
    return Loader()


def test_every_flipped_byte_and_every_cut_is_refused(load: Loader) -> None:
    data = made(DType.q4_0, LITTLE)
    assert load(data) == ""
    changed, missed = bytearray(data), []
    for at in range(len(data)):
        changed[at] ^= 1 << at % 8
        if not load(bytes(changed)):
            missed.append(at)
        changed[at] ^= 1 << at % 8
    missed += [-size for size in range(1, len(data)) if not load(data[:size])]
    assert missed == []


def test_reader_and_runtime_name_the_same_rule(load: Loader) -> None:
    data = made(DType.q4_0, LITTLE)
    front = struct.unpack_from("<Q", data, 92)[0]
    for at in [*range(4, front), *range(front, len(data), 5)]:
        for value in ((0, data[at] ^ 0x80), (1, 255))[at % 2]:
            bad = sealed(data[:at] + bytes([value]) + data[at + 1 :])
            code, name = code_of(bad), load(bad)
            assert name in NAMES[code] if code else not name, (at, value, code, name)


def test_weights_that_are_not_finite(load: Loader) -> None:
    data = bytearray(made(DType.f32, LITTLE))
    start = struct.unpack_from("<Q", data, 92)[0]
    data[start : start + 4] = struct.pack("<f", np.inf)
    assert load(sealed(bytes(data))) == "NONFINITE"
    assert load(data[:100] + bytes(8) + data[108:]) == "CHECKSUM_PROFILE"
