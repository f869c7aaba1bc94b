"""What lies in the directory beside the store, against the nodes that speak of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trlm_lab.base import canon, strict_json
from trlm_lab.flows.notebooks import MEDIA_TYPE
from trlm_lab.flows.verification_dossier import Dossier


def check_siblings(dossier: Dossier) -> None:
    """Report, notebooks and artifacts on disk are those of the nodes."""
    if dossier.type(dossier.root) == "report":
        with dossier.reading("report.html"):
            _report_page(dossier)
    for node_id in dossier.of("notebook"):
        with dossier.reading(dossier.place(node_id)):
            _notebook(dossier, node_id)
    _unspoken_notebooks(dossier)
    _artifact_files(dossier)


def _report_page(dossier: Dossier) -> None:
    stated = dossier.graph.node(dossier.root).metadata.get("report_blob")
    _same_file(dossier, dossier.root, "report_blob", Path("report.html"), stated)


def _same_file(dossier: Dossier, node_id: str, key: str, relative: Path, stated: Any) -> None:
    """A blob and the file that people open instead are the same bytes."""
    path = dossier.directory / relative
    if not path.is_file():
        dossier.fail("SIBLING", node_id, f"{relative} is not here", key)
    elif dossier.sha256(path) != stated:
        dossier.fail("SIBLING", node_id, f"{relative} holds other bytes than the blob", key)


def _notebook(dossier: Dossier, node_id: str) -> None:
    facts, store = dossier.graph.node(node_id).metadata, dossier.graph.store
    outputs = dossier.graph.value(node_id, "outputs_blob")
    if canon.content_id(outputs) != facts["outputs_sha256"]:
        dossier.fail("SIBLING", node_id, "is not the hash of outputs_blob", "outputs_sha256")
    notebook = strict_json.loads(store.blobs.get(facts["notebook_blob"]), where=facts["name"])
    if structured_outputs(notebook) != outputs:
        detail = "is not what the executed notebook shows as its evidence"
        dossier.fail("SIBLING", node_id, detail, "outputs_blob")
    file = Path("notebooks") / f"{facts['name']}.ipynb"
    _same_file(dossier, node_id, "notebook_blob", file, facts["notebook_blob"])


def structured_outputs(notebook: Any) -> dict[str, Any]:
    """The evidence that an executed notebook shows, as its receipt holds it."""
    found: dict[str, Any] = {}
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            found.update(output.get("data", {}).get(MEDIA_TYPE, {}))
    return found


def _unspoken_notebooks(dossier: Dossier) -> None:
    names = {dossier.graph.node(n).metadata.get("name") for n in dossier.of("notebook")}
    for path in sorted((dossier.directory / "notebooks").glob("*.ipynb")):
        if path.stem not in names:
            dossier.report.fail("SIBLING", str(path), "no notebook node speaks of it")


def _artifact_files(dossier: Dossier) -> None:
    """An artifact in the directory is one that a node speaks of."""
    known = {dossier.graph.node(a).metadata.get("file_sha256") for a in dossier.of("artifact")}
    for relative, sha256 in dossier.report.hashes.items():
        if relative.endswith(".slm") and sha256 not in known:
            where = str(dossier.directory / relative)
            dossier.report.fail("SIBLING", where, "no artifact node has this file's hash")
