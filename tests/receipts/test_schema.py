"""The closed schemas: every shape is taken as declared, and nothing beside it."""

import ast
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.receipts.nodes import grow, least_children, metadata_of, put_loose, sample
from trlm_lab.base.records.node_kinds import KINDS, absolute_path
from trlm_lab.base.records.node_schema import RESERVED, SCHEMAS, Shape, check_metadata
from trlm_lab.errors import (
    NodeChildrenError,
    NodeKeysError,
    NodePathError,
    NodeReservedError,
    NodeSchemaError,
    NodeTypeError,
    NodeValueError,
    RecordError,
)
from trlm_lab.receipts import ReceiptStore, verify_store
from trlm_lab.receipts.verify import RECEIPT_FILE, receipt_text

PACKAGE = Path(__file__).resolve().parents[2] / "trlm_lab"
SHAPES = [(name, place) for name, shapes in SCHEMAS.items() for place in range(len(shapes))]


# --- the table itself ------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "place"), SHAPES)
def test_every_shape_is_taken_and_verifies(tmp_path: Path, name: str, place: int) -> None:
    store = ReceiptStore(tmp_path)
    root = grow(store, name, shape=place, salt=3)
    (tmp_path / RECEIPT_FILE).write_text(receipt_text(root))
    report = verify_store(tmp_path)
    assert "NODE_SCHEMA" not in {f.code for f in report.findings}


def test_the_table_names_only_what_it_has() -> None:
    written = " ".join(s.children for shapes in SCHEMAS.values() for s in shapes)
    parts = [part.rstrip("?*+") for part in written.split() if part != "/"]
    assert {name for part in parts for name in part.split("|")} <= SCHEMAS.keys() | {"any"}
    kinds = {kind for shapes in SCHEMAS.values() for s in shapes for kind in s.kinds.values()}
    assert kinds == KINDS.keys()
    assert not RESERVED & SCHEMAS.keys()


def test_a_key_of_a_blob_says_so() -> None:
    for shapes in SCHEMAS.values():
        for key, kind in (item for shape in shapes for item in shape.kinds.items()):
            assert key.endswith("_blob") == (kind == "blob"), key


def test_the_keys_say_which_shape_of_a_type_a_node_has() -> None:
    for name, shapes in SCHEMAS.items():
        for shape in shapes:
            whole = frozenset(shape.kinds)
            taking = [s for s in shapes for keys in (whole, shape.required)
                      if s.misses(keys) == ([], [])]  # fmt: skip
            assert set(map(id, taking)) == {id(shape)}, name
        for one, other in combinations(shapes, 2):
            # Keys that both take would have all that either demands and none that one has not.
            assert not one.required | other.required <= one.kinds.keys() & other.kinds.keys(), name


def _added(tree: ast.AST) -> list[ast.expr]:
    """The first argument of every call `….store.add(…)` or `store.add(…)`."""
    found = []
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        owner = call.func.value
        name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
        if call.func.attr == "add" and name == "store":
            found.append(call.args[0])
    return found


def test_what_the_sources_store_is_declared() -> None:
    texts = [p.read_text() for p in PACKAGE.rglob("*.py")]
    arguments = [a for text in texts if "store.add(" in text for a in _added(ast.parse(text))]
    literal = {a.value for a in arguments if isinstance(a, ast.Constant)}
    assert literal <= SCHEMAS.keys()
    assert len(literal) > 20
    # `kind` in the golden export and `task.node_type`: an oracle run or a trace.
    assert sum(not isinstance(a, ast.Constant) for a in arguments) == 2
    assert SCHEMAS.keys() - literal == {"oracle_run", "trace"}


# --- refusals, each by name ------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> ReceiptStore:
    return ReceiptStore(tmp_path)


def test_node_type(store: ReceiptStore) -> None:
    with pytest.raises(NodeTypeError):
        check_metadata("surprise", {})
    with pytest.raises(RecordError):
        store.add("surprise", {}, [])


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_node_reserved(store: ReceiptStore, name: str) -> None:
    with pytest.raises(NodeReservedError, match=name):
        store.add(name, {}, [])
    assert not list(store)


def test_node_keys(store: ReceiptStore) -> None:
    with pytest.raises(NodeKeysError, match=r"unknown 'when'.*the keys are name"):
        store.add("engine_profile", {"name": "x", "when": 1}, [])
    with pytest.raises(NodeKeysError, match="no 'name'"):
        store.add("engine_profile", {}, [])
    with pytest.raises(NodeKeysError, match="and 6 more"):
        store.add("engine_profile", {f"k{i}": 1 for i in range(10)}, [])


WRONG: dict[str, list[Any]] = {
    "sha256": ["", "AB" * 32, "ab" * 31, b"ab" * 32, None, 7],
    "sha256-or-null": ["", 0],
    "sha256-or-empty": [None, "x"],
    "blob": ["../x", None, ["ab" * 32]],
    "count": [-1, True, 1.0, "1", None, 2**63],
    "flag": [0, 1, None, "true"],
    "text": [b"x", None, 1, "a\0b", ["x"]],
    "text-or-null": [0, b""],
    "words": [b"x", None],
    "texts": ["x", [1], None, {"x": 1}],
    "counts": [{"x": -1}, {"x": True}, [], {"x": 1.5}],
    "ids": [[True], [-1], "12", [1.0], 1],
    "path": ["a", b"", b"/a", b"a//b", b"a/../b", b"./a", b"a\\b", b"a\0", b"a/"],
    "outcome": ["match", "", None, ["MATCH"], 1],
    "engine": [None, {}, {"name": "x"}],
}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_node_value(store: ReceiptStore, kind: str) -> None:
    name, place, key = next(
        (n, i, key) for n, i in SHAPES for key, k in SCHEMAS[n][i].kinds.items() if k == kind
    )
    shape = SCHEMAS[name][place]
    sound = metadata_of(store, shape)
    for value in WRONG[kind]:
        with pytest.raises(NodeValueError, match=f"{name}.{key}"):
            check_metadata(name, {**sound, key: value})


@pytest.mark.parametrize(
    "change",
    [
        {"details": {"f": b"x"}},
        {"details": []},
        {"details": {"when": [object()]}},
        {"build_sha256": "x"},
        {"name": 1},
        {"more": 1},
    ],
)
def test_an_engine_of_another_form(store: ReceiptStore, change: dict[str, Any]) -> None:
    metadata = metadata_of(store, SCHEMAS["trace"][0])
    with pytest.raises(NodeValueError):
        check_metadata("trace", {**metadata, "engine": {**metadata["engine"], **change}})


ABSOLUTE = ["/home/someone/model", "~/model", "C:\\models", "c:/models", "see /usr/lib/x", "/x",
            "--flag=/opt/x/y", "file:///tmp/x", "\\\\share\\x", "a:/etc/passwd",
            "'/tmp/a b'"]  # fmt: skip
RELATIVE = ["", "models/a", "hf:owner/name@main", "https://example.org/a/b", "a / b", "1/2",
            "transformers 5.24.0, torch 2.13.0+cpu", "layers.3.q_rope", "gguf:a.gguf", "and/or",
            "process:a b", "ratio 3:1", "x~y"]  # fmt: skip


@pytest.mark.parametrize("text", ABSOLUTE)
def test_node_path(store: ReceiptStore, text: str) -> None:
    with pytest.raises(NodePathError):
        store.add("engine_profile", {"name": text}, [])
    metadata = metadata_of(store, SCHEMAS["trace"][0])
    for details in ({"flags": ["-O", text]}, {text: 1}, {"a": {"b": text}}):
        engine = {**metadata["engine"], "details": details}
        with pytest.raises(NodePathError):
            check_metadata("trace", {**metadata, "engine": engine})


@pytest.mark.parametrize("text", RELATIVE)
def test_what_is_no_absolute_path(text: str) -> None:
    assert absolute_path(text) == ""


@pytest.mark.parametrize("text", ABSOLUTE)
def test_the_words_of_a_prompt_are_the_users_own(store: ReceiptStore, text: str) -> None:
    node = store.add("case", {"case_id": "a", "token_ids": [1], "text": text}, [])
    assert store.get(node).metadata["text"] == text


@pytest.mark.parametrize(("name", "place"), SHAPES)
def test_node_children(store: ReceiptStore, name: str, place: int) -> None:
    shape = SCHEMAS[name][place]
    metadata = metadata_of(store, shape)
    children = [grow(store, child) for child in least_children(shape)]
    stranger = put_loose(store, "mismatch", {"answer_blob": store.put_value(1)})
    wrong = [[stranger, *children], [*children, stranger], children[:-1], children[::-1]]
    for other in wrong:
        types = [store.get(c).type for c in other]
        if any(s.takes(types) for s in SCHEMAS[name]):
            continue
        with pytest.raises(NodeChildrenError, match=name):
            store.add(name, metadata, other)


def test_children_in_number_and_order(store: ReceiptStore) -> None:
    shape = SCHEMAS["trace"][0]
    head = ["artifact", "runtime_build", "engine_profile"]
    assert shape.takes([*head, "case", "case"])
    assert not shape.takes(head)
    assert not shape.takes([*head[::-1], "case"])
    assert not shape.takes([*head, "case", "artifact"])
    promotion = SCHEMAS["promotion"][0]
    sound = ["source_tree", "effective_config", "ledger", "inspection", "ledger", "inspection",
             "probe", "comparison", "comparison", "secret_scan", "fault_run"]  # fmt: skip
    assert promotion.takes(sound)
    assert not promotion.takes(sound[1:])


def test_the_pattern_of_children_takes_no_part_of_a_name() -> None:
    shape = Shape({}, "file*")
    assert shape.takes([])
    assert not shape.takes(["profile"])
    assert not Shape({}, "any").takes(["file", "file"])


# --- a forger who hashes again ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "word"),
    [({"more": 1}, "NODE_KEYS"), ({"pin": 7}, "NODE_VALUE"), ({"pin": "/home/x/y"}, "NODE_PATH")],
)
def test_verification_names_metadata(
    store: ReceiptStore, change: dict[str, Any], word: str
) -> None:
    sound = store.get(grow(store, "acquisition"))
    root = put_loose(store, "acquisition", {**sound.metadata, **change}, list(sound.children))
    assert _errors(store, root) == [("NODE_SCHEMA", word)]


def test_verification_names_children_and_reserved_types(store: ReceiptStore) -> None:
    sound = store.get(grow(store, "acquisition"))
    root = put_loose(store, "acquisition", sound.metadata, list(sound.children[:1]))
    assert _errors(store, root) == [("NODE_SCHEMA", "NODE_CHILDREN")]
    root = put_loose(store, "generation", {}, [])
    assert _errors(store, root) == [("NODE_SCHEMA", "NODE_RESERVED")]


def test_history_of_another_version_is_a_note(store: ReceiptStore) -> None:
    put_loose(store, "trace", {"old": 1}, [])
    assert _errors(store, grow(store, "acquisition")) == []
    notes = [f for f in verify_store(store.root).findings if f.level == "note"]
    assert [f.code for f in notes] == ["NODE_SCHEMA"]


def _errors(store: ReceiptStore, root: str) -> list[tuple[str, str]]:
    (store.root / RECEIPT_FILE).write_text(receipt_text(root))
    found = [f for f in verify_store(store.root).findings if f.level == "error"]
    assert all(f.where and f.fix for f in found)
    return [(f.code, f.detail.partition(":")[0]) for f in found]


# --- random metadata -------------------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**64) | st.text(max_size=8)
    | st.binary(max_size=8) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


@given(st.sampled_from(SHAPES), st.data())
def test_random_metadata_beyond_the_schema_is_refused(
    chosen: tuple[str, int], data: st.DataObject
) -> None:
    name, place = chosen
    shape = SCHEMAS[name][place]
    with TemporaryDirectory() as folder:
        sound = {key: sample(ReceiptStore(Path(folder)), kind) for key, kind in shape.kinds.items()}
    unknown = data.draw(st.dictionaries(st.text(max_size=12), VALUES, min_size=1, max_size=3))
    known = {key for s in SCHEMAS[name] for key in s.kinds}
    if unknown.keys() - known:
        with pytest.raises(NodeSchemaError):
            check_metadata(name, {**sound, **{k: v for k, v in unknown.items() if k not in known}})


@pytest.mark.parametrize(("name", "place"), SHAPES)
def test_without_a_key_it_is_refused_or_of_another_shape(
    tmp_path: Path, name: str, place: int
) -> None:
    shape = SCHEMAS[name][place]
    sound = {key: sample(ReceiptStore(tmp_path), kind) for key, kind in shape.kinds.items()}
    for left in shape.required:
        rest = {key: value for key, value in sound.items() if key != left}
        others = [s for s in SCHEMAS[name] if s.misses(frozenset(rest)) == ([], [])]
        assert shape not in others
        if others:
            # What the node rests on tells that the key is lacking.
            assert check_metadata(name, rest) is others[0]
            assert not others[0].takes(least_children(shape))
            continue
        with pytest.raises(NodeKeysError):
            check_metadata(name, rest)


@given(st.sampled_from(SHAPES), st.data())
def test_random_values_are_refused_or_of_their_kind(
    chosen: tuple[str, int], data: st.DataObject
) -> None:
    name, place = chosen
    shape = SCHEMAS[name][place]
    with TemporaryDirectory() as folder:
        sound = {key: sample(ReceiptStore(Path(folder)), kind) for key, kind in shape.kinds.items()}
    key = data.draw(st.sampled_from(sorted(shape.kinds)))
    value = data.draw(VALUES)
    kind = KINDS[shape.kinds[key]]
    try:
        check_metadata(name, {**sound, key: value})
    except (NodeValueError, NodePathError):
        assert not kind.accepts(value) or absolute_path(value)
    else:
        assert kind.accepts(value)
