"""An SLM1 file on disk, mapped and opened with the readers of both tokenizer sections."""

from __future__ import annotations

from pathlib import Path

from trlm_lab.errors import Slm1ChecksumProfileError
from trlm_lab.pack.artifact_file import map_file
from trlm_lab.slm1.layout import MAGIC
from trlm_lab.slm1.read import Slm1File, open_slm1
from trlm_lab.slm1.verify import verify_checksum, verify_values
from trlm_lab.text.slm1 import special_ids


def is_slm1(path: Path) -> bool:
    """Whether the file begins as an SLM1 file."""
    return bytes(map_file(path)[:4]) == MAGIC


def open_slm1_file(path: Path) -> Slm1File:
    """Map a file and check its structure. Raises Slm1Error."""
    return open_slm1(map_file(path), special_ids, where=path.name)


def open_checked(path: Path, *, unchecked: bool = False) -> Slm1File:
    """Map a file and check everything; `unchecked` takes a checksum of an unknown profile.

    Raises:
        Slm1Error: the first rule that is broken.
    """
    slm1 = open_slm1_file(path)
    try:
        verify_checksum(slm1)
    except Slm1ChecksumProfileError:
        if not unchecked:
            raise
    verify_values(slm1)
    return slm1
