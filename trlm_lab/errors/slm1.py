"""Errors of the SLM1 container; one class per family of rules."""

from __future__ import annotations

from trlm_lab.errors.root import Refused


class Slm1Error(Refused):
    """Root of the container's refusals; `where` ends in the byte offset of the offending field."""

    code = "SLM1"
    rule = "{field} is {got}, expected {expected}"


class Slm1VersionError(Slm1Error):
    """Another format, version or type of model than this reader knows."""

    code = "SLM1_VERSION"
    fix = "read the file with the version that wrote it"


class Slm1LengthError(Slm1Error):
    """Fewer or more bytes than a whole file has."""

    code = "SLM1_LENGTH"
    fix = "fetch the file again; it was cut short or something was appended"


class Slm1FlagError(Slm1Error):
    """A flag that this reader does not know."""

    code = "SLM1_FLAGS"
    fix = "read the file with the version that defines the flag"


class Slm1ShapeError(Slm1Error):
    """Sizes of the header or of a tensor that are out of range or contradict each other."""

    code = "SLM1_SHAPE"
    fix = "write header and directory from one configuration"


class Slm1RangeError(Slm1Error):
    """A range that leaves the file or its region."""

    code = "SLM1_RANGE"
    rule = "{field} covers bytes {got}, allowed are {expected}"
    fix = "pack the file again; its offsets are damaged"


class Slm1AlignmentError(Slm1Error):
    """An offset that is no multiple of 64."""

    code = "SLM1_ALIGNMENT"
    rule = "{field} is {got}, no multiple of {expected}"
    fix = "pack the file again with aligned offsets"


class Slm1OverlapError(Slm1Error):
    """Two payloads that share bytes."""

    code = "SLM1_OVERLAP"
    rule = "{field} starts at {got}, the range before it ends at {expected}"
    fix = "pack the file again; payloads are disjoint"


class Slm1ReservedError(Slm1Error):
    """A reserved or padding byte that is not zero."""

    code = "SLM1_RESERVED"
    rule = "{field} holds the byte {got}, padding is {expected}"
    fix = "write zeros between fields and payloads"


class Slm1DtypeError(Slm1Error):
    """A storage form that SLM1 does not define."""

    code = "SLM1_UNKNOWN_NUMBER"
    fix = "use a reader of the version that defines the number"


class Slm1TensorSetError(Slm1Error):
    """A tensor that is missing, there twice, unknown, or a tied head with other bytes."""

    code = "SLM1_TENSOR_SET"
    fix = "store each tensor of the header's shape once, a tied head with the embedding's bytes"


class Slm1TokenizerError(Slm1Error):
    """A tokenizer section that is neither BTOK nor BPE1, or of another vocabulary."""

    code = "SLM1_TOKENIZER"
    fix = "store the tokenizer of this vocabulary as BTOK or BPE1"


class Slm1ChecksumError(Slm1Error):
    """A checksum of the profile that the file claims, over other bytes."""

    code = "SLM1_CHECKSUM"
    rule = "{field} stores {got}, the bytes have {expected}"
    fix = "fetch or pack the file again; its bytes changed"


class Slm1ChecksumProfileError(Slm1Error):
    """A checksum of a profile that nobody here knows; whether the bytes changed is not known."""

    code = "SLM1_CHECKSUM_PROFILE"
    rule = "{field} stores {got}, which is of none of the known profiles ({expected})"
    fix = "check the file with the program that wrote it, then read it with the checksum unchecked"


class Slm1ScaleError(Slm1Error):
    """A scale that is not finite and positive, or whose products are not finite."""

    code = "SLM1_SCALE"
    rule = "row {row}, block {block}: the scale {got} is not in {expected}"
    fix = "pack the tensor again"


class Slm1NonFiniteError(Slm1Error):
    """A stored float32 weight that is NaN or infinite."""

    code = "SLM1_NONFINITE"
    rule = "row {row}, column {column} holds {got}, expected {expected}"
    fix = "repair the source weights, then pack again"


class Slm1CannotHoldError(Slm1Error):
    """A model that SLM1 has no place for."""

    code = "SLM1_CANNOT_HOLD"
    rule = "SLM1 cannot hold this model: {reasons}"
    fix = "pack it as SLM2"
