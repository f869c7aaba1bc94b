"""Fixtures of the runtime's tests: a second writer of SLM2 files, and files written by it."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from trlm_lab.base.interfaces import Runner, Subject
from trlm_lab.base.records import Case, Observation

HERE = Path(__file__).parent


def _module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def tiny() -> ModuleType:
    """The module `tiny_slm`: configuration, weights and bytes of a small model."""
    return _module("tiny_slm")


@pytest.fixture(scope="session")
def fuzz() -> ModuleType:
    """The module `runtime_fuzz`: mutations of a file."""
    return _module("runtime_fuzz")


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
