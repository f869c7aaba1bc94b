"""Errors of files that are read, of strict JSON and of the safetensors container."""

from __future__ import annotations

from trlm_lab.errors.root import Refused


class NotPlainFileError(Refused):
    """A pipe, socket, device or directory where a file is read."""

    code = "NOT_PLAIN_FILE"
    rule = "this is {kind}, only plain files are read"
    fix = "copy what it holds into a plain file, and name that"


class JsonError(Refused):
    """Text that is not strict JSON."""

    code = "JSON"
    rule = "this is no strict JSON: {detail}"
    fix = "write the file again with a JSON library, in UTF-8"


class JsonDuplicateKeyError(Refused):
    """A JSON object with one key twice: two readers would see two different values."""

    code = "DUPLICATE_KEY"
    rule = "the key {key!r} occurs twice in one object"
    fix = "keep one of the two, after finding out which one the publisher means"


class SafetensorsError(Refused):
    """Root of the refusals of the safetensors reader."""

    code = "SAFETENSORS"
    fix = "fetch the file again, or save it again with the safetensors library"


class SafetensorsHeaderLengthError(SafetensorsError):
    """A header longer than the file or the limit."""

    code = "HEADER_LEN"
    rule = "the header claims {length} bytes, at most {limit} are possible"


class SafetensorsHeaderStartError(SafetensorsError):
    """A header that does not begin with a brace."""

    code = "HEADER_START"
    rule = "the header begins with {first!r}, it must begin with an opening brace"


class SafetensorsPaddingError(SafetensorsError):
    """A header padded with anything but spaces."""

    code = "HEADER_PADDING"
    rule = "the header is padded with {found!r}, only spaces may pad"


class SafetensorsTruncatedError(SafetensorsError):
    """A file that ends before its tensors do."""

    code = "TRUNCATED"


class SafetensorsTrailingError(SafetensorsError):
    """Bytes after the last tensor."""

    code = "TRAILING"
    rule = "{count} bytes after the last tensor belong to nothing"


class SafetensorsTypeError(SafetensorsError):
    """A header field of the wrong JSON type."""

    code = "TYPE"


class SafetensorsDtypeError(SafetensorsError):
    """A tensor of an unknown element type."""

    code = "DTYPE"
    rule = "tensor {tensor!r} has the element type {dtype!r}, which is not known or not usable here"


class SafetensorsShapeError(SafetensorsError):
    """A shape whose size does not fit 63 bits."""

    code = "SHAPE_OVERFLOW"
    rule = "tensor {tensor!r} has the shape {shape}, whose size overflows"


class SafetensorsSizeError(SafetensorsError):
    """A byte range that does not hold the shape."""

    code = "SIZE_MISMATCH"
    rule = "tensor {tensor!r} needs {needed} bytes, its range holds {got}"


class SafetensorsOffsetsError(SafetensorsError):
    """A byte range that runs backwards or beyond any file."""

    code = "OFFSETS"
    rule = "tensor {tensor!r} has the range {begin}..{end}"


class SafetensorsOverlapError(SafetensorsError):
    """Two tensors that share bytes."""

    code = "OVERLAP"
    rule = "tensor {tensor!r} begins at {begin}, before the previous one ends at {end}"


class SafetensorsHoleError(SafetensorsError):
    """Payload bytes that belong to no tensor."""

    code = "HOLE"
    rule = "the bytes {begin}..{end} of the payload belong to no tensor"
