"""Papermill harness: parameterised notebooks become hashed evidence.

A notebook ends by calling `evidence(...)`, which emits canonical JSON under its own media type.
The receipt holds the SHA-256 of the whole executed notebook and of these structured outputs.
"""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.home import trlm_home
from trlm_lab.errors import (
    CheckoutMissingError,
    NotebookFailedError,
    UnknownNameError,
    UnknownParameterError,
)
from trlm_lab.flows.drift import OBSERVATIONS
from trlm_lab.flows.identity import PACKAGE, package_sha256
from trlm_lab.flows.workspace import Workspace

MEDIA_TYPE = "application/vnd.trlm.evidence+json"
NOTEBOOKS = PACKAGE.parent / "notebooks"


@dataclass(frozen=True)
class ExecutedNotebook:
    """Name, structured outputs, and the receipt node."""

    name: str
    evidence: dict[str, Any]
    node: str


class evidence:  # noqa: N801 - reads as a statement at the end of a notebook
    """Show a JSON-ready map and mark it as the notebook's structured output."""

    def __init__(self, **outputs: Any) -> None:
        self.text = json.dumps(outputs, sort_keys=True, ensure_ascii=False, allow_nan=False)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {MEDIA_TYPE: json.loads(self.text), "text/plain": self.text}


def notebook_source(name: str) -> Path:
    """The file of a notebook.

    Raises:
        CheckoutMissingError: the package was installed without the checkout that has them.
        UnknownNameError: no notebook of this name is among them.
    """
    path = NOTEBOOKS / f"{name}.ipynb"
    if path.is_file():
        return path
    known = sorted(p.stem for p in NOTEBOOKS.glob("*.ipynb"))
    if not known:
        raise CheckoutMissingError(where=str(path), what=f"the notebook {name}")
    raise UnknownNameError(where=str(NOTEBOOKS), kind="notebook", name=name, known=", ".join(known))


def run_notebooks(
    ws: Workspace, names: list[str], parameters: dict[str, Any], parents: list[str]
) -> list[ExecutedNotebook]:
    """Execute notebooks two at a time, render each to HTML and write its receipt.

    A copy that was executed here on the same evidence by the same package stands, if its bytes do.
    """
    with (
        _process_prepared(ws.notebooks),
        ws.board.meter("notebooks", len(names), "executed") as meter,
        ThreadPoolExecutor(max_workers=2) as pool,
    ):

        def execute(name: str) -> ExecutedNotebook:
            done = _run(ws, name, parameters, parents)
            meter.advance()
            return done

        return list(pool.map(execute, names))


def run_notebook(
    ws: Workspace, name: str, parameters: dict[str, Any], parents: list[str]
) -> ExecutedNotebook:
    """Execute one notebook with papermill.

    Raises:
        UnknownParameterError: a parameter that the notebook does not declare.
        NotebookFailedError: a cell raised; the half-executed copy stays for reading.
    """
    with _process_prepared(ws.notebooks):
        return _run(ws, name, parameters, parents)


@contextmanager
def _process_prepared(folder: Path) -> Iterator[None]:
    """Work in `folder` and ignore the notebook libraries' own warnings, for the whole process.

    A relative parameter then means the same now and when the executed copy is opened. Both are
    one state for all threads: two threads that set and restore them disturb each other. So this
    stands around the pool, and what warns on import is imported first. Papermill keeps a folder of
    its own for the process, too; threads that cross leave one there that may be gone later.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import nbconvert  # noqa: F401
        from papermill.iorw import papermill_io

        files = papermill_io.get_handler("local")
        kept = files.cwd(None)
        try:
            yield
        finally:
            files.cwd(kept)


def _run(
    ws: Workspace, name: str, parameters: dict[str, Any], parents: list[str]
) -> ExecutedNotebook:
    source = notebook_source(name)
    target = ws.notebooks / f"{name}.ipynb"
    target.parent.mkdir(parents=True, exist_ok=True)
    _check_parameters(source, parameters)
    stage, inputs = f"notebook-{name}", _inputs(ws, source, parameters, parents)
    known = ws.recall(stage, inputs)
    if known is None or known != _hashes(target):
        if known is not None:
            ws.reused.remove(stage)
        _execute(source, target, parameters)
        _render(target)
        ws.remember(stage, inputs, _hashes(target))
    outputs = _structured_outputs(target)
    node = ws.store.add(
        "notebook",
        {
            "name": name,
            "source_sha256": canon.sha256_hex(source.read_bytes()),
            "notebook_blob": ws.store.blobs.put(target.read_bytes()),
            "outputs_sha256": canon.content_id(outputs),
            "outputs_blob": ws.store.put_value(outputs),
        },
        parents,
    )
    return ExecutedNotebook(name, outputs, node)


def _inputs(
    ws: Workspace, source: Path, parameters: dict[str, Any], parents: list[str]
) -> dict[str, Any]:
    """Everything that an executed copy depends on: with the same, the same copy stands."""
    drifts = [i for i in ws.store if ws.store.get(i).type == "drift"]
    cached = trlm_home() / OBSERVATIONS / "nodes"
    return {
        "source": canon.sha256_hex(source.read_bytes()),
        "parameters": parameters,
        "parents": parents,
        "package": package_sha256(),
        "observations": [*drifts, *sorted(p.name for p in cached.glob("*"))],
    }


def _hashes(notebook: Path) -> dict[str, str] | None:
    """SHA-256 of an executed copy and of its page; None where one is not there."""
    page = notebook.with_suffix(".html")
    if not (notebook.is_file() and page.is_file()):
        return None
    return {"notebook": file_sha256(notebook), "page": file_sha256(page)}


def _check_parameters(source: Path, parameters: dict[str, Any]) -> None:
    import papermill

    declared = papermill.inspect_notebook(str(source))
    for name in parameters:
        if name not in declared:
            raise UnknownParameterError(
                where=source.name, name=name, known=", ".join(sorted(declared))
            )


def _execute(source: Path, target: Path, parameters: dict[str, Any]) -> None:
    import papermill
    from jupyter_core.utils import ensure_event_loop

    logging.getLogger("papermill").setLevel(logging.ERROR)
    # Frozen modules make the kernel's debugger complain on every start.
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    try:
        papermill.execute_notebook(
            str(source),
            str(target),
            parameters=parameters,
            kernel_name="python3",
            progress_bar=False,
            # Not the process's folder: papermill changes that one for a moment at every write,
            # to where another notebook ran if two threads crossed, and a kernel would inherit it.
            resources={"metadata": {"path": str(target.parent)}},
            # The kernel warns of its loopback transport on every start.
            extra_arguments=["--IPKernelApp.log_level=50"],
        )
    except papermill.PapermillExecutionError as error:
        last = str(error).strip().splitlines()[-1]
        raise NotebookFailedError(where=str(target), cell=error.cell_index, last=last) from error
    else:
        _forget_paths(target)
    finally:
        # The client keeps one event loop a thread and never closes it.
        ensure_event_loop().close()


def _forget_paths(notebook: Path) -> None:
    """Take the folders of this machine out of papermill's own metadata."""
    document = json.loads(notebook.read_text())
    about = document["metadata"]["papermill"]
    for key in ("input_path", "output_path"):
        about[key] = Path(about[key]).name
    notebook.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def _structured_outputs(notebook: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for cell in json.loads(notebook.read_text())["cells"]:
        for output in cell.get("outputs", []):
            found.update(output.get("data", {}).get(MEDIA_TYPE, {}))
    return found


def _render(notebook: Path) -> None:
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(template_name="lab")
    exporter.mathjax_url = ""
    exporter.require_js_url = ""
    exporter.jquery_url = ""
    exporter.embed_images = True
    body, _ = exporter.from_filename(str(notebook))
    notebook.with_suffix(".html").write_text(body)
