"""The dearest files that the limits allow: near a limit, judged, and small in memory."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from trlm_lab.acquire import check_gguf, check_safetensors
from trlm_lab.acquire.gguf_cursor import MAX_ELEMENTS, MAX_TEXT_BYTES
from trlm_lab.acquire.gguf_file import MAX_FIELDS, MAX_TENSORS
from trlm_lab.base import strict_json
from trlm_lab.base.safetensors_header import MAX_HEADER_BYTES, MAX_HEADER_MARKS, read_header
from trlm_lab.errors import GgufError, JsonError, SafetensorsHeaderLengthError
from trlm_lab.testing import costly_inputs
from trlm_lab.testing.costly_inputs import GGUF, SAFETENSORS, TOKENIZER

#: What a container may take, of which a third is spare.
MOST_MEMORY = 200e6


def marks(data: bytes) -> int:
    return sum(map(data.count, (b",", b":", b"[", b"{")))


def near(value: int, limit: int) -> bool:
    return 0.99 * limit < value <= limit


def peak(judge: Callable[[Path], list[dict[str, str]]], path: Path) -> tuple[int, set[str]]:
    tracemalloc.start()
    try:
        codes = {finding["code"] for finding in judge(path)}
        return tracemalloc.get_traced_memory()[1], codes
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", SAFETENSORS)
def test_a_header_near_its_limits_is_judged(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(SAFETENSORS[name]())
    header = path.read_bytes()[8:]
    assert near(marks(header), MAX_HEADER_MARKS) or near(len(header), MAX_HEADER_BYTES)
    taken, codes = peak(check_safetensors, path)
    assert codes <= {"TYPE"}
    assert taken < MOST_MEMORY


@pytest.mark.slow
@pytest.mark.parametrize("name", GGUF)
def test_a_gguf_file_near_its_limits_is_judged(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(GGUF[name]())
    taken, codes = peak(check_gguf, path)
    assert codes == {"GGUF_ARCHITECTURE"}
    assert taken < MOST_MEMORY


#: The limit that an input of one more step passes, and the words of its refusal.
STEPS = {
    "short texts": ("MAX_ELEMENTS", f"at most {MAX_ELEMENTS} are read"),
    "bytes": ("MAX_ELEMENTS", f"at most {MAX_ELEMENTS} are read"),
    "one text": ("MAX_TEXT_BYTES", f"longer than {MAX_TEXT_BYTES} bytes in all"),
    "keys": ("MAX_FIELDS", f"at most {MAX_FIELDS} are read"),
    "tensors": ("MAX_TENSORS", f"at most {MAX_TENSORS} are read"),
}


@pytest.mark.parametrize("name", STEPS)
def test_one_step_more_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    limit, words = STEPS[name]
    monkeypatch.setattr(costly_inputs, limit, getattr(costly_inputs, limit) + 1)
    path = tmp_path / "x.gguf"
    path.write_bytes(GGUF[name]())
    (finding,) = check_gguf(path)
    assert finding["code"] == GgufError.code
    assert words in finding["detail"]


def test_a_header_is_counted_before_it_is_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.safetensors"
    monkeypatch.setattr(costly_inputs, "MAX_HEADER_MARKS", MAX_HEADER_MARKS + 20)
    path.write_bytes(SAFETENSORS["tensors"]())
    monkeypatch.setattr(strict_json, "_DECODER", None)
    with pytest.raises(JsonError, match=f"the limit is {MAX_HEADER_MARKS}"):
        read_header(path)
    monkeypatch.setattr(costly_inputs, "MAX_HEADER_BYTES", MAX_HEADER_BYTES + 8)
    path.write_bytes(SAFETENSORS["text beyond the basic plane"]())
    with pytest.raises(SafetensorsHeaderLengthError):
        read_header(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", TOKENIZER)
def test_tokenizers_near_the_limits_keep_them(name: str) -> None:
    data = TOKENIZER[name]()
    assert near(marks(data), strict_json.MAX_JSON_MARKS) or near(
        len(data), strict_json.MAX_JSON_BYTES
    )


def test_a_tokenizer_is_counted_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costly_inputs, "MAX_JSON_MARKS", strict_json.MAX_JSON_MARKS + 20)
    data = TOKENIZER["empty maps"]()
    monkeypatch.setattr(strict_json, "_DECODER", None)
    with pytest.raises(JsonError, match=f"the limit is {strict_json.MAX_JSON_MARKS}"):
        strict_json.loads(data)
