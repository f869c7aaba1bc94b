"""Golden vectors of f16, bf16 and residuals: Python writes, JavaScript and the runtime read."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from typing import Any

import numpy as np
import pytest

from tests.quant.stored_vectors import FILE, text
from tests.skips import lacking
from trlm_lab.backends.abi_host import Scratch
from trlm_lab.backends.build_native import built, wanted_build
from trlm_lab.backends.native import NativeHost, NativeRunner
from trlm_lab.base.model_parts import EMBEDDING, HEAD, model_tensors
from trlm_lab.quant import block_format
from trlm_lab.slm.numbers import DType, Role
from trlm_lab.slm.plan import TensorSpec
from trlm_lab.slm.residuals import SUFFIX, residual_header
from trlm_lab.slm.write import Payload, assemble
from trlm_lab.testing.container_judges import by_inspector, by_python, by_runtime
from trlm_lab.testing.sound_containers import plain_config

VECTORS: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
FLOATS, RESIDUALS = VECTORS["floats"], VECTORS["residuals"]
ROWS = COLS = 8


def model(dtype: DType, planes: Payload, residual: dict[str, Any] | None = None) -> bytes:
    """A model of whose embedding, eight columns wide, these are the planes, and its residual."""
    rows = len(bytes.fromhex(residual["y"])) // 32 if residual else len(planes[0]) // (2 * COLS)
    config = plain_config(vocab_size=rows, hidden_size=COLS)
    specs: list[TensorSpec] = []
    payloads: dict[str, Payload] = {}
    for tensor in model_tensors(config):
        role, of_embedding = Role[tensor.role], tensor.name in (EMBEDDING, HEAD)
        alias = EMBEDDING if tensor.name == HEAD else None
        kind = dtype if of_embedding else DType.f32
        specs.append(TensorSpec(tensor.name, role, kind, tensor.shape, alias))
        if tensor.name == EMBEDDING:
            payloads[EMBEDDING] = planes
        elif alias is None:
            payloads[tensor.name] = np.ones(tensor.shape, np.float32).tobytes(), b""
        if residual and tensor.name == EMBEDDING:
            value, nnz = DType[residual["values"]], residual["nnz"]
            name = EMBEDDING + SUFFIX
            specs.append(TensorSpec(name, role, value, tensor.shape, EMBEDDING, nnz=nnz))
            head = residual_header(tensor.shape, value, nnz)
            payloads[name] = (
                head + bytes.fromhex(residual["data"]),
                bytes.fromhex(residual["scales"]),
            )
    return assemble(specs, config.to_map(), payloads, b"")


def with_residual(group: dict[str, Any], bad: dict[str, Any]) -> bytes:
    """The residual, over a tensor of zeros."""
    zeros = block_format("q8_r128").quantize(np.zeros((group["rows"], COLS), np.float32))
    return model(DType.q8_r128, zeros, group | bad)


@pytest.fixture(scope="module")
def host(require: Any) -> NativeHost:
    require(NativeRunner())
    return NativeHost(built(wanted_build(())))


def looked_up(host: NativeHost, data: bytes, rows: int) -> bytes:
    """The embedding of every token, as the runtime exposes it."""
    with Scratch(host, np.frombuffer(data, np.uint8)) as file:
        handle = host.call("trlm_model_load", file.address, len(data))
        assert handle
        with Scratch(host, np.arange(rows, dtype=np.uint32)) as tokens:
            assert host.call("trlm_case_begin", handle, tokens.address, rows, 0, 0, 0) == 0
            assert host.call("trlm_case_step", handle) == 1
        size = 4 * host.call("trlm_checkpoint_len", handle, 0)
        found = host.bytes_at(host.call("trlm_checkpoint_data", handle, 0), size).tobytes()
        host.call("trlm_model_free", handle)
    return found


def test_the_file_is_what_python_writes() -> None:
    assert FILE.read_text("utf-8") == text()


def test_a_decoder_in_javascript() -> None:
    node = shutil.which("node")
    if node is None:
        lacking("node", "none on the path")
    script = FILE.with_name("stored_reader.mjs")
    done = subprocess.run([str(node), str(script), str(FILE)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *wrong, summary = done.stdout.splitlines()
    assert wrong == []
    groups = [*FLOATS, *RESIDUALS]
    refused = sum(len(group["malformed"]) for group in groups)
    assert json.loads(summary) == {"read": len(groups), "refused": refused}


@pytest.mark.parametrize("group", FLOATS, ids=lambda g: g["format"])
def test_the_runtime_reads_floats(host: NativeHost, group: dict[str, Any]) -> None:
    data = bytes.fromhex(group["data"])
    found = looked_up(host, model(DType[group["format"]], (data, b"")), len(group["rows"]))
    assert found.hex() == group["y"]
    for bad in group["malformed"]:
        broken = model(DType[group["format"]], (struct.pack("<H", bad["word"]) + data[2:], b""))
        assert by_runtime(host, broken) == "NONFINITE"
        assert by_python(broken) == "QUANT_NONFINITE"
        assert set(by_inspector(broken)) == {"QUANT_NONFINITE"}


@pytest.mark.parametrize("group", RESIDUALS, ids=lambda g: g["values"])
def test_the_runtime_reads_residuals(host: NativeHost, group: dict[str, Any]) -> None:
    assert looked_up(host, with_residual(group, {}), group["rows"]).hex() == group["y"]
    for bad in group["malformed"]:
        broken = with_residual(group, {"data": bad["data"], "scales": bad["scales"]})
        assert by_runtime(host, broken) == bad["rule"], bad["what"]
        assert by_python(broken) == f"QUANT_{bad['rule']}", bad["what"]
        assert set(by_inspector(broken)) == {f"QUANT_{bad['rule']}"}, bad["what"]
