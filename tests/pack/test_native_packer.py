"""Artifacts packed natively: the same file, ledger and proof as by the reference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.pack.conftest import Snapshot, Weights
from trlm_lab.backends.build_native import built, wanted_build
from trlm_lab.backends.native import NativeHost, NativeRunner
from trlm_lab.backends.native_rows import NativePacker
from trlm_lab.base.interfaces import BlockFormat, Runner
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.errors import QuantNonFiniteError
from trlm_lab.pack import PROFILES, pack_snapshot


@pytest.fixture(scope="module")
def native(require: Callable[[Runner], None]) -> NativePacker:
    require(NativeRunner())
    return NativePacker(NativeHost(built(wanted_build())))


@pytest.mark.parametrize("profile", list(PROFILES))
def test_the_same_artifact_and_ledger(
    native: NativePacker,
    snapshot: Snapshot,
    config: EffectiveConfig,
    weights: Weights,
    tmp_path: Path,
    profile: str,
) -> None:
    calls: list[str] = []

    def counted(
        form: BlockFormat, rows: NDArray[np.float32], *, where: str, first_row: int
    ) -> tuple[Any, bytes]:
        calls.append(form.name)
        return native(form, rows, where=where, first_row=first_row)

    root = snapshot(weights)
    ours, our_ledger = pack_snapshot(root, config, profile, tmp_path / "a.slm", packer=counted)
    theirs, their_ledger = pack_snapshot(root, config, profile, tmp_path / "b.slm")
    assert ours.file_sha256 == theirs.file_sha256
    assert ours.path.read_bytes() == theirs.path.read_bytes()
    assert our_ledger.ledger_id == their_ledger.ledger_id
    assert bool(calls) == (profile != "f32")


def test_the_same_refusal(
    native: NativePacker,
    snapshot: Snapshot,
    config: EffectiveConfig,
    weights: Weights,
    tmp_path: Path,
) -> None:
    weights["model.layers.1.mlp.down_proj.weight"][7, 150] = np.nan
    root = snapshot(weights)
    said = []
    for options in ({"packer": native}, {}):
        with pytest.raises(QuantNonFiniteError) as caught:
            pack_snapshot(root, config, "q4_g64", tmp_path / "m.slm", **options)  # type: ignore[arg-type]
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert not (tmp_path / "m.slm").exists()
