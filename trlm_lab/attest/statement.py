"""in-toto v1 statements: SLSA-shaped provenance and test results.

Forms: in-toto attestation framework, Statement v1; predicate types
https://slsa.dev/provenance/v1 and https://in-toto.io/attestation/test-result/v0.1. No SLSA level
is claimed. Every statement is a function of receipts alone, so that a verifier derives it again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trlm_lab.base import strict_json
from trlm_lab.errors import StatementInvalidError, TrlmError

STATEMENT = "https://in-toto.io/Statement/v1"
PROVENANCE = "https://slsa.dev/provenance/v1"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
ACQUISITION_TYPE = "urn:trlm-lab:acquisition:1"
BUILDER = "urn:trlm-lab:builder"
RECEIPT = "urn:trlm-lab:receipt"


@dataclass(frozen=True)
class Subject:
    """A named object, its SHA-256 in lower-case hex, and what must be said of it."""

    name: str
    sha256: str
    annotations: Mapping[str, str] = field(default_factory=dict)

    def descriptor(self) -> dict[str, Any]:
        """The resource descriptor of this object."""
        row = {"name": self.name, "digest": {"sha256": self.sha256}}
        return {**row, "annotations": dict(self.annotations)} if self.annotations else row


def provenance_statement(
    subjects: Sequence[Subject],
    *,
    source: str,
    materials: Sequence[Subject],
    converter: dict[str, Any],
    receipt: str,
    builder: Mapping[str, Any],
    decision: Subject,
    commit: str = "",
    endpoint: str = "",
) -> bytes:
    """Where a snapshot's files came from.

    Args:
        subjects: the files of the snapshot.
        source: the source as the pin spells it.
        materials: the files received, before any conversion.
        converter: name and version of what made the subjects of the materials.
        receipt: id of the acquisition node.
        builder: versions of the package, of Python and of the packages that acquired.
        decision: the decision on the licence.
        commit: Git commit that the source meant, where it is a repository.
        endpoint: server of the repository.

    Raises:
        StatementInvalidError: no subject.
    """
    predicate = {
        "buildDefinition": {
            "buildType": ACQUISITION_TYPE,
            "externalParameters": {"source": source} | ({"endpoint": endpoint} if endpoint else {}),
            "internalParameters": {"converter": converter, "environment": _environment(builder)},
            "resolvedDependencies": [
                *([{"uri": source, "digest": {"gitCommit": commit}}] if commit else []),
                *(m.descriptor() for m in materials),
                decision.descriptor(),
            ],
        },
        "runDetails": {
            "builder": {"id": BUILDER, "version": {"trlm_lab": str(builder["trlm_lab"])}},
            "metadata": {"invocationId": f"{RECEIPT}:{receipt}"},
        },
    }
    return _statement(subjects, PROVENANCE, predicate)


def _environment(builder: Mapping[str, Any]) -> dict[str, Any]:
    return {"python": builder["python"], "packages": dict(builder["packages"])}


def test_result_statement(
    subjects: Sequence[Subject],
    *,
    configuration: Sequence[Subject],
    passed: Sequence[str],
    warned: Sequence[str],
    failed: Sequence[str],
    receipt: str,
) -> bytes:
    """What was found about the subjects; FAILED where anything failed, WARNED before PASSED.

    Args:
        subjects: what was judged.
        configuration: what it was judged by: policy, oracle, the receipt itself.
        passed, warned, failed: names of the single results.
        receipt: id of the node that holds the evidence.

    Raises:
        StatementInvalidError: no subject.
    """
    result = "FAILED" if failed else "WARNED" if warned else "PASSED"
    predicate = {
        "result": result,
        "configuration": [
            *(c.descriptor() for c in configuration),
            {"uri": f"{RECEIPT}:{receipt}", "digest": {"sha256": receipt}},
        ],
        "passedTests": list(passed),
        "warnedTests": list(warned),
        "failedTests": list(failed),
    }
    return _statement(subjects, TEST_RESULT, predicate)


def _statement(
    subjects: Sequence[Subject], predicate_type: str, predicate: dict[str, Any]
) -> bytes:
    row = {
        "_type": STATEMENT,
        "subject": [s.descriptor() for s in subjects],
        "predicateType": predicate_type,
        "predicate": predicate,
    }
    text = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    check_statement(text.encode(), where=predicate_type)
    return text.encode()


def check_statement(payload: bytes, *, where: str) -> None:
    """The in-toto library's own reading of the bytes: unknown fields and missing digests refused.

    Raises:
        StatementInvalidError: what it refuses.
    """
    from google.protobuf import json_format
    from in_toto_attestation.v1.statement import Statement
    from in_toto_attestation.v1.statement_pb2 import Statement as Message

    try:
        strict_json.loads(payload)
        statement = Statement.copy_from_pb(json_format.Parse(payload, Message()))
        statement.validate()
    except TrlmError as error:
        raise StatementInvalidError(where=where, detail=error.detail) from error
    except (json_format.ParseError, ValueError, UnicodeDecodeError, RecursionError) as error:
        raise StatementInvalidError(where=where, detail=str(error)) from error
