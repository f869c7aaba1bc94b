"""The door into a trace: what is refused, what is hashed, in which order it stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from trlm_lab.base.records import ArrayDigest, Case, EngineIdentity, Observation
from trlm_lab.errors import ObservationError
from trlm_lab.traces import MemoryTrace, hash_only, trace_record

Streams = Callable[..., list[Observation]]


def test_hash_only_gives_the_digests_of_each_array(case: Case, stream_of: Streams) -> None:
    stream = stream_of(case)
    trace = hash_only(case, iter(stream))
    assert trace.arrays == tuple(ArrayDigest.of(o) for o in stream)
    assert trace.case_digest == case.digest


def test_digests_do_not_depend_on_the_order_of_the_stream(case: Case, stream_of: Streams) -> None:
    stream = stream_of(case)
    assert hash_only(case, [stream[0], *reversed(stream[1:])]) == hash_only(case, stream)


def test_views_that_are_not_contiguous_hash_as_their_values(case: Case) -> None:
    values = np.arange(24, dtype=np.float32).reshape(2, 4, 3).transpose(2, 0, 1)
    ids = Observation("token_ids", np.array(case.token_ids, dtype=np.int64))
    copied = [ids, Observation("layers.0.q_rope", values.copy())]
    viewed = [ids, Observation("layers.0.q_rope", values)]
    assert hash_only(case, viewed) == hash_only(case, copied)


def _broken(kind: str, case: Case, stream: list[Observation]) -> list[Observation]:
    ids, rest = stream[0], stream[1:]
    table = {
        "nothing": [],
        "no ids first": rest,
        "ids as floats": [Observation("token_ids", ids.values.astype(np.float32)), *rest],
        "twice": [*stream, rest[0]],
        "unknown": [ids, Observation("layers.0.nothing", rest[0].values)],
        "rank": [ids, Observation("embedding", rest[0].values[0])],
        "tokens": [ids, Observation("embedding", rest[0].values[:-1])],
        "widths": [*stream[:2], Observation("final_norm", np.zeros((3, 9), np.float32))],
        "empty": [ids, Observation("step0.logits", np.zeros((0, 9), np.float32))],
    }
    return table[kind]


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("nothing", "nothing at all"),
        ("no ids first", "another array before token_ids"),
        ("ids as floats", "not int64"),
        ("twice", "the same name twice"),
        ("unknown", "no array name"),
        ("rank", "for axes"),
        ("tokens", "on axis T, which has 3"),
        ("widths", "on axis D, which has 4"),
        ("empty", "an empty array"),
    ],
)
def test_observation_error(kind: str, says: str, case: Case, stream_of: Streams) -> None:
    with pytest.raises(ObservationError, match=says):
        hash_only(case, _broken(kind, case, stream_of(case)))


def test_ids_that_an_engine_says_it_ran_stay_as_they_are(case: Case, stream_of: Streams) -> None:
    ids, *rest = stream_of(case)
    trace = hash_only(case, [Observation("token_ids", ids.values + 1), *rest])
    assert trace.arrays[0] == ArrayDigest.of(Observation("token_ids", ids.values + 1))
    assert trace.case_digest == case.digest


def test_a_failing_engine_is_heard_and_closed(case: Case, stream_of: Streams) -> None:
    closed = []

    def engine() -> Iterator[Observation]:
        try:
            yield from stream_of(case)[:5]
            raise OSError("the device is lost")
        finally:
            closed.append(True)

    with pytest.raises(OSError, match="the device is lost"):
        hash_only(case, engine())
    assert closed == [True]


def test_a_refused_stream_is_closed(case: Case, stream_of: Streams) -> None:
    closed = []

    def engine() -> Iterator[Observation]:
        try:
            yield from stream_of(case)[1:]
        finally:
            closed.append(True)

    with pytest.raises(ObservationError):
        hash_only(case, engine())
    assert closed == [True]


def test_record_knows_no_order_of_work(identity: EngineIdentity, stream_of: Streams) -> None:
    traces = [hash_only(c, stream_of(c)) for c in (Case("b", (1, 2)), Case("a", (1,)))]
    first = trace_record(identity, {}, traces)
    assert first == trace_record(identity, {}, traces[::-1])
    assert [c.case_id for c in first.cases] == ["a", "b"]


def test_memory_trace_reads_what_was_put_in(
    case: Case, identity: EngineIdentity, stream_of: Streams
) -> None:
    stream = stream_of(case)
    view = MemoryTrace(identity, {"artifact": "x"})
    view.write_case(case, iter(stream))
    assert view.case_ids() == ("words",)
    assert view.names("words") == tuple(o.name for o in stream)
    assert np.array_equal(view.read("words", "layers.1.k_rope"), stream[27].values)
    assert (
        view.trace_id
        == trace_record(identity, {"artifact": "x"}, [hash_only(case, stream)]).trace_id
    )
