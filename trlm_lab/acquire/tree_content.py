"""What a file is by its first bytes and its mode, whatever its name says; nothing of it is run."""

from __future__ import annotations

import re
from pathlib import Path

_HEAD = 512
_SCRIPT = b"#!"
#: How such files begin. Where two bytes alone would meet ordinary texts, more of them is asked for.
_KINDS: tuple[tuple[str, re.Pattern[bytes]], ...] = tuple(
    (kind, re.compile(pattern, re.S))
    for kind, pattern in (
        ("an ELF program", rb"\x7fELF"),
        ("a Mach-O program", rb"\xfe\xed\xfa[\xce\xcf]|[\xce\xcf]\xfa\xed\xfe"),
        ("a Java class or a Mach-O program", rb"\xca\xfe\xba\xbe|\xbe\xba\xfe\xca"),
        ("a Windows program", rb"MZ.{0,60}\0"),
        ("a WebAssembly module", rb"\0asm"),
        ("an Android program", rb"dex\n0[0-9][0-9]\0"),
        ("compiled Lua", rb"\x1bLua"),
        ("LLVM code", rb"BC\xc0\xde|\xde\xc0\x17\x0b"),
        ("a library of objects", rb"!<(arch|thin)>\n"),
        ("a pickle", rb"\x80[\x02-\x05]"),
        ("an HDF5 file", rb"\x89HDF\r\n\x1a\n"),
        ("a zip archive", rb"PK(\x03\x04|\x05\x06|\x07\x08)"),
        ("gzip or compress data", rb"\x1f[\x8b\x9d\xa0]"),
        ("xz data", rb"\xfd7zXZ\0"),
        ("zstd data", rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),
        ("lz4 data", rb"\x04\x22\x4d\x18|\x02\x21\x4c\x18"),
        ("bzip2 data", rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),
        ("lzip data", rb"LZIP[\0\x01]"),
        ("a 7z archive", rb"7z\xbc\xaf\x27\x1c"),
        ("a rar archive", rb"Rar!\x1a\x07"),
        ("a cabinet", rb"MSCF\0{4}"),
        ("a cpio archive", rb"07070[127][0-9a-fA-F]{8}|\xc7\x71|\x71\xc7"),
        ("a tar archive", rb".{257}ustar"),
    )
)


def content_problem(path: Path, *, taken: bool) -> str:
    """Why the content or the mode of a file is no plain data, or empty.

    A document that is `taken` may begin as a script does, a list of merges for one, and have any
    mode: its reader refuses what it is not.
    """
    with path.open("rb") as stream:
        head = stream.read(_HEAD)
    kind = next((kind for kind, pattern in _KINDS if pattern.match(head)), "")
    if kind:
        return f"by its first bytes this is {kind}"
    if taken:
        return ""
    if head.startswith(_SCRIPT):
        return "by its first bytes this is a script"
    if path.stat().st_mode & 0o111:
        return "its mode lets it be run (chmod -x takes that away)"
    return ""
