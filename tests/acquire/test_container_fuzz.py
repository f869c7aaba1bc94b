"""Mutated containers: the verdict is a code or acceptance, and what is accepted others read too.

The judges hold every refusal to its form: code, place, reason and fix.
"""

import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trlm_lab.errors import JsonError, Refused, SafetensorsError
from trlm_lab.testing.container_parsers import ACCEPTED, TARGETS, gguf_input, safetensors_input


def every(kind: type[Refused]) -> list[type[Refused]]:
    return [kind, *(c for sub in kind.__subclasses__() for c in every(sub))]


CORPUS = Path(__file__).parent / "corpus"
#: Every word that a judge may answer.
VERDICTS = {
    "safetensors": {ACCEPTED, "JSON", "DUPLICATE_KEY"} | {e.code for e in every(SafetensorsError)},
    "gguf": {ACCEPTED, "GGUF"},
}
SEEDS = {name: [p.read_bytes() for p in sorted((CORPUS / name).iterdir())] for name in TARGETS}
RELAXED = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

numbers = st.sampled_from([0, 1, 7, 8, 255, 2**31, 2**32, 2**62, 2**63, 2**64 - 1])
edits = st.one_of(
    st.tuples(st.just("set"), st.integers(0, 400), st.integers(0, 255)),
    st.tuples(st.just("flip"), st.integers(0, 400), st.integers(0, 7)),
    st.tuples(st.just("number"), st.integers(0, 400), numbers),
    st.tuples(st.just("cut"), st.integers(0, 400), st.integers(1, 40)),
    st.tuples(st.just("insert"), st.integers(0, 400), st.integers(1, 40)),
)


def edited(data: bytes, steps: list[tuple[str, int, int]]) -> bytes:
    raw = bytearray(data)
    for kind, place, value in steps:
        at = place % (len(raw) + 1)
        if kind == "set":
            raw[at : at + 1] = bytes([value])
        elif kind == "flip" and at < len(raw):
            raw[at] ^= 1 << value
        elif kind == "number":
            raw[at : at + 8] = struct.pack("<Q", value)
        elif kind == "cut":
            del raw[at : at + value]
        elif kind == "insert":
            raw[at:at] = raw[at : at + value]
    return bytes(raw)


@pytest.mark.parametrize("name", TARGETS)
def test_every_seed_is_accepted(tmp_path: Path, name: str) -> None:
    assert SEEDS[name]
    for data in SEEDS[name]:
        assert TARGETS[name](data, tmp_path / "input") == ACCEPTED


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
@RELAXED
@given(data=st.data())
def test_a_mutated_file_is_judged_and_never_crashes(
    tmp_path: Path, name: str, data: st.DataObject
) -> None:
    seed = data.draw(st.sampled_from(SEEDS[name]))
    mutant = edited(seed, data.draw(st.lists(edits, max_size=6)))
    verdict = TARGETS[name](mutant, tmp_path / "input")
    assert verdict in VERDICTS[name]
    assert verdict == ACCEPTED or mutant not in SEEDS[name]


entries = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from(["F32", "F16", "U8", "F4", "BF16", "X", 3]),
        "shape": st.lists(st.one_of(st.integers(-1, 4), numbers, st.just(1.0)), max_size=3),
        "data_offsets": st.lists(st.one_of(st.integers(0, 24), numbers), max_size=3),
    }
)


@pytest.mark.slow
@RELAXED
@given(
    rows=st.dictionaries(st.sampled_from(["a", "b", "", "\u00e9", "__metadata__"]), entries),
    tail=st.sampled_from(["", " ", "   ", "\n", "\0"]),
    payload=st.integers(0, 24),
)
def test_a_header_of_any_json_is_judged(
    tmp_path: Path, rows: dict[str, object], tail: str, payload: int
) -> None:
    import json

    header = (json.dumps(rows) + tail).encode()
    data = struct.pack("<Q", len(header)) + header + bytes(payload)
    assert safetensors_input(data, tmp_path / "input") in VERDICTS["safetensors"]


@pytest.mark.parametrize("name", TARGETS)
@RELAXED
@given(data=st.binary(max_size=200))
def test_arbitrary_bytes_are_judged(tmp_path: Path, name: str, data: bytes) -> None:
    for head in (b"", b"GGUF\x03\0\0\0", b"\x02\0\0\0\0\0\0\0{}"):
        assert TARGETS[name](head + data, tmp_path / "input") in VERDICTS[name]


def test_the_judge_of_the_parsers_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trlm_lab.testing import container_parsers

    monkeypatch.setattr(container_parsers, "read_header", lambda path: ())
    with pytest.raises(AssertionError, match="other tensor names"):
        safetensors_input(SEEDS["safetensors"][-1], tmp_path / "input")


def test_the_judge_looks_at_the_form_of_a_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trlm_lab.testing import container_parsers

    def refuse(path: Path) -> None:
        raise JsonError(where="elsewhere", detail="no")

    monkeypatch.setattr(container_parsers, "read_header", refuse)
    with pytest.raises(AssertionError, match="the place is 'elsewhere'"):
        safetensors_input(b"", tmp_path / "input")
    monkeypatch.setattr(container_parsers, "read_gguf", refuse)
    with pytest.raises(AssertionError, match="a refusal of another room: JSON"):
        gguf_input(b"", tmp_path / "input")
