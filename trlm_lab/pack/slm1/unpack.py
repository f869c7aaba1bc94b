"""An SLM1 file into float32 safetensors under the source's names, rows in the source's order."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from trlm_lab.pack.progress import Progress, silent
from trlm_lab.pack.safetensors_file import write_float32
from trlm_lab.pack.slm1.files import open_checked
from trlm_lab.pack.slm1.rows import model_rows
from trlm_lab.slm1.names import OUTPUT


def unpack_slm1(path: Path, out: Path, *, progress: Progress = silent) -> str:
    """Write every tensor as float32; returns the SHA-256 of the file.

    A head that the tied flag stands for is left out, as of SLM2.

    Raises:
        Slm1Error: the file is malformed or damaged.
    """
    slm1 = open_checked(path)
    stored = [t for t in slm1.tensors if not (slm1.header.tied and t.placed.named.name == OUTPUT)]
    stored.sort(key=lambda tensor: tensor.placed.named.source_name)
    shapes = {t.placed.named.source_name: t.placed.named.dims for t in stored}
    width = slm1.header.head_dim
    blocks = (np.ascontiguousarray(rows) for t in stored for rows in model_rows(t, width))
    return write_float32(out, shapes, blocks, progress=progress)
