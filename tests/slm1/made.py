"""Small SLM1 files, and a way to change a field and seal the file again."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.errors import Slm1Error
from trlm_lab.slm1.checksum import OUR_CHECKSUM
from trlm_lab.slm1.codecs import DType
from trlm_lab.slm1.header import Header, bits_of_float
from trlm_lab.slm1.layout import CHECKSUM_SPAN, ENTRY_OFFSETS, HEADER_FIELDS, header_offset
from trlm_lab.slm1.names import NamedTensor
from trlm_lab.slm1.read import Slm1File, open_slm1
from trlm_lab.slm1.verify import verify_all
from trlm_lab.slm1.write import assemble
from trlm_lab.text.slm1 import Bpe1, Btok, Specials, special_ids, write_bpe1, write_btok

BTOK = write_btok(Btok())
#: Eight ids, two of them bytes.
BPE1 = write_bpe1(Bpe1(8, Specials(0, 1, 2, 3), {4: b"a", 5: b"b", 6: b"ab"}, {(4, 5): (0, 6)}))
#: Grouped queries, a head width of its own, every size different.
SHAPE = Header(
    flags=0, vocab=260, hidden=6, layers=1, heads=4, kv_heads=2, head_dim=2, ffn=10,
    max_context=16, rope_theta_bits=bits_of_float(1e4), rms_eps_bits=bits_of_float(1e-5),
    tokenizer_offset=0, tokenizer_length=0, tensor_directory_offset=0, tensor_count=0,
    tensor_data_offset=0,
)  # fmt: skip
TIED = replace(SHAPE, flags=1)
#: Of BPE1's vocabulary: a file of 4 KB.
LITTLE = replace(SHAPE, vocab=8, hidden=2, heads=2, kv_heads=1, ffn=2)
#: The published shape of 17,048,064 parameters.
KNOWN = replace(
    SHAPE, hidden=512, layers=4, heads=8, kv_heads=8, head_dim=64, ffn=2048, max_context=512
)


def weights(named: NamedTensor) -> NDArray[np.float32]:
    """Seeded values by name; norms near 1."""
    seed = sum(named.name.encode()) + 1000 * len(named.name)
    values = np.random.default_rng(seed).random(named.dims, np.float32) - np.float32(0.5)
    return values + np.float32(len(named.dims) == 1)


def made(dtype: DType = DType.q8_0, shape: Header = SHAPE, *, block: int = 2) -> bytes:
    """A whole file, with the tokenizer of the shape's vocabulary."""
    return assemble(shape, dtype, BPE1 if shape.vocab == 8 else BTOK, weights, block=block)


def opened(data: bytes) -> Slm1File:
    """The file, with everything checked."""
    slm1 = open_slm1(data, special_ids, where="bad.slm")
    verify_all(slm1)
    return slm1


def sealed(data: bytes) -> bytes:
    """The file with the checksum of its bytes."""
    running = OUR_CHECKSUM.start()
    running.update(data)
    low, high = CHECKSUM_SPAN
    return data[:low] + struct.pack("<Q", running.finish()) + data[high:]


def patched(data: bytes, name: str, value: int, *, entry: int | None = None) -> bytes:
    """One field of the header, or of an entry, changed and the file sealed again."""
    if entry is None:
        at, code = header_offset(name), dict(HEADER_FIELDS)[name]
    else:
        directory = struct.unpack_from("<Q", data, header_offset("tensor_directory_offset"))[0]
        wide = ("name_hash", "byte_offset", "byte_length", "scale_offset")
        at, code = directory + 64 * entry + ENTRY_OFFSETS[name], "Q" if name in wide else "I"
    raw = struct.pack("<" + code, value)
    return sealed(data[:at] + raw + data[at + len(raw) :])


def code_of(data: bytes, **options: Any) -> str:
    """The code that the reader refuses with, or an empty text."""
    try:
        opened(data, **options)
    except Slm1Error as error:
        return error.code if error.remedy and error.where else "without a place or a fix"
    return ""
