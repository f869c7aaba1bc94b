"""The quantization ladder: sound ones name nothing, every planted fault is named at its rung."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.flows.ladder_models import (
    DOWN,
    EMBEDDING,
    HEAD,
    NORM,
    QUERIES,
    ladder_config,
    made_up_codes,
    packed,
    source,
    subject,
)
from trlm_lab.base import canon
from trlm_lab.base.records import Outcome
from trlm_lab.errors import (
    CodesMismatchError,
    FaultNotApplicableError,
    LadderArtifactError,
    LadderResidualError,
    LadderRowError,
    LadderTensorError,
)
from trlm_lab.flows.quant_ladder import engines
from trlm_lab.flows.quant_ladder.climb import Ladder, climb
from trlm_lab.flows.quant_ladder.document import consequences, ladder_document
from trlm_lab.flows.quant_ladder.element import element_rows
from trlm_lab.flows.quant_ladder.faults import (
    LADDER_FAULTS,
    expected_rungs,
    fault_refusal,
    planted_route,
)
from trlm_lab.flows.quant_ladder.readers import Readers, open_readers
from trlm_lab.flows.quant_ladder.receipts import record_ladder
from trlm_lab.flows.quant_ladder.route import SOUND
from trlm_lab.flows.quant_ladder.subject import LadderSubject, open_ladder
from trlm_lab.flows.verification import verify_directory
from trlm_lab.pack import pack_snapshot
from trlm_lab.receipts import ReceiptStore
from trlm_lab.rungs import RUNGS
from trlm_lab.testing.container_sealing import sealed

pytestmark = pytest.mark.xdist_group("flows")

GROUPED = ("q8_r128", "q6_g64", "q5_g64", "q4_g64")
ENCODED = [name + tail for name in GROUPED for tail in ("", "-bf16", "-e8m0")]
FORMATS = [*ENCODED, "q4_g64-search", "f32", "f16", "bf16", "slm1:q8_0", "slm1:q4_0"]
#: Faults that need a source or a tensor of another kind; tests of their own plant them.
ELSEWHERE = {"bf16_source_read_as_f16", "f16_source_read_as_bf16", "rows_not_permuted",
             "matrix_not_transposed"}  # fmt: skip


@pytest.fixture(scope="module")
def readers() -> Iterator[Readers]:
    with open_readers() as opened:
        assert not opened.missing
        yield opened


def named(held: LadderSubject, readers: Readers, fault: str, sound: Ladder) -> str | None:
    route = planted_route(fault, held, (0, held.rows))
    upper = sound.upper if route.plant is None else None
    return climb(held, route=route, source=False, readers=readers, upper=upper).named


@pytest.mark.parametrize("quant", FORMATS)
def test_a_sound_ladder_names_nothing_and_each_fault_its_rung(
    quant: str, tmp_path: Path, readers: Readers
) -> None:
    held = subject(tmp_path, quant)
    sound = climb(held, source=False, readers=readers)
    assert [r.outcome for r in sound.rungs] == [Outcome.MATCH] * 13, sound.named
    found, span = {}, (0, held.rows)
    for fault in LADDER_FAULTS:
        if fault_refusal(fault, held, span) is None:
            found[fault] = named(held, readers, fault, sound)
    assert found == {fault: expected_rungs()[fault] for fault in found}
    assert len(found) >= 14


def test_every_fault_stands_in_the_table_and_is_planted_above(tmp_path: Path) -> None:
    assert set(LADDER_FAULTS) == set(expected_rungs())
    assert set(expected_rungs().values()) == set(RUNGS)
    left = set(LADDER_FAULTS)
    for quant in FORMATS:
        held = subject(tmp_path / quant.replace(":", "-"), quant)
        left -= {fault for fault in left if fault_refusal(fault, held, (0, held.rows)) is None}
    assert left == ELSEWHERE


@pytest.mark.parametrize(
    ("fault", "quant", "dtype", "tensor"),
    [
        ("bf16_source_read_as_f16", "q5_g64", "BF16", DOWN),
        ("f16_source_read_as_bf16", "bf16", "F16", DOWN),
        ("rows_not_permuted", "slm1:q8_0", "F32", QUERIES),
    ],
)
def test_faults_of_other_sources(
    fault: str, quant: str, dtype: str, tensor: str, tmp_path: Path, readers: Readers
) -> None:
    held = subject(tmp_path, quant, tensor, dtype)
    sound = climb(held, source=False, readers=readers)
    assert sound.named is None
    assert named(held, readers, fault, sound) == "semantic"


def test_a_transposed_source(
    tiny_models: Callable[[str], Path], tmp_path: Path, readers: Readers
) -> None:
    """GPT-2 stores in x out, and joins queries, keys and values."""
    from trlm_lab.describe import effective_config
    from trlm_lab.oracle import source_defaults

    root = tiny_models("gpt2")
    config = effective_config(root, source_defaults(root))
    path = packed(root, config, "q6_g64", tmp_path / "m.slm")
    layer = "model.layers.1"
    square = open_ladder(root, config, path, f"{layer}.self_attn.o_proj.weight")
    sound = climb(square, source=False, readers=readers)
    assert sound.named is None
    assert named(square, readers, "matrix_not_transposed", sound) == "semantic"
    others = ("self_attn.k_proj.weight", "self_attn.v_proj.bias", "input_layernorm.weight",
              "post_attention_layernorm.bias")  # fmt: skip
    for name in (*(f"{layer}.{other}" for other in others), "model.embed_positions.weight"):
        held = open_ladder(root, config, path, name)
        assert climb(held, source=False, readers=readers).named is None, name


@pytest.mark.parametrize("family", ["gemma2", "olmo2", "qwen3"])
def test_every_tensor_of_a_family_is_sound(
    family: str, tiny_models: Callable[[str], Path], tmp_path: Path, readers: Readers
) -> None:
    """Caps, norms of queries, factors of norms and embedding; all roles of the last layer."""
    from trlm_lab.base.model_parts import layer_tensors, model_tensors
    from trlm_lab.describe import effective_config
    from trlm_lab.oracle import source_defaults

    root = tiny_models(family)
    config = effective_config(root, source_defaults(root))
    path = packed(root, config, "mixed-q456", tmp_path / "m.slm")
    last = layer_tensors(config, config.num_hidden_layers - 1)
    ends = [t for t in model_tensors(config) if ".layers." not in t.name]
    for tensor in (*last, *ends):
        held = open_ladder(root, config, path, tensor.name)
        ladder = climb(held, 0, source=False, readers=readers)
        assert ladder.named is None, (tensor.name, ladder.named)


def test_the_rest_of_a_llama(tmp_path: Path, readers: Readers) -> None:
    """A head that is tied, an embedding looked up in row 7, a vector, a residual in its product."""
    config = ladder_config()
    root = source(tmp_path / "source", config)
    path = packed(root, config, "q4_g64", tmp_path / "m.slm")
    for name, row in ((HEAD, 3), (EMBEDDING, 7), (NORM, 0), (QUERIES, None)):
        ladder = climb(open_ladder(root, config, path, name), row, readers=readers)
        assert ladder.named is None, name
        assert ladder.rung("operator").elements > 0
    old = packed(root, config, "slm1:q4_0", tmp_path / "old.slm")
    for name in (QUERIES, "layers.0.wk.weight", "output.weight", "norm.weight"):
        assert climb(open_ladder(root, config, old, name), readers=readers).named is None, name


@pytest.mark.parametrize("quant", ["q4_g64-sparse-f16", "q4_g64-sparse-q8"])
def test_a_residual_is_in_the_operator(quant: str, tmp_path: Path, readers: Readers) -> None:
    config = ladder_config()
    root = source(tmp_path / "source", config, outliers=True)
    path = packed(root, config, quant, tmp_path / "m.slm")
    held = open_ladder(root, config, path, DOWN)
    assert held.stored.sparse is not None
    sound = climb(held, readers=readers)
    assert sound.named is None
    without = replace(held, stored=replace(held.stored, sparse=None))
    assert climb(without, readers=readers, upper=sound.upper).named == "operator"
    with pytest.raises(LadderResidualError, match="climb 'model"):
        open_ladder(root, config, path, f"{DOWN}.residual")


@pytest.mark.parametrize("quant", ["q4_g64", "q6_g64-e8m0", "slm1:q4_0"])
def test_a_file_with_other_bytes_is_named_by_what_they_are(
    quant: str, tmp_path: Path, readers: Readers
) -> None:
    """No step is replaced: a whole file, sealed anew, that a packer with the fault had written.

    Engines may refuse it; the ladder still names the rung.
    """
    config = ladder_config()
    root = source(tmp_path / "source", config)
    held = open_ladder(root, config, packed(root, config, quant, tmp_path / "m.slm"), DOWN)
    refused = set()
    for fault in LADDER_FAULTS:
        rung = expected_rungs()[fault]
        why = fault_refusal(fault, held, (0, held.rows))
        if why or rung not in ("parameters", "codes", "packed"):
            continue
        path = tmp_path / f"{fault}.slm"
        path.write_bytes(sealed(_rewritten(held, fault)))
        ladder = climb(open_ladder(root, config, path, DOWN), source=False, readers=readers)
        assert ladder.named == rung, fault
        if ladder.upper.refused:
            refused.add(fault)
            assert ladder.rung("token").outcome is Outcome.NOT_SUPPORTED
            assert ladder_document(ladder)["consequences"] == {"refused": ladder.upper.refused}
    assert ("zero_point" in refused) == (quant != "slm1:q4_0")


def test_a_ladder_of_a_refused_file_is_a_sound_receipt(tmp_path: Path, readers: Readers) -> None:
    held = subject(tmp_path, "q4_g64")
    path = tmp_path / "bad.slm"
    path.write_bytes(sealed(_rewritten(held, "zero_point")))
    bad = open_ladder(held.root, held.source_config, path, DOWN)
    ladder = climb(bad, 3, readers=readers)
    assert (ladder.named, ladder.rung("operator").outcome) == ("codes", Outcome.WRONG)
    assert element_rows(ladder, 2)[-1]["rung"] == "kernel_dot"
    record_ladder(tmp_path / "store", ladder)
    assert verify_directory(tmp_path / "store").sound


def _rewritten(held: LadderSubject, fault: str) -> bytes:
    """The artifact with the planes that a packer with the fault would have left."""
    span = (0, held.rows)
    route = planted_route(fault, held, span)
    rows = SOUND.semantic(held, span, SOUND.read(held, span))
    words = route.scales(held, rows)
    data, stored = bytearray(held.artifact.read_bytes()), held.stored
    planes = (
        (stored.data_at, route.pack(held, route.quantize(held, rows, words)).tobytes()),
        (stored.scales_at, stored.scale_bytes(words)),
    )
    for at, plane in planes:
        data[at : at + len(plane)] = plane
    return bytes(data)


def test_codes_of_a_calibrated_quantizer_are_an_input(tmp_path: Path, readers: Readers) -> None:
    config = ladder_config()
    root = source(tmp_path / "source", config)
    codes = made_up_codes(root, config, tmp_path / "codes.safetensors")
    path = tmp_path / "m.slm"
    pack_snapshot(root, config, codes.profile.name, path, codes=codes)
    held = open_ladder(root, config, path, DOWN, codes)
    sound = climb(held, readers=readers)
    assert sound.named is None
    assert list(sound.rung("codes").claimed) == ["codes file"]
    for fault in LADDER_FAULTS:
        if fault_refusal(fault, held, (0, held.rows)) is None:
            assert named(held, readers, fault, sound) == expected_rungs()[fault], fault
    record_ladder(tmp_path / "store", climb(held, 3, readers=readers))
    assert verify_directory(tmp_path / "store").sound
    without = open_ladder(root, config, path, DOWN)
    assert climb(without, source=False, readers=readers).named == "parameters"
    other = source(tmp_path / "other", config, outliers=True)
    with pytest.raises(CodesMismatchError, match="other weights"):
        open_ladder(other, config, path, DOWN, codes)


def test_blocks_of_rows_say_what_one_block_says(
    tmp_path: Path, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trlm_lab.flows.quant_ladder import climb as module

    held = subject(tmp_path, "slm1:q8_0", QUERIES)
    whole = climb(held, readers=readers)
    monkeypatch.setattr(module, "BLOCK", 16 * held.cols)
    parts = climb(held, readers=readers)
    assert parts.rung("codes").kept is None
    for one, other in zip(whole.rungs, parts.rungs, strict=True):
        assert (one.checked, one.claimed) == (other.checked, other.claimed), one.name
    costs = [(r.cost.largest, round(r.cost.relative, 12)) for r in whole.rungs if r.cost]
    again = [(r.cost.largest, round(r.cost.relative, 12)) for r in parts.rungs if r.cost]
    assert costs == again


def test_an_element_from_byte_to_token(tmp_path: Path, readers: Readers) -> None:
    held = subject(tmp_path, "q4_g64")
    ladder = climb(held, 3, readers=readers)
    rows = {(r["rung"], r["what"]): r["value"] for r in element_rows(ladder, 2)}
    assert rows["codes", "ratio, unrounded"] == "2.5"
    assert rows["codes", "code"] == "2"
    assert rows["parameters", "scale"] == "0.00390625 (fp16 1c00)"
    assert rows["dequantized", "error in steps"] == "-0.5000"
    place = int(rows["packed", "at byte of the file"])
    assert held.artifact.read_bytes()[place] & 15 == 2
    scale = int(rows["packed", "its scale at byte"])
    assert held.artifact.read_bytes()[scale : scale + 2] == b"\x00\x1c"
    document = ladder_document(ladder, 2)
    assert document["named"] is None
    assert set(document["consequences"]) > {"token", "token of the source", "KL"}
    assert consequences(climb(held, 3, source=False, readers=readers)).keys() == {"token"}
    with pytest.raises(LadderRowError, match="column 200"):
        element_rows(ladder, 200)
    with pytest.raises(LadderRowError, match="left out"):
        element_rows(climb(held, source=False, readers=readers), 2)


def test_without_a_second_engine_nobody_checked(
    tmp_path: Path, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trlm_lab.backends.native import NativeRunner
    from trlm_lab.backends.wasm_wasmtime import WasmtimeRunner
    from trlm_lab.base.records import Availability

    absent = Availability(False, reason="not here")
    for runner in (NativeRunner, WasmtimeRunner):
        monkeypatch.setattr(runner, "availability", lambda self: absent)
    held = subject(tmp_path, "q8_r128")
    ladder = climb(held, 0, source=False, readers=readers)
    outcomes = {r.name: r.outcome for r in ladder.rungs}
    assert ladder.named is None
    assert outcomes["layer"] is Outcome.INFRA
    assert outcomes["logits"] is Outcome.INFRA
    with open_readers() as none:
        assert none.rust == ()
        assert set(none.missing.values()) == {"not here"}
    assert engines.ReferenceRunner().name == ladder.upper.engine


def test_bad_input_is_refused_by_place(tmp_path: Path) -> None:
    config = ladder_config()
    root = source(tmp_path / "source", config)
    path = packed(root, config, "q4_g64", tmp_path / "m.slm")
    with pytest.raises(LadderTensorError, match="down_proj") as unknown:
        open_ladder(root, config, path, "model.layers.0.mlp.down_proj")
    assert unknown.value.exit_status == 2
    held = open_ladder(root, config, path, DOWN)
    for row in (-1, held.rows):
        with pytest.raises(LadderRowError, match="the last is 31"):
            climb(held, row)
    other = source(tmp_path / "other", config)
    words = bytearray((other / "model.safetensors").read_bytes())
    at = words.index(b'"model.norm.weight"')
    begin = int(bytes(words[at : at + 200]).split(b'"data_offsets": [')[1].split(b",")[0])
    start = 8 + int.from_bytes(words[:8], "little") + begin
    words[start : start + 4] = np.float32(7).tobytes()
    (other / "model.safetensors").write_bytes(words)
    with pytest.raises(LadderArtifactError, match="element 0 of its final norm"):
        open_ladder(other, config, path, DOWN)
    with pytest.raises(FaultNotApplicableError, match="its scales are fp16"):
        planted_route("bf16_scale_read_as_fp16", held, (0, 4))


def test_an_artifact_of_another_shape_is_refused(tmp_path: Path) -> None:
    config, wide = ladder_config(), ladder_config(num_hidden_layers=2)
    root = source(tmp_path / "source", config)
    path = packed(root, config, "q4_g64", tmp_path / "m.slm")
    other = source(tmp_path / "wide", wide)
    with pytest.raises(LadderArtifactError, match="num_hidden_layers is 1, the source's 2"):
        open_ladder(other, wide, path, DOWN)


def forged(store: ReceiptStore, nodes: list[str], at: int, change: Any) -> list[str]:
    """The chain with one rung's blob changed, everything above it linked anew."""
    made = nodes[:at]
    for number in range(at, len(nodes)):
        node = store.get(nodes[number])
        facts = dict(node.metadata)
        if number == at:
            value = store.get_value(facts["rung_blob"])
            facts.update(change(value) or {})
            facts["rung_blob"] = store.put_value(value)
        made.append(store.add("ladder_rung", facts, made[-1:]))
    return made


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, readers: Readers) -> tuple[Path, list[str]]:
    folder = tmp_path_factory.mktemp("ladder")
    ladder = climb(subject(folder, "q5_g64-bf16"), 3, readers=readers)
    return folder / "out", record_ladder(folder / "out", ladder)


def test_each_rung_is_a_receipt_that_names_its_parent(recorded: tuple[Path, list[str]]) -> None:
    out, nodes = recorded
    store = ReceiptStore(out)
    found = [store.get(node) for node in nodes]
    assert [n.metadata["rung"] for n in found] == list(RUNGS)
    assert [list(n.children) for n in found] == [[], *([node] for node in nodes[:-1])]
    report = verify_directory(out)
    assert (report.sound, report.root) == (True, nodes[-1])
    assert report.kind == "ladder_rung"


def _other_code(value: dict[str, Any]) -> dict[str, Any]:
    """A code that does not follow, with all hashes of its own rung made to agree."""
    data = bytearray(value["claim"]["data"])
    data[0] ^= 1
    digest = hashlib.sha256(data).hexdigest()
    value["claim"]["data"] = bytes(data)
    for claim in value["claims"].values():
        claim["sha256"] = digest
    value["follows"] = digest
    return {"follows": digest}


@pytest.mark.parametrize(
    ("rung", "change", "said"),
    [
        ("codes", _other_code, "the step gives"),
        ("packed", lambda v: v.update(number=7), "its blob says 7"),
        ("dequantized", lambda v: v["claims"]["reader"].update(differing=1), "its claims give"),
        ("logits", lambda v: v["claim"].update(data=bytes(len(v["claim"]["data"]))), "its array"),
        ("token", lambda v: {"outcome": "WRONG"}, "its claims give MATCH"),
    ],
)
def test_a_forged_rung_is_found(
    rung: str, change: Any, said: str, recorded: tuple[Path, list[str]], tmp_path: Path
) -> None:
    import shutil

    from trlm_lab.receipts.receipt_file import receipt_text

    out = tmp_path / "out"
    shutil.copytree(recorded[0], out)
    nodes = forged(ReceiptStore(out), recorded[1], RUNGS.index(rung), change)
    (out / "receipt.json").write_text(receipt_text(nodes[-1]))
    report = verify_directory(out)
    assert not report.sound
    assert any(said in finding.detail for finding in report.findings), report.findings
    assert canon.content_id({}) not in nodes
