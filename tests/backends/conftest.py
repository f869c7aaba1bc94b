"""Fixtures of the runtime's tests: a second writer of SLM2 files, and files written by it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.backends import runtime_fuzz, stub_process, tiny_slm
from trlm_lab.backends.abi_host import Host
from trlm_lab.backends.build_native import built, wanted_build
from trlm_lab.backends.native import NativeHost, NativeRunner
from trlm_lab.backends.wasm_wasmtime import WasmtimeRunner, wasmtime_host
from trlm_lab.base.interfaces import Runner, Subject
from trlm_lab.base.records import Case, Observation


@pytest.fixture(scope="session")
def tiny() -> ModuleType:
    """The module `tiny_slm`: configuration, weights and bytes of a small model."""
    return tiny_slm


@pytest.fixture(scope="session")
def fuzz() -> ModuleType:
    """The module `runtime_fuzz`: mutations of a file."""
    return runtime_fuzz


@pytest.fixture(scope="session")
def tiny_file(tiny: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Write a small `.slm`: `tiny_file(quant, **changes of the configuration)`."""
    room = tmp_path_factory.mktemp("slm")

    def write(quant: str = "f32", **changes: object) -> Path:
        config = tiny.tiny_config(**changes)
        path = room / f"{quant}-{config.config_id[:16]}.slm"
        if not path.exists():
            path.write_bytes(tiny.write_slm(config, tiny.tiny_weights(config), quant))
        return path

    return write


@pytest.fixture(scope="session")
def observed() -> Callable[[Runner, Path, Case], dict[str, Observation]]:
    """Everything that an engine yields for a case, by name and in order."""

    def run(runner: Runner, artifact: Path, case: Case) -> dict[str, Observation]:
        with runner.open(Subject(artifact=artifact)) as session:
            return {seen.name: seen for seen in session.run(case)}

    return run


@pytest.fixture(scope="session")
def host(require: Callable[[Runner], None]) -> NativeHost:
    """The native library, without a model."""
    require(NativeRunner())
    return NativeHost(built(wanted_build()))


@pytest.fixture(scope="session", params=["native", "wasm"])
def text_host(request: pytest.FixtureRequest, require: Callable[[Runner], None]) -> Iterator[Host]:
    """The runtime without a model; one instance for all, since compiling the module is slow."""
    if request.param == "native":
        yield request.getfixturevalue("host")
        return
    require(WasmtimeRunner())
    opened = wasmtime_host()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def sound_file(tiny: ModuleType) -> bytes:
    """A sound `.slm` with quantized matrices."""
    config = tiny.tiny_config()
    return bytes(tiny.write_slm(config, tiny.tiny_weights(config), "q8_r128"))


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    """The model directory that the stub runtime knows: a configuration alone."""
    (tmp_path / "config.json").write_text(json.dumps(stub_process.CONFIG))
    return Subject(model_dir=tmp_path)
