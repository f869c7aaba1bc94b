"""A committed file: its hash, its bytes at offsets counted by hand, and that writing gives it."""

import hashlib
import struct
from pathlib import Path

import pytest

from trlm_lab.slm.read import open_slm
from trlm_lab.slm.verify import verify_all

GOLDEN = Path(__file__).parent / "golden" / "small.slm"
SHA256 = "1481a3e87d6956e77eb4d8498044bef5eccabd8ae88ede6823f62a1a0cf8fbdb"


@pytest.fixture(scope="module")
def golden() -> bytes:
    return GOLDEN.read_bytes()


def test_hash_and_soundness(golden: bytes) -> None:
    assert hashlib.sha256(golden).hexdigest() == SHA256
    verify_all(open_slm(golden))


def test_writing_gives_the_golden_bytes(golden: bytes, small: bytes) -> None:
    assert small == golden


def test_header_by_hand(golden: bytes) -> None:
    assert golden[:16].hex() == "534c4d32020000000001000000000000"
    assert struct.unpack_from("<Q6I", golden, 16) == (0, 7, 1, 2, 1, 4, 5)
    # Strings at 256: 4 + 5 * 8 + 22 bytes; the configuration on the next multiple of 16.
    assert struct.unpack_from("<Q", golden, 208) == (256,)
    assert struct.unpack_from("<I", golden, 92) == (4 + 5 * 8 + len("embednormhalfbrainhead"),)
    (config_off,) = struct.unpack_from("<Q", golden, 216)
    (config_len,) = struct.unpack_from("<I", golden, 108)
    assert config_off == 336
    directory, count, size, reserved = struct.unpack_from("<QIHH", golden, 64)
    assert (directory, count, size, reserved) == (-(-(336 + config_len) // 16) * 16, 5, 128, 0)
    tokenizer = directory + 5 * 128
    assert struct.unpack_from("<QQ", golden, 112) == (tokenizer, 5)
    assert golden[tokenizer : tokenizer + 5] == b"token"
    pieces = tokenizer + 16
    assert struct.unpack_from("<QI", golden, 80) == (pieces, 1)
    assert struct.unpack_from("<QI", golden, 96) == (pieces + 64, 1)
    assert struct.unpack_from("<Q", golden, 224) == (4096,)
    assert struct.unpack_from("<Q", golden, 128) == (len(golden),)
    assert golden[200:208] == bytes(8)
    assert golden[232:256] == bytes(24)


def test_strings_by_hand(golden: bytes) -> None:
    spans = [0, 5, 5, 4, 9, 4, 13, 5, 18, 4]
    assert struct.unpack_from("<I10I", golden, 256) == (5, *spans)
    assert golden[300:322] == b"embednormhalfbrainhead"


def test_descriptors_by_hand(golden: bytes) -> None:
    (directory,) = struct.unpack_from("<Q", golden, 64)
    form = "<I4HIBBH6II QQQQI I II 16s I 12s".replace(" ", "")
    rows = [struct.unpack_from(form, golden, directory + 128 * i) for i in range(5)]
    dims = [(7, 8, 0), (8, 0, 0), (2, 3, 0), (2, 2, 3), (7, 8, 0)]
    none = 0xFFFFFFFF
    # The body starts at 4096: 7 rows of 64 codes, 14 bytes of scales 64-aligned, then the others.
    assert rows[0] == (0, 1, 4, 0, 1, 0, 2, 2, 0, *dims[0], 0, 0, 0, 0,
                       448, 4096, 448, 4544, 14, none, 0, 1, rows[0][24], 64,
                       bytes(12))  # fmt: skip
    assert rows[1] == (1, 11, 1, 0, 0, 0, 1, 1, 0, *dims[1], 0, 0, 0, 0,
                       32, 4608, 32, 0, 0, none, 0, 1, rows[1][24], 32, bytes(12))  # fmt: skip
    assert rows[2] == (2, 0, 2, 0, 0, 0, 2, 2, 0, *dims[2], 0, 0, 0, 0,
                       12, 4672, 12, 0, 0, none, 0, 1, rows[2][24], 6, bytes(12))  # fmt: skip
    assert rows[3] == (3, 0, 3, 0, 0, 0, 3, 3, 0, *dims[3], 0, 0, 0, 0,
                       24, 4736, 24, 0, 0, none, 0, 1, rows[3][24], 6, bytes(12))  # fmt: skip
    assert rows[4] == (4, 12, 4, 1, 0, 1, 2, 2, 0, *dims[4], 0, 0, 0, 0,
                       448, 0, 0, 0, 0, 0, 0, 0, rows[0][24], 0, bytes(12))  # fmt: skip
    payload = golden[4096:4544] + golden[4544:4558]
    assert rows[0][24] == hashlib.sha256(payload).digest()[:16]
    assert rows[1][24] == hashlib.sha256(golden[4608:4640]).digest()[:16]


def test_tables_and_hashes_by_hand(golden: bytes) -> None:
    (pieces,) = struct.unpack_from("<Q", golden, 80)
    body = golden[4096:]
    assert len(body) == 4736 + 24 - 4096
    piece = struct.unpack_from("<IIQII32s", golden, pieces)
    assert piece == (0, 0, 4096, len(body), len(body), hashlib.sha256(body).digest())
    shard = struct.unpack_from("<IHHIQ32s", golden, pieces + 64)
    assert shard == (0, 0, 0, 0, len(body), hashlib.sha256(body).digest())
    assert golden[168:200] == hashlib.sha256(b"\0" + body).digest()
    blank = golden[:136] + bytes(72) + golden[208:]
    assert golden[136:168] == hashlib.sha256(blank).digest()
