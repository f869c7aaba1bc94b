"""Character classes and cases as Python's texts have them, as tables for the Rust renderer.

python tools/chat_unicode_tables.py [--check]

Every scalar is asked, nothing is taken from a data file: what counts is the language that the
source's renderer runs on. The committed tables are those of Unicode 14.0 (Python 3.11); with
`--check` they are compared, and exit status 1 says that they differ.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "kernels_ref" / "src" / "chat" / "unicode"
VERSION = "14.0.0"
SCALARS = [*map(chr, range(0xD800)), *map(chr, range(0xE000, 0x110000))]


def _ignorable(character: str) -> bool:
    """Found by what happens to a sigma: after a letter it is final, alone it is not."""
    behind, alone = f"a{character}\u03a3".lower(), f"{character}\u03a3".lower()
    return behind.endswith("\u03c2") and not alone.endswith("\u03c2")


CLASSES: dict[str, tuple[str, Callable[[str], bool]]] = {
    "ALPHABETIC": ("Letters: `str.isalpha`.", str.isalpha),
    "NUMERIC": ("Whatever has a number: `str.isnumeric`.", str.isnumeric),
    "DIGIT": ("Digits of every kind: `str.isdigit`.", str.isdigit),
    "LOWERCASE": ("`str.islower` of one character.", str.islower),
    "UPPERCASE": ("`str.isupper` of one character.", str.isupper),
    "TITLECASE": (
        "`str.istitle` of one character that is no upper-case one.",
        lambda c: c.istitle() and not c.isupper(),
    ),
    "CASE_IGNORABLE": ("What a final sigma looks through.", _ignorable),
    "UNPRINTABLE": ("What `repr` escapes.", lambda c: not c.isprintable()),
}


def runs(codes: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Maximal ranges, both ends inside."""
    start = last = -2
    for code in codes:
        if code != last + 1:
            if start >= 0:
                yield start, last
            start = code
        last = code
    if start >= 0:
        yield start, last


Pair = tuple[str, str]


def changes(pairs: Iterable[Pair]) -> list[tuple[int, int, int, int]]:
    """Runs of (first, last, step, distance) of characters that become one other character."""
    found: list[tuple[int, int, int, int]] = []
    for character, made in pairs:
        if len(made) > 1:
            continue
        code, distance = ord(character), ord(made) - ord(character)
        if found and found[-1][3] == distance:
            first, last, step, _ = found[-1]
            if code - last == step or (first == last and code - last <= 2):
                found[-1] = (first, code, code - last, distance)
                continue
        found.append((code, code, 1, distance))
    return found


def several(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Characters that become several."""
    return ((character, made) for character, made in pairs if len(made) > 1)


def rows(items: Iterable[str]) -> str:
    """Items in lines of at most 100 columns."""
    lines, line = [], "   "
    for item in items:
        if len(line) + len(item) + 2 > 100:
            lines.append(line)
            line = "   "
        line += f" {item},"
    return "\n".join([*lines, line])


def table(name: str, what: str, kind: str, items: Iterable[str]) -> str:
    """One static table."""
    return f"/// {what}\n#[rustfmt::skip]\npub static {name}: &[{kind}] = &[\n{rows(items)}\n];\n"


def head(what: str) -> str:
    """The first lines of a file."""
    made = "Made by `tools/chat_unicode_tables.py`; do not edit."
    return f"//! {what}, Unicode {VERSION} as Python has it.\n//!\n//! {made}\n"


def classes() -> str:
    """`classes.rs`."""
    parts = [head("Classes of characters")]
    for name, (what, holds) in CLASSES.items():
        found = runs(ord(c) for c in SCALARS if holds(c))
        what += " Ranges, both ends inside."
        parts.append(table(name, what, "(u32, u32)", (f"(0x{a:x}, 0x{b:x})" for a, b in found)))
    zeros = (f"0x{ord(c):x}" for c in SCALARS if unicodedata.decimal(c, None) == 0)
    parts.append(table("ZERO", "The zeros; nine digits follow each.", "u32", zeros))
    return "\n".join(parts)


def cases() -> str:
    """`cases.rs`."""
    parts = [head("Cases of characters")]
    pairs = {
        "LOWER": [(c, c.lower()) for c in SCALARS if c.lower() != c],
        "UPPER": [(c, c.upper()) for c in SCALARS if c.upper() != c],
        "TITLE": [(c, c.title()) for c in SCALARS if c.title() != c.upper()],
    }
    for name, held in pairs.items():
        what = f"{name.title()} case: first, last, step and distance."
        if name == "TITLE":
            what += " Only where it is not the upper case."
        found = (f"(0x{a:x}, 0x{b:x}, {s}, {d})" for a, b, s, d in changes(held))
        parts.append(table(name, what, "(u32, u32, u32, i32)", found))
        many = (f"(0x{ord(c):x}, {rust(made)})" for c, made in several(held))
        what = f"{name.title()} case of characters that become several."
        parts.append(table(f"{name}_SEVERAL", what, "(u32, &str)", many))
    return "\n".join(parts)


def rust(text: str) -> str:
    """A string literal."""
    return '"' + "".join(f"\\u{{{ord(c):x}}}" for c in text) + '"'


def main(arguments: list[str]) -> int:
    """Write or compare."""
    if unicodedata.unidata_version != VERSION:
        print(f"this Python has Unicode {unicodedata.unidata_version}, not {VERSION}")
        return 2
    made = {"classes.rs": classes(), "cases.rs": cases()}
    if arguments == ["--check"]:
        return int(any((FOLDER / name).read_text() != text for name, text in made.items()))
    for name, text in made.items():
        (FOLDER / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
