"""`trlm check`: one path in, a verdict with findings out.

A directory is judged by the rules that `trlm acquire` uses, in the same order and by the same
functions, so that what is accepted here can be acquired.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trlm_lab.base.plain_file import open_plain
from trlm_lab.errors import JsonError, PathMissingError, Refused, UncheckableError

if TYPE_CHECKING:
    from trlm_lab.base.safetensors_header import StoredTensor
    from trlm_lab.describe import Resolution

Finding = dict[str, str]


def check_path(path: Path) -> dict[str, Any]:
    """`{"verdict": "accept"|"refuse", "findings": [{"code", "where", "detail", "fix", "level"}]}`.

    Raises:
        PathMissingError: nothing is there.
        NotPlainFileError: a pipe, socket or device.
        UncheckableError: no kind of file that this version checks.
    """
    if not path.exists():
        raise PathMissingError(where=str(path))
    check = _directory_kind(path) if path.is_dir() else _kind(path)
    findings = [{"level": "error", **finding} for finding in check(path)]
    refused = any(f["level"] == "error" for f in findings)
    return {"verdict": "refuse" if refused else "accept", "findings": findings}


def _kind(path: Path) -> Callable[[Path], list[Finding]]:
    with open_plain(path) as stream:
        magic = stream.read(4)
    if path.suffix == ".gguf" or magic == b"GGUF":
        return _gguf
    if path.suffix == ".safetensors":
        return _safetensors
    if path.suffix == ".slm" or magic in (b"SLM1", b"SLM2"):
        return _artifact
    if path.suffix == ".tok2" or magic == b"TOK2":
        return _compiled
    if magic in (b"BTOK", b"BPE1"):
        return _small
    if path.suffix == ".cbor":
        return _golden
    if path.suffix == ".json":
        return _json
    if ".model" in path.name:
        return _pieces
    raise UncheckableError(where=str(path))


def _directory_kind(path: Path) -> Callable[[Path], list[Finding]]:
    """A set of pieces, a golden container, a folder of them, or else a model directory."""
    model = (path / "config.json").exists()
    # A snapshot has a manifest of its own.
    if path.suffix == ".slmset" or ((path / "manifest.cbor").is_file() and not model):
        return _set
    golden = [path / "case.cbor", *path.glob("*/case.cbor")]
    if any(file.is_file() for file in golden) and not model:
        return _golden
    return _directory


def _safetensors(path: Path) -> list[Finding]:
    from trlm_lab.acquire import check_safetensors

    return check_safetensors(path)


def _artifact(path: Path) -> list[Finding]:
    from trlm_lab.inspector import inspect

    found = inspect(path)
    # The inspector looks into the tokenizers of SLM1 itself.
    return [vars(f) for f in found.findings] or ([] if found.format == "SLM1" else _compiled(path))


def _set(path: Path) -> list[Finding]:
    """A set of pieces."""
    from trlm_lab.slmset import check_set

    return check_set(path)


def _compiled(path: Path) -> list[Finding]:
    """A compiled tokenizer, alone or in a sound artifact."""
    from trlm_lab.flows.compiled_tokenizer import check_block

    return check_block(path)


def _small(path: Path) -> list[Finding]:
    """A tokenizer of SLM1."""
    from trlm_lab.flows.compiled_tokenizer import check_small

    return check_small(path)


def _pieces(path: Path) -> list[Finding]:
    """A SentencePiece model."""
    from trlm_lab.flows.tokenizer_engines import read_reference
    from trlm_lab.flows.tokenizer_requests import TokenizerFile

    try:
        read_reference(TokenizerFile.at(path))
    except Refused as error:
        return [dict(error.as_finding())]
    return []


def _gguf(path: Path) -> list[Finding]:
    """The container and its keys, then the documents that they become, as of any directory."""
    from trlm_lab.acquire import check_gguf, gguf_documents
    from trlm_lab.describe import check_model_directory

    findings = check_gguf(path)
    if findings:
        return findings
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / path.name
        root.mkdir()
        for name, data in gguf_documents(path).items():
            (root / name).write_bytes(data)
        return check_model_directory(root, documents_only=True)


def _golden(path: Path) -> list[Finding]:
    """One container, or every one of a folder, as `trlm golden verify` does."""
    from trlm_lab.flows.golden import verify_golden

    found: list[Finding] = verify_golden(path)["findings"]
    return found


def _json(path: Path) -> list[Finding]:
    """A tokenizer by its name or its `model` entry, an attestation by its payload type."""
    from trlm_lab.base import strict_json
    from trlm_lab.describe import check_tokenizer

    if not path.name.startswith("tokenizer."):
        try:
            row = strict_json.load_file(path)
        except JsonError:
            row = None
        if isinstance(row, dict) and "payloadType" in row:
            return _envelope(path)
        if not isinstance(row, dict) or not isinstance(row.get("model"), dict):
            raise UncheckableError(where=str(path))
    return check_tokenizer(path)


def _envelope(path: Path) -> list[Finding]:
    """The form alone: what it says follows from receipts, and who signed from a key."""
    from trlm_lab.attest import decode_envelope

    try:
        decode_envelope(path.read_bytes(), where=str(path))
    except Refused as error:
        return [error.as_finding()]
    detail = "its form is sound; neither what it says nor a signature was checked"
    fix = "trlm verify DIR --key FILE.pub checks both"
    return [
        {"code": "FORM_ONLY", "where": str(path), "detail": detail, "fix": fix, "level": "note"}
    ]


def _directory(path: Path) -> list[Finding]:
    from trlm_lab.acquire import check_directory
    from trlm_lab.describe import check_model_directory

    files = check_directory(path)
    declared = check_model_directory(
        path, files.tensors, dtypes=files.dtypes, documents_only=not files.sound
    )
    return [*files.findings, *declared]


def approval(
    resolutions: Sequence[Resolution] = (),
) -> Callable[[Path, Mapping[str, StoredTensor] | None], None]:
    """What `acquire` asks before it converts: the declarations must agree, as in a check."""
    from trlm_lab.describe import require_consistent

    dtypes = frozenset({"F32", "F16", "BF16"})

    def approve(root: Path, tensors: Mapping[str, StoredTensor] | None) -> None:
        require_consistent(root, tensors, dtypes=dtypes, resolutions=resolutions)

    return approve
