"""Every rule by which a ledger or a source is rejected, each with a file that breaks it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tests.pack.tiny_described import Described
from trlm_lab.base.model_parts import HEAD
from trlm_lab.base.records import EffectiveConfig, Ledger
from trlm_lab.errors import (
    JsonError,
    LedgerFileError,
    PackMissingTensorError,
    PackShapeError,
    PackTiedHeadError,
    PackUnknownTensorError,
    SafetensorsOverlapError,
)
from trlm_lab.flows.ledgers import read_ledger, verify_files
from trlm_lab.flows.progress import Board
from trlm_lab.pack import derive_ledger, pack_snapshot, prove_ledger

Tiny = Callable[[str], Described]
Row = dict[str, Any]


def codes(artifact: Path, root: Path, ledger: Ledger | None = None) -> set[str]:
    return {finding.code for finding in prove_ledger(artifact, root, ledger)[1]}


class Packed:
    """An artifact of a tiny model, and its ledger as a file that a test may break."""

    def __init__(self, tiny: Described, folder: Path, quant: str = "f32") -> None:
        self.root, self.folder = tiny.root, folder
        artifact, ledger = pack_snapshot(tiny.root, tiny.config, quant, folder / "m.slm")
        self.path, self.row = artifact.path, json.loads(json.dumps(ledger.to_map()))

    def entry(self, name: str) -> Row:
        """The entry of a destination tensor, to be changed in place."""
        return next(e for e in self.row["entries"] if e["destination_name"] == name)

    def codes(self) -> set[str]:
        """What is found about the file as it is now."""
        file = self.folder / "ledger.json"
        file.write_text(json.dumps(self.row))
        with Board() as board:
            return {f["code"] for f in verify_files(self.path, self.root, file, board)}


@pytest.fixture
def gpt2(tiny_described: Tiny, tmp_path: Path) -> Packed:
    return Packed(tiny_described("gpt2"), tmp_path)


@pytest.fixture
def phi3(tiny_described: Tiny, tmp_path: Path) -> Packed:
    return Packed(tiny_described("phi3"), tmp_path)


O_PROJ = "model.layers.0.self_attn.o_proj.weight"
K_PROJ = "model.layers.1.self_attn.k_proj.weight"
UP = "model.layers.0.mlp.up_proj.weight"
NORM = "model.norm.weight"


def test_an_untouched_ledger_has_no_finding(gpt2: Packed) -> None:
    assert gpt2.codes() == set()


def test_an_unconsumed_source_tensor(tiny_described: Tiny, gpt2: Packed, tmp_path: Path) -> None:
    gpt2.row["entries"] = [e for e in gpt2.row["entries"] if e["destination_name"] != NORM]
    assert gpt2.codes() >= {"LEDGER_UNCONSUMED", "LEDGER_NO_LINEAGE"}
    tiny = tiny_described("gpt2")
    weights = load_file(tiny.root / "model.safetensors")
    stray = {"transformer.h.2.ln_1.weight": np.ones(48, np.float32)}
    save_file(weights | stray, tmp_path / "model.safetensors")
    with pytest.raises(PackUnknownTensorError, match=r"h\.2\.ln_1"):
        derive_ledger(gpt2.path, tmp_path)


def test_rows_of_a_split_tensor_that_become_nothing(phi3: Packed) -> None:
    phi3.entry(K_PROJ)["transforms"][0][1] |= {"count": 16, "heads": 1}
    assert phi3.codes() >= {"LEDGER_UNCONSUMED", "LEDGER_SHAPE"}


def test_a_reason_is_needed_for_what_is_left_out(tiny_described: Tiny, tmp_path: Path) -> None:
    tiny = tiny_described("gpt2")
    mask = {"transformer.h.0.attn.bias": np.ones((1, 1, 64, 64), np.float32)}
    save_file(load_file(tiny.root / "model.safetensors") | mask, tmp_path / "model.safetensors")
    packed = Packed(Described(tmp_path, tiny.config), tmp_path)
    assert packed.codes() == set()
    packed.row["omissions"][0]["reason"] = ""
    assert packed.codes() >= {"LEDGER_UNCONSUMED"}


def test_an_unexplained_duplicate(phi3: Packed) -> None:
    step = phi3.entry("model.layers.1.self_attn.v_proj.weight")["transforms"][0][1]
    step["first"] = phi3.entry(K_PROJ)["transforms"][0][1]["first"]
    assert phi3.codes() >= {"LEDGER_DUPLICATE"}
    phi3.row["entries"].append(phi3.entry(NORM))
    assert phi3.codes() >= {"LEDGER_DUPLICATE"}


def test_a_tied_head_that_is_no_copy(tiny_described: Tiny, gpt2: Packed, tmp_path: Path) -> None:
    weights = load_file(tiny_described("gpt2").root / "model.safetensors")
    head = weights["transformer.wte.weight"].copy()
    save_file(weights | {HEAD: head}, tmp_path / "model.safetensors")
    assert codes(gpt2.path, tmp_path) == set()
    head[3, 4] += 1
    save_file(weights | {HEAD: head}, tmp_path / "model.safetensors")
    with pytest.raises(PackTiedHeadError):
        prove_ledger(gpt2.path, tmp_path)


def test_a_qwen_that_stores_embedding_and_head(tiny_described: Tiny, tmp_path: Path) -> None:
    tiny = tiny_described("qwen2")
    weights = load_file(tiny.root / "model.safetensors")
    both = weights | {HEAD: weights["model.embed_tokens.weight"].copy()}
    save_file(both, tmp_path / "model.safetensors")
    packed = Packed(Described(tmp_path, tiny.config), tmp_path)
    assert packed.codes() == set()
    assert packed.entry(HEAD)["source_name"] == HEAD
    assert any("kept as an alias" in text for text in packed.row["exceptions"])


def test_a_destination_without_lineage(gpt2: Packed, tmp_path: Path) -> None:
    gpt2.entry(NORM)["source_name"] = "transformer.ln_g.weight"
    assert gpt2.codes() >= {"LEDGER_NO_LINEAGE", "LEDGER_UNCONSUMED"}
    weights = load_file(gpt2.root / "model.safetensors")
    del weights["transformer.ln_f.weight"]
    save_file(weights, tmp_path / "model.safetensors")
    with pytest.raises(PackMissingTensorError, match="ln_f"):
        prove_ledger(gpt2.path, tmp_path)


def test_overlapping_ranges(gpt2: Packed, tmp_path: Path) -> None:
    entry = gpt2.entry(NORM)
    entry["destination_range"] = [entry["destination_range"][0] - 64, entry["destination_range"][1]]
    assert gpt2.codes() >= {"LEDGER_OVERLAP", "LEDGER_FIELD"}
    begin, end = gpt2.entry(O_PROJ)["source_range"]
    gpt2.entry(O_PROJ)["source_range"] = [begin, end + 4]
    assert gpt2.codes() >= {"LEDGER_OVERLAP"}
    data = (gpt2.root / "model.safetensors").read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    low, high = header["transformer.ln_f.bias"]["data_offsets"]
    header["transformer.ln_f.weight"]["data_offsets"] = [low, high]
    text = json.dumps(header).encode()
    broken = len(text).to_bytes(8, "little") + text + data[8 + length :]
    (tmp_path / "model.safetensors").write_bytes(broken)
    with pytest.raises(SafetensorsOverlapError):
        prove_ledger(gpt2.path, tmp_path)


def test_a_shape_by_its_count_of_elements(gpt2: Packed, tmp_path: Path) -> None:
    entry = gpt2.entry("model.layers.0.mlp.up_proj.weight")
    entry["transforms"] = [["copy", {}]]
    assert gpt2.codes() >= {"LEDGER_SHAPE", "LEDGER_STEPS"}
    weights = load_file(gpt2.root / "model.safetensors")
    name = "transformer.h.0.mlp.c_fc.weight"
    weights[name] = np.ascontiguousarray(weights[name].T)
    save_file(weights, tmp_path / "model.safetensors")
    with pytest.raises(PackShapeError, match=r"\[80, 48\], the configuration asks for \[48, 80\]"):
        prove_ledger(gpt2.path, tmp_path)


def test_an_implicit_transposition(gpt2: Packed, tmp_path: Path) -> None:
    """Of a square matrix no shape tells; the steps, the product and the bytes do."""
    gpt2.entry(O_PROJ)["transforms"] = [["copy", {}]]
    assert gpt2.codes() == {"LEDGER_STEPS"}
    weights = load_file(gpt2.root / "model.safetensors")
    name = "transformer.h.0.attn.c_proj.weight"
    weights[name] = np.ascontiguousarray(weights[name].T)
    save_file(weights, tmp_path / "model.safetensors")
    found = prove_ledger(gpt2.path, tmp_path)[1]
    assert [(f.code, f.where) for f in found] == [("LEDGER_INVERSE", name)]


def test_a_split_without_its_grouping(phi3: Packed) -> None:
    step = phi3.entry(K_PROJ)["transforms"][0][1]
    del step["heads"]
    assert phi3.codes() >= {"LEDGER_GROUPING"}
    step["heads"] = 3
    assert phi3.codes() >= {"LEDGER_GROUPING"}
    step["heads"] = 2
    assert phi3.codes() == set()
    del phi3.entry(UP)["transforms"][0][1]["of"]
    assert phi3.codes() >= {"LEDGER_GROUPING"}


def test_gate_and_up_in_the_other_order(phi3: Packed) -> None:
    gate = phi3.entry("model.layers.0.mlp.gate_proj.weight")
    for entry, first in ((gate, 80), (phi3.entry(UP), 0)):
        entry["transforms"][0][1]["first"] = first
    assert phi3.codes() == {"LEDGER_STEPS"}


def test_a_rotary_permutation_that_is_none(
    phi3: Packed, tiny_described: Tiny, tmp_path: Path
) -> None:
    phi3.entry(K_PROJ)["transforms"].insert(1, ["rotary_permutation", {"order": "interleaved"}])
    assert phi3.codes() >= {"LEDGER_ROTARY", "LEDGER_STEPS"}
    tiny = tiny_described("phi3")
    row = tiny.config.to_map() | {"rope_order": "interleaved"}
    config = EffectiveConfig.from_map(row)
    packed = Packed(Described(tiny.root, config), tmp_path)
    assert packed.codes() == {"LEDGER_ROTARY"}


def test_a_class_that_fixes_another_value(tiny_described: Tiny, tmp_path: Path) -> None:
    """A Gemma whose norms were taken for plain ones has the right bytes and the wrong function."""
    tiny = tiny_described("gemma2")
    config = EffectiveConfig.from_map(tiny.config.to_map() | {"norm_unit_offset": False})
    assert Packed(Described(tiny.root, config), tmp_path).codes() == {"LEDGER_CONFIG"}


def test_shards_of_a_tensor_that_nobody_joins(
    tiny_described: Tiny, gpt2: Packed, tmp_path: Path
) -> None:
    weights = load_file(tiny_described("gpt2").root / "model.safetensors")
    name = "transformer.h.0.mlp.c_fc.weight"
    whole = weights.pop(name)
    halves = dict(zip((f"{name}.tp0", f"{name}.tp1"), np.split(whole, 2, axis=1), strict=True))
    save_file(
        weights | {k: np.ascontiguousarray(v) for k, v in halves.items()},
        tmp_path / "model.safetensors",
    )
    with pytest.raises(PackUnknownTensorError, match=r"tp0.*tp1"):
        prove_ledger(gpt2.path, tmp_path)
    save_file(weights | {name: whole[:, :40].copy()}, tmp_path / "model.safetensors")
    with pytest.raises(PackShapeError, match=r"\[48, 40\]"):
        prove_ledger(gpt2.path, tmp_path)


def test_other_bytes_on_either_side(tiny_described: Tiny, tmp_path: Path) -> None:
    tiny = tiny_described("gpt2")
    packed = Packed(tiny, tmp_path, "q8_r128")
    assert packed.codes() == set()
    weights = load_file(tiny.root / "model.safetensors")
    weights["transformer.h.0.attn.c_proj.weight"][5, 7] *= 1.5
    save_file(weights, tmp_path / "model.safetensors")
    packed.root = tmp_path
    assert packed.codes() >= {"LEDGER_SOURCE", "LEDGER_QUANTIZE", "LEDGER_PROBE"}


def test_a_probe_that_does_not_hold(gpt2: Packed) -> None:
    gpt2.entry(NORM)["probes"]["elements"][0][1] ^= 1
    assert gpt2.codes() == {"LEDGER_PROBE"}
    gpt2.row["exceptions"] = []
    assert gpt2.codes() == {"LEDGER_PROBE", "LEDGER_EXCEPTION"}


def test_lost_information_is_justified(tiny_described: Tiny, tmp_path: Path) -> None:
    packed = Packed(tiny_described("gpt2"), tmp_path, "q8_r128")
    step = next(s for s in packed.entry(O_PROJ)["transforms"] if s[0] == "quantize")
    del step[1]["lost"]
    assert packed.codes() >= {"LEDGER_STEPS"}


def broken_forms(row: Row) -> Iterator[Row]:
    first = row["entries"][0]
    yield {**row, "schema": "trlm.ledger.v1"}
    yield {key: value for key, value in row.items() if key != "omissions"}
    for entry in (
        1,
        {**first, "odd": 1},
        {**first, "source_shape": ["x"]},
        {**first, "transforms": [["rows", {}]]},
        {**first, "transforms": [["rows", {"first": "0", "count": 1}]]},
    ):
        yield {**row, "entries": [entry]}


def test_ledger_file_error(gpt2: Packed, tmp_path: Path) -> None:
    for number, form in enumerate(broken_forms(gpt2.row)):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(form))
        with pytest.raises(LedgerFileError, match="no ledger"):
            read_ledger(file)
    file.write_text("[]")
    with pytest.raises(JsonError):
        read_ledger(file)
