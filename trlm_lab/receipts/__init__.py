"""The receipt graph: an append-only, content-addressed store of typed nodes, and its verifier."""

from trlm_lab.receipts.graph import ancestors, render_graph, walk
from trlm_lab.receipts.store import ReceiptStore
from trlm_lab.receipts.verify import Finding, VerifyReport, verify_store

__all__ = [
    "Finding",
    "ReceiptStore",
    "VerifyReport",
    "ancestors",
    "render_graph",
    "verify_store",
    "walk",
]
