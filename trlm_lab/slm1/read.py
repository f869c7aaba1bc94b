"""Open an SLM1 file over a buffer: every structural rule is checked, no payload is copied.

    slm1 = open_slm1(memoryview(mapped), read_special_ids, where="model.slm")
    rows = slm1.tensor("norm.weight").decoded(0, 1)

`open_slm1` does not look at the checksum or at stored values; `trlm_lab.slm1.verify` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trlm_lab.errors import Refused, Slm1AlignmentError, Slm1TokenizerError
from trlm_lab.slm1.directory import Placed, read_directory
from trlm_lab.slm1.header import Header, read_header
from trlm_lab.slm1.layout import ALIGN, ENTRY_LEN, header_offset
from trlm_lab.slm1.names import OUTPUT, TOK_EMBEDDINGS
from trlm_lab.slm1.window import Window

#: Elements that are decoded at a time: 16 MB of float32.
SLICE_ELEMENTS = 4 << 20
#: Reads a tokenizer section: its vocabulary and the ids BOS, EOS, PAD, UNK. Raises Refused.
ReadSpecials = Callable[[memoryview], tuple[int, tuple[int, int, int, int]]]


@dataclass(frozen=True)
class Slm1Tensor:
    """One tensor over the file's bytes."""

    placed: Placed
    data: memoryview
    scales: memoryview

    def decoded(self, low: int, high: int) -> NDArray[np.float32]:
        """Some rows as float32, (high - low, cols)."""
        codec, cols, block = self.placed.codec, self.placed.cols, self.placed.entry.block_size
        row, scale_row = codec.row_bytes(cols), codec.scale_bytes(cols, block)
        return codec.decode(
            self.data[low * row : high * row],
            self.scales[low * scale_row : high * scale_row],
            cols,
            block,
        )

    def slices(self) -> Iterator[tuple[int, int]]:
        """Ranges of rows that together are the tensor, about 16 MB of float32 each."""
        step = max(1, SLICE_ELEMENTS // self.placed.cols)
        for low in range(0, self.placed.rows, step):
            yield low, min(low + step, self.placed.rows)

    def check(self) -> None:
        """Refuse values that no writer produces. Raises Slm1ScaleError, Slm1NonFiniteError."""
        codec, cols, block = self.placed.codec, self.placed.cols, self.placed.entry.block_size
        row, scale_row = codec.row_bytes(cols), codec.scale_bytes(cols, block)
        for low, high in self.slices():
            data = self.data[low * row : high * row]
            scales = self.scales[low * scale_row : high * scale_row]
            codec.check(data, scales, cols, block, self.placed.named.name, low)


@dataclass(frozen=True)
class Slm1File:
    """A structurally sound file; `tensors` in directory order, views into the buffer.

    `special_ids` are BOS, EOS, PAD, UNK of the tokenizer.
    """

    where: str
    view: memoryview
    header: Header
    tensors: tuple[Slm1Tensor, ...]
    tokenizer: memoryview
    special_ids: tuple[int, int, int, int]

    def tensor(self, name: str) -> Slm1Tensor:
        """The tensor of this name; of a tied head that is not stored, the embedding."""
        rows = {tensor.placed.named.name: tensor for tensor in self.tensors}
        return rows[TOK_EMBEDDINGS if name == OUTPUT and OUTPUT not in rows else name]


def open_slm1(
    buffer: memoryview | bytes, read_specials: ReadSpecials, *, where: str = ""
) -> Slm1File:
    """Check the whole structure and return views into the buffer.

    Raises:
        Slm1Error: one subclass per broken rule; nothing was allocated by a declared size.
    """
    window = Window(memoryview(buffer).cast("B"), where)
    header = read_header(window)
    _check_sections(window, header)
    end = header.tokenizer_offset + header.tokenizer_length
    tokenizer = window.view[header.tokenizer_offset : end]
    special_ids = _special_ids(window, header, tokenizer, read_specials)
    rows = read_directory(window, header)
    view = window.view
    tensors = tuple(Slm1Tensor(p, view[slice(*p.data)], view[slice(*p.scales)]) for p in rows)
    return Slm1File(where, view, header, tensors, tokenizer, special_ids)


def _check_sections(window: Window, header: Header) -> None:
    """Header, tokenizer, directory and data stand in this order, with zeros between.

    What stands behind the known header is zero, too.
    """
    sections = (
        ("tokenizer_offset", header.tokenizer_offset, header.tokenizer_length, 1),
        (
            "tensor_directory_offset",
            header.tensor_directory_offset,
            ENTRY_LEN * header.tensor_count,
            ALIGN,
        ),
        ("tensor_data_offset", header.tensor_data_offset, 0, ALIGN),
    )
    window.check_range("header_length", header_offset("header_length"), header.header_length, 0, 0)
    at = header.header_length
    window.check_zero("the header's extension", header_offset("checksum") + 8, at)
    for name, start, length, alignment in sections:
        place = header_offset(name)
        window.check_range(name, place, start, length, at)
        if start % alignment:
            raise Slm1AlignmentError(
                where=window.at(place), field=name, got=start, expected=alignment
            )
        window.check_zero(f"the padding before {name}", at, start)
        at = start + length


def _special_ids(
    window: Window, header: Header, section: memoryview, read_specials: ReadSpecials
) -> tuple[int, int, int, int]:
    place = window.at(header.tokenizer_offset)
    try:
        vocab, ids = read_specials(section)
    except Refused as error:
        got = f"at {error.where}: {error.detail}"
        raise Slm1TokenizerError(
            where=place, field="the tokenizer", got=got, expected="a sound BTOK or BPE1"
        ) from error
    if vocab != header.vocab:
        raise Slm1TokenizerError(
            where=place, field="the tokenizer's vocabulary", got=vocab, expected=header.vocab
        )
    return ids
