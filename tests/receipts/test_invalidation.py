"""A change invalidates exactly what rests on it, over random graphs; and why receipts differ."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from tests.receipts.nodes import put_loose
from trlm_lab.base.records.node import NODE_TYPES
from trlm_lab.receipts import ReceiptStore
from trlm_lab.receipts.graph import ancestors
from trlm_lab.receipts.invalidation import RECOMPUTE, RUN, Cause, causes, stale

TYPES = sorted(NODE_TYPES)


@st.composite
def graphs(draw: st.DrawFn) -> list[tuple[str, tuple[int, ...]]]:
    """Rows (type, children), each child an earlier row; the last row is the root of all."""
    count = draw(st.integers(1, 14))
    rows = []
    for place in range(count):
        below = st.lists(st.integers(0, max(place - 1, 0)), max_size=4, unique=True)
        rows.append((draw(st.sampled_from(TYPES)), tuple(draw(below)) if place else ()))
    return [*rows, ("report", tuple(range(count)))]


def stored(
    store: ReceiptStore, rows: list[tuple[str, tuple[int, ...]]], salt: int = 0
) -> list[str]:
    ids: list[str] = []
    for place, (kind, children) in enumerate(rows):
        ids.append(put_loose(store, kind, {"n": place, "salt": salt}, [ids[c] for c in children]))
    return ids


@given(graphs(), st.data())
def test_exactly_the_descendants_are_invalid(
    rows: list[tuple[str, tuple[int, ...]]], data: st.DataObject
) -> None:
    with TemporaryDirectory() as folder:
        store = ReceiptStore(Path(folder))
        ids = stored(store, rows)
        changed = set(data.draw(st.lists(st.sampled_from(ids), min_size=1, unique=True)))
        found = stale(store, ids[-1], changed)
        expected = {i for i in ids if i not in changed and ancestors(store, i) & changed}
        assert {s.node_id for s in found} == expected
        assert len(found) == len(expected)


@given(graphs(), st.data())
def test_each_reason_is_a_way_down_to_a_change_and_order_is_that_of_the_work(
    rows: list[tuple[str, tuple[int, ...]]], data: st.DataObject
) -> None:
    with TemporaryDirectory() as folder:
        store = ReceiptStore(Path(folder))
        ids = stored(store, rows)
        changed = {data.draw(st.sampled_from(ids))}
        found = stale(store, ids[-1], changed)
        for row in found:
            assert row.because[0] == row.node_id
            assert row.because[-1] in changed
            for above, below in zip(row.because, row.because[1:], strict=False):
                assert below in store.get(above).children
        place = {s.node_id: i for i, s in enumerate(found)}
        for row in found:
            assert all(
                place.get(c, -1) < place[row.node_id] for c in store.get(row.node_id).children
            )


def chain(store: ReceiptStore, *, policy: int = 1, trace: int = 1) -> dict[str, str]:
    source = put_loose(store, "source_tree", {}, [])
    oracle = put_loose(store, "oracle_run", {}, [source])
    limits = put_loose(store, "tolerance_policy", {"limit": policy}, [])
    engine = put_loose(store, "trace", {"digest": trace}, [source])
    compared = put_loose(store, "comparison", {"x": policy * trace}, [oracle, engine, limits])
    root = put_loose(store, "promotion", {}, [compared])
    return {"source": source, "oracle": oracle, "policy": limits, "trace": engine,
            "comparison": compared, "root": root}  # fmt: skip


def test_another_policy_runs_no_model_again(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path)
    ids = chain(store)
    found = stale(store, ids["root"], {ids["policy"]})
    assert [(s.type, s.action) for s in found] == [
        ("comparison", RECOMPUTE), ("promotion", RECOMPUTE)
    ]  # fmt: skip


def test_another_source_runs_everything_again(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path)
    ids = chain(store)
    found = {s.type: s.action for s in stale(store, ids["root"], {ids["source"]})}
    assert found == {"oracle_run": RUN, "trace": RUN, "comparison": RECOMPUTE,
                     "promotion": RECOMPUTE}  # fmt: skip


def test_a_stranger_invalidates_nothing(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path)
    ids = chain(store)
    other = put_loose(store, "file", {"path": "x"}, [])
    assert stale(store, ids["root"], {other}) == []


def test_the_cause_is_the_deepest_difference(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path)
    old, new = chain(store), chain(store, trace=2)
    assert causes(store, old["root"], store, new["root"]) == [
        Cause("trace", old["trace"], new["trace"], ("digest",))
    ]


def test_two_causes_are_both_found(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path)
    old, new = chain(store), chain(store, trace=2, policy=3)
    found = {c.type for c in causes(store, old["root"], store, new["root"])}
    assert found == {"trace", "tolerance_policy"}


def test_an_added_node_is_a_cause(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path)
    one = put_loose(store, "file", {"path": "a"}, [])
    two = put_loose(store, "file", {"path": "b"}, [])
    old, new = (
        put_loose(store, "source_tree", {}, [one]),
        put_loose(store, "source_tree", {}, [one, two]),
    )
    assert causes(store, old, store, new) == [Cause("file", "", two)]
    assert causes(store, new, store, old) == [Cause("file", two, "")]


@given(graphs(), st.data())
def test_a_changed_node_is_its_own_only_cause(
    rows: list[tuple[str, tuple[int, ...]]], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(rows) - 1))
    with TemporaryDirectory() as folder:
        store = ReceiptStore(Path(folder))
        before = stored(store, rows)
        after: list[str] = []
        for here, (kind, children) in enumerate(rows):
            metadata = {"n": here, "salt": 0, **({"new": 1} if here == place else {})}
            after.append(put_loose(store, kind, metadata, [after[c] for c in children]))
        assert before[-1] != after[-1]
        assert [(c.old, c.new, c.keys) for c in causes(store, before[-1], store, after[-1])] == [
            (before[place], after[place], ("new",))
        ]


def test_equal_receipts_have_no_cause(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path)
    assert causes(store, chain(store)["root"], store, chain(store)["root"]) == []
