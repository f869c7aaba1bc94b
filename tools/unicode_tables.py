#!/usr/bin/env python3
"""Read the character tables out of the pinned `tokenizers` engine by asking it for all scalars.

python tools/unicode_tables.py          write trlm_lab/text/tables/data.py
python tools/unicode_tables.py --check  compare only; exit status 1 where they differ
python tools/unicode_tables.py --report differences from this Python's unicodedata
"""

from __future__ import annotations

import base64
import hashlib
import json
import runpy
import struct
import sys
import unicodedata
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models
from tokenizers import normalizers as norm
from tokenizers import pre_tokenizers as pre

SCALARS = [*range(0xD800), *range(0xE000, 0x110000)]
CHARS = [chr(code) for code in SCALARS]
TEXT = "".join(CHARS)
# fmt: off
CATEGORIES = [
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
    "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cn",
]
SCRIPTS = [
    "Han", "Hiragana", "Katakana", "Hangul", "Latin", "Greek", "Cyrillic", "Arabic", "Hebrew",
    "Thai", "Devanagari",
]
# fmt: on
CLASSES = {
    "onig_space": r"\s",
    "onig_word": r"\w",
    # Inside brackets the engine leaves out some numbers that it counts as word characters alone.
    "onig_word_in_class": r"[\w]",
    "onig_digit": r"\d",
    "onig_alphabetic": r"\p{Alphabetic}",
    **{f"onig_{name}": rf"\p{{{name}}}" for name in SCRIPTS},
}  # fmt: skip
OUT = Path(__file__).resolve().parents[1] / "trlm_lab" / "text" / "tables" / "data.py"


def matched(pattern: str) -> set[int]:
    """Scalars that a pattern of one scalar matches."""
    rest = pre.Split(Regex(pattern), "removed").pre_tokenize_str(TEXT)
    out = set(SCALARS)
    for piece, _ in rest:
        out.difference_update(map(ord, piece))
    return out


def separated(stage: Any) -> set[int]:
    """Scalars that a stage takes out between two letters, or makes a piece of their own."""
    return {ord(c) for c in CHARS if len(stage.pre_tokenize_str(f"a{c}a")) > 1}


def removed(stage: Any) -> set[int]:
    """Scalars of which a normalizer leaves nothing."""
    return {ord(c) for c in CHARS if stage.normalize_str(f"a{c}a") == "aa"}


def mapping(function: Callable[[str], str]) -> dict[int, str]:
    """Scalars that a normalizer turns into something else."""
    return {ord(c): got for c in CHARS if (got := function(c)) != c}


def word_of_added_tokens() -> set[int]:
    """Scalars beside which a single_word token is not taken."""
    engine = Tokenizer(models.WordLevel({"[U]": 0}, unk_token="[U]"))
    engine.add_tokens([AddedToken("q", single_word=True, normalized=False)])
    found = set()
    for start in range(0, len(CHARS), 4096):
        rows = [f"q{c}" for c in CHARS[start : start + 4096]]
        for row, encoding in zip(rows, engine.encode_batch(rows), strict=True):
            if encoding.ids[0] != 1:
                found.add(ord(row[1]))
    return found


def space_of_added_tokens() -> set[int]:
    """Scalars that an rstrip token takes along."""
    engine = Tokenizer(models.WordLevel({"[U]": 0}, unk_token="[U]"))
    engine.add_tokens([AddedToken("q", rstrip=True, normalized=False)])
    found = set()
    for start in range(0, len(CHARS), 4096):
        rows = [f"q{c}" for c in CHARS[start : start + 4096]]
        for row, encoding in zip(rows, engine.encode_batch(rows), strict=True):
            if encoding.offsets[0] == (0, 2):
                found.add(ord(row[1]))
    return found


def combining_classes() -> dict[int, int]:
    """Canonical combining classes, by how the engine orders each mark against one of each class."""
    order = norm.NFD().normalize_str

    def above(left: str, right: str) -> bool:
        return order(f"a{left}{right}") == f"a{right}{left}" and left != right

    lowest, highest = "\u0334", "\u0345"
    moving = [
        c for c in CHARS
        if c in (lowest, highest) or (order(c) == c and (above(c, lowest) or above(highest, c)))
    ]  # fmt: skip
    # One mark a class for those that the engine knows: its Unicode may be older than Python's.
    first: dict[int, str] = {}
    for c in moving:
        first.setdefault(unicodedata.combining(c), c)
    ranks = sorted(first)
    out = {}
    for c in moving:
        lower = [rank for rank in ranks if above(c, first[rank])]
        upper = [rank for rank in ranks if above(first[rank], c)]
        same = [rank for rank in ranks if rank not in lower and rank not in upper]
        assert len(same) == 1, (hex(ord(c)), same)
        out[ord(c)] = same[0]
    return out


def compositions(canonical: dict[int, str]) -> dict[str, str]:
    """Pairs that the engine composes, Hangul syllables left out (they are arithmetic)."""
    compose = norm.NFC().normalize_str
    out = {}
    for code, full in canonical.items():
        if len(full) < 2 or 0xAC00 <= code < 0xD7A4 or compose(chr(code)) != chr(code):
            continue
        pair = compose(full[:-1]) + full[-1]
        assert len(pair) == 2, hex(code)
        assert compose(pair) == chr(code), hex(code)
        out[pair] = chr(code)
    return out


def scripts() -> list[tuple[int, int]]:
    """Runs (end, group) of scalars that UnicodeScripts keeps in one piece; 0 joins all."""
    stage = pre.UnicodeScripts()

    def together(left: str, right: str) -> bool:
        return len(stage.pre_tokenize_str(left + right)) == 1

    joins = {ord(c) for c in CHARS if together("a", c) and together("\u0434", c)}
    seen: list[str] = []
    runs: list[tuple[int, int]] = []
    previous, group = "", 0
    for c in CHARS:
        if ord(c) in joins:
            now = 0
        elif group and together(previous, c):
            now = group
        else:
            now = next((i + 1 for i, one in enumerate(seen) if together(one, c)), 0)
            if not now:
                seen.append(c)
                now = len(seen)
        if now:
            previous = c
        if runs and runs[-1][1] == now:
            runs[-1] = (ord(c) + 1, now)
        else:
            runs.append((ord(c) + 1, now))
        group = now
    return runs


def by_first_byte(leading: Iterable[int]) -> Callable[[str], str]:
    """A Precompiled normalizer that writes X for what begins with one of these bytes.

    It takes clusters of fewer than six bytes as a whole, so that its answer shows their borders.
    """
    units = [0] * 1024
    units[0] = 256 << 10
    for byte in leading:
        units[256 ^ byte] = (512 << 10) | (1 << 8) | byte
        units[768 ^ byte] = 1 << 31
    table = struct.pack("<1025I", 4096, *units) + b"X\0"
    return norm.Precompiled(table).normalize_str


def graphemes() -> dict[str, list[int]]:
    """Sets that decide the borders of short grapheme clusters, by what the engine merges."""
    letter, acute = by_first_byte([0x61]), by_first_byte([0xCC])
    beyond = by_first_byte([b for b in range(0xC2, 0xF5) if b != 0xCC])
    sign, acute_mark, stroke = by_first_byte([0xC2]), "\u0301", "\u094d"
    joined = {ord(c) for c in CHARS if letter(f"a{c}") == "X"}
    inner = [chr(c) for c in sorted(joined)]
    ka = f"\u0915{acute_mark}"
    found = {
        "joined": joined,
        "prepend": {ord(c) for c in CHARS[0x80:] if c not in inner and beyond(f"{c}a") == "X"},
        "control": {ord(c) for c in CHARS if acute(f"{c}{acute_mark}\u0323") == f"{c}X"},
        "pictographic": {
            ord(c) for c in CHARS
            if ord(c) not in joined and sign(f"\xa9\u200d{c}").startswith("X\u200d")
        },
        "consonant": {ord(c) for c in CHARS if beyond(f"{c}{stroke}{ka}").endswith(acute_mark)},
        "linker": {ord(c) for c in inner if beyond(f"\u0915{c}{ka}").endswith(acute_mark)},
        "middle": {ord(c) for c in inner if beyond(f"\u0915{stroke}{c}{ka}").endswith(acute_mark)},
    }  # fmt: skip
    return {f"grapheme_{name}": lengths(rows) for name, rows in found.items()}


def lengths(found: Iterable[int]) -> list[int]:
    """A set as lengths of runs, alternately outside and inside."""
    out: list[int] = []
    at, inside = 0, False
    members = set(found)
    for code in (*SCALARS, 0x110000):
        # The gap of the surrogates belongs to what is before it.
        if (code in members) != inside or code == 0x110000:
            out.append(code - at)
            at, inside = code, not inside
    return out


def categories() -> list[list[int]]:
    """Runs [length, category] of the general categories of the regular expressions."""
    owner: dict[int, int] = {}
    for number, name in enumerate(CATEGORIES):
        owner.update(dict.fromkeys(matched(rf"\p{{{name}}}"), number))
    assert len(owner) == len(SCALARS)
    runs: list[list[int]] = []
    for code in SCALARS:
        if code == 0xE000:
            # The gap of the surrogates belongs to what is before it.
            runs[-1][0] += 0x800
        if runs and runs[-1][1] == owner[code]:
            runs[-1][0] += 1
        else:
            runs.append([1, owner[code]])
    return runs


def probed() -> dict[str, Any]:
    """Every table, as JSON values."""
    canonical = mapping(norm.NFD().normalize_str)
    compatible = mapping(norm.NFKD().normalize_str)
    hangul = range(0xAC00, 0xD7A4)
    bert = {"clean_text": True, "handle_chinese_chars": False, "strip_accents": False}
    clean = norm.BertNormalizer(**bert, lowercase=False)
    chinese = norm.BertNormalizer(False, True, False, False)
    accents = norm.BertNormalizer(False, False, True, False)
    spaces = {ord(c) for c in CHARS if clean.normalize_str(f"a{c}a") == "a a"}
    tables: dict[str, Any] = {name: lengths(matched(text)) for name, text in CLASSES.items()}
    tables["onig_category"] = categories()
    tables["onig_folds"] = {
        chr(code): sorted(matched(f"(?i:{chr(code)})")) for code in range(ord("a"), ord("z") + 1)
    }
    word = pre.Whitespace()
    joined = {ord(c) for c in CHARS if len(word.pre_tokenize_str(f"a{c}")) == 1}
    alone = {ord(c) for c in CHARS if len(word.pre_tokenize_str(f"a{c}")) == 2}
    white = set(SCALARS) - {c for c in joined if word.pre_tokenize_str(f"a{chr(c)}")[0][1][1] == 2}
    tables["rust_space"] = lengths(separated(pre.WhitespaceSplit()))
    tables["rust_numeric"] = lengths(separated(pre.Digits()))
    tables["rust_punctuation"] = lengths(separated(pre.Punctuation()))
    tables["bert_boundary"] = lengths(separated(pre.BertPreTokenizer()))
    tables["regex_word"] = lengths(set(SCALARS) - white)
    tables["regex_space"] = lengths(white - alone)
    tables["added_word"] = lengths(word_of_added_tokens())
    tables["added_space"] = lengths(space_of_added_tokens())
    tables["strip_space"] = lengths({ord(c) for c in CHARS if norm.Strip().normalize_str(c) == ""})
    tables["bert_removed"] = lengths(removed(clean))
    tables["bert_space"] = lengths(spaces)
    tables["bert_chinese"] = lengths(
        {ord(c) for c in CHARS if chinese.normalize_str(c) == f" {c} "}
    )
    tables["bert_nonspacing"] = lengths(removed(accents))
    tables["accents"] = lengths(removed(norm.StripAccents()))
    tables["nmt_removed"] = lengths(removed(norm.Nmt()))
    tables["nmt_space"] = lengths({ord(c) for c in CHARS if norm.Nmt().normalize_str(c) == " "})
    tables |= graphemes()
    tables["lower"] = mapping(norm.Lowercase().normalize_str)
    tables["canonical"] = {c: t for c, t in canonical.items() if c not in hangul}
    tables["compatible"] = {
        c: t for c, t in compatible.items() if c not in hangul and canonical.get(c) != t
    }
    tables["combining"] = combining_classes()
    tables["composed"] = compositions(canonical)
    tables["scripts"] = [list(run) for run in scripts()]
    return tables


def packed(value: Any) -> str:
    raw = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    return base64.b85encode(zlib.compress(raw, 9)).decode()


def rendered(tables: dict[str, Any]) -> str:
    """The module with the tables and their hash."""
    tables = json.loads(json.dumps(tables))
    canon = json.dumps(tables, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    lines = [
        '"""Character tables read out of the source engine; written by tools/unicode_tables.py."""',
        "",
        f'ENGINE = "tokenizers {tokenizers.__version__}"',
        "#: Of the JSON form of all tables, keys sorted, no spaces.",
        f'SHA256 = "{hashlib.sha256(canon).hexdigest()}"',
        "PACKED = {",
    ]
    for name in sorted(tables):
        text = packed(tables[name])
        lines.append(f'    "{name}": (')
        lines += [f'        "{text[i : i + 88]}"' for i in range(0, len(text), 88)]
        lines.append("    ),")
    return "\n".join([*lines, "}", ""])


def report(tables: dict[str, Any]) -> list[str]:
    """How far the engine's tables are from this Python's unicodedata."""
    rows = []
    at = 0
    owner = {}
    for length, number in tables["onig_category"]:
        owner.update(dict.fromkeys(range(at, at + length), CATEGORIES[number]))
        at += length
    differing = [c for c in SCALARS if owner[c] != unicodedata.category(chr(c))]
    old = [c for c in differing if unicodedata.category(chr(c)) != "Cn"]
    rows.append(f"general category: {len(differing)} scalars, {len(old)} assigned in Python's")
    rows += [f"  U+{c:04X} {owner[c]} {unicodedata.category(chr(c))}" for c in old[:40]]
    for name, form in (("canonical", "NFD"), ("compatible", "NFKD")):
        own = {int(c): t for c, t in tables["canonical"].items()}
        own |= {int(c): t for c, t in tables[name].items()}
        theirs = {
            c: unicodedata.normalize(form, chr(c)) for c in SCALARS if not 0xAC00 <= c < 0xD7A4
        }
        rows_ = [c for c, t in theirs.items() if own.get(c, chr(c)) != t]
        rows.append(f"{form}: {len(rows_)} scalars {[hex(c) for c in rows_[:40]]}")
    lower = {int(c): t for c, t in tables["lower"].items()}
    rows_ = [c for c in SCALARS if lower.get(c, chr(c)) != chr(c).lower()]
    rows.append(f"lower case: {len(rows_)} scalars {[hex(c) for c in rows_[:40]]}")
    marks = {int(c): v for c, v in tables["combining"].items()}
    rows_ = [c for c in SCALARS if marks.get(c, 0) != unicodedata.combining(chr(c))]
    rows.append(f"combining class: {len(rows_)} scalars {[hex(c) for c in rows_[:40]]}")
    for name in (
        "onig_space",
        "rust_space",
        "added_space",
        "bert_space",
        "nmt_space",
        "strip_space",
    ):
        ends, at, found = tables[name], 0, []
        for i, length in enumerate(ends):
            found += [f"{c:04X}" for c in range(at, at + length)] if i % 2 else []
            at += length
        rows.append(f"{name}: {' '.join(found)}")
    return rows


def main(arguments: list[str]) -> int:
    if "--report" in arguments:
        found = runpy.run_path(str(OUT))
        tables = {
            name: json.loads(zlib.decompress(base64.b85decode(text)))
            for name, text in found["PACKED"].items()
        }
        print("\n".join([f"Python's Unicode {unicodedata.unidata_version}", *report(tables)]))
        return 0
    tables = json.loads(json.dumps(probed()))
    if "--check" in arguments:
        written = runpy.run_path(str(OUT))["PACKED"]
        fresh = {name: packed(value) for name, value in tables.items()}
        differing = sorted(n for n in {*written, *fresh} if written.get(n) != fresh.get(n))
        print("differing tables:", ", ".join(differing) or "none")
        return 1 if differing else 0
    text = rendered(tables)
    OUT.write_text(text)
    print(f"{OUT}: {len(text)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
