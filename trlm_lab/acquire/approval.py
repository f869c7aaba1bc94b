"""The say that a caller has before a source is converted: stages above know further rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from trlm_lab.base.safetensors_header import StoredTensor

#: Called with the documents and tensors (None where the tensors are judged elsewhere) before any
#: weight is written; raises to refuse.
Approve = Callable[[Path, Mapping[str, StoredTensor] | None], None]


def approve_all(root: Path, tensors: Mapping[str, StoredTensor] | None) -> None:
    """Refuse nothing beyond the rules of the files themselves."""
