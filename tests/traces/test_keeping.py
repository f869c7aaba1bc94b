"""What is kept of a checkpoint: statistics first, picked rows of long squares, more on demand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

from trlm_lab.base.records import Case, EngineIdentity, Observation
from trlm_lab.errors import ObservationError, TraceChangedError, TraceMissingError, UsageError
from trlm_lab.traces import Keeping, Pick, TraceStore, TraceWriter
from trlm_lab.traces.statistics import FIGURES, statistics_of

Streams = Callable[..., list[Observation]]
LONG = Case("long", tuple(range(513)))
SCORES = "layers.1.attn_scores"


@pytest.fixture
def write(
    tmp_path: Path, identity: EngineIdentity, stream_of: Streams
) -> Callable[..., TraceStore]:
    """Write one case under a wish into the same directory."""

    def written(case: Case, keeping: Keeping, seed: int = 0) -> TraceStore:
        writer = TraceWriter(tmp_path / "t", identity, {}, keeping=keeping)
        writer.write_case(case, stream_of(case, seed=seed))
        store = TraceStore(tmp_path / "t")
        store.verify()
        return store

    return written


def test_statistics_stand_for_every_checkpoint(
    write: Callable[..., TraceStore], case: Case, stream_of: Streams
) -> None:
    store = write(case, Keeping(statistics=True))
    assert store.names("words") == ("token_ids", "logits.topk_ids", "logits.topk_values")
    stream = {o.name: o.values for o in stream_of(case)}
    for name in store.summarised("words"):
        figures = store.statistics("words", name)
        assert list(figures) == list(FIGURES)
        assert list(figures.values()) == statistics_of(stream[name]).tolist()
    assert store.summarised("words") == tuple(n for n in stream if "to" not in n)
    with pytest.raises(TraceMissingError):
        store.read("words", "logits")
    with pytest.raises(TraceMissingError):
        store.pick("words", "logits")


def test_statistics_are_an_array_of_xarray(write: Callable[..., TraceStore], case: Case) -> None:
    store = write(case, Keeping(statistics=True))
    tree = xarray.open_datatree(store.path, engine="zarr")
    row = tree["words"]["layers.output.statistics"]
    assert row.dims == ("L", "FIGURE")
    assert row.attrs["figures"] == list(FIGURES)
    assert row.values[1].tolist() == list(store.statistics("words", "layers.1.output").values())


def test_more_is_taken_on_demand_and_what_is_there_stays(
    write: Callable[..., TraceStore], case: Case, stream_of: Streams
) -> None:
    write(case, Keeping(statistics=True))
    write(case, Keeping(statistics=True, whole=("layers.1.*_proj",)))
    store = write(case, Keeping(statistics=True, whole=("logits",)))
    stream = {o.name: o.values for o in stream_of(case)}
    assert np.array_equal(store.read("words", "layers.1.q_proj"), stream["layers.1.q_proj"])
    assert np.array_equal(store.read("words", "logits"), stream["logits"])
    assert "layers.0.q_proj" not in store.names("words")
    assert len(store.summarised("words")) == sum("to" not in name for name in stream)
    whole = write(case, Keeping())
    assert list(whole.names("words")) == list(stream)


def test_a_wish_that_is_met_runs_nothing(
    write: Callable[..., TraceStore], case: Case, identity: EngineIdentity
) -> None:
    store = write(case, Keeping())
    for keeping in (Keeping(statistics=True), Keeping(statistics=True, whole=("logits",))):
        writer = TraceWriter(store.path, identity, {}, keeping=keeping)
        assert writer.write_case(case, iter(())) == store.case_trace("words")


def test_trace_changed_error(write: Callable[..., TraceStore], case: Case) -> None:
    """An engine that does not repeat itself replaces nothing."""
    before = write(case, Keeping(statistics=True)).trace_id
    with pytest.raises(TraceChangedError, match=r"words/embedding\.statistics"):
        write(case, Keeping(statistics=True, whole=("layers.0.*",)), seed=1)
    store = write(case, Keeping(statistics=True))
    assert store.trace_id == before


def test_long_squares_keep_declared_heads_and_rows(
    write: Callable[..., TraceStore], stream_of: Streams
) -> None:
    store = write(LONG, Keeping())
    whole = {o.name: o.values for o in stream_of(LONG)}[SCORES]
    pick = store.pick("long", SCORES)
    assert pick is not None
    assert pick.heads == (0, 1)
    assert (len(pick.rows), pick.rows[0], pick.rows[-1]) == (64, 0, 512)
    found = store.read("long", SCORES)
    assert found.shape == (2, 64, 513)
    assert np.array_equal(found[1, 63], whole[1, 512])
    assert np.array_equal(found, pick.of(whole))
    assert list(store.statistics("long", SCORES).values()) == statistics_of(whole).tolist()
    assert SCORES in store.names("long")
    assert store.pick("long", "layers.1.output") is None
    assert store.summarised("long") == tuple(n for n in store.names("long") if "attn_" in n
                                             and store.pick("long", n))  # fmt: skip
    stored = store.as_datatree()["long"]["layers.attn_scores.picked"]
    assert stored.dims == ("L", "HEAD", "ROW", "S")
    assert stored.attrs == pick.to_map()


def test_other_heads_and_rows_or_all(write: Callable[..., TraceStore]) -> None:
    write(LONG, Keeping())
    store = write(LONG, Keeping(pick=Pick((1,), (3, 500))))
    assert store.read("long", SCORES).shape == (1, 2, 513)
    assert write(LONG, Keeping()).read("long", SCORES).shape == (1, 2, 513)
    assert write(LONG, Keeping(whole=(SCORES,))).read("long", SCORES).shape == (2, 513, 513)
    assert store.read("long", "layers.0.attn_scores").shape == (1, 2, 513)
    store = write(LONG, Keeping(all_squares=True))
    assert store.read("long", "layers.0.attn_probs").shape == (2, 513, 513)
    assert store.pick("long", SCORES) is None


def test_512_tokens_keep_whole_squares(write: Callable[..., TraceStore]) -> None:
    store = write(Case("edge", tuple(range(512))), Keeping())
    assert store.read("edge", SCORES).shape == (2, 512, 512)
    assert store.summarised("edge") == ()


@pytest.mark.parametrize(
    ("heads", "rows"), [((), (1,)), ((1, 0), (1,)), ((0,), (-1,)), ((0,), (1.5,)), ((0, 0), (1,))]
)
def test_heads_and_rows_that_are_no_choice(heads: Any, rows: Any) -> None:
    with pytest.raises(UsageError, match="ascending"):
        Pick(heads, rows)


def test_a_head_or_row_beyond_the_case(write: Callable[..., TraceStore]) -> None:
    for pick in (Pick((2,), (0,)), Pick((0,), (513,))):
        with pytest.raises(UsageError, match="of 2 and 513"):
            write(LONG, Keeping(pick=pick))


def test_engines_may_not_send_what_the_trace_makes(
    tmp_path: Path, identity: EngineIdentity, case: Case, stream_of: Streams
) -> None:
    bad = Observation("logits.statistics", np.zeros(13, dtype=np.float32))
    with pytest.raises(ObservationError, match="itself makes"):
        TraceWriter(tmp_path / "t", identity, {}).write_case(case, [*stream_of(case), bad])
