"""Errors of configurations and of conflicting declarations."""

from __future__ import annotations

from trlm_lab.errors.root import Refused


class FamilyUnsupportedError(Refused):
    """A model family without a closed schema."""

    code = "FAMILY_UNSUPPORTED"
    rule = "the family {family!r} has no schema; known: {known}"
    fix = "use a model of a known family, or add its schema"


class UnknownFieldError(Refused):
    """A configuration key that nobody has classified: it might change what is computed."""

    code = "UNKNOWN_FIELD"
    rule = "the key {field!r} is not in the schema {schema}"
    fix = "find out what the key does, then classify it in the schema with a reason"


class FieldValueError(Refused):
    """A known configuration key with a value that is not supported."""

    code = "FIELD_VALUE"
    rule = "{field}: {problem}"
    fix = "give a value that is named here, or use another model; the field is never ignored"


class ConflictError(Refused):
    """Declarations that contradict each other."""

    code = "CONFLICT"
    rule = "{codes}: {detail}"
    fix = "see `trlm describe SOURCE`; ask the publisher, or settle it with a resolution file"


class DefaultMissingError(Refused):
    """A value that the source framework did not supply."""

    code = "DEFAULT_MISSING"
    rule = "{framework} supplied no value for {field!r}"
    fix = "read the value out of the source framework; it is not guessed here"


class SourceDisagreesError(Refused):
    """A declared value that the source framework does not use."""

    code = "SOURCE_DISAGREES"
    rule = "{field}: the file declares {declared!r}, the source framework uses {source!r}"
    fix = "use the framework version that honours the key"


class TensorMissingError(Refused):
    """A tensor that the model must have and has not."""

    code = "TENSOR_MISSING"
    rule = "the tensor {tensor!r} is missing"
    fix = "fetch every weight file of the model"


class TensorUnknownError(Refused):
    """A tensor that nothing would consume."""

    code = "TENSOR_UNKNOWN"
    rule = "the tensor {tensor!r} has no role in this model"
    fix = "use the weights that belong to this configuration"


class TensorShapeError(Refused):
    """A tensor whose shape contradicts the configuration."""

    code = "TENSOR_SHAPE"
    rule = "the tensor {tensor!r} has the shape {got}, the configuration says {wanted}"
    fix = "use the weights that belong to this configuration"


class TensorDtypeError(Refused):
    """A tensor of a snapshot that is not float32."""

    code = "TENSOR_DTYPE"
    rule = "the tensor {tensor!r} is {dtype}, snapshots hold float32"
    fix = "acquire the model directory first; that widens its weights without rounding"


class PartMissingError(Refused):
    """A model directory without a file that every one must have."""

    code = "MISSING_PART"
    rule = "{part} is not there"
    fix = "give a model directory in Hugging Face layout"


class ResolutionFileError(Refused):
    """A resolution file that breaks its schema."""

    code = "RESOLUTION_FILE"
    rule = "{detail}"
    fix = "write the file as docs/conflicts.md says"


class ResolutionUnmatchedError(Refused):
    """A resolution that settles nothing: its conflict is not there, or not as it was reviewed."""

    code = "RESOLUTION_UNMATCHED"
    rule = "{detail}"
    fix = "take conflict_id, code and field from `trlm describe SOURCE --json`, and review again"


class ResolutionValueError(Refused):
    """A resolution whose value cannot settle its conflict."""

    code = "RESOLUTION_VALUE"
    rule = "{field}: {detail}"
    fix = "choose one of the declared values; what no choice can mend needs other files"
