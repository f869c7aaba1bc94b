"""The files that the server may give out: the page, the WebAssembly module, one artifact."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from trlm_lab.backends.wasm_module import MODULE
from trlm_lab.errors import ModelFilesError, PageMissingError

_REPOSITORY = Path(__file__).resolve().parents[3]
PAGE_ROOT = _REPOSITORY / "browser_runner"


_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
}
ARTIFACT_PATH = "/artifact.slm"
MODULE_PATH = "/runtime/trlm.wasm"
SERVED_PATH = "/served.json"


@dataclass(frozen=True)
class Resource:
    """One file, or bytes at hand, under one path; nothing else can be reached."""

    content_type: str
    file: Path | None = None
    body: bytes = b""


def page_files(root: Path = PAGE_ROOT) -> dict[str, Path]:
    """Files of the page by URL path.

    Raises:
        PageMissingError: this is no complete checkout.
    """
    named = ["index.html", "style.css"]
    files = [root / name for name in named] + sorted((root / "src").glob("*.js"))
    missing = [file for file in files if not file.is_file()]
    if missing or len(files) == len(named):
        raise PageMissingError(where=str(missing[0] if missing else root / "src"))
    return {"/" + file.relative_to(root).as_posix(): file for file in files}


def resources(artifact: Path | None = None, module: Path = MODULE) -> dict[str, Resource]:
    """Everything that is served, by exact URL path.

    Raises:
        PageMissingError: a file of the page, or the module, is not there.
        ModelFilesError: the artifact is not there.
    """
    if not module.is_file():
        raise PageMissingError(where=str(module))
    if artifact is not None and not artifact.is_file():
        raise ModelFilesError(where=str(artifact), detail="there is no such file")
    table = {path: Resource(_TYPES[file.suffix], file=file) for path, file in page_files().items()}
    table["/"] = table["/index.html"]
    table[MODULE_PATH] = Resource("application/wasm", file=module)
    told = None
    if artifact is not None:
        table[ARTIFACT_PATH] = Resource("application/octet-stream", file=artifact)
        told = {"url": ARTIFACT_PATH, "name": artifact.name}
    table[SERVED_PATH] = Resource("application/json", body=json.dumps({"artifact": told}).encode())
    return table
