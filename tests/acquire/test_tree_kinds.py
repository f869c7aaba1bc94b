"""What may lie in a tree: by its name for a Hub, by first bytes and mode as well in a folder."""

import gzip
import io
import lzma
import pickle
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
import zstandard
from safetensors.numpy import save_file

from trlm_lab import errors
from trlm_lab.acquire import acquire
from trlm_lab.acquire.tree_names import name_problem
from trlm_lab.flows.checking import check_path

REFUSED = (
    "run", "setup", "Makefile", "Dockerfile", "sub/run", "a.wasm", "b.class", "c.bat", "d.ps1",
    "e.ipynb", "f.mjs", "g.rb", "h.pl", "i.cu", "j.lz4", "k.egg", "l.dmg", "m.dill", "n.keras",
    "o.cmd", "p.apk", "q.pb", "r.tgz.part", "s.cab", "t.lz", "u.cpp", "v.ts", "w.onnx", "x.tflite",
    "y.PY", "z.html", "model.safetensors.exe", "a.bin", "b.pt", "c.npz", "d.h5", "e.zip", "README.",
    "f.", ".bashrc", ".env", "g.tar.gz", "h.json5", "i.plist", "j.service", "k.desktop", "l.lnk",
)  # fmt: skip

KEPT = (
    "picture.png", "docs/figure.SVG", "notes.txt", "notes.md", "paper.pdf", "unknown.yaml",
    "eval/results.json", "scores.csv", "tekken.json", "params.json", "cl100k.tiktoken",
    "other.model", "original/model.safetensors", "extra.gguf", "CITATION.cff", "CITATION",
    "sub/.gitattributes", ".gitignore", "LICENSE", "LICENSE-MODEL", "NOTICE", "USE_POLICY.md",
    "README", "readme.txt", "config.json", "tokenizer.model", "merges.txt", "model.safetensors",
    "model-00001-of-00002.safetensors", "model.safetensors.index.json", "manifest.cbor",
    "additional_chat_templates/tools.jinja",
)  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_kind_that_no_model_needs_is_refused_by_name(name: str) -> None:
    problem = name_problem(name)
    assert "no part of a model's tree: code, pickles or archives" in problem


@pytest.mark.parametrize("name", KEPT)
def test_ordinary_files_may_lie_beside_a_model(name: str) -> None:
    assert name_problem(name) == ""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    root = tmp_path / "model"
    root.mkdir()
    (root / "config.json").write_bytes(b'{"model_type": "llama"}')
    save_file({"w": np.zeros((2, 3), np.float32)}, root / "model.safetensors")
    return root


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a", "b")
    return out.getvalue()


def tarred(mode: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        archive.addfile(tarfile.TarInfo("a"))
    return out.getvalue()


CONTENT = {
    "a script": (b"#!/bin/sh\nrm x\n", "a script"),
    "an ELF program": (b"\x7fELF\x02\x01\x01" + bytes(60), "an ELF program"),
    "a Mach-O program": (b"\xcf\xfa\xed\xfe\x07\0\0\x01", "a Mach-O program"),
    "a Windows program": (b"MZ\x90\0\x03\0\0\0", "a Windows program"),
    "a WebAssembly module": (b"\0asm\x01\0\0\0", "a WebAssembly module"),
    "a Java class": (b"\xca\xfe\xba\xbe\0\0\0\x34", "a Java class"),
    "a zip archive": (zipped(), "a zip archive"),
    "an empty zip archive": (b"PK\x05\x06" + bytes(18), "a zip archive"),
    "gzip": (gzip.compress(b"x"), "gzip"),
    "xz": (lzma.compress(b"x"), "xz data"),
    "zstd": (zstandard.compress(b"x"), "zstd data"),
    "bzip2": (tarred("w:bz2"), "bzip2 data"),
    "lz4": (b"\x04\x22\x4d\x18\x64\x40", "lz4 data"),
    "7z": (b"7z\xbc\xaf\x27\x1c\0\x04", "a 7z archive"),
    "rar": (b"Rar!\x1a\x07\x01\0", "a rar archive"),
    "tar": (tarred("w"), "a tar archive"),
    "HDF5": (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    **{f"pickle {p}": (pickle.dumps({}, protocol=p), "a pickle") for p in (2, 3, 4, 5)},
}


@pytest.mark.parametrize("name", CONTENT)
@pytest.mark.parametrize("file", ["notes.txt", "sub/picture.png", "extra.gguf"])
def test_what_the_first_bytes_are_counts_and_not_the_name(
    model: Path, name: str, file: str
) -> None:
    data, kind = CONTENT[name]
    (model / file).parent.mkdir(exist_ok=True)
    (model / file).write_bytes(data)
    with pytest.raises(errors.TreeError, match=f"by its first bytes this is {kind}") as caught:
        acquire(str(model))
    assert caught.value.where.endswith(file)
    assert "TREE" in [f["code"] for f in check_path(model)["findings"]]


@pytest.mark.parametrize("file", ["LICENSE", "README.md", "tokenizer.model", "chat_template.jinja"])
def test_a_document_that_is_a_program_is_refused(model: Path, file: str) -> None:
    (model / file).write_bytes(b"\x7fELF\x02\x01\x01" + bytes(60))
    with pytest.raises(errors.TreeError, match="an ELF program"):
        acquire(str(model))


def test_a_file_that_may_be_run_is_refused(model: Path) -> None:
    (model / "notes.txt").write_bytes(b"x")
    (model / "notes.txt").chmod(0o755)
    with pytest.raises(errors.TreeError, match="its mode lets it be run"):
        acquire(str(model))
    (model / "notes.txt").chmod(0o644)
    (model / "config.json").chmod(0o755)
    assert [row["name"] for row in acquire(str(model)).provenance["ignored"]] == [b"notes.txt"]


@pytest.mark.parametrize(
    "data",
    [
        b"", b"MZ is a unit of nothing", b"PK", b"BZh9 is a name", b"LZIP, a format", b"#",
        b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\xff\xd8\xff\xe0", b"%PDF-1.7", b"GGUF\x03\0\0\0",
        b"\xef\xbb\xbfa text", b"\xff\xfea\0", b"ustar", b"7z", b"Rar!", b"070701 is a number",
        "\u0424\u0430\u0439\u043b".encode(), b"cat\ndog\n",
    ],
)  # fmt: skip
def test_ordinary_content_is_let_in(model: Path, data: bytes) -> None:
    (model / "notes.txt").write_bytes(data)
    assert [row["name"] for row in acquire(str(model)).provenance["ignored"]] == [b"notes.txt"]
