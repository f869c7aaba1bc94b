"""The inspector reads sound files without findings and finds every single changed byte."""

import ast
import hashlib
from pathlib import Path

import numpy as np
import pytest

import trlm_lab.inspector
from trlm_lab.base import canon
from trlm_lab.base.records import Inspection
from trlm_lab.errors import InspectPathError, RecordError
from trlm_lab.inspector import inspect, inspect_bytes
from trlm_lab.inspector.header import FIELDS
from trlm_lab.inspector.pieces import merkle_root
from trlm_lab.slm.layout import HEADER
from trlm_lab.slm.merkle import SLM2_MERKLE
from trlm_lab.slm.numbers import DType
from trlm_lab.slm.read import open_slm

from .conftest import CONFIG, built


def codes(data: bytes) -> set[str]:
    return {f.code for f in inspect_bytes(memoryview(data)).findings}


@pytest.mark.parametrize("quant", [DType.f32, DType.q8_r128], ids=lambda d: d.name)
def test_a_sound_file(quant: DType, tmp_path: Path) -> None:
    data = built(quant)
    path = tmp_path / "m.slm"
    path.write_bytes(data)
    got = inspect(path)
    assert got.findings == ()
    assert (got.format, got.size) == ("SLM2", len(data))
    assert got.file_sha256 == hashlib.sha256(data).hexdigest()
    assert got.config == CONFIG.to_map()
    names = ["self", "merkle_root", "shard", "piece 0"]
    assert {h.name for h in got.hashes} >= {*names, "tensor model.norm.weight"}
    assert len(got.hashes) == 4 + 11
    assert all(h.holds for h in got.hashes)


def test_rows_agree_with_the_other_reader(sound: bytes) -> None:
    got, slm = inspect_bytes(memoryview(sound)), open_slm(sound)
    assert [f.name for f in got.header] == [name for name, _, _ in FIELDS]
    values = {f.name: f.value for f in got.header}
    assert values["rope_theta"] == 10000.0
    assert values["merkle_root_sha256"] == slm.header.merkle_root_sha256.hex()
    assert values["body_off"] == slm.header.body_off
    for row, tensor in zip(got.tensors, slm.tensors, strict=True):
        d = tensor.descriptor
        assert (row.name, row.role, row.dtype, row.dims, row.alias_of) == (
            tensor.name, tensor.role.name, tensor.dtype.name, tensor.dims, tensor.alias_of,
        )  # fmt: skip
        assert row.data_range == (d.data_off, d.data_off + d.data_len)
        assert row.scales_range == (d.aux_off, d.aux_off + d.aux_len)
    assert [bytes.fromhex(p.sha256) for p in got.pieces] == [p.sha256 for p in slm.pieces]


def test_own_offsets_are_those_of_the_other_table() -> None:
    """Two tables typed apart; a typing mistake in one shows here."""
    renamed = {"rope_theta": "rope_theta_bits", "rms_eps": "rms_eps_bits"}
    mine = {renamed.get(name, name): (at, size) for name, at, size in FIELDS}
    assert mine == {name: (f.offset, f.size) for name, f in HEADER.fields.items()}


def test_imports_nothing_of_writer_reader_or_packer() -> None:
    allowed = ("trlm_lab.errors", "trlm_lab.base.records", "trlm_lab.inspector")
    for path in Path(trlm_lab.inspector.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            else:
                names = [n.name for n in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                assert not name.startswith("trlm_lab") or name.startswith(allowed), path.name


@pytest.mark.slow
def test_every_flipped_byte_of_the_front_is_found(sound: bytes) -> None:
    changed = bytearray(sound)
    front = open_slm(sound).header.body_off
    missed = []
    for at in range(front):
        flip = 1 << at % 8
        changed[at] ^= flip
        if not inspect_bytes(memoryview(changed)).findings:
            missed.append(at)
        changed[at] ^= flip
    assert missed == []


def test_every_flipped_byte_of_the_body_is_found(sound: bytes) -> None:
    changed = bytearray(sound)
    body = open_slm(sound).header.body_off
    for at in range(body, len(sound), 7):
        changed[at] ^= 0x40
        assert "SLM_HASH" in {f.code for f in inspect_bytes(memoryview(changed)).findings}
        changed[at] ^= 0x40


def test_every_cut_is_found(sound: bytes) -> None:
    assert [n for n in range(0, len(sound), 13) if not codes(sound[:n])] == []
    assert codes(sound + b"\0")


def test_damage_is_named(sound: bytes) -> None:
    slm = open_slm(sound)
    tensor = slm.tensor("model.layers.0.mlp.up_proj.weight").descriptor
    changed = bytearray(sound)
    changed[tensor.data_off] ^= 1
    got = inspect_bytes(memoryview(changed))
    places = {f.where for f in got.findings}
    assert places == {
        "tensor model.layers.0.mlp.up_proj.weight", "piece 0", "merkle_root", "shard", "self",
    }  # fmt: skip
    assert str(got.findings[0]).startswith("SLM_HASH at tensor model.layers.0.mlp.up_proj.weight:")


def test_other_formats_are_named() -> None:
    for data, code in (
        (b"", "SLM_LENGTH"),
        (b"SLM3" + bytes(300), "SLM_VERSION"),
        (b"GGUF", "SLM_VERSION"),
        (b"SLM2" + bytes(100), "SLM_LENGTH"),
    ):
        got = inspect_bytes(memoryview(data))
        assert got.format == "unknown"
        assert [f.code for f in got.findings] == [code]


def test_inspect_path_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.slm"):
        with pytest.raises(InspectPathError):
            inspect(path)
    (tmp_path / "empty.slm").write_bytes(b"")
    assert inspect(tmp_path / "empty.slm").findings[0].code == "SLM_LENGTH"


@pytest.mark.parametrize("count", range(20))
def test_own_merkle_root_equals_the_other(count: int) -> None:
    leaves = [hashlib.sha256(bytes([i])).digest() for i in range(count)]
    assert merkle_root(leaves) == SLM2_MERKLE.root(leaves)


def test_record_is_canonical_and_carries_no_path(sound: bytes, tmp_path: Path) -> None:
    path = tmp_path / "secret-name.slm"
    path.write_bytes(sound)
    got = inspect(path)
    encoded = canon.encode(got.to_map())
    assert b"secret-name" not in encoded
    assert got.inspection_id == inspect_bytes(memoryview(sound)).inspection_id
    with pytest.raises(RecordError):
        Inspection("SLM2", 1, "no hash")


def nan_first(data: bytes, scales: bytes) -> tuple[bytes, bytes]:
    return np.float32(np.nan).tobytes() + data[4:], scales


def test_content_that_no_writer_produces() -> None:
    assert codes(built(DType.f32, up_proj=nan_first)) == {"QUANT_NONFINITE"}
    assert codes(built(model_norm_is_f32=nan_first)) == set()
    spoilers = {
        "the code -128": lambda d, s: (b"\x80" + d[1:], s),
        "nonzero padding": lambda d, s: (d[:63] + b"\x01" + d[64:], s),
        "a negative scale": lambda d, s: (d, b"\x00\x80" + s[2:]),
        "a scale that is not finite": lambda d, s: (d, b"\x00\x7c" + s[2:]),
        "a subnormal scale": lambda d, s: (d, b"\x01\x00" + s[2:]),
        "scale 0 with codes": lambda d, s: (d, b"\x00\x00" + s[2:]),
    }
    for what, spoil in spoilers.items():
        findings = inspect_bytes(memoryview(built(up_proj=spoil))).findings
        rules = {"the code -128": "QUANT_CODE", "nonzero padding": "QUANT_PADDING"}
        assert [f.code for f in findings] == [rules.get(what, "QUANT_SCALE")], what
        assert findings[0].detail.startswith(what)


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({"tie_word_embeddings": False}, 1),
        ({"num_hidden_layers": 1}, 0),
        ({"model_type": "other"}, 0),
    ],
    ids=str,
)
def test_model_and_configuration(changes: dict[str, object], count: int) -> None:
    data = built(config=CONFIG.to_map() | changes)
    findings = inspect_bytes(memoryview(data)).findings
    assert [f.code for f in findings] == ["SLM_MODEL"] * count


def test_model_of_another_shape() -> None:
    """Header and configuration agree with each other, the tensors belong to another model."""
    layers = {"num_hidden_layers": 2, "layer_types": ["full_attention"] * 2}
    data = built(config=CONFIG.to_map() | layers | {"intermediate_size": 13})
    findings = inspect_bytes(memoryview(data)).findings
    assert {f.code for f in findings} == {"SLM_MODEL"}
    assert findings[-1].detail.startswith("9 tensors are missing")
    assert {f.where.rsplit(".", 2)[-2] for f in findings if f.where.startswith("tensor")} == {
        "gate_proj", "up_proj", "down_proj",
    }  # fmt: skip
