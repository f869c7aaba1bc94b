"""Errors of golden containers; docs/formats/golden.md holds the same codes in the same order."""

from __future__ import annotations

from trlm_lab.errors.root import InfrastructureError, Refused


class GoldenError(Refused):
    """A golden container that breaks a rule of its format."""

    code = "GOLDEN"
    fix = "write the container again with `trlm golden export`; containers are never edited"


class GoldenSizeError(GoldenError):
    """A `case.cbor` of too many bytes or data items."""

    code = "GOLDEN_SIZE"
    rule = "more than {limit} {unit}"


class GoldenTruncatedError(GoldenError):
    """An item that runs past the end."""

    code = "GOLDEN_TRUNCATED"
    rule = "the item runs past the last byte"


class GoldenKeyTypeError(GoldenError):
    """A map key that is no text."""

    code = "GOLDEN_KEY_TYPE"
    rule = "the map key is no text"


class GoldenTagError(GoldenError):
    """A tag."""

    code = "GOLDEN_TAG"
    rule = "a tag"


class GoldenReservedError(GoldenError):
    """A reserved initial byte, or a simple value that is not false, true or null."""

    code = "GOLDEN_RESERVED"
    rule = "the initial byte {head:#04x} is reserved or a simple value without a meaning here"


class GoldenIndefiniteError(GoldenError):
    """An indefinite length, or its end."""

    code = "GOLDEN_INDEFINITE"
    rule = "an indefinite length"


class GoldenIntegerError(GoldenError):
    """An integer or length that is not in its shortest form."""

    code = "GOLDEN_INTEGER"
    rule = "{value} is not in its shortest form"


class GoldenNonFiniteError(GoldenError):
    """A NaN or infinity in the metadata."""

    code = "GOLDEN_NONFINITE"
    rule = "the float is not finite"


class GoldenFloatError(GoldenError):
    """A float that is not in its shortest form."""

    code = "GOLDEN_FLOAT"
    rule = "{value!r} is not in its shortest form"


class GoldenUtf8Error(GoldenError):
    """Bytes that are declared UTF-8 and are not."""

    code = "GOLDEN_UTF8"
    rule = "the bytes are no UTF-8"


class GoldenDepthError(GoldenError):
    """Maps and lists nested too deep."""

    code = "GOLDEN_DEPTH"
    rule = "maps and lists are nested deeper than {limit}"


class GoldenDuplicateKeyError(GoldenError):
    """A key that stands twice in a map."""

    code = "GOLDEN_DUPLICATE_KEY"
    rule = "the key {key!r} stands twice"


class GoldenKeyOrderError(GoldenError):
    """Keys in another than the canonical order."""

    code = "GOLDEN_KEY_ORDER"
    rule = "the key {key!r} sorts before the one in front of it"


class GoldenTrailingError(GoldenError):
    """Bytes after the one data item."""

    code = "GOLDEN_TRAILING"
    rule = "{count} bytes follow the value"


class GoldenSchemaError(GoldenError):
    """A document that is no golden container."""

    code = "GOLDEN_SCHEMA"
    rule = "the document is no map whose schema is tinyrustlm.golden.v1"


class GoldenVersionError(GoldenError):
    """Another version of the container."""

    code = "GOLDEN_VERSION"
    rule = "{schema!r} is another version than tinyrustlm.golden.v1"
    fix = "read it with the program of its version"


class GoldenUnknownKeyError(GoldenError):
    """A key that the format does not know and that does not begin with `x_`."""

    code = "GOLDEN_UNKNOWN_KEY"
    rule = "the key is unknown, and additions begin with x_"


class GoldenMissingKeyError(GoldenError):
    """A required key that is not there."""

    code = "GOLDEN_MISSING_KEY"
    rule = "the key is required"


class GoldenTypeError(GoldenError):
    """A value of another type than its key asks for."""

    code = "GOLDEN_TYPE"
    rule = "the value is no {wanted}"


class GoldenValueError(GoldenError):
    """A value of the right type that its key does not allow."""

    code = "GOLDEN_VALUE"
    rule = "{detail}"


class GoldenObservationsError(GoldenError):
    """Too many observations."""

    code = "GOLDEN_OBSERVATIONS"
    rule = "{count} observations, the limit is {limit}"


class GoldenRankError(GoldenError):
    """Too many dimensions."""

    code = "GOLDEN_RANK"
    rule = "{rank} dimensions, the limit is {limit}"


class GoldenDimensionError(GoldenError):
    """A dimension beyond the limit."""

    code = "GOLDEN_DIMENSION"
    rule = "the dimension {size} is above {limit}"


class GoldenBytesError(GoldenError):
    """An array of too many bytes."""

    code = "GOLDEN_BYTES"
    rule = "the dimensions times the item size exceed {limit}"


class GoldenDuplicateNameError(GoldenError):
    """Two observations of one name and slice."""

    code = "GOLDEN_DUPLICATE_NAME"
    rule = "an observation before it has the name {name!r} and the same slice"


class GoldenSealedError(GoldenError):
    """A sealed case that shows more than commitments."""

    code = "GOLDEN_SEALED"
    rule = "a private case shows commitments only: {detail}"


class GoldenCaseMissingError(GoldenError):
    """A directory without a `case.cbor`."""

    code = "GOLDEN_CASE_MISSING"
    rule = "there is no regular file"
    fix = "name a directory that holds case.cbor and blobs/"


class GoldenBlobMissingError(GoldenError):
    """A blob that is not there, or no regular file."""

    code = "GOLDEN_BLOB_MISSING"
    rule = "there is no regular file"
    fix = "copy the directory whole"


class GoldenBlobLengthError(GoldenError):
    """A blob that is shorter or longer than its shape says."""

    code = "GOLDEN_BLOB_LENGTH"
    rule = "{got} bytes, shape and dtype say {wanted}"
    fix = "copy the directory whole"


class GoldenBlobHashError(GoldenError):
    """A blob whose bytes have another hash than its name."""

    code = "GOLDEN_BLOB_HASH"
    rule = "the bytes hash to {got}"
    fix = "restore the file from another copy; content-addressed files are never edited"


class GoldenExportError(Refused):
    """A trace that cannot become a golden container in the way asked for."""

    code = "GOLDEN_EXPORT"
    rule = "{detail}"
    fix = "name a case, layers and identities that the trace has, and a new directory"


class GoldenPolicyError(GoldenExportError):
    """A trace of a profile that is not exact, and no policy to judge by."""

    code = "GOLDEN_POLICY"
    fix = "freeze one (`trlm calibrate`) and give it with --policy FILE"


class GoldenSecretError(GoldenExportError):
    """What a container would publish holds a secret; nothing is written."""

    code = "GOLDEN_SECRET"
    fix = "remove it at its source and capture again, or review it: --secret-exceptions FILE"


class GoldenJudgeError(Refused):
    """A golden container that cannot judge this run."""

    code = "GOLDEN_JUDGE"
    rule = "{detail}"
    fix = "give the policy that the container names, or an engine of the profile that it names"


class NativeCommandError(InfrastructureError):
    """A run of the crate's own command that did not answer."""

    code = "NATIVE_COMMAND"
    rule = "the command {detail}"
    fix = "remove TRLM_HOME/native and run again; then report the container"
