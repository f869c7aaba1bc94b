"""How arrays are cut into files: zarr reads them back, whatever the sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import zarr

from trlm_lab.base.names import LAYER_CHECKPOINTS
from trlm_lab.base.records import Case, EngineIdentity, Observation
from trlm_lab.errors import TraceCorruptError
from trlm_lab.traces import TraceStore, TraceWriter, layout, shards
from trlm_lab.traces.shards import Cut

Streams = Callable[..., list[Observation]]


@pytest.fixture
def limit(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The bytes that a file may have."""
    layout._cut.cache_clear()
    monkeypatch.setattr(shards, "SHARD_BYTES", request.param)
    yield request.param
    layout._cut.cache_clear()


def _observations(shape: tuple[int, ...], layers: list[int]) -> list[Observation]:
    rng = np.random.default_rng(len(layers))
    ids = np.arange(shape[0], dtype=np.int64)
    made = [Observation(f"layers.{i}.output", rng.random(shape, dtype=np.float32)) for i in layers]
    return [Observation("token_ids", ids), *made]


@pytest.mark.parametrize("limit", [1, 100, 192, 216, 700, 10**9], indirect=True)
@pytest.mark.parametrize("rows", [1, 7, 8])
@pytest.mark.parametrize("layers", [[0], [0, 1, 2, 3, 4], [1, 4], [3, 0, 2]])
def test_zarr_reads_what_was_written(
    tmp_path: Path,
    identity: EngineIdentity,
    limit: int,
    rows: int,
    layers: list[int],
) -> None:
    case, shape = Case("c", tuple(range(rows))), (rows, 6)
    stream = _observations(shape, layers)
    TraceWriter(tmp_path / "t", identity, {}).write_case(case, stream)
    store = TraceStore(tmp_path / "t")
    store.verify()
    seen = zarr.open_group(tmp_path / "t", mode="r")["c/layers.output"]
    for observation in stream[1:]:
        layer = int(observation.name.split(".")[1])
        assert np.array_equal(seen[layer], observation.values)
        assert np.array_equal(store.read("c", observation.name), observation.values)
    absent = sorted(set(range(max(layers))) - set(layers))
    assert np.isnan(seen[:][absent]).all()
    row = 6 * 4 + 16 + 4
    sizes = [p.stat().st_size for p in (tmp_path / "t" / "c" / "layers.output").glob("c.*")]
    assert max(sizes) <= max(limit, row)


def test_bytes_where_no_layer_is_declared_are_found(
    tmp_path: Path, identity: EngineIdentity
) -> None:
    case = Case("c", (0, 1))
    TraceWriter(tmp_path / "t", identity, {}).write_case(case, _observations((2, 6), [1]))
    shard = tmp_path / "t" / "c" / "layers.output" / "c.0.0.0"
    data = bytearray(shard.read_bytes())
    data[7] = 1
    shard.write_bytes(data)
    with pytest.raises(TraceCorruptError, match="no layer is declared"):
        TraceStore(tmp_path / "t").verify()


def test_real_sizes_stay_below_the_limit_in_few_files() -> None:
    """30 layers of 128 tokens make one file; a square of 2,048 tokens one file a layer."""
    short = Cut((128, 1536), 4, stacked=True).files(range(30))
    assert [file.name for file in short] == ["c.0.0.0"]
    long = Cut((9, 2048, 2048), 4, stacked=True).files(range(30))
    assert len(long) == 30
    logits = Cut((2048, 49152), 4, stacked=False).files([0])
    assert [file.name for file in logits] == ["c.0.0", "c.1.0"]
    assert all(file.size <= shards.SHARD_BYTES for file in [*short, *long, *logits])


def test_a_case_has_fewer_than_a_hundred_files(
    tmp_path: Path, identity: EngineIdentity, stream_of: Streams
) -> None:
    """Whatever the layers: here thirty, with every operator that a family may have."""
    case = Case("c", (1, 2, 3))
    known = {o.name: o for o in stream_of(case, 30)}
    for layer in range(30):
        for op in LAYER_CHECKPOINTS:
            value = known.get(f"layers.{layer}.{op}")
            if value is None:
                like = {"q_norm": "q_rope", "k_norm": "k_rope"}.get(op, "output")
                values = known[f"layers.{layer}.{like}"].values
                known[f"layers.{layer}.{op}"] = Observation(f"layers.{layer}.{op}", values)
    TraceWriter(tmp_path / "t", identity, {}).write_case(case, known.values())
    files = [p for p in (tmp_path / "t" / "c").rglob("*") if p.is_file()]
    assert 50 < len(files) < 100
