"""Codes of calibrated quantizers: derived, recorded, packed, proved, refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from trlm_lab.base.model_parts import EMBEDDING
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.errors import (
    CalibrationNeededError,
    CodesFileError,
    CodesMismatchError,
    SafetensorsError,
)
from trlm_lab.inspector import inspect
from trlm_lab.pack import pack_snapshot, prove_ledger, quant_profile
from trlm_lab.pack.calibrated import CALIBRATED
from trlm_lab.pack.codes import Codes, open_codes
from trlm_lab.pack.derive_codes import derive_codes, whole
from trlm_lab.pack.source import open_sources
from trlm_lab.pack.unpack import unpack
from trlm_lab.quant import GROUPED
from trlm_lab.quant.activation_aware import ActivationAware
from trlm_lab.quant.error_compensating import ErrorCompensating

from .conftest import Snapshot, tiny_config, tiny_weights

QUANT = "q5_g64-gptq"


def grams(root: Path, config: EffectiveConfig) -> dict[str, NDArray[np.float64]]:
    """Of random activations, one for every matrix but the untied embedding."""
    draw = np.random.Generator(np.random.Philox(3))
    found = {}
    for name, part in open_sources(root, config).parts.items():
        if len(part.shape) == 2 and (name != EMBEDDING or config.tie_word_embeddings):
            x = draw.standard_normal((300, part.shape[1])).astype(np.float32).astype(np.float64)
            found[name] = x.T @ x
    return found


def derived(
    root: Path, config: EffectiveConfig, out: Path, quant: str = QUANT, note: str = "a"
) -> Codes:
    return derive_codes(
        open_sources(root, config), quant, grams(root, config), {"corpus": note}, out
    )


@pytest.mark.parametrize("quant", list(CALIBRATED))
def test_profile_says_what_the_code_does(quant: str) -> None:
    row, profile = quant_profile(quant)["calibrated"], CALIBRATED[quant]
    plain = quant_profile(profile.storage.matrices.name)
    same = ("bits", "group", "scale_dtype", "bit_order", "dequantization", "reading", "saturation")
    assert all(quant_profile(quant)[key] == plain[key] for key in same)
    step = {"q4_g64": 32, "q5_g64": 64, "q6_g64": 128, "q8_r128": 512}[plain["name"]]
    grid = tuple(1 - i / step for i in range(16))
    if quant.endswith("awq"):
        assert row["name"] == "activation-aware"
        assert profile.algorithm == ActivationAware(grid, row["sweeps"])
    else:
        assert row["name"] == "error-compensating"
        assert profile.algorithm == ErrorCompensating(row["damping"], grid, row["ordering"])


@pytest.mark.parametrize("quant", list(CALIBRATED))
def test_codes_are_packed_and_proved(snapshot: Snapshot, tmp_path: Path, quant: str) -> None:
    config = tiny_config()
    root = snapshot(tiny_weights(config))
    codes = derived(root, config, tmp_path / "codes", quant)
    out = tmp_path / "m.slm"
    artifact, ledger = pack_snapshot(root, config, quant, out, codes=codes)
    assert artifact.quant_profile == quant
    assert [str(f) for f in inspect(out).findings] == []
    assert prove_ledger(out, root, ledger, codes=codes) == (ledger, [])
    steps = [s for e in ledger.entries for s in e.transforms if s.kind == "quantize"]
    assert {s.parameters["codes_id"] for s in steps} == {codes.codes_id}
    assert {s.parameters["calibration_id"] for s in steps} == {codes.calibration_id}
    # Without the codes nothing gives these bytes, and the proof says so.
    assert {f.code for f in prove_ledger(out, root)[1]} == {"LEDGER_QUANTIZE"}


def test_the_artifact_holds_what_the_algorithm_gave(snapshot: Snapshot, tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    config = tiny_config()
    root = snapshot(tiny_weights(config))
    pack_snapshot(
        root, config, QUANT, tmp_path / "m.slm", codes=derived(root, config, tmp_path / "codes")
    )
    unpack(tmp_path / "m.slm", tmp_path / "m.safetensors")
    stored = load_file(tmp_path / "m.safetensors")
    form, sources = GROUPED["q5_g64"], open_sources(root, config)
    for name, gram in grams(root, config).items():
        weights = whole(sources.parts[name])
        coded = CALIBRATED[QUANT].algorithm.quantize(form, weights, gram)
        assert np.array_equal(stored[name], coded.values(form)), name


def test_repacking_and_deriving_again_give_the_same_bytes(
    snapshot: Snapshot, tmp_path: Path
) -> None:
    config = tiny_config()
    root = snapshot(tiny_weights(config))
    for turn in "ab":
        codes = derived(root, config, tmp_path / f"codes-{turn}")
        pack_snapshot(root, config, QUANT, tmp_path / f"{turn}.slm", codes=codes)
    for names in (("a.slm", "b.slm"), ("codes-a", "codes-b")):
        first, second = ((tmp_path / name).read_bytes() for name in names)
        assert first == second


def test_another_corpus_is_another_identity_where_the_bytes_are_the_same(
    snapshot: Snapshot, tmp_path: Path
) -> None:
    config = tiny_config()
    root = snapshot(tiny_weights(config))
    found = []
    for note in ("a", "b"):
        codes = derived(root, config, tmp_path / f"codes-{note}", note=note)
        found.append(
            (codes, *pack_snapshot(root, config, QUANT, tmp_path / f"{note}.slm", codes=codes))
        )
    (one, first, ledger), (other, second, another) = found
    assert first.file_sha256 == second.file_sha256
    assert one.calibration_id != other.calibration_id
    assert one.codes_id != other.codes_id
    assert ledger.ledger_id != another.ledger_id
    assert prove_ledger(tmp_path / "a.slm", root, ledger, codes=other)[1] != []


def test_an_untied_embedding_is_rounded_plainly(snapshot: Snapshot, tmp_path: Path) -> None:
    config = tiny_config(tie_word_embeddings=False)
    root = snapshot(tiny_weights(config))
    codes = derived(root, config, tmp_path / "codes")
    _, ledger = pack_snapshot(root, config, QUANT, tmp_path / "m.slm", codes=codes)
    assert EMBEDDING not in codes.record["tensors"]
    entry = next(e for e in ledger.entries if e.destination_name == EMBEDDING)
    assert "codes_id" not in entry.transforms[-1].parameters
    assert prove_ledger(tmp_path / "m.slm", root, ledger, codes=codes)[1] == []


def test_codes_and_profile_must_fit(snapshot: Snapshot, tmp_path: Path) -> None:
    config = tiny_config()
    root = snapshot(tiny_weights(config))
    codes = derived(root, config, tmp_path / "codes")
    for quant, given in ((QUANT, None), ("q4_g64-gptq", codes), ("q5_g64", codes)):
        with pytest.raises(CalibrationNeededError):
            pack_snapshot(root, config, quant, tmp_path / "m.slm", codes=given)
    weights = tiny_weights(config)
    weights[EMBEDDING][5, 5] += 1
    (tmp_path / "other").mkdir()
    other = snapshot(weights)
    with pytest.raises(CodesMismatchError, match="embed_tokens"):
        pack_snapshot(other, config, QUANT, tmp_path / "m.slm", codes=codes)
    pack_snapshot(other, config, "q5_g64", tmp_path / "m.slm")
    with pytest.raises(CodesMismatchError, match="embed_tokens"):
        prove_ledger(tmp_path / "m.slm", other, codes=codes)


def test_files_that_hold_no_codes_are_refused(snapshot: Snapshot, tmp_path: Path) -> None:
    config = tiny_config()
    root = snapshot(tiny_weights(config))
    good = derived(root, config, tmp_path / "codes").path.read_bytes()
    path = tmp_path / "bad"
    with pytest.raises(CodesFileError, match="no record"):
        open_codes(root / "model.safetensors")
    for old, new in (
        (b"q5_g64-gptq", b"q5_g64-none"), (b"q5_g64-gptq", b"q4_g64-gptq"), (b"corpus", b"corpse"),
        (b"trlm.quantized_codes.v1", b"trlm.quantized_codes.v2"), (b"0.mlp.up", b"9.mlp.up"),
    ):  # fmt: skip
        path.write_bytes(good.replace(old, new))
        with pytest.raises(CodesFileError):
            open_codes(path)
    path.write_bytes(good[:-1])
    with pytest.raises(SafetensorsError):
        open_codes(path)
