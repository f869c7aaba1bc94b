"""The visible characters that byte-level tokenizers write bytes with.

Source of facts: GPT-2's encoder. Bytes that Latin-1 shows keep their character, the others follow
each other from U+0100 on.
"""

from __future__ import annotations

_SHOWN = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
_HIDDEN = [byte for byte in range(256) if byte not in _SHOWN]

#: Character of each byte.
CHARS: tuple[str, ...] = tuple(
    chr(byte) if byte in _SHOWN else chr(0x100 + _HIDDEN.index(byte)) for byte in range(256)
)
#: Byte of each character.
BYTES: dict[str, int] = {char: byte for byte, char in enumerate(CHARS)}
#: The space.
SPACE = CHARS[0x20]
_ASCII = {byte: CHARS[byte] for byte in range(0x80)}


def ascii_visible(text: str) -> str:
    """ASCII in visible characters, one for one."""
    return text.translate(_ASCII)


def visible(char: str) -> str:
    """The UTF-8 bytes of one scalar in visible characters."""
    return "".join([CHARS[byte] for byte in char.encode()])


def joined(texts: list[str]) -> bytes:
    """The bytes of visible texts; a text with any other character stands for its own UTF-8."""
    out = bytearray()
    for text in texts:
        codes = [BYTES.get(char, -1) for char in text]
        out += text.encode("utf-8", "surrogateescape") if -1 in codes else bytes(codes)
    return bytes(out)
