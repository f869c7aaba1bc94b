"""Hostile files: every rule of the format is checked, and nothing makes the runtime crash."""

import json
import random
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from trlm_lab.backends.abi_host import last_error
from trlm_lab.backends.build_native import built, wanted_build
from trlm_lab.backends.native import NativeHost, NativeRunner
from trlm_lab.backends.runtime_source import CRATE
from trlm_lab.backends.wasm_wasmtime import WasmtimeRunner
from trlm_lab.base import canon
from trlm_lab.base.interfaces import Runner
from trlm_lab.errors import RuntimeRefusedError, SlmError
from trlm_lab.slm.read import open_slm

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
Edit = Callable[[bytearray], None]

# Header fields: offset, struct code.
TENSOR_DIR, TENSOR_COUNT, PIECE_TABLE, SHARD_TABLE = (64, "Q"), (72, "I"), (80, "Q"), (96, "Q")
STRINGS, STRINGS_LEN, CONFIG, BODY = (208, "Q"), (92, "I"), (216, "Q"), (224, "Q")
Field = tuple[int, str]


@pytest.fixture(scope="module")
def host(require: Callable[[Runner], None]) -> NativeHost:
    """The library, without a model."""
    require(NativeRunner())
    return NativeHost(built(wanted_build()))


def refusal(host: NativeHost, data: bytes) -> str:
    """The name of the error that these bytes meet, or `loaded`."""
    buffer = np.frombuffer(data, dtype=np.uint8)
    model = host.call("trlm_model_load", int(buffer.ctypes.data), len(data))
    if model:
        host.call("trlm_model_free", model)
        return "loaded"
    error = last_error(host)
    assert isinstance(error, RuntimeRefusedError)
    assert error.where
    assert error.facts["detail"]
    return str(error.facts["error_name"])


def get(data: bytearray, field: Field, base: int = 0) -> int:
    return int(struct.unpack_from("<" + field[1], data, base + field[0])[0])


def put(data: bytearray, field: Field, value: int, base: int = 0) -> None:
    struct.pack_into("<" + field[1], data, base + field[0], value)


def header(at: int, code: str, value: int) -> Edit:
    """Set a header field."""
    return lambda data: put(data, (at, code), value)


def moved(field: Field, by: int) -> Edit:
    """Add to a header field."""
    return lambda data: put(data, field, get(data, field) + by)


def tensor(index: int, at: int, code: str, value: int) -> Edit:
    """Set a field of a descriptor."""
    return lambda data: put(data, (at, code), value, get(data, TENSOR_DIR) + 128 * index)


def table(which: Field, at: int, code: str, value: int) -> Edit:
    """Set a field of the first row of a table."""
    return lambda data: put(data, (at, code), value, get(data, which))


def copied(source: int, target: int, at: int, size: int) -> Edit:
    """Copy part of one descriptor to another."""

    def edit(data: bytearray) -> None:
        start = get(data, TENSOR_DIR)
        part = data[start + 128 * source + at : start + 128 * source + at + size]
        data[start + 128 * target + at : start + 128 * target + at + size] = part

    return edit


def body(at: int, value: int) -> Edit:
    """Set a byte of the body."""

    def edit(data: bytearray) -> None:
        data[get(data, BODY) + at] = value

    return edit


def scale(value: int) -> Edit:
    """Set the first scale of the embedding."""

    def edit(data: bytearray) -> None:
        struct.pack_into("<H", data, get(data, (72, "Q"), get(data, TENSOR_DIR)), value)

    return edit


def cut(data: bytearray) -> None:
    """Drop the last byte and say so in the header."""
    del data[-1]
    put(data, (128, "Q"), len(data))


def two_equal_strings(data: bytearray) -> None:
    """Give the string `...q_proj.weight` the text of `...k_proj.weight`, of the same length."""
    at = data.index(b"layers.0.self_attn.q_proj")
    data[at + 19] = ord("k")


def nothing_dense(data: bytearray) -> None:
    """Leave one tensor only, the alias."""
    start, count = get(data, TENSOR_DIR), get(data, TENSOR_COUNT)
    data[start : start + 128] = data[start + 128 * (count - 1) : start + 128 * count]
    data[start + 128 : start + 128 * count] = bytes(128 * (count - 1))
    put(data, TENSOR_COUNT, 1)
    data[get(data, BODY) :] = bytes(len(data) - get(data, BODY))


def no_pieces(data: bytearray) -> None:
    """Drop the only row of the piece table."""
    start = get(data, PIECE_TABLE)
    data[start : start + 56] = bytes(56)
    put(data, (88, "I"), 0)


# The tiny file has the embedding at 0, its layers' tensors after it, the aliasing head at 20. Norms
# are f32, matrices q8_r128; the embedding is 67 x 36 with rows of 64 bytes.
EMBEDDING, NORM, QUERY, HEAD = 0, 1, 2, 20
RULES: list[tuple[str, str, Edit]] = [
    ("TRUNCATED", "shorter than a header", lambda d: d.__delitem__(slice(200, None))),
    ("TRUNCATED", "body offset past the end", header(224, "Q", 1 << 40)),
    ("TRUNCATED", "table past the end", moved(PIECE_TABLE, 1 << 40)),
    ("TRUNCATED", "payload past the end", tensor(19, 56, "Q", 1 << 40)),
    ("MAGIC", "another magic", header(0, "B", ord("X"))),
    ("VERSION", "another major", header(4, "H", 3)),
    ("VERSION", "another minor", header(6, "H", 1)),
    ("HEADER_LEN", "longer header", header(8, "I", 384)),
    ("FLAGS", "unknown required flag", header(16, "Q", 1 << 31)),
    ("FLAGS", "unknown tensor flag", tensor(NORM, 12, "I", 8)),
    ("RESERVED", "header byte 12", header(12, "I", 1)),
    ("RESERVED", "header byte 78", header(78, "H", 1)),
    ("RESERVED", "header byte 255", header(255, "B", 1)),
    ("RESERVED", "old checksum", header(200, "Q", 1)),
    ("RESERVED", "padding before the body", lambda d: d.__setitem__(get(d, BODY) - 1, 1)),
    ("RESERVED", "padding in the body", body(67 * 64 + 67 * 2, 1)),
    ("RESERVED", "descriptor byte 18", tensor(NORM, 18, "H", 1)),
    ("RESERVED", "descriptor byte 44", tensor(NORM, 44, "I", 1)),
    ("RESERVED", "descriptor byte 127", tensor(NORM, 127, "B", 1)),
    ("RESERVED", "unused dimension", tensor(NORM, 24, "I", 1)),
    ("ALIGNMENT", "directory", moved(TENSOR_DIR, 8)),
    ("ALIGNMENT", "body", moved(BODY, 64)),
    ("ALIGNMENT", "payload", lambda d: tensor(NORM, 56, "Q", _data_off(d, NORM) + 4)(d)),
    ("OVERLAP", "configuration over strings", moved(CONFIG, -1)),
    ("OVERLAP", "two payloads", lambda d: tensor(NORM, 56, "Q", _aux_off(d, EMBEDDING))(d)),
    ("LENGTH", "file length", header(128, "Q", 1)),
    ("LENGTH", "descriptor size", header(76, "H", 64)),
    ("LENGTH", "section end overflows", header(80, "Q", (1 << 64) - 16)),
    ("LENGTH", "dimensions overflow", lambda d: _dims(d, NORM, [0xFFFFFFFF] * 6)),
    ("LENGTH", "data length", tensor(NORM, 64, "Q", 140)),
    ("LENGTH", "logical length", tensor(NORM, 48, "Q", 140)),
    ("LENGTH", "row stride", tensor(QUERY, 112, "I", 128)),
    ("LENGTH", "scale length", tensor(QUERY, 80, "I", 118)),
    ("STRINGS", "count", table(STRINGS, 0, "I", 0xFFFFFFFF)),
    ("STRINGS", "hole", table(STRINGS, 4, "I", 1)),
    ("STRINGS", "too long", table(STRINGS, 8, "I", 0xFFFFFFFF)),
    ("STRINGS", "tail", table(STRINGS, 0, "I", 20)),
    ("STRINGS", "no UTF-8", lambda d: d.__setitem__(d.index(b"model.norm"), 0xFF)),
    ("STRINGS", "name beyond the table", tensor(NORM, 0, "I", 21)),
    ("ORDER", "sections", header(112, "Q", 0)),
    ("ORDER", "payloads", copied(NORM, 6, 56, 8)),
    ("ORDER", "scales before data", lambda d: tensor(QUERY, 72, "Q", get(d, BODY))(d)),
    ("PIECES", "count", no_pieces),
    ("PIECES", "index", table(PIECE_TABLE, 0, "I", 1)),
    ("PIECES", "offset", table(PIECE_TABLE, 8, "Q", 1)),
    ("PIECES", "length", table(PIECE_TABLE, 20, "I", 1)),
    ("PIECES", "first piece of a tensor", tensor(NORM, 88, "I", 1)),
    ("PIECES", "pieces of a tensor", tensor(NORM, 92, "I", 2)),
    ("SHARDS", "length", table(SHARD_TABLE, 12, "Q", 1)),
    ("SHARDS", "http shard", table(SHARD_TABLE, 4, "H", 1)),
    ("SHARDS", "compressed shard", table(SHARD_TABLE, 6, "H", 1)),
    ("SHARDS", "family", table(SHARD_TABLE, 8, "I", 1)),
    ("UNKNOWN_NUMBER", "dtype 0", tensor(NORM, 6, "H", 0)),
    ("UNKNOWN_NUMBER", "dtype 8", tensor(NORM, 6, "H", 8)),
    ("UNKNOWN_NUMBER", "layout", tensor(NORM, 8, "H", 4)),
    ("UNKNOWN_NUMBER", "scale encoding", tensor(NORM, 10, "H", 4)),
    ("UNKNOWN_NUMBER", "role", tensor(NORM, 4, "H", 13)),
    ("UNKNOWN_NUMBER", "shard kind", table(SHARD_TABLE, 4, "H", 3)),
    ("UNSUPPORTED", "f16", tensor(NORM, 6, "H", 2)),
    ("UNSUPPORTED", "sparse residual", tensor(NORM, 8, "H", 2)),
    ("UNSUPPORTED", "compressed tensor", tensor(NORM, 12, "I", 4)),
    ("UNSUPPORTED", "bf16 scales", tensor(QUERY, 10, "H", 2)),
    ("ALIAS", "dense tensor with a target", tensor(NORM, 84, "I", 0)),
    ("ALIAS", "alias with data", tensor(HEAD, 64, "Q", 64)),
    ("ALIAS", "target beyond the directory", tensor(HEAD, 84, "I", 21)),
    ("ALIAS", "alias of an alias", tensor(HEAD, 84, "I", HEAD)),
    ("ALIAS", "other dimensions than the target", tensor(HEAD, 20, "I", 66)),
    ("ALIAS", "another hash than the target", tensor(HEAD, 96, "Q", 0)),
    ("ALIAS", "tied flag off", tensor(HEAD, 12, "I", 0)),
    ("ALIAS", "tied flag on a norm", tensor(NORM, 12, "I", 1)),
    ("TENSOR", "rank 0", tensor(NORM, 16, "H", 0)),
    ("TENSOR", "rank 7", tensor(NORM, 16, "H", 0x0707)),
    ("TENSOR", "two ranks", tensor(NORM, 17, "B", 2)),
    ("TENSOR", "dimension 0", tensor(NORM, 20, "I", 0)),
    ("TENSOR", "scales of f32", tensor(NORM, 72, "Q", 4096)),
    ("TENSOR", "nothing dense", nothing_dense),
    ("CODE", "-128", body(0, 0x80)),
    ("CODE", "padding code", body(36, 1)),
    ("SCALE", "negative", scale(0xBC00)),
    ("SCALE", "-0.0", scale(0x8000)),
    ("SCALE", "subnormal", scale(0x0001)),
    ("SCALE", "infinite", scale(0x7C00)),
    ("SCALE", "0 over nonzero codes", scale(0)),
    ("DUPLICATE", "name ids", copied(QUERY, 3, 0, 4)),
    ("DUPLICATE", "strings", two_equal_strings),
    ("CONFIG_DISAGREES", "layers", header(28, "I", 3)),
    ("CONFIG_DISAGREES", "epsilon", header(56, "I", 0)),
    ("TENSOR_ROLE", "q as k", tensor(QUERY, 4, "H", 3)),
    ("CBOR", "trailing byte", lambda d: put(d, (108, "I"), get(d, (108, "I")) + 1)),
]


def _data_off(data: bytearray, index: int) -> int:
    return get(data, (56, "Q"), get(data, TENSOR_DIR) + 128 * index)


def _aux_off(data: bytearray, index: int) -> int:
    return get(data, (72, "Q"), get(data, TENSOR_DIR) + 128 * index)


def _dims(data: bytearray, index: int, dims: list[int]) -> None:
    tensor(index, 16, "H", 0x0606)(data)
    for i, dim in enumerate(dims):
        tensor(index, 20 + 4 * i, "I", dim)(data)


@pytest.fixture(scope="module")
def sound(tiny: ModuleType) -> bytes:
    """A sound file with quantized matrices."""
    config = tiny.tiny_config()
    return bytes(tiny.write_slm(config, tiny.tiny_weights(config), "q8_r128"))


def test_the_sound_file_loads(host: NativeHost, sound: bytes) -> None:
    assert refusal(host, sound) == "loaded"


@pytest.mark.parametrize(("name", "what", "edit"), RULES, ids=[f"{r[0]}-{r[1]}" for r in RULES])
def test_each_broken_rule_is_named(
    host: NativeHost, sound: bytes, name: str, what: str, edit: Edit
) -> None:
    data = bytearray(sound)
    edit(data)
    assert refusal(host, bytes(data)) == name


def _with(**changes: object) -> Callable[[dict[str, object]], dict[str, object]]:
    return lambda row: {**row, **changes}


def _without(name: str) -> Callable[[dict[str, object]], dict[str, object]]:
    return lambda row: {k: v for k, v in row.items() if k != name}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("CONFIG_UNSUPPORTED", _with(model_type="qwen2")),
        ("CONFIG_UNSUPPORTED", _with(hidden_act="gelu")),
        ("CONFIG_UNSUPPORTED", _with(attention_bias=True)),
        ("CONFIG_UNSUPPORTED", _with(mlp_bias=True)),
        ("CONFIG_UNSUPPORTED", _with(rope_order="none")),
        ("CONFIG_FIELD", _without("mlp_bias")),
        ("CONFIG_FIELD", _with(sliding_window=4)),
        ("CONFIG_FIELD", lambda row: {**_without("mlp_bias")(row), "mlp_gias": False}),
        ("CONFIG_FIELD", _with(vocab_size=0)),
        ("CONFIG_FIELD", _with(vocab_size="67")),
        ("CONFIG_FIELD", _with(hidden_size=1 << 31)),
        ("CONFIG_FIELD", _with(rope_theta=10000)),
        ("CONFIG_FIELD", _with(rms_norm_eps=1e-5)),
        ("CONFIG_FIELD", _with(rms_norm_eps=0.0)),
        ("CONFIG_FIELD", _with(attention_scale=-0.5)),
        ("CONFIG_FIELD", _with(rope_inv_freq=[1.0] * 4)),
        ("CONFIG_FIELD", _with(rope_inv_freq=[1.0] * 4 + [1])),
        ("CONFIG_FIELD", _with(eos_token_id=2)),
        ("CONFIG_FIELD", _with(eos_token_id=[-1])),
        ("CONFIG_FIELD", _with(bos_token_id=True)),
        ("CONFIG_FIELD", _with(pad_token_id=b"2")),
        ("CONFIG_FIELD", _with(tie_word_embeddings=1)),
        ("CONFIG_FIELD", _with(num_key_value_heads=4)),
        ("CONFIG_FIELD", _with(head_dim=9, rope_inv_freq=[1.0] * 4)),
        ("CONFIG_DISAGREES", _with(num_attention_heads=8)),
        ("CONFIG_DISAGREES", _with(rope_theta=20000.0)),
    ],
)
def test_each_bad_configuration_is_named(
    host: NativeHost,
    tiny: ModuleType,
    name: str,
    change: Callable[[dict[str, object]], dict[str, object]],
) -> None:
    config = tiny.tiny_config()
    encoded = canon.encode(change(config.to_map()))
    data = tiny.write_slm(config, tiny.tiny_weights(config), config_bytes=encoded)
    assert refusal(host, data) == name


def test_a_configuration_that_is_not_canonical_is_refused(
    host: NativeHost, tiny: ModuleType
) -> None:
    config = tiny.tiny_config()
    encoded = canon.encode(config.to_map())
    long_integer = encoded.replace(b"\x68head_dim\x0a", b"\x68head_dim\x18\x0a")
    assert long_integer != encoded
    for bad in (long_integer, b"\x80", b"", encoded[:-1]):
        data = tiny.write_slm(config, tiny.tiny_weights(config), config_bytes=bad)
        assert refusal(host, data) == "CBOR"


def _renamed(weights: list[object], old: str, new: str) -> list[object]:
    from dataclasses import replace

    return [replace(w, name=w.name.replace(old, new)) for w in weights]  # type: ignore[attr-defined,type-var]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("TENSOR_MISSING", lambda ws: ws[:3] + ws[4:]),
        ("TENSOR_UNEXPECTED", lambda ws: _renamed(ws, "layers.1.mlp.up", "layers.01.mlp.up")),
        ("TENSOR_UNEXPECTED", lambda ws: _renamed(ws, "layers.1.mlp.up", "layers.2.mlp.up")),
        ("TENSOR_UNEXPECTED", lambda ws: _renamed(ws, "model.norm.", "model.morn.")),
        (
            "TENSOR_SHAPE",
            lambda ws: [*ws[:3], type(ws[3])(ws[3].name, "k_proj", ws[2].values), *ws[4:]],
        ),
        ("ALIAS", lambda ws: [*ws[:-1], type(ws[0])("lm_head.weight", "lm_head", ws[0].values)]),
    ],
)
def test_each_bad_tensor_set_is_named(
    host: NativeHost, tiny: ModuleType, name: str, change: Callable[[list[object]], list[object]]
) -> None:
    config = tiny.tiny_config()
    data = tiny.write_slm(config, change(tiny.tiny_weights(config)))
    assert refusal(host, data) == name


def test_a_file_at_an_odd_address_gives_the_same_bits(host: NativeHost, tiny: ModuleType) -> None:
    from trlm_lab.backends.abi_session import AbiSession
    from trlm_lab.base.records import Case, EngineIdentity

    config = tiny.tiny_config()
    data = tiny.write_slm(config, tiny.tiny_weights(config))
    room = np.zeros(len(data) + 64, dtype=np.uint8)
    found = []
    for shift in (0, 1, 2, 3):
        room[shift : shift + len(data)] = np.frombuffer(data, dtype=np.uint8)
        model = host.call("trlm_model_load", int(room.ctypes.data) + shift, len(data))
        session = AbiSession(host, model, EngineIdentity("x", "", "", ""))
        found.append([seen.values.tobytes() for seen in session.run(Case("a", (3, 5, 9)))])
        host.call("trlm_model_free", model)
    assert found[0] == found[1] == found[2] == found[3]


def test_hashes_that_do_not_hold_are_named(host: NativeHost, sound: bytes) -> None:
    start = get(bytearray(sound), TENSOR_DIR)
    places = {
        1: 140,
        2: get(bytearray(sound), PIECE_TABLE) + 30,
        4: start + 128 * NORM + 100,
        8: get(bytearray(sound), SHARD_TABLE) + 30,
    }
    for bit, at in places.items():
        data = bytearray(sound)
        data[at] ^= 1
        buffer = np.frombuffer(bytes(data), dtype=np.uint8)
        model = host.call("trlm_model_load", int(buffer.ctypes.data), len(data))
        assert host.call("trlm_model_verify", model, bit) == (1 << 32) - 116
        others = 15 & ~bit & ~1
        assert host.call("trlm_model_verify", model, others) == 0
        host.call("trlm_model_free", model)


def test_null_and_silly_arguments_are_refused(host: NativeHost, sound: bytes) -> None:
    assert host.call("trlm_model_load", 0, 100) == 0
    assert last_error(host).facts["error_name"] == "NULL_POINTER"
    assert host.call("trlm_case_step", 0) == (1 << 32) - 502
    assert host.call("trlm_checkpoint_data", 0, 0) == 0
    assert host.call("trlm_model_info", 0, 0) == (1 << 32) - 1
    buffer = np.frombuffer(sound, dtype=np.uint8)
    model = host.call("trlm_model_load", int(buffer.ctypes.data), len(sound))
    refused = {
        "NO_CASE": ("trlm_case_step", model),
        "EMPTY_CASE": ("trlm_case_begin", model, buffer.ctypes.data, 0, 0, 0, 0),
        "CONTEXT": ("trlm_case_begin", model, buffer.ctypes.data, 1 << 40, 0, 0, 0),
        "ARGUMENT": ("trlm_model_verify", model, 16),
        "NULL_POINTER": ("trlm_case_begin", model, 0, 1, 0, 0, 0),
    }
    for name, (export, *arguments) in refused.items():
        assert host.call(export, *map(int, arguments)) >= 1 << 31
        assert last_error(host).facts["error_name"] == name
    host.call("trlm_model_free", model)


def test_the_document_lists_the_codes_of_the_source() -> None:
    source = (CRATE / "src" / "error.rs").read_text()
    rows = re.findall(r'= (\d+), "(\w+)", "([^"]+)"', source)
    document = (REPOSITORY / "docs" / "abi.md").read_text()
    assert rows == re.findall(r"^\| (\d+) \| (\w+) \| (.+) \|$", document, re.MULTILINE)
    covered = {rule[0] for rule in RULES}
    assert {name for number, name, _ in rows if int(number) < 200} - covered == {"HASH"}


def test_the_document_lists_the_exports() -> None:
    source = (CRATE / "src" / "abi.rs").read_text()
    exports = set(re.findall(r'extern "C" fn (trlm_\w+)', source))
    from trlm_lab.backends.abi_host import SIGNATURES

    document = (REPOSITORY / "docs" / "abi.md").read_text()
    assert exports == set(SIGNATURES)
    assert exports <= set(re.findall(r"trlm_\w+", document))


def test_unsafe_stands_in_the_abi_alone() -> None:
    using = {
        path.name
        for path in (CRATE / "src").rglob("*.rs")
        if re.search(r"\bunsafe\s*(\{|fn|impl|extern)", path.read_text())
    }
    assert using == {"abi.rs"}


@pytest.mark.slow
@pytest.mark.parametrize("quant", ["f32", "q8_r128"])
@pytest.mark.parametrize(("part", "count"), [("front", 6000), ("config", 3000), ("body", 1000)])
@pytest.mark.parametrize(("engine", "share"), [("native", 1), ("wasm", 4)])
def test_no_mutation_crashes_the_runtime(
    tiny_file: Callable[..., Path],
    host: NativeHost,
    require: Callable[[Runner], None],
    quant: str,
    part: str,
    count: int,
    engine: str,
    share: int,
) -> None:
    if engine == "wasm":
        require(WasmtimeRunner())
    path = tiny_file(quant)
    data = bytearray(path.read_bytes())
    first, last = {
        "front": (0, get(data, BODY)),
        "config": (get(data, CONFIG), get(data, CONFIG) + get(data, (108, "I"))),
        "body": (get(data, BODY), 0),
    }[part]
    arguments = (engine, path, count // share, share, first, last)
    done = subprocess.run(
        [sys.executable, str(HERE / "runtime_fuzz.py"), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    seen = json.loads(done.stdout)
    assert sum(seen.values()) == count // share
    assert len(seen) > 2, seen


@pytest.mark.slow
@pytest.mark.parametrize("quant", ["f32", "q8_r128"])
def test_the_runtime_refuses_what_the_other_reader_refuses(
    tiny_file: Callable[..., Path], host: NativeHost, fuzz: ModuleType, quant: str
) -> None:
    """Two readers written apart: the runtime's is never the laxer one."""
    data = tiny_file(quant).read_bytes()
    rng, both = random.Random(5), 0
    for _ in range(3000):
        changed = fuzz.mutate(data, rng, 0, get(bytearray(data), BODY))
        if _refused(changed):
            assert refusal(host, changed) != "loaded"
            both += 1
    assert both > 1000


def _refused(data: bytes) -> bool:
    try:
        open_slm(data)
    except SlmError:
        return True
    return False
