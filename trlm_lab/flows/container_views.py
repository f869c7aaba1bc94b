"""Rows behind the notebook of the container: bytes by role, pieces, proofs, and damage."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trlm_lab.base.records import Inspection
from trlm_lab.errors import SlmProofError, SlmsetProofError
from trlm_lab.flows.inspection import role_rows
from trlm_lab.flows.ledgers import packed_source
from trlm_lab.flows.progress import Board
from trlm_lab.inspector import inspect, inspect_bytes
from trlm_lab.slmset import prove_rows, verify_proof

Row = dict[str, Any]
#: Header fields of the sections of the front matter, in file order.
SECTIONS = {
    "strings": ("string_table_off", "string_table_len", 1),
    "configuration": ("config_off", "config_len", 1),
    "directory": ("tensor_dir_off", "tensor_count", 128),
    "tokenizer": ("tokenizer_off", "tokenizer_len", 1),
    "piece table": ("piece_table_off", "piece_count", 56),
    "shard table": ("shard_table_off", "shard_count", 52),
}


@dataclass(frozen=True)
class Container:
    """An artifact and what the inspector says of it."""

    path: Path
    inspection: Inspection

    @classmethod
    def of(cls, source: str, quant: str) -> Container:
        """Pack a source, or find it packed."""
        with Board(quiet=True) as board:
            _, packed = packed_source(source, quant, board)
        return cls(packed.artifact.path, inspect(packed.artifact.path))

    @property
    def header(self) -> dict[str, Any]:
        """The header's values by field."""
        return {field.name: field.value for field in self.inspection.header}

    def role_rows(self) -> list[Row]:
        """Bytes of every byte of the file: front matter, codes and scales by role, padding."""
        return role_rows(self.inspection)

    def piece_rows(self) -> list[Row]:
        """Each piece with the tensors that it holds a part of."""
        body = int(self.header["body_off"])
        return [
            {
                "piece": piece.index,
                "bytes": piece.logical_len,
                "sha256": piece.sha256[:16],
                "tensors": sum(
                    _touches(tensor.data_range, tensor.scales_range, piece.file_off)
                    for tensor in self.inspection.tensors
                ),
                "first": (piece.file_off - body) // 64,
            }
            for piece in self.inspection.pieces
        ]

    def proof_rows(self, tensor: str, low: int, high: int) -> list[Row]:
        """What a proof of some rows weighs, and that a changed byte of it proves nothing."""
        document = prove_rows(self.path, tensor, low, high)
        root = bytes.fromhex(self.header["merkle_root_sha256"])
        with self.path.open("rb") as stream:
            front = hashlib.sha256(stream.read(int(self.header["body_off"]))).digest()
        verify_proof(document, root, front)
        changed = _flipped(document, len(document) // 2)
        said = f"rows {low} to {high} of {tensor}"
        return [
            {"what": said, "bytes": len(document), "verdict": "holds"},
            {
                "what": "the same with one bit changed",
                "bytes": len(document),
                "verdict": _refusal(changed, root, front),
            },
            {"what": "the whole artifact", "bytes": self.inspection.size, "verdict": "not needed"},
        ]

    def places(self) -> dict[str, int]:
        """A byte in each part of the file, by the part's name."""
        header = self.header
        found = {"header: flags": 16, "header: self hash": 140}
        for name, (offset, length, each) in SECTIONS.items():
            size = int(header[length]) * each
            if size:
                found[name] = int(header[offset]) + size // 2
        stored = [t for t in self.inspection.tensors if t.data_range[1] > t.data_range[0]]
        last = max(stored, key=lambda t: t.data_range[1])
        found[f"data of {last.role}"] = sum(last.data_range) // 2
        scaled = [t for t in stored if t.scales_range[1] > t.scales_range[0]]
        if scaled:
            found[f"scales of {scaled[0].role}"] = sum(scaled[0].scales_range) // 2
        return found

    def flip_rows(self, bit: int) -> list[Row]:
        """One bit flipped in each part, alone: the rules that find it."""
        sound = self.path.read_bytes()
        rows = []
        for part, at in sorted(self.places().items(), key=lambda item: item[1]):
            findings = inspect_bytes(memoryview(_flipped(sound, at, bit))).findings
            rows.append(
                {
                    "part": part,
                    "byte": at,
                    "rules": ", ".join(sorted({f.code for f in findings})),
                    "first finding": str(findings[0])[:90] if findings else "",
                    "findings": len(findings),
                }
            )
        return rows


def _touches(data: tuple[int, int], scales: tuple[int, int], start: int) -> bool:
    end = start + (1 << 20)
    return any(low < end and high > start and high > low for low, high in (data, scales))


def _flipped(data: bytes, at: int, bit: int = 0) -> bytes:
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]


def _refusal(document: bytes, root: bytes, front: bytes) -> str:
    try:
        verify_proof(document, root, front)
    except (SlmProofError, SlmsetProofError) as error:
        return error.code
    return "holds"
