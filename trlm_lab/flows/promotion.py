"""The claims of a run, one row each, never one Boolean; and the promotion node that binds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trlm_lab.flows.claim_rows import Claim, claims_of, holds
from trlm_lab.flows.evidence_graph import EvidenceGraph
from trlm_lab.flows.execution import Failed
from trlm_lab.flows.identity import package_sha256
from trlm_lab.flows.secrets import scan_evidence
from trlm_lab.flows.template_claims import template_probe, template_table
from trlm_lab.flows.tokenizer_claims import tokenizer_facts, tokenizer_probe

if TYPE_CHECKING:
    from trlm_lab.flows.run import Run

__all__ = ["Claim", "claims", "promote"]


def claims(run: Run) -> list[Claim]:
    """Every claim that the run makes, in order of level."""
    return claims_of(_graph(run), evidence_of(run), run.plan)


def evidence_of(run: Run) -> list[str]:
    """The nodes that the claims are read from, in order of level; last, the scan of them all."""
    evidence = _evidence(run)
    return [*evidence, scan_evidence(run, evidence), *_uncompiled(run)]


def _evidence(run: Run) -> list[str]:
    return [
        run.source.nodes["source_tree"],
        *_tokenized(run),
        *_rendered(run),
        run.described.nodes["effective_config"],
        *(packed.nodes["inspection"] for packed in run.packed.values()),
        run.hooks_node,
        *(exact.node for exact in run.exactness.values()),
        *(judged.node for judged in run.judged.values()),
        *(_failure_node(run, failed) for failed in run.failures),
    ]


def _tokenized(run: Run) -> list[str]:
    """The table of tokenized texts, or why there is none, where the reference has a profile."""
    node, store = run.tokenizer_node, run.ws.store
    if not node or "profile_id" not in store.get(node).metadata:
        return []
    engines = list(run.plan.exact)
    inputs = {"tokenizer": node, "engines": engines, "package": package_sha256()}
    file = run.source.root / "tokenizer.json"
    made = run.ws.once("tokenized", inputs, lambda: tokenizer_facts(store, file, engines))
    return [tokenizer_probe(store, node, made)]


def _rendered(run: Run) -> list[str]:
    """The table of rendered conversations, where the template compiles."""
    node = run.template_node
    if not node or run.ws.store.get(node).type != "template_ir":
        return []
    store, root, engines = run.ws.store, run.source.root, run.plan.exact
    inputs = {"template": node, "engines": list(engines), "package": package_sha256()}
    table = run.ws.once("rendered", inputs, lambda: template_table(store, root, node, engines))
    return [template_probe(store, node, table)]


def _uncompiled(run: Run) -> list[str]:
    """A template that does not compile stands where templates stand, behind everything else."""
    node = run.template_node
    return [node] if node and run.ws.store.get(node).type == "template_source" else []


def _failure_node(run: Run, failed: Failed) -> str:
    """What an engine that could not run said; its text may name paths, so it is a blob."""
    said = {"engine": failed.task.engine, "code": failed.error.code, "text": failed.error.text}
    return run.ws.store.add(
        "observation",
        {"outcome": failed.outcome.value, "failure_blob": run.ws.store.put_value(said)},
        [run.packed[failed.task.label].nodes["artifact"]],
    )


def _graph(run: Run) -> EvidenceGraph:
    """The graph with the large records that the run holds already."""
    graph = EvidenceGraph(run.ws.store)
    for exact in run.exactness.values():
        graph.hold(exact.node, "table", exact.table)
    for judged in run.judged.values():
        graph.hold(judged.node, "comparison_blob", judged.comparison)
    return graph


def promote(run: Run, rows: Sequence[Claim]) -> str:
    """Write the promotion node: the conjunction of the claims, each with its evidence."""
    found = dict.fromkeys(claim.evidence for claim in rows)
    # The template itself stands last, also where it is the evidence of a claim.
    children = [child for child in found if child != run.template_node]
    if run.planted is not None:
        children.append(run.planted.node)
    if run.template_node:
        children.append(run.template_node)
    return run.ws.store.add(
        "promotion",
        {
            "claims_blob": run.ws.store.put_value([claim.row() for claim in rows]),
            "holds": holds(EvidenceGraph(run.ws.store), rows, children),
        },
        children,
    )
