"""Two writers of one container: both have written it, or the later one is refused."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.golden.sound import sound
from trlm_lab.base import canon
from trlm_lab.errors import GoldenExportError
from trlm_lab.golden import GoldenCase, check_golden, write, write_golden
from trlm_lab.golden.read import read_document

DRAFT = sound(random.Random(3))
CASE = read_document(canon.encode(DRAFT.document))
BLOBS = list(DRAFT.files.values())


def overtaken(monkeypatch: pytest.MonkeyPatch, root: Path, other: GoldenCase) -> None:
    """Another writer gives the name between the first look and the rename."""
    real = write.write_atomically

    def write_after_another(path: Path, data: bytes) -> None:
        monkeypatch.setattr(write, "write_atomically", real)
        write_golden(root, other, BLOBS)
        real(path, data)

    monkeypatch.setattr(write, "write_atomically", write_after_another)


def test_the_same_container_twice_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    overtaken(monkeypatch, tmp_path / "a", CASE)
    assert write_golden(tmp_path / "a", CASE, BLOBS).case == CASE
    assert check_golden(tmp_path / "a") == []
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_another_container_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(CASE, generator_receipt=bytes(32))
    overtaken(monkeypatch, tmp_path / "a", other)
    with pytest.raises(GoldenExportError, match="something else under this name"):
        write_golden(tmp_path / "a", CASE, BLOBS)
    assert write_golden(tmp_path / "a", other, BLOBS).case == other
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_rename_that_the_system_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(13, "no")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(PermissionError):
        write_golden(tmp_path / "a", CASE, BLOBS)
    assert list(tmp_path.iterdir()) == []
