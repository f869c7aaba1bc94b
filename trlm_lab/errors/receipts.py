"""Errors of the receipt store."""

from __future__ import annotations

from trlm_lab.errors.root import Refused


class NodeMissingError(Refused):
    """A node id that the store does not hold."""

    code = "NODE_MISSING"
    rule = "no node {node_id}"
    fix = "list the nodes with `trlm receipts log`"


class NodeCorruptError(Refused):
    """A node file whose content makes another id."""

    code = "NODE_CORRUPT"
    rule = "the content makes the id {got}, the name says {expected}"
    fix = "restore the file from another copy; nodes are never edited"


class ChildMissingError(Refused):
    """A node that names a child which is not stored."""

    code = "CHILD_MISSING"
    rule = "the child {child} is not in the store"
    fix = "store children before their parents"


class EvidenceMissingError(Refused):
    """A node that does not rest on the one piece of evidence that its kind needs."""

    code = "EVIDENCE_MISSING"
    rule = "it has {found} children of type {wanted} and needs one"
    fix = "run it again; a receipt node is never edited"


class NothingChangedError(Refused):
    """A change that names nothing under the receipt."""

    code = "NOTHING_CHANGED"
    rule = "no node under the receipt is meant"
    fix = "name a node id, a node type, or TYPE:TEXT; `trlm receipts graph` shows them"
