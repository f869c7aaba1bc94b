"""The WebAssembly engine in wasmtime: the native bits, and the committed module's identity."""

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.backends.exact_cases import CASE, ODD_CASE, TOKENS, Observe, digests
from tests.skips import lacking
from trlm_lab.backends import build_wasm
from trlm_lab.backends.abi_host import SIGNATURES
from trlm_lab.backends.reference import ReferenceRunner
from trlm_lab.backends.runtime_source import sources_sha256
from trlm_lab.backends.wasm_module import MODULE, MODULES, RECORD, read_module, read_record
from trlm_lab.backends.wasm_wasmtime import WasmtimeHost, WasmtimeRunner
from trlm_lab.base.bits import same_bits
from trlm_lab.base.interfaces import Runner, Subject
from trlm_lab.base.records import Case
from trlm_lab.errors import (
    CompilerMissingError,
    EngineMissingError,
    PositionRangeError,
    RuntimeMemoryError,
    RuntimeRefusedError,
    RuntimeTrapError,
    SlmHashError,
    SubjectMissingError,
    WasmModuleError,
)


@pytest.fixture(scope="module", autouse=True)
def _here(require: Callable[[Runner], None]) -> None:
    require(WasmtimeRunner())


@pytest.mark.parametrize("quant", ["f32", "q8_r128"])
@pytest.mark.parametrize("case", [CASE, ODD_CASE], ids=lambda c: c.case_id)
def test_every_checkpoint_has_the_bits_of_the_reference(
    tiny_file: Callable[..., Path], observed: Observe, quant: str, case: Case
) -> None:
    path = tiny_file(quant)
    ours = observed(WasmtimeRunner(), path, case)
    assert digests(ours) == digests(observed(ReferenceRunner(), path, case))


@pytest.mark.parametrize("quant", ["f32", "q8_r128"])
def test_the_packed_small_model_has_the_bits_of_the_reference(
    small_artifacts: dict[str, object], observed: Observe, quant: str
) -> None:
    path = small_artifacts[quant].artifact.path  # type: ignore[attr-defined]
    case = Case("small", tuple(range(100, 123)))
    ours = observed(WasmtimeRunner(), path, case)
    assert digests(ours) == digests(observed(ReferenceRunner(), path, case))


def test_one_token_at_a_time_gives_the_logits_of_the_prefill(
    tiny_file: Callable[..., Path],
) -> None:
    with WasmtimeRunner().open(Subject(artifact=tiny_file("q8_r128"))) as session:
        whole = {seen.name: seen.values for seen in session.run(CASE)}
        for t, token in enumerate(TOKENS):
            seen = {s.name: s.values for s in session.advance((token,), fresh=t == 0)}
            for name in ("layers.1.k_rope", "layers.1.output", "logits", "logits.topk_ids"):
                assert same_bits(seen[name], whole[name][t : t + 1])


def test_the_runtime_verifies_the_hashes_itself(tiny_file: Callable[..., Path]) -> None:
    with WasmtimeRunner().open(Subject(artifact=tiny_file())) as session:
        session.verify()


def test_hostile_files_meet_the_errors_of_the_native_runtime(
    tiny_file: Callable[..., Path],
) -> None:
    host = WasmtimeHost(MODULE.read_bytes())
    sound = tiny_file().read_bytes()
    size = len(sound)
    address = host.call("trlm_alloc", size)
    wanted = {
        8: "HEADER_LEN",
        16: "FLAGS",
        24: "CONFIG_DISAGREES",
        64: "ALIGNMENT",
        128: "TRUNCATED",
    }
    for at, name in wanted.items():
        memory = host.bytes_at(address, size)
        memory.data[:] = sound
        memory[at] ^= 1
        assert host.call("trlm_model_load", address, size) == 0
        part = host.call("trlm_last_error_ptr", 0), host.call("trlm_last_error_len", 0)
        assert host.bytes_at(*part).tobytes().decode() == name
    host.bytes_at(address, size).data[:] = sound
    assert host.call("trlm_model_load", address, size) != 0


def test_a_bad_file_and_a_bad_case_are_refused(
    tiny_file: Callable[..., Path], tmp_path: Path
) -> None:
    path = tmp_path / "bad.slm"
    path.write_bytes(bytes(4096))
    with pytest.raises(RuntimeRefusedError):
        WasmtimeRunner().open(Subject(artifact=path))
    changed = bytearray(tiny_file().read_bytes())
    changed[-1] ^= 1
    path.write_bytes(changed)
    with pytest.raises(SlmHashError):
        WasmtimeRunner().open(Subject(artifact=path))
    with (
        WasmtimeRunner().open(Subject(artifact=tiny_file())) as session,
        pytest.raises(PositionRangeError),
    ):
        list(session.run(Case("far", (1,), position_ids=(1 << 20,))))


def test_a_file_beyond_32_bit_memory(tmp_path: Path) -> None:
    path = tmp_path / "huge.slm"
    with path.open("wb") as stream:
        stream.truncate(5 << 30)
    with pytest.raises(RuntimeMemoryError):
        WasmtimeRunner().open(Subject(artifact=path))


def test_a_subject_without_an_artifact(tmp_path: Path) -> None:
    with pytest.raises(SubjectMissingError):
        WasmtimeRunner().open(Subject(model_dir=tmp_path))


def test_a_trap_is_an_error() -> None:
    import wasmtime

    functions = "".join(f'(func (export "{name}") unreachable)' for name in SIGNATURES)
    module = wasmtime.wat2wasm(f'(module (memory (export "memory") 1){functions})')
    with pytest.raises(RuntimeTrapError, match="unreachable"):
        WasmtimeHost(bytes(module)).call("trlm_abi_version")


def test_a_damaged_module_is_refused(tmp_path: Path, tiny_file: Callable[..., Path]) -> None:
    module = tmp_path / MODULE.name
    shutil.copy(RECORD, tmp_path / RECORD.name)
    data = bytearray(MODULE.read_bytes())
    data[-1] ^= 1
    module.write_bytes(data)
    with pytest.raises(WasmModuleError, match="hash to"):
        read_module(module)
    runner = WasmtimeRunner(module=module)
    assert not runner.availability().available
    with pytest.raises(EngineMissingError):
        runner.open(Subject(artifact=tiny_file()))


@pytest.mark.parametrize("text", [None, "{", "[]", "{}", '{"schema": "other"}'])
def test_a_record_that_is_none(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / RECORD.name
    if text is not None:
        path.write_text(text)
    with pytest.raises(WasmModuleError, match="no record"):
        read_record(path)


@pytest.mark.parametrize("path", MODULES.values(), ids=MODULES)
def test_a_module_belongs_to_the_present_sources(path: Path) -> None:
    record = read_record(path.with_suffix(".json"))
    assert record.module == path.name
    assert hashlib.sha256(path.read_bytes()).hexdigest() == record.sha256
    assert record.sources_sha256 == sources_sha256(), "run: make wasm"
    assert json.loads(path.with_suffix(".json").read_text()) == record.to_map()


@pytest.mark.parametrize("path", MODULES.values(), ids=MODULES)
def test_a_module_imports_nothing_and_exports_the_abi(path: Path) -> None:
    import wasmtime

    module = wasmtime.Module(wasmtime.Engine(), path.read_bytes())
    assert list(module.imports) == []
    assert {e.name for e in module.exports} >= {"memory", *SIGNATURES}


@pytest.mark.parametrize("path", MODULES.values(), ids=MODULES)
def test_a_module_holds_no_path_of_a_machine(path: Path) -> None:
    paths = set(re.findall(rb"/[a-z]+/[\x21-\x7e]{3,}", path.read_bytes()))
    assert not [path for path in paths if re.match(rb"/(home|root|tmp|work|build)/", path)]


@pytest.mark.slow
def test_a_rebuild_gives_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    reason = build_wasm.why_not_comparable()
    if reason is not None:
        lacking("wasm-rebuild", reason)
    assert build_wasm.main(["--check"]) == 0
    assert capsys.readouterr().out.count("the same bytes") == len(MODULES)


def test_a_rebuild_without_the_compiler_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build_wasm, "wasm_compiler", lambda: None)
    assert build_wasm.main(["--check"]) == 0
    assert "apt-get install" in capsys.readouterr().out
    with pytest.raises(CompilerMissingError):
        build_wasm.build()
