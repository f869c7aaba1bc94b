"""The tensors that a snapshot's own weight file holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trlm_lab.base.safetensors_header import StoredTensor, read_header

Tensors = Mapping[str, StoredTensor]
SNAPSHOT_DTYPES = frozenset({"F32"})


def own_tensors(root: Path) -> Tensors | None:
    """The tensors of `model.safetensors`; None where it is absent. Raises as `read_header`."""
    path = root / "model.safetensors"
    if not path.exists():
        return None
    return {t.name: StoredTensor(path, t) for t in read_header(path)}
