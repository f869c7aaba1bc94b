"""The claims that evidence makes: one function for the run that writes them and for `trlm verify`.

Everything is read from receipt nodes and the plan; nothing from the memory of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from trlm_lab.base.licence_state import is_undecided
from trlm_lab.base.records import SOUND, CaseComparison, Outcome
from trlm_lab.base.records.outcome import worst
from trlm_lab.flows import tokenizer_outcomes
from trlm_lab.flows.evidence_graph import EvidenceGraph
from trlm_lab.flows.plan import RunPlan
from trlm_lab.flows.template_outcomes import outcomes


@dataclass(frozen=True)
class Claim:
    """One claim level for one engine and artifact, its outcome and the node that shows it."""

    level: str
    claim: str
    engine: str
    artifact: str
    outcome: Outcome
    detail: str
    evidence: str

    def row(self) -> dict[str, Any]:
        """JSON-ready row."""
        return {**vars(self), "outcome": self.outcome.value}


#: Outcomes that do not stop a promotion beside the sound ones: an unstable oracle is shown and is
#: nobody's fault, and what an engine cannot do is no failure.
NEITHER = (Outcome.NOT_SUPPORTED, Outcome.UNSTABLE_ORACLE)


def claims_of(graph: EvidenceGraph, evidence: Sequence[str], plan: RunPlan) -> list[Claim]:
    """Every claim that these nodes make, in their order; then the engines that were not found.

    Node types that make no claim of their own (`ledger`, `fault_run`) are passed over.
    """
    rows: list[Claim] = []
    for node_id in evidence:
        make = _CLAIMS.get(graph.node(node_id).type)
        if make is not None:
            rows += make(graph, node_id, evidence)
    configs = [e for e in evidence if graph.node(e).type == "effective_config"]
    return rows + [_absent(line, configs[0]) for line in plan.absent if configs]


def holds(graph: EvidenceGraph, rows: Sequence[Claim], children: Sequence[str]) -> bool:
    """Whether every claim is sound or nobody's fault, and every planted fault was named."""
    sound = all(c.outcome in SOUND or c.outcome in NEITHER for c in rows)
    runs = [n for n in map(graph.node, children) if n.type == "fault_run"]
    return sound and all(n.metadata["expected"] == n.metadata["named"] for n in runs)


def _absent(line: str, config: str) -> Claim:
    """An engine that was not found: never a pass, and never silent."""
    name, _, remedy = line.partition(": ")
    return Claim(
        "C7 layers", "the engine runs", name, "", Outcome.NOT_SUPPORTED, remedy, config
    )  # fmt: skip


def _source(graph: EvidenceGraph, tree: str, evidence: Sequence[str]) -> list[Claim]:
    files = [graph.node(f).metadata for f in graph.children(tree, "file")]
    texts = sum(case.kind == "text" for case in _judged_cases(graph, evidence))
    tokenizer = any(f["path"] == b"tokenizer.json" for f in files)
    detail = f"{texts} texts tokenized again" if tokenizer else "the source has no tokenizer"
    outcome = Outcome.MATCH if tokenizer and texts else Outcome.NOT_SUPPORTED
    return [
        Claim("C0 source", "bytes are those of the pin", "source", "", Outcome.MATCH,
              f"{len(files)} files hashed", tree),
        Claim("C1 tokenizer", "ids of the text cases equal the source tokenizer's", "source", "",
              outcome, detail, tree),
    ]  # fmt: skip


def _judged_cases(graph: EvidenceGraph, evidence: Sequence[str]) -> list[Any]:
    """The judged suite: what the oracle behind the probe was given."""
    runs = [run for e in evidence for run in _watched(graph, e)]
    return [c for run in runs[:1] for c in graph.suite(run)]


def _watched(graph: EvidenceGraph, node_id: str) -> list[str]:
    """The oracle run behind the probe of its hooks; nothing for another node."""
    if graph.node(node_id).type != "probe":
        return []
    return graph.children(node_id, "oracle_run")


def _configuration(graph: EvidenceGraph, config: str, _: Sequence[str]) -> list[Claim]:
    conflict = graph.value(graph.child(config, "conflict"), "receipt_blob")
    framework = graph.node(graph.child(config, "source_defaults")).metadata["framework"]
    outcome = Outcome.MATCH if conflict["verdict"] == "accept" else Outcome.WRONG
    # A reviewed choice holds for everything below, so the claim itself says where it deviates.
    detail = "; ".join([framework, *(row["statement"] for row in conflict.get("resolutions", ()))])
    return [Claim("C3 configuration", "every field declared and materialised", "source", "",
                  outcome, detail, config)]  # fmt: skip


def _artifact(graph: EvidenceGraph, inspection: str, _: Sequence[str]) -> list[Claim]:
    artifact, label = graph.child(inspection, "artifact"), graph.label(inspection)
    ledger, found = graph.child(artifact, "ledger"), graph.node(inspection).metadata
    tensors = len(graph.ledger(ledger).entries)
    whole = found["ledger_entries_verified"] == tensors
    size = graph.node(artifact).metadata["size"]
    return [
        Claim("C4 tensors", "the ledger is a bijection or says why not", "packer", label,
              _match(whole), f"{tensors} entries, hashes recomputed on both sides", ledger),
        Claim("C5 pack", "an independent reader confirms every hash and code", "inspector", label,
              _match(found["findings"] == 0), f"{size:,} bytes", inspection),
    ]  # fmt: skip


def _match(holding: bool) -> Outcome:
    return Outcome.MATCH if holding else Outcome.WRONG


def _probe(graph: EvidenceGraph, probe: str, _: Sequence[str]) -> list[Claim]:
    facts = graph.node(probe).metadata
    if "rendered_blob" in facts:
        return _templates(graph, probe)
    if graph.children(probe, "tokenizer_profile"):
        return _tokenized(graph, probe)
    return [Claim("C8 logits", "the oracle's hooks change no bit", "torch", "",
                  _match(facts["plain"] == facts["watched"]),
                  "logits with every checkpoint captured and without", probe)]  # fmt: skip


_RENDERED = "rendered bytes are the source's, owners the reference's"


def _templates(graph: EvidenceGraph, probe: str) -> list[Claim]:
    rows = outcomes(graph.value(probe, "rendered_blob"))
    return [Claim("C2 template", _RENDERED, e, "", o, detail, probe) for e, o, detail in rows]


_TOKENIZED = "ids, offsets and text are the source's, bytes the reference's"


def _tokenized(graph: EvidenceGraph, probe: str) -> list[Claim]:
    if "refusal_blob" in graph.node(probe).metadata:
        code = graph.value(probe, "refusal_blob")["code"]
        detail = f"the tokenizer does not compile: {code}"
        return [Claim("C1 tokenizer", _TOKENIZED, "source", "", Outcome.NOT_SUPPORTED,
                      detail, probe)]  # fmt: skip
    rows = tokenizer_outcomes.outcomes(graph.value(probe, "tokenized_blob"))
    return [Claim("C1 tokenizer", _TOKENIZED, e, "", o, detail, probe) for e, o, detail in rows]


def _uncompiled(graph: EvidenceGraph, node_id: str, _: Sequence[str]) -> list[Claim]:
    """A template outside the subset: no engine of ours renders it."""
    code = graph.value(node_id, "refusal_blob")["code"]
    return [Claim("C2 template", _RENDERED, "source", "", Outcome.NOT_SUPPORTED,
                  f"the template does not compile: {code}", node_id)]  # fmt: skip


def _comparison(graph: EvidenceGraph, node_id: str, _: Sequence[str]) -> list[Claim]:
    bounded = "comparison_blob" in graph.node(node_id).metadata
    return _within_limits(graph, node_id) if bounded else _same_bits(graph, node_id)


def _same_bits(graph: EvidenceGraph, node_id: str) -> list[Claim]:
    table, label = graph.exact_table(node_id), graph.node(node_id).metadata["artifact"]
    first, total = table.engines[0], len(table.rows)
    profile = graph.trace(graph.node(node_id).children[0]).engine.profile
    rows = []
    # The first engine is what the others are held to; it makes no claim of its own here.
    for count in table.counts()[1:]:
        engine, equal = count["engine"], count["equal"]
        detail = f"{equal:,} of {total:,} arrays have the SHA-256 of {first}'s"
        if equal < total:
            detail += f"; first parting: {table.first_parting(engine)}"
        rows.append(
            Claim("C7 layers", f"same bits in {profile}", engine, label,
                  _match(equal == total), detail, node_id)
        )  # fmt: skip
    return rows


def _within_limits(graph: EvidenceGraph, node_id: str) -> list[Claim]:
    engine, label = graph.value(node_id, "engine_blob"), graph.node(node_id).metadata["artifact"]
    layers, logits = _split(graph.comparison(node_id).cases)
    return [
        Claim(level, "within the frozen limit of the torch oracle", engine, label,
              worst(outcomes), f"{len(outcomes):,} checkpoints, {_spread(outcomes)}", node_id)
        for level, outcomes in (("C7 layers", layers), ("C8 logits", logits))
        if outcomes
    ]  # fmt: skip


def _split(cases: tuple[CaseComparison, ...]) -> tuple[list[Outcome], list[Outcome]]:
    layers: list[Outcome] = []
    logits: list[Outcome] = []
    for case in cases:
        for point in case.checkpoints:
            at_logits = point.checkpoint.startswith("logits")
            (logits if at_logits else layers).append(point.outcome)
    return layers, logits


def _spread(outcomes: list[Outcome]) -> str:
    counts = {o: outcomes.count(o) for o in Outcome}
    return ", ".join(f"{n} {o.value}" for o, n in counts.items() if n)


def _failure(graph: EvidenceGraph, node_id: str, _: Sequence[str]) -> list[Claim]:
    """An engine that ended in an error."""
    found, label = graph.value(node_id, "failure_blob"), graph.label(node_id)
    outcome = Outcome(graph.node(node_id).metadata["outcome"])
    return [Claim("C8 logits", "the engine runs", found["engine"], label, outcome, found["text"],
                  node_id)]  # fmt: skip


def _secrets(graph: EvidenceGraph, node_id: str, evidence: Sequence[str]) -> list[Claim]:
    found = graph.value(node_id, "findings_blob")
    places = "; ".join(f"{row['rule']} in {row['where']}" for row in found[:3])
    detail = f"{len(found)} findings: {places}" if found else "prompts, metadata and blobs scanned"
    outcome = Outcome.WRONG if found else Outcome.MATCH
    return [Claim("C14 promotion", "nothing secret in what is published", "scanner", "", outcome,
                  detail, node_id), *_licence(graph, evidence)]  # fmt: skip


def _licence(graph: EvidenceGraph, evidence: Sequence[str]) -> list[Claim]:
    """Only where nobody decided: no fault of any engine, and no promotion either."""
    configs = [e for e in evidence if graph.node(e).type == "effective_config"]
    detail = "nobody did: for local use alone; --licence-decision FILE names who did"
    return [
        Claim("C14 promotion", "somebody decided on the licence", "source", "",
              Outcome.NOT_SUPPORTED, detail, config)
        for config in configs
        for licence in [graph.child(graph.child(config, "acquisition"), "licence")]
        if is_undecided(graph.value(licence, "decision_blob"))
    ]  # fmt: skip


_CLAIMS: dict[str, Callable[[EvidenceGraph, str, Sequence[str]], list[Claim]]] = {
    "source_tree": _source,
    "effective_config": _configuration,
    "inspection": _artifact,
    "probe": _probe,
    "template_source": _uncompiled,
    "comparison": _comparison,
    "observation": _failure,
    "secret_scan": _secrets,
}
