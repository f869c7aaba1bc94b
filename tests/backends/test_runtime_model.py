"""Native and WebAssembly runtimes on the real model: every checkpoint has the reference's bits."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trlm_lab.backends.native import NativeRunner
from trlm_lab.backends.reference import ReferenceRunner
from trlm_lab.backends.wasm_wasmtime import WasmtimeRunner
from trlm_lab.base.interfaces import Runner
from trlm_lab.base.names import is_checkpoint
from trlm_lab.base.records import ArrayDigest, Case, Observation

CASE = Case("model", (1, 9690, 198, 2683, 359, 253))


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.parametrize("quant", ["f32", "q8_r128"])
def test_every_checkpoint_has_the_bits_of_the_reference(
    smollm2_artifacts: dict[str, Any],
    observed: Callable[[Runner, Path, Case], dict[str, Observation]],
    require: Callable[[Runner], None],
    quant: str,
) -> None:
    path = smollm2_artifacts[quant].artifact.path
    wanted = [ArrayDigest.of(o) for o in observed(ReferenceRunner(), path, CASE).values()]
    assert len([d for d in wanted if is_checkpoint(d.name)]) == 30 * 19 + 3
    for runner in (NativeRunner(), WasmtimeRunner()):
        require(runner)
        assert [ArrayDigest.of(o) for o in observed(runner, path, CASE).values()] == wanted
