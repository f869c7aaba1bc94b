"""Every changed byte of a small file is found and every cut refused, by error classes alone."""

from dataclasses import replace

from trlm_lab.slm1.checksum import OUR_CHECKSUM
from trlm_lab.slm1.codecs import DType
from trlm_lab.slm1.verify import verify_checksum

from .made import LITTLE, SHAPE, code_of, made, opened


def test_every_flipped_byte_is_found() -> None:
    data = made(DType.q4_0, LITTLE)
    assert code_of(data) == ""
    changed, missed = bytearray(data), []
    for at in range(len(data)):
        changed[at] ^= 1 << at % 8
        if not code_of(bytes(changed)):
            missed.append(at)
        changed[at] ^= 1 << at % 8
    assert missed == []


def test_every_cut_is_refused() -> None:
    data = made(DType.q8_0, replace(LITTLE, flags=1))
    assert [size for size in range(len(data)) if not code_of(data[:size])] == []


def test_the_checksum_is_the_same_however_the_bytes_come() -> None:
    data = made(DType.q4_0, SHAPE)
    stored = opened(data).header.checksum
    for step in (1, 3, 64, 101, 4096):
        running = OUR_CHECKSUM.start()
        for low in range(0, len(data), step):
            running.update(data[low : low + step])
        assert running.finish() == stored, step
    assert verify_checksum(opened(data)) == "trlm-checksum64-v1"
