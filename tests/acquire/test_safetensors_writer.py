"""The streaming writer: sorted, aligned, readable by the format's own library."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from trlm_lab.acquire.safetensors_writer import PlannedTensor, write_safetensors
from trlm_lab.base.canon import array_sha256
from trlm_lab.base.safetensors_header import read_header
from trlm_lab.errors import NonFiniteError, RecordError


def planned(*parts: np.ndarray, shape: tuple[int, ...]) -> PlannedTensor:
    def chunks() -> Iterator[np.ndarray]:
        yield from parts

    return PlannedTensor(shape, chunks)


def test_the_library_reads_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    b = np.arange(6, dtype=np.float32).reshape(3, 2)
    a = np.array([-0.0, 1e-45], np.float32)
    digests = write_safetensors(
        path, {"b": planned(b[:2], b[2:], shape=(3, 2)), "a": planned(a, shape=(2,))}
    )
    loaded = load_file(path)
    assert loaded["b"].tobytes() == b.tobytes()
    assert loaded["a"].tobytes() == a.tobytes()
    assert digests == {"a": array_sha256(a), "b": array_sha256(b)}
    tensors = read_header(path)
    assert [t.name for t in tensors] == ["a", "b"]
    assert tensors[0].begin % 8 == 0


def test_nonfinite_values_are_refused_with_their_place(tmp_path: Path) -> None:
    values = np.array([1, 2, np.nan], np.float32)
    tensors = {"w": planned(values[:1], values[1:], shape=(3,))}
    with pytest.raises(NonFiniteError, match="NONFINITE at w: element 2 has the bits 7fc00000"):
        write_safetensors(tmp_path / "x", tensors)


@pytest.mark.parametrize("count", [1, 3])
def test_chunks_must_fill_the_shape(tmp_path: Path, count: int) -> None:
    tensors = {"w": planned(np.zeros(count, np.float32), shape=(2,))}
    with pytest.raises(RecordError, match=f"{count} elements came"):
        write_safetensors(tmp_path / "x", tensors)


def test_progress_counts_tensors(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    tensors = {name: planned(np.zeros(1, np.float32), shape=(1,)) for name in "ab"}
    write_safetensors(tmp_path / "x", tensors, lambda *row: seen.append(row))
    assert seen == [("write tensors", done, 2) for done in (0, 1, 2)]
