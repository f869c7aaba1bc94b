"""The pinned texts: read out of their archive, or refused."""

from __future__ import annotations

import hashlib
import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from trlm_lab.acquire.pins import PinnedArchive, PinnedFile
from trlm_lab.acquire.text_data import TextPackage, text_packages
from trlm_lab.errors import RecordError, SourceHashError, TextDataMissingError

MEMBERS = {
    "package/data/b.txt": b"two\r\nlines",
    "package/data/a.txt": b"one",
    "package/data/all.txt": b"one two",
    "package/data/a.json": b"{}",
}


def package() -> TextPackage:
    """An archive of three texts in the cache, of which one is left out."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tape:
        for name, data in MEMBERS.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tape.addfile(info, io.BytesIO(data))
    data = stream.getvalue()
    pin = PinnedFile("t.tgz", len(data), hashlib.sha256(data).hexdigest())
    made = TextPackage(
        "t", PinnedArchive("@x/t", "1", pin), "package/data/*.txt", ("all.txt",), 2, "CC0-1.0"
    )
    made.path.parent.mkdir(parents=True)
    made.path.write_bytes(data)
    return made


def test_documents_are_sorted_and_cut_free_of_carriage_returns() -> None:
    found = package().read()
    assert [(d.name, d.text) for d in found] == [("t/a.txt", "one"), ("t/b.txt", "two\nlines")]
    assert found[0].sha256 == hashlib.sha256(b"one").hexdigest()
    assert {d.part for d in found} <= {"train", "calibration", "held-out"}


def test_what_is_not_here_or_not_the_pinned_one_is_refused(own_home: Path) -> None:
    for one in text_packages().values():
        with pytest.raises(TextDataMissingError, match=f"fetch_text.py {one.name}"):
            one.read()
    made = package()
    with pytest.raises(RecordError, match="2 documents"):
        replace(made, documents=3).read()
    made.path.write_bytes(made.path.read_bytes() + b" ")
    with pytest.raises(SourceHashError):
        made.read()
