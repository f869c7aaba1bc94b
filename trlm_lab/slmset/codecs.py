"""Codecs of pieces: one zstd frame or one brotli stream each, decoded within the declared size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import brotli
import zstandard

from trlm_lab.errors import (
    SlmsetDecodeError,
    SlmsetTooLongError,
    SlmsetTooShortError,
    SlmsetUnsupportedError,
)
from trlm_lab.slm.numbers import Codec
from trlm_lab.slmset.layout import MAX_PIECE

ZSTD_LEVEL = 10
BROTLI_QUALITY = 9
#: Brotli's window; a piece is no longer.
_BROTLI_WINDOW = 20


@dataclass(frozen=True)
class PieceCodec:
    """`encode` makes one frame; `decode(stored, size)` yields at most `size` + 1 bytes of one."""

    encode: Callable[[bytes], bytes]
    decode: Callable[[bytes, int], bytes]


def _zstd_encode(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=False).compress(data)


def _zstd_decode(stored: bytes, size: int) -> bytes:
    """The first pass reads no more than a byte too many; the second, now bounded, finds the end."""
    limited = zstandard.ZstdDecompressor(max_window_size=MAX_PIECE)
    try:
        with limited.stream_reader(stored, read_across_frames=False) as reader:
            found: bytes = reader.read(size + 1)
        if len(found) > size:
            return found
        whole = limited.decompressobj()
        whole.decompress(stored)
    except zstandard.ZstdError as error:
        raise _broken("zstd", str(error)) from error
    if not whole.eof or whole.unused_data:
        raise _broken("zstd", "a frame that is cut short, or bytes behind it")
    return found


def _brotli_encode(data: bytes) -> bytes:
    encoded: bytes = brotli.compress(data, quality=BROTLI_QUALITY, lgwin=_BROTLI_WINDOW)
    return encoded


def _brotli_decode(stored: bytes, size: int) -> bytes:
    decoder, found, given = brotli.Decompressor(), bytearray(), stored
    try:
        while len(found) <= size:
            part = decoder.process(given, output_buffer_limit=size + 1 - len(found))
            found += part
            given = b""
            if decoder.is_finished() or (not part and decoder.can_accept_more_data()):
                break
    except brotli.error as error:
        raise _broken("brotli", str(error)) from error
    if len(found) <= size and not decoder.is_finished():
        raise _broken("brotli", "a stream that is cut short")
    return bytes(found)


def _broken(codec: str, detail: str) -> SlmsetDecodeError:
    return SlmsetDecodeError(field=f"the {codec} piece", got=detail, expected="one whole frame")


CODECS: dict[Codec, PieceCodec] = {
    Codec.none: PieceCodec(lambda data: data, lambda stored, size: stored),
    Codec.zstd: PieceCodec(_zstd_encode, _zstd_decode),
    Codec.brotli: PieceCodec(_brotli_encode, _brotli_decode),
}


def decode_piece(codec: Codec, stored: bytes, size: int, where: str) -> bytes:
    """Exactly `size` bytes; the caller has checked `size` against the policy.

    Raises:
        SlmsetDecodeError: not one whole frame of the codec.
        SlmsetTooLongError, SlmsetTooShortError: another number of bytes.
        SlmsetUnsupportedError: no such codec.
    """
    if codec not in CODECS:
        known = ", ".join(one.name for one in CODECS)
        raise SlmsetUnsupportedError(where=where, field="codec", got=int(codec), expected=known)
    try:
        found = CODECS[codec].decode(stored, size)
    except SlmsetDecodeError as error:
        raise SlmsetDecodeError(where=where, **error.facts) from error
    if len(found) > size:
        raise SlmsetTooLongError(
            where=where, field="the decoded piece", got="a byte more", expected=f"{size} bytes"
        )
    if len(found) < size:
        raise SlmsetTooShortError(
            where=where, field="the decoded piece", got=len(found), expected=f"{size} bytes"
        )
    return found
