"""Rows packed and decoded in place, native and WebAssembly: the reference's bytes and errors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.backends.test_block_formats import TAILS, spread
from trlm_lab.backends import native_rows
from trlm_lab.backends.abi_host import Host, Scratch, last_error
from trlm_lab.backends.build_native import wanted_build
from trlm_lab.backends.native import NativeHost
from trlm_lab.backends.native_rows import NativePacker, is_served, native_packer
from trlm_lab.errors import (
    CompilerMissingError,
    PackerDisagreesError,
    QuantNonFiniteError,
    QuantOverflowError,
    RuntimeRefusedError,
    TrlmError,
)
from trlm_lab.quant import ABSMAX, FORMATS, GROUPED, SCALES, Search
from trlm_lab.quant.clipping import Clipping, Weighted
from trlm_lab.quant.grouped import Grouped
from trlm_lab.slm.numbers import DType, ScaleEncoding

F32 = np.float32
Array = NDArray[Any]
LARGEST = np.finfo(F32).max
GRID = Search(tuple(1 - i / 32 for i in range(16)))
#: One fraction alone; fractions that ascend and repeat.
CLIPPINGS: dict[str, Clipping] = {
    "absmax": ABSMAX,
    "grid": GRID,
    "half": Search((0.5,)),
    "odd": Search((0.25, 0.25, 1.0, 0.75, 0.0625)),
}
KINDS = [
    (name, encoding, clipping) for name in GROUPED for encoding in SCALES for clipping in CLIPPINGS
]


def form_of(name: str, encoding: str, clipping: str) -> Grouped:
    return replace(GROUPED[name], encoding=SCALES[encoding], clipping=CLIPPINGS[clipping])


def halves(form: Grouped) -> Array:
    """Rows whose scale is a power of two and whose values lie between two codes."""
    q = form.q
    steps = np.arange(-q, q, dtype=F32) + F32(0.5)
    row = np.resize(np.concatenate([[F32(q)], steps]), 256)
    exact = np.array([2.0**k for k in (-8, 0, 7)], F32)
    near = np.nextafter(row, F32(0), dtype=F32)
    return np.concatenate([row * exact[:, None], near * exact[:, None]])


def quotients(form: Grouped) -> Array:
    """Values within units in the last place of what lies between two codes of an uneven scale.

    Of a multiplication by the reciprocal many are on the other side.
    """
    q, rows = form.q, []
    for absmax in np.linspace(0.7, 1.9, 24, dtype=F32):
        words = form.encoding.choose(np.full((1, 1), absmax), q, where="", first_row=0)
        between = (np.arange(1, q, dtype=F32) - F32(0.5)) * form.encoding.values(words)[0]
        bits = between.view(np.int32)[:, None] + np.arange(-2, 3, dtype=np.int32)
        row = np.resize(bits.view(F32), 640)
        row[:: form.group] = absmax
        rows.append(row)
    return np.stack(rows)


def ties(form: Grouped) -> Array:
    """Groups whose error is the same under the scales 1 and 1/2, but for the order of its sum.

    With v = q/2 + e and u = e above 1/4 the errors are (1/2 - e, e) under 1 and (e, 1/2 - e) under
    1/2, where v is clipped; small values are off by themselves under both.
    """
    rng, q, n = np.random.default_rng(form.q), form.q, form.group
    rows = rng.integers(1 << 23, 1 << 24, (40, n)).astype(F32) * F32(2.0**-31)
    for row in rows[1:]:
        places = rng.permutation(n)
        pairs = places[: n // 4 * 2].reshape(2, -1)
        e = rng.integers(1 << 16, 1 << 17, n // 4).astype(F32) * F32(2.0**-18)
        e[0] = 0.5
        row[pairs[0]], row[pairs[1]] = F32(q / 2) + e, e
    rows[0] = 0
    rows[0, :2] = (q + 1) / 2, 0.5
    return rows


def tiny(form: Grouped) -> Array:
    """Subnormals, zeros of both signs, and groups of zeros beside others."""
    rng = np.random.default_rng(form.q)
    subnormal = rng.integers(0, 1 << 23, (4, 200), dtype=np.uint32)
    subnormal[:, ::3] |= np.uint32(1 << 31)
    rows = np.concatenate([subnormal.view(F32), np.zeros((2, 200), F32)])
    rows[2, :64] = 0
    rows[3] *= F32(2.0**20)
    rows[4] = F32(-0.0)
    rows[5, 130] = 1e-45
    return rows


def large(form: Grouped) -> Array:
    """Scales near the largest binary16."""
    rng = np.random.default_rng(form.q)
    reach = F32(65504 * form.q * 0.6)
    rows = (rng.random((3, 130), dtype=F32) - F32(0.5)) * reach
    rows[1, 0], rows[2, 70] = reach, -reach
    return rows


def columns(count: int) -> Callable[[Grouped], Array]:
    return lambda form: spread(9, count, 12)


INPUTS: dict[str, Callable[[Grouped], Array]] = {
    **{f"{cols} columns": columns(cols) for cols in TAILS},
    "halves": halves,
    "quotients": quotients,
    "ties": ties,
    "tiny": tiny,
    "large": large,
    "largest": lambda form: np.array([[LARGEST, -LARGEST, 1.0, LARGEST / 3]], F32),
    "one": lambda form: np.array([[-3.0]], F32),
    "nan": lambda form: np.array([[0.0, 1.0], [2.0, np.nan]], F32),
    "infinite": lambda form: np.full((1, 70), -np.inf, F32),
}


def reference(form: Grouped, rows: Array) -> tuple[bytes, bytes] | str:
    """The planes, or the error."""
    try:
        return form.quantize(rows, where="w", first_row=3)
    except TrlmError as error:
        return str(error)


class Served:
    """The exports in a host, over arrays that are copied there and back."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def pack(self, form: Grouped, rows: Array) -> tuple[bytes, bytes]:
        count, cols = rows.shape
        grid = np.array(getattr(form.clipping, "fractions", ()), F32)
        codes = np.full((count, form.row_stride(cols)), 0xAA, np.uint8)
        scales = np.full((count, form.scale_row(cols)), 0xAA, np.uint8)
        with ExitStack() as memory:
            x, fractions, stored, words = (
                memory.enter_context(Scratch(self.host, array))
                for array in (rows, grid, codes, scales)
            )
            self._call(
                "trlm_rows_pack", x.address, count, cols, *numbers(form),
                fractions.address, grid.size, stored.address, words.address,
            )  # fmt: skip
            return stored.read().tobytes(), words.read().tobytes()

    def unpack(self, form: Grouped, planes: tuple[bytes, bytes], shape: tuple[int, int]) -> Array:
        with ExitStack() as memory:
            codes, scales = (
                memory.enter_context(Scratch(self.host, np.frombuffer(plane, np.uint8)))
                for plane in planes
            )
            y = memory.enter_context(Scratch(self.host, np.full(shape, 7.0, F32)))
            self._call(
                "trlm_rows_unpack", codes.address, scales.address, *shape, *numbers(form), y.address
            )
            return y.read()

    def _call(self, name: str, *arguments: int) -> None:
        if self.host.call(name, *arguments) != 0:
            raise last_error(self.host)


def numbers(form: Grouped) -> tuple[int, int]:
    return int(DType[form.name]), int(ScaleEncoding[form.encoding.name])


@pytest.fixture
def served(text_host: Host) -> Served:
    return Served(text_host)


@pytest.mark.parametrize(("name", "encoding", "clipping"), KINDS)
def test_the_bytes_of_the_reference(
    served: Served, name: str, encoding: str, clipping: str
) -> None:
    """WebAssembly has no lanes and the native library the widest: both give the same bytes."""
    form = form_of(name, encoding, clipping)
    packed = 0
    for what, make in INPUTS.items():
        rows = make(form)
        want = reference(form, rows)
        if isinstance(want, str):
            with pytest.raises(RuntimeRefusedError):
                served.pack(form, rows)
            continue
        packed += 1
        assert served.pack(form, rows) == want, what
        values = form.dequantize(*(memoryview(plane) for plane in want), *rows.shape)
        got = served.unpack(form, want, rows.shape)
        assert got.tobytes() == values.tobytes(), what
    assert packed >= len(TAILS) + 6


def test_what_is_stored_by_nobody(served: Served) -> None:
    form = GROUPED["q4_g64"]
    codes, scales = form.quantize(np.ones((2, 100), F32))
    for at, value, rule in ((0, 0x88, "CODE"), (63, 0x17, "PADDING")):
        bad = bytearray(codes)
        bad[at] = value
        with pytest.raises(RuntimeRefusedError) as caught:
            served.unpack(form, (bytes(bad), scales), (2, 100))
        assert caught.value.facts["error_name"] == rule
    with pytest.raises(RuntimeRefusedError) as caught:
        served.unpack(form, (codes, bytes(len(scales))), (2, 100))
    assert caught.value.facts["error_name"] == "SCALE"
    assert caught.value.where == "codes row 0 group 0"


def test_arguments_that_name_nothing(host: NativeHost) -> None:
    x, planes = np.ones(80, F32), np.zeros(200, np.uint8)
    at, out = x.ctypes.data, planes.ctypes.data
    for arguments, name in (
        ((at, 1, 64, 1, 1, 0, 0, out, out), "ARGUMENT"),
        ((at, 1, 64, 7, 0, 0, 0, out, out), "ARGUMENT"),
        ((at, 1, 64, 1 << 16 | 7, 1, 0, 0, out, out), "ARGUMENT"),
        ((at, 0, 64, 7, 1, 0, 0, out, out), "ARGUMENT"),
        ((at, 1 << 40, 1 << 40, 7, 1, 0, 0, out, out), "ARGUMENT"),
        ((at + 1, 1, 64, 7, 1, 0, 0, out, out), "ARGUMENT"),
        ((0, 1, 64, 7, 1, 0, 0, out, out), "NULL_POINTER"),
        ((at, 1, 64, 7, 1, 0, 3, out, out), "NULL_POINTER"),
        ((at, 1, 64, 7, 1, 0, 0, 0, out), "NULL_POINTER"),
        ((at, 1, 64, 7, 1, 0, 0, out, 0), "NULL_POINTER"),
    ):
        assert host.call("trlm_rows_pack", *arguments) != 0
        error = last_error(host)
        assert error.facts["error_name"] == name, arguments


@pytest.fixture
def packer(host: NativeHost) -> NativePacker:
    return NativePacker(host)


@pytest.mark.parametrize(("name", "encoding", "clipping"), KINDS[::5])
def test_the_packer_and_its_errors(
    packer: NativePacker, name: str, encoding: str, clipping: str
) -> None:
    form = form_of(name, encoding, clipping)
    for what, make in INPUTS.items():
        rows = np.asfortranarray(make(form))
        try:
            got: Any = tuple(bytes(p) for p in packer(form, rows, where="w", first_row=3))
        except (QuantNonFiniteError, QuantOverflowError) as error:
            got = str(error)
        assert got == reference(form, rows), what


def test_what_the_library_does_not_pack_goes_to_the_reference(packer: NativePacker) -> None:
    rows = spread(9, 65, 12)
    weighted = Weighted((1.0, 0.5), np.linspace(0, 1, 65))
    for form in (FORMATS["f16"], FORMATS["bf16"], replace(GROUPED["q4_g64"], clipping=weighted)):
        assert not is_served(form)
        planes = packer(form, rows, where="w", first_row=0)
        assert planes == form.quantize(rows)
    empty = np.zeros((0, 64), F32)
    assert packer(GROUPED["q4_g64"], empty, where="w", first_row=0) == (b"", b"")


def test_a_library_that_refuses_what_the_reference_packs(
    packer: NativePacker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*arguments: Any) -> None:
        raise RuntimeRefusedError(where="x", error_name="SCALE", number=120, detail="row 0")

    monkeypatch.setattr(packer._rows, "pack", refuses)
    with pytest.raises(PackerDisagreesError, match="row 0"):
        packer(GROUPED["q4_g64"], np.ones((1, 64), F32), where="w", first_row=0)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRLM_HOME", str(tmp_path))
    return tmp_path


def test_the_packer_is_there_where_the_library_is(
    host: NativeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert wanted_build().path.is_file()
    assert isinstance(native_packer(), NativePacker)

    def lacking() -> None:
        raise CompilerMissingError(where="PATH", command="")

    monkeypatch.setattr(native_rows, "wanted_build", lacking)
    assert native_packer() is None


@pytest.mark.usefixtures("host")
def test_nothing_is_compiled_for_packing(elsewhere: Path) -> None:
    assert native_packer() is None
    assert not list(elsewhere.iterdir())
