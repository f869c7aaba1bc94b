"""SLM1 out of snapshots and back: bytes, ledgers, refusals, and what a migration keeps."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tests.slm1.made import BTOK, SHAPE, TIED, made
from trlm_lab.backends.native import NativeRunner
from trlm_lab.backends.reference import ReferenceRunner
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.model_parts import HEAD
from trlm_lab.base.records import Case, EffectiveConfig
from trlm_lab.errors import (
    NonFiniteError,
    Slm1CannotHoldError,
    Slm1ChecksumError,
    Slm1ChecksumProfileError,
    SlmMagicError,
    UnknownNameError,
)
from trlm_lab.inspector import inspect
from trlm_lab.pack import quant_profile, unpack
from trlm_lab.pack.artifact_file import map_file
from trlm_lab.pack.slm1 import (
    migrate,
    open_checked,
    open_slm1_file,
    pack_slm1,
    slm1_ledger,
    slm1_profile,
    slm1_profile_id,
    slm1_section,
    unpack_slm1,
    verify_slm1_ledger,
)
from trlm_lab.pack.source import open_sources
from trlm_lab.quant import block_format
from trlm_lab.slm.read import open_slm
from trlm_lab.slm.verify import verify_all
from trlm_lab.slm1.codecs import DType
from trlm_lab.text import read_tokenizer
from trlm_lab.text.byte_chars import CHARS
from trlm_lab.text.slm1 import Btok, bpe1_tokenizer, read_section, write_btok
from trlm_lab.text.tok2 import read_tok2

from .conftest import Weights, tiny_config, tiny_weights

CASE = Case("a", (256, 7, 91, 255, 33, 257))


def write_snapshot(root: Path, weights: Weights) -> None:
    save_file(weights, root / "model.safetensors", metadata={"format": "pt"})


def btok_config(**changes: Any) -> EffectiveConfig:
    """The tiny llama with the vocabulary and ids of BTOK."""
    ids = {"bos_token_id": 256, "eos_token_id": (257,), "pad_token_id": 258, "unk_token_id": 259}
    return tiny_config(**{"vocab_size": 260, **ids, **changes})


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, EffectiveConfig]:
    config = btok_config()
    root = tmp_path_factory.mktemp("source")
    write_snapshot(root, tiny_weights(config))
    return root, config


def bits(path: Path, runner: Any) -> dict[str, bytes]:
    with runner.open(Subject(artifact=path)) as session:
        return {one.name: np.array(one.values).tobytes() for one in session.run(CASE)}


@pytest.mark.parametrize("quant", ["f32", "q8_0", "q4_0"])
def test_a_snapshot_is_packed_and_its_ledger_proved(
    quant: str, source: tuple[Path, EffectiveConfig], tmp_path: Path
) -> None:
    root, config = source
    path = tmp_path / "model.slm"
    artifact, ledger = pack_slm1(root, config, quant, path, BTOK, block=8)
    again, _ = pack_slm1(root, config, quant, tmp_path / "again.slm", BTOK, block=8)
    assert artifact.file_sha256 == again.file_sha256
    assert artifact.size == path.stat().st_size
    slm1, sources = open_checked(path), open_sources(root, config)
    assert verify_slm1_ledger(slm1, sources, config) == []
    steps = {e.destination_name: [s.kind for s in e.transforms] for e in ledger.entries}
    stored = "copy" if quant == "f32" else "quantize"
    assert steps["layers.1.wk.weight"] == ["rotary_permutation", stored]
    assert steps["layers.1.wv.weight"] == [stored]
    same = [e.probes.source == e.probes.destination for e in ledger.entries]
    assert all(same) if quant == "f32" else not any(same)
    assert ledger.exceptions[0].startswith(HEAD)


def test_another_source_does_not_prove_a_ledger(
    source: tuple[Path, EffectiveConfig], tmp_path: Path
) -> None:
    root, config = source
    pack_slm1(root, config, "q8_0", tmp_path / "model.slm", BTOK)
    weights = tiny_weights(config)
    weights["model.layers.1.self_attn.k_proj.weight"][3, 5] += 1
    other = tmp_path / "other"
    other.mkdir()
    write_snapshot(other, weights)
    slm1 = open_slm1_file(tmp_path / "model.slm")
    found = verify_slm1_ledger(slm1, open_sources(other, config), config)
    assert {(f.code, f.where) for f in found} == {("LEDGER_QUANTIZE", "layers.1.wk.weight")}


def test_f32_gives_the_source_back_and_the_permutation_is_undone(
    source: tuple[Path, EffectiveConfig], tmp_path: Path
) -> None:
    root, config = source
    pack_slm1(root, config, "f32", tmp_path / "model.slm", BTOK)
    unpack_slm1(tmp_path / "model.slm", tmp_path / "back.safetensors")
    back, weights = load_file(tmp_path / "back.safetensors"), tiny_weights(config)
    assert back.keys() == weights.keys()
    assert all(np.array_equal(back[name], weights[name]) for name in weights)
    stored = open_slm1_file(tmp_path / "model.slm").tensor("layers.0.wq.weight").decoded(0, 16)
    head = weights["model.layers.0.self_attn.q_proj.weight"][:16]
    assert np.array_equal(stored[0::2], head[:8])
    assert np.array_equal(stored[1::2], head[8:])


@pytest.mark.parametrize("shape", [SHAPE, TIED], ids=["untied", "tied"])
@pytest.mark.parametrize("dtype", list(DType))
def test_a_migration_keeps_every_bit_of_the_forward_pass(
    dtype: DType, shape: Any, tmp_path: Path, require: Any
) -> None:
    require(NativeRunner())
    old, new = tmp_path / "old.slm", tmp_path / "new.slm"
    old.write_bytes(made(dtype, shape))
    done = migrate(old, new)
    assert migrate(old, tmp_path / "again.slm").artifact.file_sha256 == done.artifact.file_sha256
    wanted = bits(old, ReferenceRunner())
    assert bits(new, ReferenceRunner()) == wanted
    assert bits(new, NativeRunner()) == wanted
    assert all(e.probes.source == e.probes.destination for e in done.ledger.entries)
    kinds = {e.destination_name: [s.kind for s in e.transforms] for e in done.ledger.entries}
    assert kinds["model.norm.weight"] == (
        ["copy"] if dtype == DType.f32 else ["dequantize", "copy"]
    )


def test_a_migration_to_half_split_unpermutes_and_unpacks_alike(tmp_path: Path) -> None:
    old = tmp_path / "old.slm"
    old.write_bytes(made(DType.q8_0))
    done = migrate(old, tmp_path / "new.slm", rope_order="half_split")
    assert done.artifact.config.rope_order == "half_split"
    steps = {e.destination_name: [s.kind for s in e.transforms] for e in done.ledger.entries}
    name = "model.layers.0.self_attn.q_proj.weight"
    assert steps[name] == ["dequantize", "rotary_permutation", "copy"]
    one = unpack_slm1(old, tmp_path / "one.safetensors")
    assert one == unpack(tmp_path / "new.slm", tmp_path / "two.safetensors")
    with pytest.raises(UnknownNameError):
        migrate(old, tmp_path / "new.slm", rope_order="none")


def test_a_migration_may_quantize_anew_and_says_so(tmp_path: Path) -> None:
    old = tmp_path / "old.slm"
    old.write_bytes(made(DType.q4_0, TIED))
    done = migrate(old, tmp_path / "new.slm", quant="q8_r128")
    slm = open_slm(map_file(tmp_path / "new.slm"))
    verify_all(slm)
    name = "model.layers.0.mlp.up_proj.weight"
    entry = next(e for e in done.ledger.entries if e.destination_name == name)
    assert [step.kind for step in entry.transforms] == ["dequantize", "quantize", "pad"]
    assert entry.transforms[1].parameters["profile"] == "q8_r128"
    stored = slm.tensor(entry.destination_name)
    rows = open_checked(old).tensor("layers.0.w3.weight").decoded(0, 10)
    wanted = block_format("q8_r128").quantize(rows)
    assert (bytes(stored.data), bytes(stored.scales)) == wanted
    assert inspect(tmp_path / "new.slm").findings == ()
    with pytest.raises(UnknownNameError, match="without residuals"):
        migrate(old, tmp_path / "new.slm", quant="q4_g64-sparse-q8")


def test_a_migrated_tokenizer_gives_the_same_ids(tmp_path: Path) -> None:
    old = tmp_path / "old.slm"
    old.write_bytes(made())
    migrate(old, tmp_path / "new.slm")
    block = open_slm(map_file(tmp_path / "new.slm")).tokenizer
    text = "a é\n"
    ids = [t.id for t in read_tok2(block).tokenizer.encode(text, add_special_tokens=True).tokens]
    assert ids == Btok().encode(text.encode())


def test_only_an_unknown_profile_can_be_let_through(tmp_path: Path) -> None:
    data = bytearray(made())
    old, new = tmp_path / "old.slm", tmp_path / "new.slm"
    old.write_bytes(bytes(data[:100]) + bytes(8) + bytes(data[108:]))
    with pytest.raises(Slm1ChecksumProfileError):
        migrate(old, new)
    assert not new.exists()
    assert migrate(old, new, unchecked=True).artifact.path.exists()
    data[1000] ^= 1
    old.write_bytes(bytes(data))
    with pytest.raises(Slm1ChecksumError):
        migrate(old, new, unchecked=True)


def test_a_version_that_nobody_reads_is_refused_as_such(tmp_path: Path) -> None:
    with pytest.raises(SlmMagicError):
        open_slm(b"SLM3" + bytes(400))
    (tmp_path / "old.slm").write_bytes(b"SLM3" + bytes(400))
    with pytest.raises(SlmMagicError):
        unpack(tmp_path / "old.slm", tmp_path / "x")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"attention_bias": True}, "biases"),
        ({"sliding_window": 4, "layer_types": ("full_attention", "sliding_attention")}, "sliding"),
        ({"qk_norm": "head"}, "norms of queries"),
        ({"norm_unit_offset": True}, "1 + w"),
        ({"norm_placement": "sandwich"}, "sandwich"),
        ({"hidden_act": "gelu_erf"}, "gelu_erf"),
        ({"final_logit_softcapping": 30.0}, "cap of the logits"),
        ({"embedding_scale": 2.0}, "factor of the embedding"),
        ({"attention_scale": 0.5}, "scaled by 0.5"),
        ({"rope_inv_freq": (1.0, 0.5, 0.25, 0.125)}, "8 of 16 coordinates"),
        ({"rope_inv_freq": tuple(1.0 / 2**i for i in range(8))}, "do not follow from the base"),
        ({"eos_token_id": (257, 3)}, "one stop token"),
        ({"eos_token_id": (3,)}, "stops at 3"),
        ({"bos_token_id": 3}, "BOS is 3"),
        ({"vocab_size": 261}, "260 ids, the model 261"),
    ],
)
def test_what_it_cannot_hold_is_said(changes: dict[str, Any], reason: str, tmp_path: Path) -> None:
    config = btok_config(**changes)
    with pytest.raises(Slm1CannotHoldError) as caught:
        pack_slm1(tmp_path, config, "q8_0", tmp_path / "model.slm", BTOK)
    assert reason in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_every_reason_is_said_at_once(tmp_path: Path) -> None:
    config = btok_config(attention_bias=True, hidden_act="gelu_tanh", bos_token_id=1)
    with pytest.raises(Slm1CannotHoldError, match=r"gelu_tanh.*biases.*BOS is 1"):
        pack_slm1(tmp_path, config, "q8_0", tmp_path / "model.slm", BTOK)


def test_a_weight_that_is_not_finite_leaves_nothing(tmp_path: Path) -> None:
    config = btok_config()
    weights = tiny_weights(config)
    weights["model.norm.weight"][5] = np.inf
    write_snapshot(tmp_path, weights)
    for quant in ("f32", "q8_0", "q4_0"):
        with pytest.raises(NonFiniteError, match=r"model\.norm"):
            pack_slm1(tmp_path, config, quant, tmp_path / "model.slm", BTOK, block=8)
    assert not list(tmp_path.glob("*.slm*"))


def bytes_json(**changes: Any) -> dict[str, Any]:
    """A tokenizer.json of bytes with BOS and EOS, as BTOK is one."""
    vocab = {char: byte for byte, char in enumerate(CHARS)}
    vocab |= {"<s> ": 256, "</s> ": 257, "<pad> ": 258, "<unk> ": 259}
    parts = [
        {"SpecialToken": {"id": "<s> ", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "</s> ", "type_id": 0}},
    ]
    specials = {
        text: {"id": text, "ids": [number], "tokens": [text]}
        for text, number in (("<s> ", 256), ("</s> ", 257))
    }
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": None, "pre_tokenizer": {**byte_level, "use_regex": False},
        "post_processor": {
            "type": "TemplateProcessing", "single": parts, "pair": parts,
            "special_tokens": specials,
        },
        "decoder": {**byte_level, "use_regex": True},
        "model": {
            "type": "BPE", "dropout": None, "unk_token": "<unk> ",
            "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
            "byte_fallback": False, "ignore_merges": False, "vocab": vocab, "merges": [],
        },
    } | changes  # fmt: skip


def test_a_tokenizer_of_bytes_becomes_btok_and_one_of_merges_bpe1() -> None:
    assert slm1_section(read_tokenizer(bytes_json()), 260, 258, None) == write_btok(Btok())
    document = json.loads(json.dumps(bytes_json()))
    document["model"]["vocab"]["ab"] = 260
    document["model"]["merges"] = [["a", "b"]]
    tokenizer = read_tokenizer(document)
    found = read_section(slm1_section(tokenizer, 261, 258, None))
    again = bpe1_tokenizer(found)  # type: ignore[arg-type]
    for text in ("abba é", "", "\0 ab"):
        ids = [t.id for t in tokenizer.encode(text, add_special_tokens=True).tokens]
        assert ids == found.encode(text.encode())
        assert ids == [t.id for t in again.encode(text, add_special_tokens=True).tokens]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"normalizer": {"type": "NFC"}}, "normalizes"),
        ({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False,
                            "trim_offsets": True, "use_regex": True}}, "cuts texts"),
        ({"post_processor": None}, "one BOS"),
        ({"decoder": None}, "decoder"),
        ({"added_tokens": [{"id": 256, "content": "<s> ", "single_word": False, "lstrip": False,
                            "rstrip": False, "normalized": False, "special": True}]},
         "added tokens"),
    ],
)  # fmt: skip
def test_a_tokenizer_that_does_more_is_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(Slm1CannotHoldError, match=reason):
        slm1_section(read_tokenizer(bytes_json(**changes)), 260, 258, None)


def test_special_ids_that_it_needs() -> None:
    with pytest.raises(Slm1CannotHoldError, match="no PAD"):
        slm1_section(read_tokenizer(bytes_json()), 260, None, None)


def test_profiles_have_every_field_and_an_id() -> None:
    ids = {slm1_profile_id(name) for name in ("f32", "q8_0", "q4_0")}
    assert len(ids) == 3
    for name in ("f32", "q8_0", "q4_0"):
        assert quant_profile("q8_r128").keys() <= slm1_profile(name).keys()
        assert slm1_profile(name)["container"] == "SLM1"
    with pytest.raises(UnknownNameError):
        slm1_profile("q5_0")


def test_frequencies_that_differ_in_a_bit_are_noted(
    source: tuple[Path, EffectiveConfig], tmp_path: Path
) -> None:
    root, config = source
    moved = list(config.rope_inv_freq)
    moved[3] = float(np.nextafter(np.float32(moved[3]), np.float32(1)))
    other = replace(config, rope_inv_freq=tuple(moved))
    _, ledger = pack_slm1(root, other, "q8_0", tmp_path / "model.slm", BTOK)
    assert any(text.startswith("1 of 8 rotary frequencies") for text in ledger.exceptions)
    assert (
        slm1_ledger(open_slm1_file(tmp_path / "model.slm"), open_sources(root, other), other)
        == ledger
    )
