"""BTOK and BPE1 as the inspector reads them, from docs/formats/slm1-tokenizers.md."""

from __future__ import annotations

from trlm_lab.base.records.inspection import InspectedField
from trlm_lab.inspector.report import Report

_CODE = "SLM1_TOKENIZER"
_NAMES = ("bos", "eos", "pad", "unk")


def inspect_small(report: Report, header: dict[str, int]) -> tuple[InspectedField, ...]:
    """The fields of the section; notes the first rule that it breaks."""
    start, length = header["tokenizer_offset"], header["tokenizer_length"]
    magic = report.raw(start, min(length, 4))
    least = {b"BTOK": 28, b"BPE1": 36}.get(magic, length + 1)
    if length < least:
        report.add(_CODE, start, f"{length} bytes with the magic {magic!r} are no BTOK or BPE1")
        return ()
    version, vocab, *ids = (report.number(start + at, 4) for at in range(4, 28, 4))
    rows = [InspectedField("magic", start, 4, magic.decode())]
    rows.append(InspectedField("vocab", start + 8, 4, vocab))
    rows += [InspectedField(name, start + 12 + 4 * i, 4, ids[i]) for i, name in enumerate(_NAMES)]
    if version != 1:
        report.add(_CODE, start + 4, f"version {version}")
    elif vocab != header["vocab"]:
        report.add(_CODE, start + 8, f"vocabulary {vocab}, the header says {header['vocab']}")
    elif len(set(ids)) < 4 or not all(number < vocab for number in ids):
        report.add(_CODE, start + 12, f"special ids {ids}")
    elif magic == b"BTOK":
        if length != 28 or vocab != 260 or min(ids) < 256:
            report.add(_CODE, start, f"{length} bytes, vocabulary {vocab}, special ids {ids}")
    else:
        _check_bpe1(report, start, length, vocab, set(ids))
    return tuple(rows)


def _check_bpe1(report: Report, start: int, length: int, vocab: int, specials: set[int]) -> None:
    tokens, merges = report.number(start + 28, 4), report.number(start + 32, 4)
    if tokens > vocab or 8 * tokens + 16 * merges > length:
        report.add(_CODE, start + 28, f"{tokens} tokens and {merges} merges in {length} bytes")
        return
    at, end = start + 36, start + length
    known: dict[int, bytes] = {}
    last = -1
    for _ in range(tokens):
        number, size = (report.number(at + 4 * i, 4) if at + 8 <= end else -1 for i in range(2))
        if not last < number < vocab or not 1 <= size <= end - at - 8:
            report.add(_CODE, at, f"a token with the id {number} and {size} bytes")
            return
        known[number] = report.raw(at + 8, size)
        last = number
        at += 8 + size
    if len(set(known.values())) < len(known):
        report.add(_CODE, start + 36, "two tokens have the same bytes")
    elif end - at != 16 * merges:
        report.add(_CODE, at, f"{end - at} bytes are left for {merges} merges")
    else:
        _check_merges(report, at, merges, {n: b for n, b in known.items() if n not in specials})


def _check_merges(report: Report, start: int, count: int, known: dict[int, bytes]) -> None:
    pairs = set()
    for rank in range(count):
        at = start + 16 * rank
        left, right, made, stored = (report.number(at + 4 * i, 4) for i in range(4))
        there = left in known and right in known and made in known
        if not there or known[left] + known[right] != known[made]:
            report.add(_CODE, at, f"the merge {left}, {right}, {made}")
            return
        if stored != rank or (left, right) in pairs:
            report.add(_CODE, at, f"the merge {left}, {right} has the rank {stored}")
            return
        pairs.add((left, right))
