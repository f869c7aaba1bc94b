"""A TOK2 block as the inspector reads it: header, directory, padding and hashes by its own tables.

The content of the sections is the business of `trlm_lab.text.tok2` and of the runtime.
"""

from __future__ import annotations

import hashlib

from trlm_lab.base.records.inspection import InspectedField
from trlm_lab.inspector.report import Report

MAGIC = b"TOK2"
_HEADER, _END = 128, 352
#: name, byte offset, bytes, and the value that version 1.0 has.
FIELDS: tuple[tuple[str, int, int, int | None], ...] = (
    ("major", 4, 2, 1),
    ("minor", 6, 2, 0),
    ("header_len", 8, 4, 128),
    ("flags", 12, 4, None),
    ("file_len", 16, 4, None),
    ("section_count", 20, 4, 14),
    ("section_dir_off", 24, 4, 128),
    ("model_kind", 28, 4, None),
    ("token_count", 32, 4, None),
    ("id_limit", 36, 4, None),
    ("merge_count", 40, 4, None),
    ("added_count", 44, 4, None),
    ("block_size", 48, 4, 16),
    ("profile", 52, 4, None),
)
SECTIONS = (
    "strings", "sets", "tables", "patterns", "stages", "added", "model", "tokens", "order",
    "index", "merges", "scores", "roles", "template",
)  # fmt: skip
#: Kinds of models by profile.
KINDS = {1: range(1, 5), 2: range(5, 8), 3: range(8, 12)}


def inspect_tokenizer(report: Report, start: int, length: int) -> tuple[InspectedField, ...]:
    """Header fields and section lengths of the block at `start`; notes what breaks the frame."""
    if length < _END:
        report.add("TOKENIZER", start, f"{length} bytes cannot hold a TOK2 header and directory")
        return ()
    values = {name: report.number(start + at, size) for name, at, size, _ in FIELDS}
    for name, at, _, wanted in FIELDS:
        if wanted is not None and values[name] != wanted:
            report.add("TOKENIZER", start + at, f"{name} is {values[name]}, not {wanted}")
    if values["file_len"] != length:
        report.add("TOKENIZER", start + 16, f"file_len is {values['file_len']}, not {length}")
    kinds = KINDS.get(values["profile"], range(0))
    if values["flags"] > 3 or values["model_kind"] not in kinds:
        report.add("TOKENIZER", start + 12, "an unknown flag, profile, or kind of model in it")
    report.zeros("TOKENIZER", start + 120, start + 128, "the reserved range of the TOK2 header")
    sections, template = _sections(report, start, length)
    _hashes(report, start, length, template)
    rows = [InspectedField("magic", start, 4, MAGIC.decode())]
    rows += [InspectedField(name, start + at, size, values[name]) for name, at, size, _ in FIELDS]
    rows.append(InspectedField("self_sha256", start + 56, 32, report.raw(start + 56, 32).hex()))
    rows.append(InspectedField("template_sha256", start + 88, 32, report.raw(start + 88, 32).hex()))
    return (*rows, *sections)


def _sections(
    report: Report, start: int, length: int
) -> tuple[list[InspectedField], tuple[int, int]]:
    """A row a section with its length, and the range of the template."""
    rows: list[InspectedField] = []
    end = _END
    begin = size = 0
    for index, name in enumerate(SECTIONS):
        at = start + _HEADER + 16 * index
        kind, begin, size, reserved = (report.number(at + 4 * i, 4) for i in range(4))
        wanted = -(-end // 16) * 16 if size else 0
        if (kind, begin, reserved) != (index + 1, wanted, 0) or begin + size > length:
            report.add("TOKENIZER", at, f"the section {name} stands at {begin}, {size} bytes long")
            return rows, (start, start)
        if size:
            report.zeros("TOKENIZER", start + end, start + begin, f"the padding before {name}")
            end = begin + size
        rows.append(InspectedField(f"section {name}", start + begin, size, size))
    if end != length:
        report.add("TOKENIZER", start + 16, f"the sections end at {end}, the block at {length}")
    return rows, (start + begin, start + begin + size)


def _hashes(report: Report, start: int, length: int, template: tuple[int, int]) -> None:
    digest = hashlib.sha256(report.view[start : start + 56])
    digest.update(bytes(32))
    digest.update(report.view[start + 88 : start + length])
    report.hash("tokenizer", report.raw(start + 56, 32), digest.digest())
    low, high = template
    wanted = hashlib.sha256(report.view[low:high]).digest() if high > low else bytes(32)
    report.hash("template", report.raw(start + 88, 32), wanted)
