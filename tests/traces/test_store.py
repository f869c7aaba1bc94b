"""The store on disk: round trip, xarray, resumption, and what is refused."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
import zarr

from trlm_lab.base.interfaces import TraceView
from trlm_lab.base.records import Case, EngineIdentity, Observation
from trlm_lab.errors import (
    NotATraceError,
    NotEncodableError,
    TraceCorruptError,
    TraceMissingError,
    TraceSubjectError,
)
from trlm_lab.traces import (
    MemoryTrace,
    SafetensorsTrace,
    TraceStore,
    TraceWriter,
    hash_only,
    write_process_report,
)

Streams = Callable[..., list[Observation]]


def test_every_array_comes_back_bit_for_bit(root: Path, case: Case, stream_of: Streams) -> None:
    store = TraceStore(root)
    stream = stream_of(case)
    assert store.names("words") == tuple(o.name for o in stream)
    for observation in stream:
        got = store.read("words", observation.name)
        assert got.dtype == observation.values.dtype
        assert got.tobytes() == observation.values.tobytes()


def test_identity_subject_case_and_digests_come_back(
    root: Path, case: Case, identity: EngineIdentity, subject: dict[str, Any], stream_of: Streams
) -> None:
    store = TraceStore(root)
    assert (store.identity, store.subject, store.case("words")) == (identity, subject, case)
    memory = MemoryTrace(identity, subject)
    memory.write_case(case, stream_of(case))
    assert store.verify() == memory.record()
    assert store.trace_id == memory.trace_id


def test_non_finite_values_and_negative_zero_keep_their_bits(
    tmp_path: Path, identity: EngineIdentity
) -> None:
    case = Case("odd", (1,))
    bits = np.array([0x7FC00001, 0xFF800000, 0x80000000, 0x00000001], dtype=np.uint32)
    values = bits.view(np.float32).reshape(1, 4)
    ids = Observation("token_ids", np.array([1], dtype=np.int64))
    TraceWriter(tmp_path / "t", identity, {}).write_case(case, [ids, Observation("logits", values)])
    assert TraceStore(tmp_path / "t").read("odd", "logits").tobytes() == bits.tobytes()
    seen = xarray.open_datatree(tmp_path / "t", engine="zarr")["odd"]["logits"].values
    assert seen.tobytes() == bits.tobytes()


def test_xarray_opens_it_without_a_warning(root: Path, case: Case, stream_of: Streams) -> None:
    tree = xarray.open_datatree(root, engine="zarr")
    stacked = tree["words"]["layers.attn_probs"]
    assert stacked.dims == ("L", "H", "T", "S")
    wanted = {o.name: o.values for o in stream_of(case)}["layers.1.attn_probs"]
    assert np.array_equal(stacked.isel(L=1).values, wanted)
    assert tree["words"]["token_ids"].values.tolist() == list(case.token_ids)
    assert tree.attrs["schema"] == "trlm.trace.v2"
    assert TraceStore(root).as_datatree().identical(tree)


def test_zarr_sees_uncompressed_single_layer_chunks_in_one_shard(root: Path) -> None:
    array = zarr.open_group(root, mode="r")["words/layers.q_proj"]
    assert array.chunks == (1, 3, 4)
    assert array.shape == array.shards == (2, 3, 4)
    assert array.compressors == ()
    assert zarr.open_group(root, mode="r")["words/logits"].shards is None


def test_zarr_agrees_without_the_inlined_metadata(root: Path) -> None:
    group = zarr.open_group(root, mode="r", use_consolidated=False)
    store = TraceStore(root)
    inlined = sorted(name for name, _ in group["words"].arrays())
    assert "layers.mlp_act" in inlined
    assert np.array_equal(group["words/layers.mlp_act"][1], store.read("words", "layers.1.mlp_act"))


def test_a_layer_of_a_shard_hashes_to_the_declared_digest(root: Path) -> None:
    shard = (root / "words" / "layers.q_proj" / "c.0.0.0").read_bytes()
    declared = TraceStore(root).digest("words", "layers.1.q_proj")
    assert hashlib.sha256(shard[48:96]).hexdigest() == declared.sha256
    whole = (root / "words" / "logits" / "c.0.0").read_bytes()
    declared = TraceStore(root).digest("words", "logits")
    assert hashlib.sha256(whole).hexdigest() == declared.sha256


def test_layers_that_an_engine_hides_stay_out(tmp_path: Path, identity: EngineIdentity) -> None:
    case = Case("gaps", (1, 2))
    ids = Observation("token_ids", np.array([1, 2], dtype=np.int64))
    seen = Observation("layers.3.output", np.ones((2, 4), dtype=np.float32))
    TraceWriter(tmp_path / "t", identity, {}).write_case(case, [ids, seen])
    store = TraceStore(tmp_path / "t")
    assert store.names("gaps") == ("token_ids", "layers.3.output")
    assert np.isnan(store.as_datatree()["gaps"]["layers.output"].values[:3]).all()
    with pytest.raises(TraceMissingError):
        store.read("gaps", "layers.2.output")
    store.verify()


def test_a_complete_case_is_kept_and_consumes_nothing(
    root: Path, case: Case, identity: EngineIdentity, subject: dict[str, Any]
) -> None:
    def never() -> Iterator[Observation]:
        raise AssertionError("the engine ran")
        yield

    before = TraceStore(root).case_trace("words")
    writer = TraceWriter(root, identity, subject)
    assert writer.kept(case) == before
    assert writer.write_case(case, never()) == before


def test_two_runs_give_the_same_bytes_in_every_file(
    tmp_path: Path, identity: EngineIdentity, subject: dict[str, Any], stream_of: Streams
) -> None:
    cases = [Case("a", (1, 2)), Case("b", (3,))]
    for name, order in (("x", cases), ("y", cases[::-1])):
        writer = TraceWriter(tmp_path / name, identity, subject)
        for one in order:
            writer.write_case(one, stream_of(one))

    def files(name: str) -> dict[str, bytes]:
        base = tmp_path / name
        return {str(p.relative_to(base)): p.read_bytes() for p in base.rglob("*") if p.is_file()}

    assert files("x") == files("y")


def test_a_partial_case_is_invisible_and_rewritten(
    root: Path, case: Case, identity: EngineIdentity, subject: dict[str, Any], stream_of: Streams
) -> None:
    other = Case("late", (7, 8))

    def dies() -> Iterator[Observation]:
        yield from stream_of(other)[:9]
        raise OSError("killed")

    with pytest.raises(OSError, match="killed"):
        TraceWriter(root, identity, subject).write_case(other, dies())
    assert not list(root.glob("*late*"))
    # What a kill leaves behind: a directory of a temporary name.
    (root / ".tmp-late" / "logits").mkdir(parents=True)
    (root / ".tmp-late" / "zarr.json").write_text("{}")
    store = TraceStore(root)
    assert store.case_ids() == ("words",)
    store.verify()
    assert list(store.as_datatree().children) == ["words"]
    writer = TraceWriter(root, identity, subject)
    assert writer.kept(other) is None
    writer.write_case(other, stream_of(other))
    assert not (root / ".tmp-late").exists()
    assert TraceStore(root).verify().case("late") == hash_only(other, stream_of(other))


def test_a_case_completed_just_before_a_kill_is_taken_in(
    root: Path, identity: EngineIdentity, subject: dict[str, Any], stream_of: Streams
) -> None:
    listed = (root / "zarr.json").read_bytes()
    late = Case("late", (7, 8))
    TraceWriter(root, identity, subject).write_case(late, stream_of(late))
    (root / "zarr.json").write_bytes(listed)
    (root / ".tmp-leftover").write_bytes(b"half")
    with pytest.raises(TraceCorruptError, match="contradicts the case groups"):
        TraceStore(root).verify()
    assert TraceWriter(root, identity, subject).kept(late) is not None
    assert [c.case_id for c in TraceStore(root).verify().cases] == ["late", "words"]
    assert not (root / ".tmp-leftover").exists()


def test_verify_kept_runs_a_damaged_case_again(
    root: Path, case: Case, identity: EngineIdentity, subject: dict[str, Any], stream_of: Streams
) -> None:
    chunk = root / "words" / "logits" / "c.0.0"
    chunk.write_bytes(bytes(len(chunk.read_bytes())))
    assert TraceWriter(root, identity, subject).kept(case) is not None
    writer = TraceWriter(root, identity, subject, verify_kept=True)
    assert writer.kept(case) is None
    writer.write_case(case, stream_of(case))
    assert writer.record() == TraceStore(root).verify()


def test_trace_subject_error_for_another_engine_or_subject(
    root: Path, identity: EngineIdentity, subject: dict[str, Any]
) -> None:
    other = EngineIdentity("made-up", "1", "scalar-f32-v1", "00" * 32, {"threads": 2})
    with pytest.raises(TraceSubjectError, match=r"engine\.details\.threads = 1, this run has 2"):
        TraceWriter(root, other, subject)
    with pytest.raises(TraceSubjectError, match=r"subject\.artifact"):
        TraceWriter(root, identity, {"artifact": "cd" * 32})
    with pytest.raises(TraceSubjectError, match=r"subject\.more = None"):
        TraceWriter(root, identity, {**subject, "more": "x"})


def test_trace_subject_error_for_other_inputs_of_a_case(
    root: Path, identity: EngineIdentity, subject: dict[str, Any]
) -> None:
    with pytest.raises(TraceSubjectError, match="case words"):
        TraceWriter(root, identity, subject).kept(Case("words", (3, 1, 5)))


def test_a_subject_that_json_cannot_hold_is_refused(
    tmp_path: Path, identity: EngineIdentity
) -> None:
    with pytest.raises(NotEncodableError):
        TraceWriter(tmp_path / "t", identity, {"raw": b"bytes"})


def test_not_a_trace_error(tmp_path: Path, identity: EngineIdentity) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(NotATraceError):
        TraceStore(tmp_path)
    with pytest.raises(NotATraceError):
        TraceWriter(tmp_path, identity, {})
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_trace_missing_error(root: Path) -> None:
    store = TraceStore(root)
    with pytest.raises(TraceMissingError, match="no case 'none'"):
        store.names("none")
    with pytest.raises(TraceMissingError, match=r"no array 'layers\.9\.input'"):
        store.read("words", "layers.9.input")


@pytest.mark.parametrize("array", ["logits", "layers.attn_scores"])
def test_a_torn_or_lost_file_is_refused_on_reading(root: Path, array: str) -> None:
    """zarr gives NaN for a file that is not there; nothing here does."""
    (chunk,) = (root / "words" / array).glob("c.*")
    whole, name = chunk.read_bytes(), array.replace("layers.", "layers.1.")
    store = TraceStore(root)
    for torn in (whole[: len(whole) // 2], bytes(len(whole)), b""):
        chunk.write_bytes(torn)
        with pytest.raises(TraceCorruptError):
            store.read("words", name)
    chunk.write_bytes(whole[:-1])
    with pytest.raises(TraceCorruptError, match="declared are"):
        store.as_datatree()
    chunk.unlink()
    with pytest.raises(TraceCorruptError, match="lost"):
        store.read("words", name)
    with pytest.raises(TraceCorruptError, match="lost"):
        store.as_datatree()


def test_a_damaged_index_is_refused(root: Path) -> None:
    shard = root / "words" / "layers.output" / "c.0.0.0"
    shard.write_bytes(shard.read_bytes()[:-1] + b"?")
    with pytest.raises(TraceCorruptError, match="index"):
        TraceStore(root).as_datatree()
    with pytest.raises(TraceCorruptError, match="index"):
        TraceStore(root).verify()


def test_an_earlier_layout_is_refused(root: Path) -> None:
    document = root / "zarr.json"
    document.write_bytes(document.read_bytes().replace(b"trlm.trace.v2", b"trlm.trace.v1"))
    with pytest.raises(TraceCorruptError):
        TraceStore(root)


def test_views_satisfy_the_protocol(root: Path, tmp_path: Path, identity: EngineIdentity) -> None:
    write_process_report(tmp_path / "out", identity)
    views: list[TraceView] = [
        TraceStore(root),
        MemoryTrace(identity),
        SafetensorsTrace(tmp_path / "out"),
    ]
    assert [view.case_ids() for view in views] == [("words",), (), ()]
    assert len({view.trace_id for view in views}) == 3


def test_a_lost_case_is_found(root: Path) -> None:
    shutil.rmtree(root / "words")
    with pytest.raises(TraceCorruptError, match="contradicts the case groups"):
        TraceStore(root).verify()


def test_the_root_of_many_cases_is_not_written_after_each(
    tmp_path: Path, identity: EngineIdentity
) -> None:
    writer = TraceWriter(tmp_path / "t", identity, {})
    root, written = tmp_path / "t" / "zarr.json", set[int]()
    for i in range(100):
        ids = Observation("token_ids", np.array([i], dtype=np.int64))
        writer.write_case(Case(f"case-{i}", (i,)), [ids])
        written.add(root.stat().st_size)
    assert 64 < len(written) < 75
    assert len(writer.record().cases) == 100
    assert TraceStore(tmp_path / "t").verify() == writer.record()
