"""One piece, and rows of one tensor, are verified without any other byte of the artifact."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trlm_lab.base import canon
from trlm_lab.errors import SlmHashError, SlmNoTensorError, SlmProofError, SlmsetProofError
from trlm_lab.slm.numbers import DType, Role
from trlm_lab.slm.plan import TensorSpec
from trlm_lab.slm.read import open_slm
from trlm_lab.slm.write import assemble
from trlm_lab.slmset import prove_piece, prove_rows, verify_proof
from trlm_lab.slmset.manifest import read_manifest

from .conftest import CONFIG

Sets = Callable[[str], Path]


@pytest.mark.parametrize("index", range(4))
def test_one_piece(index: int, artifact: Path, sets: Sets) -> None:
    manifest = read_manifest(sets("zstd"))
    document = prove_piece(artifact, index)
    assert document == prove_piece(sets("brotli"), index)
    proved = verify_proof(document, manifest.merkle_root, piece_count=4)
    start = manifest.front_len + (index << 20)
    assert proved.pieces == (index,)
    assert proved.data == (artifact.read_bytes()[start : start + (1 << 20)],)
    with pytest.raises(SlmsetProofError):
        verify_proof(document, bytes(32), piece_count=4)
    with pytest.raises(SlmsetProofError, match="number of pieces"):
        verify_proof(document, manifest.merkle_root)


@pytest.mark.parametrize(
    ("tensor", "low", "high"),
    [("codes", 0, 1), ("codes", 1000, 1200), ("floats", 0, 600), ("floats", 200, 201)],
)
def test_rows_of_a_tensor(tensor: str, low: int, high: int, artifact: Path, sets: Sets) -> None:
    manifest = read_manifest(sets("none"))
    proved = verify_proof(
        prove_rows(sets("none"), tensor, low, high), manifest.merkle_root, manifest.front_sha256
    )
    stored = open_slm(artifact.read_bytes()).tensor(tensor)
    assert proved.data[0] == stored.data[low * stored.row_stride : high * stored.row_stride]
    if tensor == "codes":
        assert proved.data[1] == stored.scales[16 * low : 16 * high]
    else:
        rows = np.frombuffer(proved.data[0], "<f4").reshape(high - low, 1024)
        whole = np.frombuffer(stored.data, "<f4").reshape(600, 1024)
        assert np.array_equal(rows, whole[low:high])


def test_questions_outside_the_artifact(artifact: Path) -> None:
    for index in (-1, 4):
        with pytest.raises(SlmProofError):
            prove_piece(artifact, index)
    with pytest.raises(SlmNoTensorError):
        prove_rows(artifact, "none", 0, 1)
    for low, high in ((0, 0), (5, 4), (0, 1201)):
        with pytest.raises(SlmsetProofError):
            prove_rows(artifact, "codes", low, high)


def test_every_changed_part_of_a_proof_is_refused(artifact: Path, sets: Sets) -> None:
    manifest = read_manifest(sets("none"))
    trusted = manifest.merkle_root, manifest.front_sha256
    row = canon.decode(prove_rows(artifact, "codes", 3, 5))
    piece = row["pieces"][0]
    other = bytes([piece["data"][0] ^ 1]) + piece["data"][1:]
    changes: list[dict[str, Any]] = [
        {"schema": "x"},
        {"scheme": "x"},
        {"piece_count": 5},
        {"piece_count": "5"},
        {"pieces": []},
        {"pieces": [{**piece, "data": other}]},
        {"pieces": [{**piece, "index": 1}]},
        {"pieces": [{**piece, "path": piece["path"][:-1]}]},
        {"pieces": [{**piece, "path": [b"short"]}]},
        {"pieces": [{"index": 0}]},
        {"front": row["front"][:-1]},
        {"front": b""},
        {"low": 4, "high": 4},
        {"high": 100000},
        {"tensor": "other"},
        # Rows that no piece of the document holds.
        {"tensor": "floats", "low": 500, "high": 501},
    ]
    verify_proof(canon.encode(row), *trusted)
    for change in changes:
        with pytest.raises((SlmsetProofError, SlmProofError)):
            verify_proof(canon.encode(row | change), *trusted)
    for raw in (b"", b"\xff", canon.encode(row) + b"\0", canon.encode([])):
        with pytest.raises(SlmsetProofError):
            verify_proof(raw, *trusted)
    with pytest.raises(SlmsetProofError, match="no hash"):
        verify_proof(canon.encode(row), manifest.merkle_root)


def three_pieces() -> bytes:
    """Rows of 4096 bytes: 256 a piece."""
    rows = np.repeat(np.arange(600, dtype="<f4"), 1024)
    specs = [TensorSpec("floats", Role.other, DType.f32, (600, 1024))]
    return assemble(specs, CONFIG, {"floats": (rows.tobytes(), b"")})


def test_a_piece_does_not_pass_for_another_under_another_number_of_pieces(tmp_path: Path) -> None:
    """The last of three stands in the tree where the second of two would."""
    path = tmp_path / "m.slm"
    path.write_bytes(three_pieces())
    slm = open_slm(path.read_bytes())
    root, front = slm.header.merkle_root_sha256, bytes(slm.view[: slm.header.body_off])
    lie = canon.decode(prove_piece(path, 2))
    lie["piece_count"], lie["pieces"][0]["index"] = 2, 1
    verify_proof(canon.encode(lie), root, piece_count=2)
    with pytest.raises(SlmsetProofError, match="number of pieces"):
        verify_proof(canon.encode(lie), root, piece_count=3)
    # Row 256, the first of piece 1, shown with the bytes of row 512.
    lie |= {"tensor": "floats", "low": 256, "high": 257, "front": front}
    with pytest.raises(SlmsetProofError, match="number of pieces"):
        verify_proof(canon.encode(lie), root, hashlib.sha256(front).digest())


def test_a_proof_of_many_values_is_not_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*given: object, **named: object) -> None:
        raise AssertionError("it was decoded")

    monkeypatch.setattr("trlm_lab.slmset.proof.canon.decode", never)
    with pytest.raises(SlmsetProofError, match="more than"):
        verify_proof(b"\x9a\x00\x10\x00\x00" + b"\x80" * (1 << 20), bytes(32), piece_count=1)


def test_a_damaged_artifact_is_proved_by_nobody(artifact: Path, copied: Sets) -> None:
    data = bytearray(artifact.read_bytes())
    data[-5] ^= 1
    bad = copied("none").parent / "bad.slm"
    bad.write_bytes(data)
    with pytest.raises(SlmHashError):
        prove_piece(bad, 0)
