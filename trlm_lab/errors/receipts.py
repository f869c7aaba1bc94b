"""Errors of the receipt store."""

from __future__ import annotations

from trlm_lab.errors.root import InfrastructureError, Refused


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


class NodeSchemaError(Refused):
    """A receipt node of another form than its type has."""

    code = "NODE_SCHEMA"
    fix = "write nodes as docs/formats/identity.md has them, with the version that knows the type"


class NodeTypeError(NodeSchemaError):
    """A node of a type that is not in the table."""

    code = "NODE_TYPE"
    rule = "no node type has this name; there are {known}"
    fix = "use a type of the table, or give the new one a schema in base/records/node_schema.py"


class NodeReservedError(NodeSchemaError):
    """A node of a type that has a name and no schema yet."""

    code = "NODE_RESERVED"
    rule = "the type is reserved and has no schema yet"
    fix = "give it a schema in base/records/node_schema.py before anything is stored under it"


class NodeKeysError(NodeSchemaError):
    """Metadata with a key that the type does not have, or without one that it needs."""

    code = "NODE_KEYS"
    rule = "metadata has {detail}"
    fix = "the keys are {known} (? may be left out)"


class NodeValueError(NodeSchemaError):
    """A metadata value of another kind than its key has."""

    code = "NODE_VALUE"
    rule = "{got} is not {wanted}"
    fix = "give a value of that kind; larger records belong into a blob"


class NodePathError(NodeSchemaError):
    """An absolute path in metadata: the same evidence would have another id elsewhere."""

    code = "NODE_PATH"
    rule = "{got} holds an absolute path"
    fix = "name the file relative to what it belongs to, or put the text into a blob"


class NodeChildrenError(NodeSchemaError):
    """A node that rests on children of other types, or in another order or number."""

    code = "NODE_CHILDREN"
    rule = "it rests on {got}, its type on {wanted}"
    fix = "pass the children in the order of the schema; docs/formats/identity.md shows it"


class NodeLargeError(Refused):
    """A node larger than any that verification reads."""

    code = "NODE_LARGE"
    rule = "{size} bytes, and a node has at most {limit}"
    fix = "put large values into a blob and name it in the metadata"


class StoreWriteError(InfrastructureError):
    """A store that cannot take a node or blob: a full disk, a missing right."""

    code = "STORE_WRITE"
    rule = "it cannot be written: {reason}"
    fix = "make room or give the right to write, then run again; what is stored stays sound"
