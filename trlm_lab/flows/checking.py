"""`trlm check`: one path in, a verdict with findings out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trlm_lab.base.plain_file import open_plain
from trlm_lab.errors import PathMissingError, TrlmError, UncheckableError


def check_path(path: Path) -> dict[str, Any]:
    """`{"verdict": "accept"|"refuse", "findings": [{"code", "where", "detail", …}]}`.

    Raises:
        PathMissingError: nothing is there.
        UncheckableError: no kind of file that this version checks.
    """
    if not path.exists():
        raise PathMissingError(where=str(path))
    if path.is_dir():
        findings = _directory(path)
    elif path.suffix == ".gguf" or _begins(path, b"GGUF"):
        findings = _gguf(path)
    elif path.suffix == ".safetensors":
        findings = _safetensors(path)
    elif path.suffix == ".slm" or _begins(path, b"SLM2"):
        findings = _artifact(path)
    else:
        raise UncheckableError(where=str(path))
    refused = any(f.get("level", "error") == "error" for f in findings)
    return {"verdict": "refuse" if refused else "accept", "findings": findings}


def _begins(path: Path, magic: bytes) -> bool:
    with open_plain(path) as stream:
        return stream.read(len(magic)) == magic


def _safetensors(path: Path) -> list[dict[str, str]]:
    from trlm_lab.acquire import check_safetensors

    return check_safetensors(path)


def _artifact(path: Path) -> list[dict[str, str]]:
    from trlm_lab.inspector import inspect

    return [vars(f) for f in inspect(path).findings]


def _gguf(path: Path) -> list[dict[str, str]]:
    from trlm_lab.acquire import check_gguf

    return check_gguf(path)


def _directory(path: Path) -> list[dict[str, str]]:
    from trlm_lab.acquire import verify_snapshot
    from trlm_lab.describe import check_model_directory

    findings: list[dict[str, str]] = []
    if (path / "manifest.cbor").exists():
        try:
            verify_snapshot(path)
        except TrlmError as error:
            findings.append(error.as_finding())
    for weights in sorted(path.glob("*.safetensors")):
        findings += _safetensors(weights)
    return findings + check_model_directory(path)
