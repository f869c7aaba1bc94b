"""Block formats in the runtime, native and WebAssembly: the bytes and the bits of the reference."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.backends.coded_model import coded_model, every_form
from tests.backends.exact_cases import CASE, ODD_CASE, TOKENS, digests
from tests.backends.runtime_edits import refusal
from tests.backends.test_families import by_name, opened_reference, session_in
from tests.quant.pack_vectors import FILE
from trlm_lab.backends.abi_host import Host
from trlm_lab.backends.abi_operators import AbiOperators
from trlm_lab.backends.native import NativeHost
from trlm_lab.backends.profiles import evaluation_profile
from trlm_lab.backends.reference import ReferenceRunner
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Case
from trlm_lab.errors import RuntimeRefusedError
from trlm_lab.inspector import inspect_bytes
from trlm_lab.ops.matmul import matmul
from trlm_lab.quant import GROUPED, SCALES, block_format
from trlm_lab.quant.q8_kv import dequantize_kv, quantize_kv
from trlm_lab.slm.numbers import DType, ScaleEncoding
from trlm_lab.slm.read import open_slm
from trlm_lab.slm.verify import verify_all

F32 = np.float32
PACK_VECTORS: list[dict[str, Any]] = json.loads(FILE.read_text("utf-8"))["vectors"]
PAIRS = [(name, encoding) for name in GROUPED for encoding in SCALES]
TAILS = (1, 31, 63, 64, 65, 127, 128, 129, 200)
SCALAR = evaluation_profile("scalar-f32-v1").arithmetic(1)


def numbers(name: str, encoding: str) -> NDArray[np.uint32]:
    return np.array([DType[name], ScaleEncoding[encoding]], np.uint32)


def spread(rows: int, cols: int, limit: int) -> NDArray[np.float32]:
    """Weights over many binades, with a row and a group of zeros."""
    rng = np.random.default_rng(cols)
    powers = np.exp2(rng.integers(-30, limit, (rows, cols))).astype(F32)
    matrix = rng.standard_normal((rows, cols)).astype(F32) * powers
    matrix[2] = 0
    matrix[3, :64] = 0
    return matrix


@pytest.fixture
def served(text_host: Host) -> AbiOperators:
    word = np.uintp if isinstance(text_host, NativeHost) else np.uint32
    return AbiOperators(text_host, word, "served")


@pytest.mark.parametrize(("name", "encoding"), PAIRS)
def test_planes_rows_and_products(served: AbiOperators, name: str, encoding: str) -> None:
    form = block_format(name, encoding)
    format = numbers(name, encoding)
    for cols in TAILS:
        matrix = spread(9, cols, 15 if encoding == "fp16" else 90)
        planes = [np.frombuffer(plane, np.uint8).reshape(9, -1) for plane in form.quantize(matrix)]
        empty = [np.zeros_like(plane) for plane in planes]
        packed = served.call("pack_rows", [matrix, format], empty)
        for ours, theirs in zip(packed, planes, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        want = form.dequantize(*(memoryview(p.tobytes()) for p in planes), 9, cols)
        got = served.one("unpack_rows", [*planes, format], (9, cols))
        assert got.tobytes() == want.tobytes()
        for tokens in (1, 5):
            x = np.random.default_rng(tokens).standard_normal((tokens, cols)).astype(F32)
            y = served.one("matmul_rows", [x, *planes, format], (tokens, 9))
            assert y.tobytes() == matmul(x, want, SCALAR).tobytes(), (cols, tokens)


@pytest.mark.parametrize(("name", "encoding"), PAIRS)
def test_what_no_writer_stores_is_refused(served: AbiOperators, name: str, encoding: str) -> None:
    form = GROUPED[name]
    format = numbers(name, encoding)
    one = {"fp16": 0x3C00, "bf16": 0x3F80, "e8m0": 127}[encoding]
    sound = np.zeros((2, 128), np.int8)
    words = np.full((2, form.groups(100)), one, SCALES[encoding].dtype)

    def refused(codes: NDArray[np.int8], scales: NDArray[np.generic]) -> str:
        planes = [form.pack(codes), scales.view(np.uint8).reshape(2, -1)]
        try:
            served.one("unpack_rows", [*planes, format], (2, 100))
        except RuntimeRefusedError as error:
            return str(error.facts["error_name"])
        return "read"

    assert refused(sound, words) == "read"
    for column, code, rule in ((3, -form.q - 1, "CODE"), (100, 1, "PADDING"), (127, -1, "PADDING")):
        bad = sound.copy()
        bad[1, column] = code
        assert refused(bad, words) == rule
    bad_words = {"fp16": (0x8000, 0xBC00, 1, 0x3FF, 0x7C00, 0x7E00),
                 "bf16": (0x8000, 0xBF80, 1, 0x7F, 0x7F80, 0x7FC0, 0x7F7F),
                 "e8m0": (255, 254)}[encoding]  # fmt: skip
    for word in bad_words:
        bad_scales = words.copy()
        bad_scales[1, 0] = word
        assert refused(sound, bad_scales) == "SCALE", hex(word)
    used, zero = sound.copy(), words.copy()
    used[1, 63] = 1
    zero[1, 0] = 0
    assert refused(sound, zero) == "read"
    assert refused(used, zero) == "SCALE"


def test_formats_that_do_not_exist(served: AbiOperators) -> None:
    x = np.zeros((1, 64), F32)
    outputs = [np.zeros((1, 32), np.uint8), np.zeros((1, 2), np.uint8)]
    for dtype, encoding in ((3, 1), (8, 1), (7, 0), (7, 4), (1 << 16 | 7, 1)):
        with pytest.raises(RuntimeRefusedError, match="dtype"):
            served.call("pack_rows", [x, np.array([dtype, encoding], np.uint32)], outputs)


#: Families beside llama take one form each.
FAMILY_FORMS = [("gpt2", 0), ("gemma3", 1), ("gemma2", 2), ("qwen2", 3), ("qwen3", 14),
                ("phi3", 15), ("olmo2", 16), ("mistral", 7)]  # fmt: skip
MODELS = [("llama", form) for form in every_form()] + [
    (family, every_form()[i]) for family, i in FAMILY_FORMS
]


@pytest.mark.parametrize(
    ("family", "form"), MODELS,
    ids=[f"{family}-{'-'.join(p.name for p in form if p is not None)}" for family, form in MODELS],
)  # fmt: skip
def test_whole_models(
    text_host: Host,
    tmp_path: Path,
    family: str,
    form: tuple[DType, ScaleEncoding, DType | None],
) -> None:
    """Three readers take the file, and two engines give every checkpoint the same bits."""
    data = coded_model(*form, family=family)
    verify_all(open_slm(data))
    assert {f.code for f in inspect_bytes(memoryview(data)).findings} == set()
    path = tmp_path / "m.slm"
    path.write_bytes(data)
    with session_in(text_host, path) as ours, opened_reference(path) as theirs:
        for case in (CASE, ODD_CASE, Case("one", (1,))):
            assert digests(by_name(ours.run(case))) == digests(by_name(theirs.run(case)))
        case = Case("short", TOKENS[:2])
        assert digests(by_name(ours.steps(case, 3))) == digests(by_name(theirs.steps(case, 3)))


def test_held_weights_keep_the_residual_apart(tmp_path: Path) -> None:
    path = tmp_path / "m.slm"
    path.write_bytes(coded_model(DType.q4_g64, ScaleEncoding.fp16, DType.f16))
    subject = Subject(artifact=path)
    with ReferenceRunner(hold=True).open(subject) as held, opened_reference(path) as mapped:
        assert digests(by_name(held.run(CASE))) == digests(by_name(mapped.run(CASE)))


def test_a_residual_changes_the_logits(tmp_path: Path) -> None:
    logits = []
    for residual in (None, DType.f16):
        path = tmp_path / f"{residual}.slm"
        path.write_bytes(coded_model(DType.q4_g64, ScaleEncoding.fp16, residual))
        with opened_reference(path) as session:
            logits.append(by_name(session.run(CASE))["logits"].values)
    assert not np.array_equal(*logits)


Edit = Callable[[bytearray, int, int], None]


def put(code: str, at: int, value: int) -> Edit:
    """Set a number at an offset of the residual's descriptor."""
    return lambda data, row, off: struct.pack_into("<" + code, data, row + at, value)


def payload(code: str, at: int, value: int) -> Edit:
    """Set a number of the residual's payload."""
    return lambda data, row, off: struct.pack_into("<" + code, data, off + at, value)


#: The embedding's residual: 67 x 36, row pointers from 40, columns from 312.
RESIDUAL_RULES: list[tuple[str, Edit]] = [
    ("TENSOR", payload("H", 0, 2)),
    ("TENSOR", payload("H", 2, 4)),
    ("TENSOR", payload("I", 4, 68)),
    ("TENSOR", payload("I", 8, 35)),
    ("TENSOR", payload("I", 12, 0)),
    ("TENSOR", payload("I", 12, 7)),
    ("TENSOR", payload("Q", 16, 41)),
    ("TENSOR", payload("Q", 24, 1 << 40)),
    ("TENSOR", payload("Q", 32, 0)),
    ("TENSOR", put("H", 6, 3)),
    ("TENSOR", put("H", 10, 1)),
    ("LENGTH", put("I", 112, 72)),
    ("LENGTH", put("Q", 48, 40)),
    ("ALIAS", put("I", 84, 1000)),
    ("ALIAS", put("I", 84, 2)),
    ("ALIAS", put("H", 4, 2)),
    ("INDEX", payload("I", 40, 1)),
    ("INDEX", payload("I", 44, 1 << 31)),
    ("INDEX", payload("H", 312, 36)),
    ("INDEX", payload("H", 314, 0)),
]


@pytest.mark.parametrize(("name", "edit"), RESIDUAL_RULES, ids=range(len(RESIDUAL_RULES)))
def test_hostile_residuals(host: NativeHost, name: str, edit: Edit) -> None:
    data = bytearray(coded_model(DType.q4_g64, ScaleEncoding.fp16, DType.f16))
    assert refusal(host, bytes(data)) == "loaded"
    slm = open_slm(bytes(data))
    row = slm.header.tensor_dir_off + 128
    residual = slm.tensors[1]
    assert residual.residual_of == "model.embed_tokens.weight"
    edit(data, row, residual.descriptor.data_off)
    assert refusal(host, bytes(data)) == name


def test_keys_and_values(served: AbiOperators) -> None:
    for width in (1, 16, 80):
        vectors = spread(7, width, 12)
        codes, scales = quantize_kv(vectors)
        given = [np.zeros((7, width), np.int8), np.zeros(7, np.float16)]
        ours = served.call("quantize_q8_kv", [vectors], given)
        assert (ours[0].tobytes(), ours[1].tobytes()) == (codes.tobytes(), scales.tobytes())
        back = served.one("dequantize_q8_kv", [codes, scales], (7, width))
        assert back.tobytes() == dequantize_kv(codes, scales).tobytes()
    for code, word, name in ((-128, 0x3C00, "CODE"), (1, 0, "SCALE"), (0, 0x7C00, "SCALE")):
        stored = [np.array([[0, code]], np.int8), np.array([word], np.uint16).view(np.float16)]
        with pytest.raises(RuntimeRefusedError) as caught:
            served.one("dequantize_q8_kv", stored, (1, 2))
        assert caught.value.facts["error_name"] == name


@pytest.mark.parametrize(
    "group", PACK_VECTORS, ids=[f"{g['format']}-{g['scales']}" for g in PACK_VECTORS]
)
def test_golden_pack_vectors(served: AbiOperators, group: dict[str, Any]) -> None:
    """The runtime packs and reads the golden vectors, and refuses the malformed ones by rule."""
    format = numbers(group["format"], group["scales"])
    for block in group["sound"] + group["malformed"]:
        cols = block["cols"]
        planes = [
            np.frombuffer(bytes.fromhex(block[p]), np.uint8)[None] for p in ("codes", "scales")
        ]
        if "rule" in block:
            with pytest.raises(RuntimeRefusedError) as caught:
                served.one("unpack_rows", [*planes, format], (1, cols))
            assert caught.value.facts["error_name"] == block["rule"], block["what"]
            continue
        x = np.frombuffer(bytes.fromhex(block["x"]), "<f4")[None]
        packed = served.call("pack_rows", [x, format], [np.zeros_like(p) for p in planes])
        assert [p.tobytes() for p in packed] == [p.tobytes() for p in planes], block["what"]
        y = served.one("unpack_rows", [*planes, format], (1, cols))
        assert y.tobytes().hex() == block["y"], block["what"]
