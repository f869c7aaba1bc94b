"""Every changed byte is found, every cut is refused, nothing escapes the error classes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trlm_lab.errors import SlmError
from trlm_lab.slm.read import open_slm
from trlm_lab.slm.verify import verify_all, verify_identity
from trlm_lab.slm.write import assemble

from .conftest import CONFIG, small_payloads, small_specs

FLIPS = (0x01, 0x80, 0xFF)
#: What damage writes over the front matter.
WORDS = [b"\0", b"\x01", b"\x80", b"\xff", b"\xff" * 4, b"\xff" * 8]


def found(data: bytes, verify: object = verify_all) -> bool:
    try:
        slm = open_slm(data)
        verify(slm)  # type: ignore[operator]
    except SlmError:
        return True
    return False


def test_the_unchanged_file_is_sound(small: bytes) -> None:
    assert not found(small)


@pytest.mark.parametrize("flip", FLIPS)
def test_every_flipped_byte_is_found(small: bytes, flip: int) -> None:
    changed = bytearray(small)
    missed = []
    for at in range(len(small)):
        changed[at] ^= flip
        if not found(changed):
            missed.append(at)
        changed[at] ^= flip
    assert missed == []


def test_self_hash_and_merkle_root_alone_cover_every_byte(small: bytes) -> None:
    changed = bytearray(small)
    missed = []
    for at in range(len(small)):
        changed[at] ^= 0x10
        if not found(changed, verify_identity):
            missed.append(at)
        changed[at] ^= 0x10
    assert missed == []


def test_every_cut_is_refused(small: bytes) -> None:
    assert [size for size in range(len(small)) if not found(small[:size])] == []


def test_swapped_blocks_are_found(small: bytes) -> None:
    rows = np.frombuffer(small, np.uint8)[4096 : 4096 + 448].reshape(7, 64)
    assert len({row.tobytes() for row in rows}) == 7
    swapped = rows[[1, 0, 2, 3, 4, 5, 6]].tobytes()
    assert found(small[:4096] + swapped + small[4096 + 448 :])


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4095), st.sampled_from(WORDS)), min_size=1, max_size=4),
    st.sampled_from([0, 0, 0, 1, 300]),
)
def test_random_damage_raises_only_slm_errors(hits: list[tuple[int, bytes]], cut: int) -> None:
    base = bytearray(assemble(small_specs(), CONFIG, small_payloads(), b"token"))
    for at, word in hits:
        base[at : at + len(word)] = word
    found(bytes(base[: len(base) - cut]))  # any other exception than SlmError fails the test
