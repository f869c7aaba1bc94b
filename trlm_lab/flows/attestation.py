"""`trlm attest`: the receipts of a run as in-toto statements that others' tools can read.

Files `attestations/<kind>-<node id>.json` lie beside the receipt and outside its graph: they speak
of the sealed receipt. `trlm verify` derives every statement again and compares the bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trlm_lab.attest import (
    Subject,
    check_signature,
    decode_envelope,
    encode_envelope,
    provenance_statement,
    read_public_key,
    read_signing_key,
    signer_ids,
    test_result_statement,
)
from trlm_lab.base.blobs import write_atomically
from trlm_lab.base.records import FAULTS, Comparison, Node, Outcome
from trlm_lab.errors import NoAttestationError, NoReceiptError, TrlmError
from trlm_lab.flows.licensing import require_decided
from trlm_lab.flows.verification_dossier import UNREADABLE
from trlm_lab.receipts import ReceiptStore, VerifyReport, walk
from trlm_lab.receipts.verify import read_receipt

ATTESTATIONS = "attestations"
#: Far more than the rows of any comparison take; a larger file is not read.
LARGEST_ENVELOPE = 64 << 20
_PASSED = frozenset({Outcome.MATCH.value})
_FAILED = frozenset(o.value for o in (*FAULTS, Outcome.INFRA))


@dataclass(frozen=True)
class Attestation:
    """A statement about one receipt node and the file name it has."""

    name: str
    statement: bytes


def attest(directory: Path, key: Path | None = None) -> list[Path]:
    """Write the attestations of a sealed directory, signed where a key is given.

    Raises:
        NoReceiptError: the directory has no sealed receipt, or one that cannot be read.
        KeyUnreadableError: the key file holds no key.
        LicenceUndecidedError: nobody decided on the licence of a source.
    """
    signer = read_signing_key(key) if key else None
    store, root = _sealed(directory)
    written = []
    for attestation in _publishable(directory, store, root):
        path = directory / ATTESTATIONS / attestation.name
        write_atomically(path, encode_envelope(attestation.statement, signer))
        written.append(path)
    return written


def _publishable(directory: Path, store: ReceiptStore, root: str) -> list[Attestation]:
    """Every statement, before any is written; none where nobody decided on a licence."""
    try:
        for _, node in walk(store, root):
            if node.type == "acquisition":
                (licence,) = _children(store, node, "licence")
                decision = store.get_value(licence.metadata["decision_blob"])
                require_decided(decision, f"{directory}, {node.metadata['pin']}")
        return list(statements(store, root))
    except TrlmError:
        raise
    except UNREADABLE as error:
        detail = f"a node is not of its form ({type(error).__name__}: {error})"
        raise NoReceiptError(where=str(directory), detail=detail) from error


def _sealed(directory: Path) -> tuple[ReceiptStore, str]:
    report = VerifyReport()
    root = read_receipt(directory, report)
    if root is None:
        raise NoReceiptError(where=str(directory), detail=report.findings[0].detail)
    return ReceiptStore(directory), root


def statements(store: ReceiptStore, root: str) -> Iterator[Attestation]:
    """Every statement that the graph under `root` gives, in the graph's order."""
    for node_id, node in walk(store, root):
        if node.type == "acquisition":
            yield Attestation(f"acquisition-{node_id}.json", _acquisition(store, node_id, node))
        elif "comparison_blob" in node.metadata:
            yield Attestation(f"comparison-{node_id}.json", _comparison(store, node_id, node))
        elif "exactness_blob" in node.metadata:
            yield Attestation(f"exactness-{node_id}.json", _exactness(store, node_id, node))
        elif node.type == "promotion":
            yield Attestation(f"promotion-{node_id}.json", _promotion(store, node_id, node))


def _children(store: ReceiptStore, node: Node, kind: str) -> list[Node]:
    return [n for n in map(store.get, node.children) if n.type == kind]


def _text(path: bytes | str) -> str:
    return path.decode("utf-8", "backslashreplace") if isinstance(path, bytes) else path


def _acquisition(store: ReceiptStore, node_id: str, node: Node) -> bytes:
    (tree,) = _children(store, node, "source_tree")
    (provenance,) = _children(store, node, "provenance")
    (licence,) = _children(store, node, "licence")
    facts = store.get_value(provenance.metadata["statement_blob"])
    hub = facts.get("hub", {})
    files = [n.metadata for n in _children(store, tree, "file")]
    return provenance_statement(
        [Subject(_text(f["path"]), f["sha256"]) for f in files],
        source=node.metadata["pin"],
        materials=[Subject(_text(m["name"]), m["sha256"]) for m in facts.get("materials", [])],
        converter=facts.get("converter", {}),
        receipt=node_id,
        builder=store.get_value(node.metadata["builder_blob"]),
        decision=Subject("licence decision", licence.metadata["decision_blob"]),
        commit=hub.get("commit", ""),
        endpoint=hub.get("endpoint", ""),
    )


def _artifacts(store: ReceiptStore, node_id: str) -> list[Subject]:
    """Every artifact under a node; a comparison of source models has its weights instead."""
    nodes = [n for _, n in walk(store, node_id)]
    artifacts = [n for n in nodes if n.type == "artifact"]
    if artifacts:
        return [_artifact(store, n) for n in artifacts]
    return [
        Subject(_text(n.metadata["path"]), n.metadata["sha256"]) for n in nodes if n.type == "file"
    ]


def _artifact(store: ReceiptStore, node: Node) -> Subject:
    profiles = _children(store, node, "quant_profile")
    label = profiles[0].metadata["name"] if profiles else "model"
    return Subject(f"{label}.slm", node.metadata["file_sha256"])


def _comparison(store: ReceiptStore, node_id: str, node: Node) -> bytes:
    comparison = Comparison.from_map(store.get_value(node.metadata["comparison_blob"]))
    rows = [
        (f"{case.case_id}/{point.checkpoint}", point.outcome.value)
        for case in comparison.cases
        for point in case.checkpoints
    ]
    configuration = [
        Subject("oracle trace", comparison.reference_id),
        Subject("candidate trace", comparison.candidate_id),
    ]
    if comparison.policy_id is not None:
        configuration.append(Subject("tolerance policy", comparison.policy_id))
    configuration += resolutions_under(store, node_id)
    return _test_result(rows, _artifacts(store, node_id), configuration, node_id)


def _exactness(store: ReceiptStore, node_id: str, node: Node) -> bytes:
    facts = node.metadata
    rows = [
        (f"{engine}: {equal} of {facts['total']} arrays", "MATCH" if whole else "WRONG")
        for engine, equal in facts["equal"].items()
        for whole in [equal == facts["total"]]
    ]
    traces = _children(store, node, "trace")
    configuration = [
        Subject(f"trace of {engine}", trace.metadata["trace_id"])
        for engine, trace in zip(facts["engines"], traces, strict=True)
    ] + resolutions_under(store, node_id)
    return _test_result(rows, _artifacts(store, node_id), configuration, node_id)


def _promotion(store: ReceiptStore, node_id: str, node: Node) -> bytes:
    claims = store.get_value(node.metadata["claims_blob"])
    rows = [
        (" ".join(filter(None, (r["level"], r["engine"], r["artifact"], r["claim"]))), r["outcome"])
        for r in claims
    ]
    return _test_result(
        rows, _artifacts(store, node_id), resolutions_under(store, node_id), node_id
    )


def resolutions_under(store: ReceiptStore, node_id: str) -> list[Subject]:
    """The reviewed files under a node that settled conflicts, each with its statement."""
    rows = [n.metadata for _, n in walk(store, node_id) if n.type == "resolution"]
    return [
        Subject(
            f"resolution of {row['code']} in {row['field']}",
            row["file_sha256"],
            {"conflict": row["conflict_id"], "kind": row["kind"], "statement": row["statement"]},
        )
        for row in rows
    ]


def _test_result(
    rows: list[tuple[str, str]],
    subjects: list[Subject],
    configuration: list[Subject],
    node_id: str,
) -> bytes:
    settled = _PASSED | _FAILED
    return test_result_statement(
        subjects,
        configuration=configuration,
        passed=[name for name, outcome in rows if outcome in _PASSED],
        warned=[f"{name}: {outcome}" for name, outcome in rows if outcome not in settled],
        failed=[f"{name}: {outcome}" for name, outcome in rows if outcome in _FAILED],
        receipt=node_id,
    )


@dataclass(frozen=True)
class Signed:
    """How many statements carry a valid signature of the key with this id."""

    keyid: str
    statements: int


def check_attestations(
    directory: Path, report: VerifyReport, key: Path | None = None
) -> Signed | None:
    """Derive every statement from the graph again, compare, and check the signatures of `key`.

    Raises:
        KeyUnreadableError: the key file holds no key.
        NoAttestationError: a key is given and there is nothing that it could have signed.
    """
    public = read_public_key(key) if key else None
    paths = sorted((directory / ATTESTATIONS).glob("*"))
    if public is not None and not paths:
        raise NoAttestationError(where=str(directory / ATTESTATIONS))
    if not paths or report.root is None:
        return None
    try:
        derived = {a.name: a.statement for a in statements(ReceiptStore(directory), report.root)}
    except UNREADABLE as error:
        report.fail("EVIDENCE_UNREADABLE", f"under root {report.root[:12]}", str(error))
        return None
    valid = 0
    for path in paths:
        try:
            envelope = decode_envelope(_bytes(path), where=str(path))
            if public is not None:
                check_signature(envelope, public, where=str(path))
                valid += 1
        except TrlmError as error:
            report.fail_with(error)
            continue
        if derived.get(path.name) != envelope.payload:
            report.fail(
                "ATTESTATION_STALE", str(path), "the receipts under the root give another statement"
            )
        elif public is None and signer_ids(envelope):
            signers = ", ".join(signer_ids(envelope))
            detail = f"signed by key {signers}, which was not given: --key checks it"
            report.note("SIGNATURE_UNCHECKED", str(path), detail)
    for name in sorted(set(derived) - {p.name for p in paths}):
        report.fail("ATTESTATION_MISSING", str(directory / ATTESTATIONS / name), "is not here")
    return Signed(public.keyid, valid) if public is not None else None


def _bytes(path: Path) -> bytes:
    """What a regular file of bearable size holds; nothing for links, devices and the like."""
    plain = path.is_file() and not path.is_symlink()
    return path.read_bytes() if plain and path.stat().st_size <= LARGEST_ENVELOPE else b""
