"""Errors of the canonical encoding, the blob store, names and records."""

from __future__ import annotations

from trlm_lab.errors.root import Refused, UsageError


class NotCanonicalError(Refused):
    """CBOR that is not in the one deterministic form."""

    code = "NOT_CANONICAL"
    rule = "the bytes are not deterministic CBOR (RFC 8949 4.2.1): {detail}"
    fix = "write the value with trlm_lab.base.canon.encode"


class NotEncodableError(Refused):
    """A value that the canonical encoding forbids."""

    code = "NOT_ENCODABLE"
    rule = "{detail}"
    fix = "use text keys, finite numbers, texts, byte strings, lists and maps"


class BlobMissingError(Refused):
    """A content id that the store does not hold."""

    code = "BLOB_MISSING"
    rule = "no blob with SHA-256 {sha256}"
    fix = "copy the store whole, or rerun the step that made the blob"


class BlobCorruptError(Refused):
    """Stored bytes whose hash is not their name."""

    code = "BLOB_CORRUPT"
    rule = "the bytes hash to {got}, the name says {expected}"
    fix = "restore the file from another copy; content-addressed files are never edited"


class DuplicateNameError(UsageError):
    """Two things registered, or found, under one name."""

    code = "DUPLICATE_NAME"
    rule = "the name {name!r} is taken"
    fix = "choose another name"


class UnknownNameError(UsageError):
    """A name that is not in the table."""

    code = "UNKNOWN_NAME"
    rule = "{kind} {name!r} is unknown; known: {known}"
    fix = "use one of the known names"


class RecordError(Refused):
    """A record whose fields contradict each other or their types."""

    code = "RECORD"
    rule = "{detail}"
    fix = "correct the named field, or make the file again with this version"


class NonFiniteError(Refused):
    """A NaN or infinity where none may be."""

    code = "NONFINITE"
    rule = "element {index} has the bits {bits}"
    fix = "look at the operator before this boundary; non-finite values are never repaired"
