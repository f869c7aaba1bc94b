"""Tokenized texts in a receipt: the reference makes them again from the compiled tokenizer."""

from __future__ import annotations

import tempfile
from pathlib import Path

from trlm_lab.flows.plan import RunPlan
from trlm_lab.flows.tokenizer_claims import TOKENIZERS, answer, short_samples
from trlm_lab.flows.tokenizer_engines import Reference
from trlm_lab.flows.tokenizer_profiles import profile_file
from trlm_lab.flows.tokenizer_requests import TokenizerFile
from trlm_lab.flows.verification_dossier import Dossier


def check_tokenized(dossier: Dossier, node_id: str) -> None:
    """Every text of the corpus is there, with what the reference answers from the block.

    The block is the tokenizer of the profile below: both have one `profile_id`. What the source's
    library answered is stated by the run alone, as an oracle's logits are.
    """
    graph = dossier.graph
    if "refusal_blob" in graph.node(node_id).metadata:
        return
    block = graph.store.blobs.get(graph.node(node_id).metadata["tok2_blob"])
    stated = graph.value(node_id, "tokenized_blob")["cases"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.tok2"
        path.write_bytes(block)
        pinned = graph.node(graph.child(node_id, "tokenizer_profile")).metadata.get("profile_id")
        if profile_file(path).profile.profile_id != pinned:
            detail = "the compiled tokenizer is not that of the profile"
            dossier.fail("RECORD_ID", node_id, detail, "tok2_blob")
            return
        opened = Reference(TokenizerFile.at(path))
    corpus = list(short_samples(opened.tokenizer))
    derived = [answer(opened, sample) for _, sample in corpus]
    if [row["case"] for row in stated] != [name for name, _ in corpus]:
        dossier.fail("RECORD_ID", node_id, "the texts are not those of the corpus", "cases")
        return
    engines = set(stated[0]["engines"])
    for row, ours in zip(stated, derived, strict=True):
        if row["engines"].get("reference") != ours or set(row["engines"]) != engines:
            detail = f"{row['case']}: the reference answers otherwise than is stated"
            dossier.fail("RECORD_ID", node_id, detail, "tokenized_blob")


def check_tokenized_there(dossier: Dossier, promotion: str, plan: RunPlan) -> None:
    """Every pinned tokenizer has its table, with the answers of the planned engines."""
    graph = dossier.graph
    probes = graph.children(promotion, "probe")
    over = [profile for p in probes for profile in graph.children(p, "tokenizer_profile")]
    for profile in dossier.of("tokenizer_profile"):
        if "profile_id" in graph.node(profile).metadata and profile not in over:
            detail = "no table of tokenized texts rests on the tokenizer's profile"
            dossier.fail("EVIDENCE_LEFT_OUT", promotion, detail, "C1")
    tables = [p for p in probes if "tokenized_blob" in graph.node(p).metadata]
    wanted = {"reference", *(engine for engine in plan.exact if engine in TOKENIZERS)}
    for table in tables:
        value = graph.value(table, "tokenized_blob")
        found = {*value["cases"][0]["engines"], *value["missing"]}
        if found != wanted:
            detail = f"tokenized by {sorted(found)}, planned are {sorted(wanted)}"
            dossier.fail("EVIDENCE_LEFT_OUT", promotion, detail, "C1")
