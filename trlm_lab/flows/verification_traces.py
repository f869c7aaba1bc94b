"""Runs: their cases, what they were run on, and their stored arrays."""

from __future__ import annotations

from trlm_lab.base.records import CaseSuite, TraceRecord
from trlm_lab.cases import load_suite, suite_names
from trlm_lab.errors import TrlmError
from trlm_lab.flows.plan import PLAN_FILE
from trlm_lab.flows.verification_dossier import Dossier
from trlm_lab.traces import TraceStore


def check_stored_traces(dossier: Dossier) -> None:
    """Every stored array against its digest, every trace against a node that speaks of it."""
    runs = dossier.of("trace", "oracle_run")
    spoken = {dossier.graph.node(n).metadata.get("trace_id") for n in runs}
    paths = sorted((dossier.directory / "traces").glob("*.zarr"))
    for done, path in enumerate(paths):
        dossier.progress("check every stored trace", done, len(paths))
        try:
            store = TraceStore(path)
            trace_id = store.verify().trace_id
        except TrlmError as error:
            dossier.report.fail_with(error)
            continue
        if trace_id not in spoken:
            detail = "no node of the receipt has this trace id"
            dossier.report.fail("TRACE_UNSPOKEN", str(path), detail)
        dossier.traces[trace_id] = store
    dossier.progress("check every stored trace", len(paths), len(paths))


def check_run(dossier: Dossier, node_id: str) -> None:
    """A run's record against its case nodes and against the artifact and source under it."""
    record = dossier.graph.trace(node_id)
    _check_cases(dossier, node_id, record)
    _check_subject(dossier, node_id, record)


def _check_cases(dossier: Dossier, node_id: str, record: TraceRecord) -> None:
    """Cases of the suite, each once, with the inputs of the suite; the oracle has them all."""
    suite = {case.case_id: case.digest for case in dossier.graph.suite(node_id)}
    held = [case.case_id for case in record.cases]
    for case in record.cases:
        if suite.get(case.case_id) != case.case_digest:
            detail = "the trace was made from other inputs than the case node"
            dossier.fail("TRACE_CASES", node_id, detail, case.case_id)
        if len(set(case.names)) != len(case.names):
            dossier.fail("TRACE_CASES", node_id, "an array occurs twice", case.case_id)
    if held != sorted(set(held)):
        dossier.fail("TRACE_CASES", node_id, "the cases are not sorted, or one occurs twice")
    missing = sorted(suite.keys() - set(held))
    if missing and (dossier.type(node_id) == "oracle_run" or not held):
        dossier.fail("TRACE_CASES", node_id, f"lacks the cases {missing}")


def _check_subject(dossier: Dossier, node_id: str, record: TraceRecord) -> None:
    graph = dossier.graph
    artifact = graph.child(node_id, "artifact")
    config = graph.child(artifact, "effective_config")
    tree = graph.child(graph.child(config, "acquisition"), "source_tree")
    expected = {
        "config": graph.node(config).metadata["config_id"],
        "snapshot": graph.node(tree).metadata["snapshot_id"],
    }
    if "artifact" in record.subject or "weights" not in record.subject:
        expected["artifact"] = graph.node(artifact).metadata["file_sha256"]
    elif graph.label(node_id) == "f32":
        expected["weights"] = _weights(dossier, tree)
    for name, value in expected.items():
        if record.subject.get(name) != value:
            detail = f"the trace was made from another {name} than the nodes under it"
            dossier.fail("SUBJECT", node_id, detail, name)


def _weights(dossier: Dossier, tree: str) -> str | None:
    """The hash of the source's own weights."""
    rows = [dossier.graph.node(f).metadata for f in dossier.graph.children(tree, "file")]
    return next((r["sha256"] for r in rows if r["path"] == b"model.safetensors"), None)


def check_suite(dossier: Dossier, node_id: str, name: str, digest: str) -> None:
    """The cases of a run are those that the plan binds, and of the built-in suite it names."""
    if CaseSuite(name, tuple(dossier.graph.suite(node_id))).digest != digest:
        detail = f"its cases are not those that the plan binds as {name!r}"
        dossier.fail("SUITE", node_id, detail)
    if name not in suite_names():
        _say_foreign(dossier, name, digest)
    elif dossier.graph.suite(node_id) != load_suite(name).cases:
        detail = f"its cases are not those of the suite {name!r} in this version"
        dossier.fail("SUITE", node_id, detail)


def _say_foreign(dossier: Dossier, name: str, digest: str) -> None:
    """Once: the cases are a user's own, known by their content alone."""
    where = f"{PLAN_FILE}: {name}"
    if not any(f.code == "SUITE_FOREIGN" and f.where == where for f in dossier.report.findings):
        dossier.report.note("SUITE_FOREIGN", where, f"no built-in suite; its cases are {digest}")
