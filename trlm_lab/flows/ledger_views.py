"""What became of each tensor of a source, as rows and pictures for a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.records import EffectiveConfig, Ledger, LedgerEntry, Transform
from trlm_lab.flows.ledgers import packed_source, proved
from trlm_lab.flows.progress import Board
from trlm_lab.pack.artifact_file import map_file
from trlm_lab.pack.source import Part, matrix_shape, open_sources, widened
from trlm_lab.pack.weights import row_slices
from trlm_lab.slm.read import open_slm

#: Rows and columns of a picture; a larger matrix is thinned out.
PICTURE = 240

F32 = NDArray[np.float32]


@dataclass(frozen=True)
class Lineage:
    """An artifact beside the source that it was packed from."""

    root: Path
    artifact: Path
    ledger: Ledger

    @classmethod
    def of(cls, source: str, quant: str) -> Lineage:
        """Pack a source, or find it packed."""
        with Board(quiet=True) as board:
            root, packed = packed_source(source, quant, board)
        return cls(root, packed.artifact.path, packed.ledger)

    def findings(self) -> list[dict[str, str]]:
        """What is found wrong when every step is undone or done again; nothing, as a rule."""
        with Board(quiet=True) as board:
            return proved(self.artifact, self.root, self.ledger, board)

    def entry(self, name: str) -> LedgerEntry:
        """The entry of a tensor of the artifact. Raises KeyError for a name that it has not."""
        return {entry.destination_name: entry for entry in self.ledger.entries}[name]

    def pictures(self, name: str) -> dict[str, F32]:
        """A matrix as it is stored in the source, behind the steps, and as the artifact has it."""
        slm = open_slm(map_file(self.artifact), where=self.artifact.name)
        part = open_sources(self.root, EffectiveConfig.from_map(slm.config)).parts[name]
        made = np.concatenate(list(row_slices(slm.tensor(name))))
        return {
            "stored": _matrix(Part(part.stored)),
            "behind the steps": _matrix(part),
            "in the artifact": made,
        }


def _matrix(part: Part) -> F32:
    dtype = part.stored.info.dtype
    rows = np.concatenate([widened(block, dtype) for _, block in part.blocks()])
    return rows.reshape(matrix_shape(part.shape))


def source_table(ledger: Ledger) -> list[dict[str, Any]]:
    """One row a source tensor, in the artifact's order: what it became, by which steps."""
    rows = []
    for name, found in groupby(ledger.entries, key=lambda entry: entry.source_name):
        entries = list(found)
        shape = "×".join(map(str, entries[0].source_shape))
        made = "; ".join(f"{steps_in_words(e)} → {e.destination_name}" for e in entries)
        rows.append({"source tensor": name, "stored": f"{entries[0].source_dtype} {shape}",
                     "became": made})  # fmt: skip
    for one in ledger.omissions:
        shape = "×".join(map(str, one.source_shape))
        rows.append({"source tensor": one.source_name, "stored": f"{one.source_dtype} {shape}",
                     "became": f"nothing: {one.reason}"})  # fmt: skip
    return rows


def steps_in_words(entry: LedgerEntry) -> str:
    """The steps of an entry, each in a word or two."""
    return ", ".join(map(_step, entry.transforms))


def _step(step: Transform) -> str:
    row = step.parameters
    if step.kind == "rows":
        words = f"rows {row['first']} to {row['first'] + row['count'] - 1}"
        return f"{words} ({row['heads']} heads of {row['head_dim']})" if "heads" in row else words
    if step.kind == "pad":
        return f"padded from {row['logical'][1]} to {row['physical'][1]} columns"
    if step.kind == "quantize":
        return f"quantized ({row['profile']})"
    return step.kind


def byte_rows(ledger: Ledger) -> list[dict[str, Any]]:
    """Bytes of source and artifact by role; a source tensor that is split counts by its shares."""
    rows: dict[str, dict[str, Any]] = {}
    for entry in ledger.entries:
        if any(step.kind == "alias" for step in entry.transforms):
            continue
        row = rows.setdefault(entry.role, {"role": entry.role, "source": 0, "artifact": 0})
        share = np.prod(entry.destination_shape) / np.prod(entry.source_shape)
        begin, end = entry.source_range
        row["source"] += round((end - begin) * float(share))
        row["artifact"] += entry.destination_range[1] - entry.destination_range[0]
    return sorted(rows.values(), key=lambda row: -int(row["source"]))


def probe_rows(entry: LedgerEntry) -> list[dict[str, Any]]:
    """The single elements of an entry: place, value and bits on both sides."""
    cols = entry.destination_shape[-1]
    return [
        {
            "element": f"[{flat // cols}, {flat % cols}]",
            "source": _value(source),
            "its bits": f"{source:08x}",
            "artifact": _value(made),
            "its bits there": f"{made:08x}",
        }
        for flat, source, made in entry.probes.elements
    ]


def _value(bits: int) -> str:
    return f"{float(np.uint32(bits).view(np.float32)):.6g}"


def thinned(matrix: F32, shape: Sequence[int] = (PICTURE, PICTURE)) -> F32:
    """Every so manieth row and column, at most so many."""
    steps = [max(1, -(-size // most)) for size, most in zip(matrix.shape, shape, strict=True)]
    return matrix[:: steps[0], :: steps[1]]
