"""Padding that no product reads: other bytes there change nothing, and the strict reader refuses.

The row stride of a quantized matrix is a multiple of 64 codes; what lies behind the last column is
filled with every byte and with random ones in a copy, and read by a decoder that skips it.
"""

from pathlib import Path

import numpy as np
import pytest

from tests.q8_decoder import decode_q8_r128
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.errors import QuantCodeError, QuantPaddingError, SlmHashError
from trlm_lab.pack import pack_snapshot, unpack
from trlm_lab.pack.artifact_file import map_file
from trlm_lab.pack.weights import row_slices
from trlm_lab.slm.read import SlmTensor, open_slm

from .conftest import Snapshot, Weights

PADDED = "model.layers.1.mlp.down_proj.weight"


def fills() -> dict[str, np.ndarray]:
    """Bytes for 96 rows of 56 padding codes: those of NaN, of -128, and random ones."""
    nan = np.frombuffer(np.full(96 * 14, np.nan, "<f4").tobytes(), np.uint8).reshape(96, 56)
    rng = np.random.default_rng(5)
    return {
        "nan": nan,
        "lowest code": np.full((96, 56), 0x80, np.uint8),
        "random": rng.integers(0, 256, (96, 56), dtype=np.uint8),
    }


def filled(path: Path, tensor: SlmTensor, fill: np.ndarray, out: Path) -> Path:
    """A copy of the file with other bytes behind the last column of one matrix."""
    data = np.frombuffer(path.read_bytes(), np.uint8).copy()
    begin = tensor.descriptor.data_off
    plane = data[begin : begin + len(tensor.data)].reshape(tensor.rows, tensor.row_stride)
    plane[:, tensor.cols :] = fill
    out.write_bytes(data.tobytes())
    return out


@pytest.mark.parametrize("name", fills())
def test_padding_is_never_read(
    snapshot: Snapshot, weights: Weights, config: EffectiveConfig, tmp_path: Path, name: str
) -> None:
    artifact, ledger = pack_snapshot(snapshot(weights), config, "q8_r128", tmp_path / "m.slm")
    slm = open_slm(map_file(artifact.path))
    tensor = slm.tensor(PADDED)
    pad = next(e for e in ledger.entries if e.destination_name == PADDED).transforms[-1]
    assert (pad.parameters["logical"], pad.parameters["physical"]) == ([96, 200], [96, 256])
    copy = filled(artifact.path, tensor, fills()[name], tmp_path / "copy.slm")
    other = open_slm(map_file(copy)).tensor(PADDED)
    assert bytes(other.data) != bytes(tensor.data)
    shape = tensor.rows, tensor.cols
    want = decode_q8_r128(bytes(tensor.data), bytes(tensor.scales), *shape)
    got = decode_q8_r128(bytes(other.data), bytes(other.scales), *shape)
    assert got.tobytes() == want.tobytes()
    vector = np.random.default_rng(6).standard_normal(200).astype(np.float32)
    assert (got @ vector).tobytes() == (want @ vector).tobytes()


@pytest.mark.parametrize("name", fills())
def test_the_strict_reader_refuses_it(
    snapshot: Snapshot, weights: Weights, config: EffectiveConfig, tmp_path: Path, name: str
) -> None:
    artifact, _ = pack_snapshot(snapshot(weights), config, "q8_r128", tmp_path / "m.slm")
    tensor = open_slm(map_file(artifact.path)).tensor(PADDED)
    copy = filled(artifact.path, tensor, fills()[name], tmp_path / "copy.slm")
    with pytest.raises((QuantPaddingError, QuantCodeError)):
        list(row_slices(open_slm(map_file(copy)).tensor(PADDED)))
    with pytest.raises(SlmHashError):
        unpack(copy, tmp_path / "back.safetensors")
