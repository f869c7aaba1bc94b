"""What a hostile SLM2 file makes readers allocate: bounded by rules, or by working in parts."""

from __future__ import annotations

import gc
import struct
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.backends.test_slm1_runtime import Loader
from tests.slmset.conftest import CONFIG
from trlm_lab.backends.native import NativeRunner
from trlm_lab.base import canon
from trlm_lab.errors import SlmConfigError, SlmError, SlmStringError
from trlm_lab.inspector import inspect_bytes
from trlm_lab.quant.sparse import Sparse, encode_sparse
from trlm_lab.slm.layout import HEADER, MAX_CONFIG_LEN, MAX_STRINGS
from trlm_lab.slm.numbers import DType, Role, ScaleEncoding
from trlm_lab.slm.plan import TensorSpec
from trlm_lab.slm.read import open_slm
from trlm_lab.slm.residuals import SUFFIX, residual_header
from trlm_lab.slm.write import assemble

#: Beside four times the file, what a reader may allocate.
ROOM = 16 << 20
SMALL = TensorSpec("w", Role.other, DType.f32, (4, 4))
SECTIONS = ("config_off", "tensor_dir_off", "tokenizer_off", "piece_table_off", "shard_table_off",
            "body_off", "artifact_len")  # fmt: skip


def small(config: dict[str, Any] = CONFIG) -> bytes:
    return assemble([SMALL], config, {"w": (bytes(64), b"")})


def grown(data: bytes, at: int, more: int, behind: tuple[str, ...], **fields: int) -> bytearray:
    """A file of one tensor and one piece with zeros put in, and all that is behind them moved."""
    made = bytearray(data[:at] + bytes(more) + data[at:])
    head = HEADER.unpack(memoryview(data), 0)
    for name, value in (*((name, head[name] + more) for name in behind), *fields.items()):
        struct.pack_into("<" + HEADER.fields[name].code, made, HEADER.offset(name), value)
    moved = HEADER.unpack(memoryview(made), 0)
    for table, offset in (("tensor_dir_off", 56), ("piece_table_off", 8)):
        struct.pack_into("<Q", made, moved[table] + offset, moved["body_off"])
    return made


def long_config(size: int) -> bytes:
    """A configuration of so many bytes, most of them empty lists, in a file of old."""
    raw = small()
    head = HEADER.unpack(memoryview(raw), 0)
    start, old = head["config_off"], head["config_len"]
    filled = canon.encode({**CONFIG, "x": [[]] * (size - old - 7)})
    made = grown(raw, start + old, 1 << 18, SECTIONS[1:], config_len=len(filled))
    made[start : start + len(filled)] = filled
    return bytes(made)


def many_strings(count: int) -> bytes:
    """A sound table of so many names of five letters, in the place of one."""
    raw = small()
    head = HEADER.unpack(memoryview(raw), 0)
    start, old = head["string_table_off"], head["string_table_len"]
    table = struct.pack("<I", count)
    table += b"".join(struct.pack("<II", 5 * i, 5) for i in range(count))
    table += b"".join(b"%05x" % i for i in range(count))
    made = grown(raw, start + old, 1 << 20, SECTIONS, string_table_len=len(table))
    made[start : start + len(table)] = table
    return bytes(made)


def many_pieces(count: int) -> bytes:
    """A header that says so many pieces, and room for their table."""
    raw = small()
    at = HEADER.unpack(memoryview(raw), 0)["piece_table_off"] + 56
    return bytes(grown(raw, at, 56 * count // 4096 * 4096, SECTIONS[4:], piece_count=count - 80))


def one_row(dtype: DType) -> bytes:
    """A matrix whose only row is all of the file."""
    spec = TensorSpec("w", Role.other, dtype, (1, 1 << 21), scales=ScaleEncoding.fp16)
    planes = spec.planes
    return assemble([spec], CONFIG, {"w": (bytes(planes.data_len), bytes(planes.aux_len))})


def full_residual(rows: int = 1800, cols: int = 1800) -> bytes:
    """A residual with an entry for every weight."""
    base = TensorSpec("w", Role.other, DType.q4_g64, (rows, cols), scales=ScaleEncoding.fp16)
    pointers = np.arange(rows + 1, dtype=np.int64) * cols
    columns = np.tile(np.arange(cols, dtype=np.int64), rows)
    entries = Sparse(rows, cols, pointers, columns, np.zeros(rows * cols, np.float32))
    data, scales = encode_sparse(entries, "f16")
    name, kind = "w" + SUFFIX, DType.f16
    spec = TensorSpec(name, Role.other, kind, (rows, cols), "w", nnz=rows * cols)
    head, planes = residual_header((rows, cols), kind, rows * cols), base.planes
    payloads = {"w": (bytes(planes.data_len), bytes(planes.aux_len)), name: (head + data, scales)}
    return assemble([base, spec], CONFIG, payloads)


def allocated(read: Callable[[], object]) -> int:
    """The most bytes that Python and NumPy held at once meanwhile."""
    gc.collect()
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    except SlmError:
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "made",
    [
        lambda: long_config(MAX_CONFIG_LEN),
        lambda: long_config(MAX_CONFIG_LEN + 50_000),
        lambda: many_strings(MAX_STRINGS),
        lambda: many_strings(MAX_STRINGS + 40_000),
        lambda: many_pieces(60_000),
        lambda: one_row(DType.q4_g64),
        lambda: one_row(DType.q8_r128),
        full_residual,
    ],
    ids=["config", "long config", "strings", "more strings", "pieces", "q4", "q8", "residual"],
)
def test_no_file_makes_a_reader_allocate_many_times_its_size(made: Callable[[], bytes]) -> None:
    data = made()
    for read in (lambda: inspect_bytes(memoryview(data)), lambda: open_slm(data)):
        assert allocated(read) < 4 * len(data) + ROOM


@pytest.mark.parametrize(
    ("made", "limit", "error", "name"),
    [
        (long_config, MAX_CONFIG_LEN, SlmConfigError, "CBOR"),
        (many_strings, MAX_STRINGS, SlmStringError, "STRINGS"),
    ],
)
def test_three_readers_have_one_limit(
    made: Callable[[int], bytes], limit: int, error: type[SlmError], name: str, require: object
) -> None:
    require(NativeRunner())  # type: ignore[operator]
    load = Loader()
    for size in (limit, limit + 1):
        data = made(size)
        found = {f.code for f in inspect_bytes(memoryview(data)).findings if "room" in f.detail}
        assert found == ({error.code} if size > limit else set())
        assert (load(data) == name) == (size > limit)
    with pytest.raises(error):
        open_slm(made(limit + 1))
    assert len(open_slm(made(limit)).tensors) == 1 if made is long_config else True


def test_a_writer_keeps_the_limits() -> None:
    with pytest.raises(SlmConfigError):
        small({**CONFIG, "x": [[]] * MAX_CONFIG_LEN})
    many = [TensorSpec(f"{i}", Role.other, DType.f32, (1,)) for i in range(MAX_STRINGS + 1)]
    with pytest.raises(SlmStringError):
        assemble(many, CONFIG, {})
