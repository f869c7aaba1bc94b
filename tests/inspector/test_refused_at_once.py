"""What the first bytes refuse is not read whole, however large it is."""

import os
from pathlib import Path

import pytest

from trlm_lab.base.records.inspection import Inspection
from trlm_lab.errors import RecordError
from trlm_lab.inspector import inspect

SIZE = 60 << 30


@pytest.mark.parametrize(
    ("magic", "code"),
    [(b"\0\0\0\0", "SLM_VERSION"), (b"SLM2", "SLM_LENGTH"), (b"SLM9", "SLM_VERSION")],
)
def test_a_sparse_file_of_60_gb(tmp_path: Path, magic: bytes, code: str) -> None:
    path = tmp_path / "x.slm"
    path.write_bytes(magic)
    os.truncate(path, SIZE)
    found = inspect(path)
    assert code in {finding.code for finding in found.findings}
    assert (found.size, found.file_sha256) == (SIZE, None)
    assert found.hashes == ()


def test_only_a_refused_file_has_no_hash() -> None:
    with pytest.raises(RecordError, match="file_sha256"):
        Inspection("SLM2", 0, None)
