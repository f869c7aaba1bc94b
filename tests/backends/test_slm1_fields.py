"""A lie in every field of an SLM1 file, and in several at once: three readers, one rule."""

from __future__ import annotations

import random
import struct
from dataclasses import replace

import pytest

from tests.backends.test_slm1_runtime import NAMES, Loader
from tests.slm1.made import LITTLE, code_of, made, sealed
from trlm_lab.backends.native import NativeRunner
from trlm_lab.inspector import inspect_bytes
from trlm_lab.slm1.codecs import DType
from trlm_lab.slm1.layout import ENTRY_LEN, ENTRY_OFFSETS, HEADER_FIELDS, header_offset

#: Byte offset and struct code.
Place = tuple[int, str]
WIDE = ("name_hash", "byte_offset", "byte_length", "scale_offset")
BASES = (made(DType.q4_0, LITTLE), made(DType.f32, replace(LITTLE, flags=1)))


def places(data: bytes) -> list[Place]:
    """Every field of the header but magic and checksum, and those of three entries."""
    names = [row for row in HEADER_FIELDS if row[0] not in ("magic", "checksum")]
    found = [(header_offset(name), code) for name, code in names]
    directory = struct.unpack_from("<Q", data, header_offset("tensor_directory_offset"))[0]
    for entry in (0, 1, 3):
        start = directory + ENTRY_LEN * entry
        found += [(start + at, "Q" if name in WIDE else "I") for name, at in ENTRY_OFFSETS.items()]
    return found


def lies(data: bytes, place: Place) -> list[int]:
    """Values at the edges of the field, of the file and of what stands there."""
    at, code = place
    (old,) = struct.unpack_from("<" + code, data, at)
    size, most = len(data), (1 << 8 * struct.calcsize(code)) - 1
    near = [old - 64, old - 1, old ^ 1, old + 1, old + 64, size - 64, size - 1, size, old // 2]
    edges = [0, 1, 2, 63, 64, 65, 2**31 - 1, 2**31, 2**32 - 64, 2**32, 2**63 - 64, 2**63]
    wrapping = [most, most - 63, most + 1 - size, most + 1 - old]
    return sorted({v for v in [*near, *edges, *wrapping] if 0 <= v <= most and v != old})


def changed(data: bytes, place: Place, value: int) -> bytes:
    at, code = place
    raw = struct.pack("<" + code, value)
    return data[:at] + raw + data[at + len(raw) :]


def require_agreement(data: bytes, load: Loader, what: object) -> bool:
    """Whether all three accept; raises unless they agree."""
    bad = sealed(data)
    code, name = code_of(bad), load(bad)
    found = {finding.code for finding in inspect_bytes(memoryview(bad)).findings}
    assert (code in found) if code else not found, (what, code, found)
    assert (name in NAMES[code]) if code else not name, (what, code, name)
    return not code


@pytest.fixture(scope="module")
def load(require: object) -> Loader:
    require(NativeRunner())  # type: ignore[operator]
    return Loader()


@pytest.mark.parametrize("base", range(len(BASES)))
def test_one_field(base: int, load: Loader) -> None:
    data = BASES[base]
    for place in places(data):
        for value in lies(data, place):
            require_agreement(changed(data, place, value), load, (place, value))


def test_two_and_three_fields_at_once(load: Loader) -> None:
    """Which rule comes first shows only where several are broken."""
    pick, accepted = random.Random(5), 0
    for turn in range(1500):
        data, told = BASES[turn % 2], []
        for place in pick.sample(places(data), pick.choice((2, 3))):
            value = pick.choice(lies(data, place))
            data = changed(data, place, value)
            told.append((place, value))
        accepted += require_agreement(data, load, told)
    assert accepted < 100
