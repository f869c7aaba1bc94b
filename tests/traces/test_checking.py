"""Any changed byte of any file of a trace is found and located."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from trlm_lab.base.records import Observation
from trlm_lab.errors import TraceCorruptError
from trlm_lab.traces import TraceStore
from trlm_lab.traces.documents import parse_case

Streams = Callable[..., list[Observation]]


@pytest.fixture
def layers() -> int:
    """One, so that every byte can be flipped."""
    return 1


def _verify(root: Path) -> None:
    TraceStore(root).verify()


def _flips(data: bytes, step: int) -> Iterator[bytes]:
    for index in range(0, len(data), step):
        yield data[:index] + bytes([data[index] ^ 1 << (index % 8)]) + data[index + 1 :]


def test_every_flipped_byte_of_a_case_group_is_found(root: Path) -> None:
    data = (root / "words" / "zarr.json").read_bytes()
    for flipped in _flips(data, 1):
        try:
            document = json.loads(flipped)
        except ValueError:
            continue
        with pytest.raises(TraceCorruptError):
            parse_case(document, flipped, "here")


def test_flipped_bytes_of_all_documents_are_found_in_their_files(root: Path) -> None:
    for path in sorted(root.rglob("zarr.json")):
        data = path.read_bytes()
        for flipped in _flips(data, 1 + len(data) // 8):
            path.write_bytes(flipped)
            with pytest.raises(TraceCorruptError) as caught:
                _verify(root)
            assert caught.value.where == str(path)
        path.write_bytes(data)
    _verify(root)


def test_a_flipped_bit_in_any_chunk_is_found_in_its_file(root: Path) -> None:
    rng = np.random.default_rng(1)
    for chunk in sorted(root.rglob("c.*")):
        data = chunk.read_bytes()
        index = int(rng.integers(len(data)))
        chunk.write_bytes(data[:index] + bytes([data[index] ^ 16]) + data[index + 1 :])
        with pytest.raises(TraceCorruptError) as caught:
            _verify(root)
        assert caught.value.where == str(chunk)
        chunk.write_bytes(data)
    _verify(root)


@pytest.mark.parametrize("place", ["words/logits/c.1.0", "words/x", "x", "words/logits/y/z"])
def test_a_foreign_file_is_found(root: Path, place: str) -> None:
    path = root / place
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"?")
    with pytest.raises(TraceCorruptError, match="foreign"):
        _verify(root)


@pytest.mark.parametrize("place", ["words/logits/c.0.0", "words/logits/zarr.json"])
def test_a_lost_file_is_found(root: Path, place: str) -> None:
    (root / place).unlink()
    with pytest.raises(TraceCorruptError, match="lost") as caught:
        _verify(root)
    assert caught.value.where == str(root / place)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "[" * 100_000,
        '{"attributes":{}}',
        '{"attributes":{"case":3,"arrays":[]}}',
        "\xff",
    ],
)
def test_hostile_documents_give_one_located_error(root: Path, text: str) -> None:
    path = root / "words" / "zarr.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(TraceCorruptError) as caught:
        TraceStore(root).case_ids()
    assert caught.value.where == str(path)
    path.unlink()
    (root / "zarr.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(TraceCorruptError):
        TraceStore(root)


def test_a_group_moved_to_another_case_name_is_found(root: Path) -> None:
    (root / "words").rename(root / "other")
    with pytest.raises(TraceCorruptError, match="belongs to the case words"):
        TraceStore(root).case_ids()
