"""Frames of observations: put together, checked, refused where they are malformed."""

import json
from typing import Any

import numpy as np
import pytest

from trlm_lab.backends.browser.frames import Assembler
from trlm_lab.base.bits import same_bits
from trlm_lab.base.records import ArrayDigest, Observation
from trlm_lab.errors import FrameError, TransferCorruptError

IDS = Observation("token_ids", np.array([1, 2], dtype=np.int64))
EMBEDDING = Observation("embedding", np.array([[0.5, -0.0], [np.nan, 3.0]], dtype=np.float32))


def row(observation: Observation, start: int = 0, stop: int | None = None) -> dict[str, Any]:
    digest = ArrayDigest.of(observation)
    return {
        "name": digest.name,
        "dtype": digest.dtype,
        "shape": list(digest.shape),
        "sha256": digest.sha256,
        "start": start,
        "stop": observation.values.nbytes if stop is None else stop,
    }


def frame(*rows: dict[str, Any], payload: bytes) -> bytearray:
    header = json.dumps({"parts": rows}).encode()
    return bytearray(len(header).to_bytes(4, "little") + header + payload)


def test_two_arrays_in_one_frame() -> None:
    payload = IDS.values.tobytes() + EMBEDDING.values.tobytes()
    assembler = Assembler()
    got = list(assembler.feed(frame(row(IDS), row(EMBEDDING), payload=payload)))
    assert [g.name for g in got] == ["token_ids", "embedding"]
    assert all(same_bits(a.values, b.values) for a, b in zip(got, (IDS, EMBEDDING), strict=True))
    assembler.finish([ArrayDigest.of(IDS), ArrayDigest.of(EMBEDDING)])


def test_one_array_in_two_frames() -> None:
    data = EMBEDDING.values.tobytes()
    assembler = Assembler()
    assert list(assembler.feed(frame(row(EMBEDDING, 0, 6), payload=data[:6]))) == []
    (got,) = assembler.feed(frame(row(EMBEDDING, 6), payload=data[6:]))
    assert same_bits(got.values, EMBEDDING.values)


def test_a_flipped_bit_is_found() -> None:
    data = bytearray(EMBEDDING.values.tobytes())
    data[5] ^= 1
    with pytest.raises(TransferCorruptError, match="TRANSFER_CORRUPT at embedding"):
        list(Assembler().feed(frame(row(EMBEDDING), payload=bytes(data))))


def _bad_frames() -> dict[str, bytearray]:
    data = EMBEDDING.values.tobytes()
    good = row(EMBEDDING)
    return {
        "empty": bytearray(),
        "header beyond the end": bytearray(b"\xff\xff\xff\x7f{}"),
        "no JSON": bytearray(b"\x02\x00\x00\x00{["),
        "not UTF-8": bytearray(b"\x02\x00\x00\x00\xff\xff"),
        "deep JSON": bytearray((100_000).to_bytes(4, "little") + b"[" * 100_000),
        "no parts": bytearray(b"\x02\x00\x00\x00{}"),
        "parts no list": bytearray(b"\x0b\x00\x00\x00" + b'{"parts":1}'),
        "row no object": frame(5, payload=b""),  # type: ignore[arg-type]
        "unknown dtype": frame({**good, "dtype": "float64"}, payload=data),
        "unhashable dtype": frame({**good, "dtype": []}, payload=data),
        "negative dimension": frame({**good, "shape": [-2, 2]}, payload=data),
        "boolean dimension": frame({**good, "shape": [True, 4]}, payload=data),
        "vast shape": frame({**good, "shape": [2**31, 2**31]}, payload=data),
        "bad hash": frame({**good, "sha256": "no"}, payload=data),
        "hash no text": frame({**good, "sha256": 5}, payload=data),
        "unknown field": frame({**good, "more": 1}, payload=data),
        "missing field": frame({k: v for k, v in good.items() if k != "stop"}, payload=data),
        "empty part": frame({**good, "stop": 0}, payload=b""),
        "part beyond the array": frame({**good, "stop": 20}, payload=data + b"1234"),
        "payload too short": frame(good, payload=data[:-1]),
        "payload too long": frame(good, payload=data + b"1"),
        "no first part": frame(row(EMBEDDING, 4), payload=data[4:]),
    }


@pytest.mark.parametrize("name", list(_bad_frames()))
def test_malformed_frames_are_refused(name: str) -> None:
    with pytest.raises(FrameError):
        list(Assembler().feed(_bad_frames()[name]))


def test_an_array_may_not_interrupt_another() -> None:
    data = EMBEDDING.values.tobytes()
    assembler = Assembler()
    list(assembler.feed(frame(row(EMBEDDING, 0, 4), payload=data[:4])))
    with pytest.raises(FrameError, match="follow 4 of embedding"):
        list(assembler.feed(frame(row(IDS), payload=IDS.values.tobytes())))


def test_what_is_missing_at_the_end_is_named() -> None:
    half = Assembler()
    list(half.feed(frame(row(IDS, 0, 8), payload=IDS.values.tobytes()[:8])))
    with pytest.raises(FrameError, match="the rest of the array is missing"):
        half.finish([])
    whole = Assembler()
    list(whole.feed(frame(row(IDS), payload=IDS.values.tobytes())))
    with pytest.raises(FrameError, match="1 arrays came, the worker computed 2 others"):
        whole.finish([ArrayDigest.of(IDS), ArrayDigest.of(EMBEDDING)])
