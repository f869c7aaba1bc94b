"""The likely fix of every code that a verification may report on its own."""

from __future__ import annotations

from typing import Final

_COPY = "copy the directory whole from where it verifies"
_AGAIN = "run it again; receipts are never edited"
_FORGED = "trust nothing here: these receipts do not follow from their evidence; run it again"

FIXES: Final[dict[str, str]] = {
    # the store itself
    "RECEIPT_MISSING": "run it again to go on; the receipt is written last",
    "RECEIPT_MALFORMED": _COPY,
    "NOT_A_FILE": "put a copy of the file there; links, pipes and devices are never followed",
    "STORE_ENTRY": "remove it; nodes/ and blobs/ hold files named by their hash and nothing else",
    "NODE_LARGE": _COPY,
    "NODE_SCHEMA": _FORGED,
    "SUPERSEDED_MISSING": _COPY,
    "CHILD_MISSING": _COPY,
    "BLOB_MISSING": _COPY,
    "BLOB_CORRUPT": "restore the file from another copy; content-addressed files are never edited",
    "BLOB_REFERENCE": _AGAIN,
    "ROOT_INCOMPLETE": _COPY,
    "FILE_UNREADABLE": "give this user the right to read it, or copy it again",
    "FILES_MALFORMED": _AGAIN,
    "FILE_MISSING": _COPY,
    "FILE_CORRUPT": _COPY,
    "PATH_OUTSIDE": _FORGED,
    # the graph
    "NO_PROMOTION": "run it again to its end; the root of a run is a report over a promotion",
    "PLAN_MISSING": _COPY,
    "EVIDENCE_UNREADABLE": _FORGED,
    "RECORD_ID": _FORGED,
    "SIBLING": _FORGED,
    "SUBJECT": _FORGED,
    "SUITE": "verify with the version of trlm_lab that made the run, or run it again",
    "TRACE_CASES": _FORGED,
    "TRACE_UNSPOKEN": "remove it, or run again: it belongs to another run",
    "TRACE_LOST": _COPY,
    "ENGINE": _FORGED,
    # policies
    "POLICY_FACTOR": "calibrate again with the declared factor",
    "POLICY_LIMIT": _FORGED,
    "POLICY_DRIFT": _FORGED,
    "POLICY_GROUNDS": _FORGED,
    "POLICY_UNSPOKEN": "remove the file, or run again: no receipt rests on this policy",
    # comparisons
    "COMPARISON_OUTCOME": _FORGED,
    "COMPARISON_POLICY": _FORGED,
    "COMPARISON_TRACES": _FORGED,
    "COMPARISON_ROW": _FORGED,
    "COMPARISON_EXCUSE": _FORGED,
    "COMPARISON_COVERAGE": _FORGED,
    "COMPARISON_RECOMPUTED": _FORGED,
    "EXACTNESS": _FORGED,
    "GOLDEN_JUDGEMENT": _FORGED,
    # claims
    "CLAIM_LEFT_OUT": _FORGED,
    "CLAIM_ADDED": _FORGED,
    "CLAIM_CHANGED": _FORGED,
    "EVIDENCE_LEFT_OUT": _FORGED,
    "EVIDENCE_FOREIGN": _FORGED,
    "FAULT_RUN": _FORGED,
    "REVIEWED": _FORGED,
    "PROMOTION": _FORGED,
    "REPORT_TEXT": "render the report again; it does not show the claims that were verified",
    # attestations
    "ATTESTATION_STALE": "make the attestations again with `trlm attest DIR`, with the same --key",
    "ATTESTATION_MISSING": "make the attestations again with `trlm attest DIR`, or remove them all",
    "SIGNATURE_UNCHECKED": "give the signer's public key: `trlm verify DIR --key FILE.pub`",
}
