"""Errors of the SLM2 container; one class per family of rules."""

from __future__ import annotations

from trlm_lab.errors.root import Refused


class SlmError(Refused):
    """Root of the container's refusals; `where` ends in the byte offset of the offending field."""

    code = "SLM"
    rule = "{field} is {got}, expected {expected}"


class SlmMagicError(SlmError):
    """Another format, or a version that this reader does not know."""

    code = "SLM_VERSION"
    fix = "read the file with the version that wrote it, or pack it again"


class SlmTruncatedError(SlmError):
    """Fewer or more bytes than the file says it has."""

    code = "SLM_LENGTH"
    fix = "fetch the file again; it was cut short or something was appended"


class SlmRangeError(SlmError):
    """An offset and length that overflow, leave the file or leave their region."""

    code = "SLM_RANGE"
    rule = "{field} covers bytes {got}, allowed are {expected}"
    fix = "pack the file again; its offsets are damaged"


class SlmOverlapError(SlmError):
    """Two ranges that share bytes, or stand in the wrong order."""

    code = "SLM_OVERLAP"
    rule = "{field} starts at {got}, the range before it ends at {expected}"
    fix = "pack the file again; sections and payloads are disjoint and in order"


class SlmAlignmentError(SlmError):
    """An offset that is no multiple of its alignment."""

    code = "SLM_ALIGNMENT"
    rule = "{field} is {got}, no multiple of {expected}"
    fix = "pack the file again with aligned offsets"


class SlmReservedError(SlmError):
    """A reserved or padding byte that is not zero."""

    code = "SLM_RESERVED"
    rule = "{field} holds the byte {got}, padding is {expected}"
    fix = "write zeros between fields and sections"


class SlmFlagError(SlmError):
    """A required flag that this version does not know, or a flag in the wrong place."""

    code = "SLM_FLAGS"
    fix = "use a reader of the version that defines the flag, or clear it"


class SlmNumberError(SlmError):
    """A dtype, layout, role, encoding, codec or kind that the format does not define."""

    code = "SLM_UNKNOWN_NUMBER"
    rule = "{field} is {got}, the format defines {expected}"
    fix = "use a reader of the version that defines the number"


class SlmUnsupportedError(SlmError):
    """A number that the format defines or reserves and this reader does not read."""

    code = "SLM_UNSUPPORTED"
    rule = "{field} is {got}, this reader reads {expected}"
    fix = "pack the tensor in one of the supported forms"


class SlmStringError(SlmError):
    """A string table that is malformed."""

    code = "SLM_STRINGS"
    fix = "write UTF-8 texts without duplicates whose spans tile the bytes region"


class SlmConfigError(SlmError):
    """A configuration that is malformed or contradicts the header."""

    code = "SLM_CONFIG"
    fix = "write header and configuration from one effective configuration"


class SlmShapeError(SlmError):
    """Dimensions, strides and lengths of a tensor that contradict each other."""

    code = "SLM_SHAPE"
    fix = "derive lengths and strides from the dimensions and the dtype"


class SlmAliasError(SlmError):
    """An alias without a proper dense target."""

    code = "SLM_ALIAS"
    fix = "let an alias name one stored tensor of the same dtype and dimensions"


class SlmTensorSetError(SlmError):
    """A directory with duplicate names or without a stored tensor."""

    code = "SLM_TENSOR_SET"
    fix = "store at least one tensor, each under its own name"


class SlmModelError(SlmError):
    """Tensors that are not those which the configuration asks for."""

    code = "SLM_MODEL"
    fix = "pack the file again from weights that belong to this configuration"


class SlmPieceError(SlmError):
    """A piece or shard table that contradicts the body."""

    code = "SLM_PIECES"
    fix = "derive the tables from the body: pieces of 1 MiB, one shard"


class SlmHashError(SlmError):
    """Bytes whose hash is not the stored one."""

    code = "SLM_HASH"
    rule = "{field} stores {got}, the bytes hash to {expected}"
    fix = "fetch or pack the file again; its bytes changed"


class SlmProofError(SlmError):
    """A Merkle proof that does not lead to the root, or a question outside the tree."""

    code = "SLM_PROOF"
    fix = "take the proof from the file whose root is compared"


class SlmNoTensorError(SlmError):
    """A tensor that the file does not hold."""

    code = "SLM_NO_TENSOR"
    rule = "{field} has {got}, asked for {expected}"
    fix = "pack a model of the family that the engine expects"
