"""A judgement by golden containers: its verdicts against its outcome and its containers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trlm_lab.base.records import Mismatch
from trlm_lab.base.records.outcome import worst
from trlm_lab.flows.verification_dossier import Dossier
from trlm_lab.golden import SCHEMA, GoldenCase, read_document

CODE = "GOLDEN_JUDGEMENT"


def is_judgement(metadata: dict[str, Any]) -> bool:
    """Whether a comparison is one by golden containers."""
    return "verdicts_blob" in metadata


def check_judgement(dossier: Dossier, node_id: str) -> None:
    """Report what the node says and its records do not. The verdicts themselves are taken."""
    facts = dossier.graph.node(node_id).metadata
    verdicts = dossier.graph.value(node_id, "verdicts_blob")
    cases = dossier.graph.children(node_id, "case")
    if len(verdicts) != len(cases):
        detail = f"{len(verdicts)} verdicts on {len(cases)} containers"
        dossier.fail(CODE, node_id, detail, "verdicts_blob")
        return
    outcome = worst([Mismatch.from_map(row["mismatch"]).verdict for row in verdicts]).value
    if facts["outcome"] != outcome:
        dossier.fail(CODE, node_id, f"the worst verdict is {outcome}", "outcome")
    for row, case in zip(verdicts, cases, strict=True):
        for detail in _differences(dossier, row, case):
            dossier.fail(CODE, node_id, detail, f"verdict on {row['case_id']!r:.60}")


def _differences(dossier: Dossier, row: dict[str, Any], case: str) -> Iterator[str]:
    facts = dossier.graph.node(case).metadata
    document: GoldenCase = read_document(dossier.graph.store.blobs.get(facts["golden_blob"]))
    held = {
        "case_id": (row["case_id"], facts["case_id"]),
        "document_sha256": (row["document_sha256"], facts["golden_blob"]),
        "of": (row["of"], len(document.observations)),
        "generator": (facts.get("generator"), document.generator_receipt.hex()),
        "container": (facts["container"], SCHEMA),
    }
    for name, (said, derived) in held.items():
        if said != derived:
            yield f"{name} is {said!r:.80}, the container gives {derived!r:.80}"
    if not 0 <= row["judged"] <= row["of"]:
        yield f"{row['judged']} of {row['of']} arrays are judged"
