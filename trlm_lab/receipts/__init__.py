"""The receipt graph: an append-only, content-addressed store of typed nodes, and its verifier."""

from trlm_lab.receipts.copying import copy_graph
from trlm_lab.receipts.findings import Finding, Progress, VerifyReport, silent
from trlm_lab.receipts.graph import ancestors, render_graph, walk, walk_with
from trlm_lab.receipts.store import ReceiptStore
from trlm_lab.receipts.verify import verify_store

__all__ = [
    "Finding",
    "Progress",
    "ReceiptStore",
    "VerifyReport",
    "ancestors",
    "copy_graph",
    "render_graph",
    "silent",
    "verify_store",
    "walk",
    "walk_with",
]
