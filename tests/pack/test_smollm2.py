"""The real model: both artifacts are sound to the independent reader, and f32 loses nothing."""

from pathlib import Path

import numpy as np
import pytest

from tests.q8_decoder import decode_q8_r128
from trlm_lab.base.bits import same_bits
from trlm_lab.base.blobs import file_sha256
from trlm_lab.flows.packing import Packed
from trlm_lab.inspector import inspect
from trlm_lab.pack import unpack
from trlm_lab.pack.artifact_file import map_file
from trlm_lab.pack.weights import row_slices
from trlm_lab.slm.read import open_slm

pytestmark = [pytest.mark.model, pytest.mark.slow]


@pytest.mark.parametrize("quant", ["f32", "q8_r128"])
def test_independent_reader_finds_nothing(smollm2_artifacts: dict[str, Packed], quant: str) -> None:
    got = inspect(smollm2_artifacts[quant].artifact.path)
    assert got.findings == ()
    assert len(got.tensors) == 273
    assert all(h.holds for h in got.hashes)


def test_f32_unpacks_to_the_source_file(
    smollm2_artifacts: dict[str, Packed], smollm2_snapshot: Path, tmp_path: Path
) -> None:
    digest = unpack(smollm2_artifacts["f32"].artifact.path, tmp_path / "back.safetensors")
    assert digest == file_sha256(smollm2_snapshot / "model.safetensors")


def test_two_decoders_agree_on_the_real_weights(smollm2_artifacts: dict[str, Packed]) -> None:
    slm = open_slm(map_file(smollm2_artifacts["q8_r128"].artifact.path))
    for tensor in slm.tensors:
        if len(tensor.dims) == 2:
            want = decode_q8_r128(tensor.data, tensor.scales, tensor.rows, tensor.cols)
            assert same_bits(np.concatenate(list(row_slices(tensor))), want), tensor.name
