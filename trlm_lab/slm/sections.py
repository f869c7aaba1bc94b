"""Where the front sections of an SLM2 file stand, and the checks of their order and padding."""

from __future__ import annotations

from dataclasses import dataclass

from trlm_lab.errors import SlmAlignmentError, SlmOverlapError
from trlm_lab.slm.header import Header
from trlm_lab.slm.layout import (
    BODY_ALIGN,
    HEADER,
    HEADER_LEN,
    PIECE_DESC,
    SHARD_DESC,
    TABLE_ALIGN,
    TENSOR_DESC,
)
from trlm_lab.slm.window import Window


@dataclass(frozen=True)
class Section:
    """A section: the header field of its offset, its start, length in bytes and alignment."""

    field: str
    start: int
    length: int
    alignment: int

    @property
    def end(self) -> int:
        """First byte after it."""
        return self.start + self.length


def sections_of(header: Header) -> list[Section]:
    """The front sections and the body, in the only allowed order."""
    return [
        Section("string_table_off", header.string_table_off, header.string_table_len, 1),
        Section("config_off", header.config_off, header.config_len, 1),
        Section(
            "tensor_dir_off",
            header.tensor_dir_off,
            header.tensor_count * TENSOR_DESC.size,
            TABLE_ALIGN,
        ),
        Section("tokenizer_off", header.tokenizer_off, header.tokenizer_len, 1),
        Section(
            "piece_table_off",
            header.piece_table_off,
            header.piece_count * PIECE_DESC.size,
            TABLE_ALIGN,
        ),
        Section(
            "shard_table_off",
            header.shard_table_off,
            header.shard_count * SHARD_DESC.size,
            TABLE_ALIGN,
        ),
        Section("body_off", header.body_off, header.body_len, BODY_ALIGN),
    ]


def check_sections(window: Window, header: Header) -> None:
    """Every section lies in the file, in order, aligned, with zeros between.

    An empty section may have the offset 0 instead of its place in the order.

    Raises:
        SlmRangeError, SlmAlignmentError, SlmOverlapError, SlmReservedError.
    """
    at = HEADER_LEN
    for section in sections_of(header):
        place = HEADER.offset(section.field)
        if section.length == 0 and section.start == 0:
            continue
        window.check_range(
            section.field, place, section.start, section.length, (0, header.artifact_len)
        )
        if section.start < at:
            raise SlmOverlapError(
                where=window.at(place), field=section.field, got=section.start, expected=at
            )
        if section.start % section.alignment:
            raise SlmAlignmentError(
                where=window.at(place),
                field=section.field,
                got=section.start,
                expected=section.alignment,
            )
        window.check_zero(f"the padding before {section.field}", at, section.start)
        at = section.end
