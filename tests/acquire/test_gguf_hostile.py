"""GGUF files that declare what they do not have: refused by name, without the declared memory."""

import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acquire.test_gguf_file import file, number, read, row, text
from trlm_lab.acquire import gguf_cursor
from trlm_lab.errors import GgufError

HUGE = (2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1)


def array(kind: int, count: int, payload: bytes = b"") -> bytes:
    return text("a") + struct.pack("<IIQ", 9, kind, count) + payload


def scalar(kind: int, payload: bytes) -> bytes:
    return text("a") + struct.pack("<I", kind) + payload


def counts(tensors: int, fields: int) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, fields) + bytes(72)


F32 = struct.pack("<f", float("nan"))
CASES: dict[str, tuple[bytes, str]] = {
    **{f"{n} tensors": (counts(n, 0), "tensors") for n in HUGE},
    **{f"{n} keys": (counts(0, n), "key/values") for n in HUGE},
    **{f"a key of {n} bytes": (file(struct.pack("<Q", n) + bytes(32), 1), "are wanted")
       for n in HUGE},
    **{f"{n} numbers": (file(array(4, n), 1), "array elements") for n in HUGE},
    **{f"{n} texts": (file(array(8, n), 1), "array elements") for n in HUGE},
    **{f"{n} bytes": (file(array(0, n), 1), "array elements") for n in HUGE},
    **{f"dimension {n}": (file(tensors=row("t", [n]), tensor_count=1), "empty or too large")
       for n in HUGE},
    **{f"offset {n}": (file(tensors=row("t", [8], 0, n), tensor_count=1), "not aligned, or pass")
       for n in HUGE},
    "4096 keys": (counts(0, 4096), "key/values need"),
    "4097 keys": (counts(0, 4097), "at most 4096 are read"),
    "16384 tensors": (counts(16384, 0), "tensors need"),
    "16385 tensors": (counts(16385, 0), "at most 16384 are read"),
    "numbers beyond the file": (file(array(4, 1000), 1), "need 4000 bytes"),
    "two dimensions that wrap": (
        file(tensors=row("t", [2**30, 2**34]), tensor_count=1), "empty or too large"
    ),
    "rank 2^32 - 1": (
        file(tensors=text("t") + struct.pack("<I", 2**32 - 1) + bytes(64), tensor_count=1),
        "has rank",
    ),
    "a type of 2^32 - 1": (
        file(tensors=row("t", [32], 2**32 - 1), tensor_count=1, payload=bytes(128)),
        "is not read",
    ),
    "a Boolean that is 2": (file(scalar(7, b"\x02"), 1), "a bool holds 2"),
    "a Boolean of 255 in a list": (file(array(7, 3, b"\x00\x01\xff"), 1), "a bool holds 255"),
    "a NaN": (file(scalar(6, F32), 1), "a f32 holds nan"),
    "an infinity in a list": (
        file(array(12, 1, struct.pack("<d", float("inf"))), 1), "a f64 holds inf"
    ),
    "a key without a name": (file(text("") + struct.pack("<II", 4, 1), 1), "a key of 0 bytes"),
    "a key of 70,000 bytes": (
        file(text("k" * 70_000) + struct.pack("<II", 4, 1), 1), "a key of 70000 bytes"
    ),
    "a tensor without a name": (
        file(tensors=row("", [8]), tensor_count=1, payload=bytes(32)), "a tensor name of 0 bytes"
    ),
    "a tensor name of 65 bytes": (
        file(tensors=row("n" * 65, [8]), tensor_count=1, payload=bytes(32)), "name of 65 bytes"
    ),
    "a signed alignment": (
        file(text("general.alignment") + struct.pack("<Ii", 5, 32), 1), "of the kind i32"
    ),
    "a true alignment": (
        file(text("general.alignment") + struct.pack("<IB", 7, 1), 1), "of the kind bool"
    ),
    "a list as alignment": (
        file(text("general.alignment") + struct.pack("<IIQ", 9, 4, 0), 1), "of the kind array"
    ),
    "an alignment of 2^17": (file(number("general.alignment", 2**17), 1), "general.alignment"),
    "a gap": (
        file(tensors=row("t", [8]) + row("u", [8], 0, 64), tensor_count=2, payload=bytes(96)),
        "belong to nothing",
    ),
    "a gap before the first": (
        file(tensors=row("t", [8], 0, 32), tensor_count=1, payload=bytes(64)), "belong to nothing"
    ),
    "bytes after the last": (
        file(tensors=row("t", [8]), tensor_count=1, payload=bytes(65)), "after the last tensor"
    ),
    "a padding that is no zero": (
        file(tensors=row("t", [1]), tensor_count=1, payload=bytes(4) + b"x" + bytes(27)),
        "the padding is not zero",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_file_is_refused_by_its_rule(tmp_path: Path, name: str) -> None:
    data, words = CASES[name]
    with pytest.raises(GgufError, match=words):
        read(tmp_path, data)


def named(name: str, value: bytes) -> bytes:
    return text(name) + value.removeprefix(text("a"))


def test_lists_that_are_allowed_alone_are_refused_together(tmp_path: Path) -> None:
    half = array(0, 1 << 19, bytes(1 << 19))
    fields = b"".join(named(f"k{i}", half) for i in range(3))
    assert len(read(tmp_path, file(fields, 3)).fields) == 3
    with pytest.raises(GgufError, match="more than 1572864 array elements in all"):
        read(tmp_path, file(fields + named("k3", array(0, 1, b"a")), 4))


def test_texts_that_are_allowed_alone_are_refused_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gguf_cursor, "MAX_TEXT_BYTES", 30)
    one = text("k") + struct.pack("<I", 8) + text("v" * 20)
    assert read(tmp_path, file(one, 1)).fields["k"].value == "v" * 20
    with pytest.raises(GgufError, match="the texts are longer than 30 bytes in all"):
        read(tmp_path, file(one + one.replace(b"k", b"l"), 2))


#: Calls of functions, ours and built in, that one small file may take.
MOST_CALLS = 400

SCRIPT = """
import json, sys
from pathlib import Path
from trlm_lab.acquire import check_gguf
def peak():
    # The peak of getrusage outlives exec, and so is that of the parent.
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
calls = 0
def count(frame, event, argument):
    global calls
    calls += event in ("call", "c_call")
rows, base = [], peak()
for path in sorted(Path(sys.argv[1]).iterdir()):
    calls = 0
    sys.setprofile(count)
    found = check_gguf(path)
    sys.setprofile(None)
    rows.append([[f["code"] for f in found], calls])
print(json.dumps([peak() - base, rows]))
"""


def test_all_of_them_together_cost_next_to_nothing(tmp_path: Path) -> None:
    for index, (data, _) in enumerate(CASES.values()):
        (tmp_path / f"{index:03}.gguf").write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        capture_output=True, text=True, check=True, timeout=600,
    )  # fmt: skip
    grown, rows = json.loads(done.stdout)
    assert [codes for codes, _ in rows] == [["GGUF"]] * len(CASES)
    assert max(calls for _, calls in rows) < MOST_CALLS
    assert grown < 200e6
