"""Errors of operators and of the reference engine."""

from __future__ import annotations

from trlm_lab.errors.root import InfrastructureError, Refused


class ShapeMismatchError(Refused):
    """An operand whose shape does not fit the operator."""

    code = "SHAPE_MISMATCH"
    rule = "{name} has the shape {got}, needed is {expected}"
    fix = "pass arrays in the layout that the operator's documentation names"


class AllKeysMaskedError(Refused):
    """A softmax row in which no key is visible."""

    code = "ALL_KEYS_MASKED"
    rule = "row {row} has every key masked, so its softmax is undefined"
    fix = "leave at least one key visible to every query; padding queries cannot be evaluated"


class TokenRangeError(Refused):
    """A token id outside the vocabulary."""

    code = "TOKEN_RANGE"
    rule = "token {token} at index {index} is outside the vocabulary of {vocab}"
    fix = "encode the text with the model's own tokenizer"


class PositionRangeError(Refused):
    """A position that the model's context does not hold."""

    code = "POSITION_RANGE"
    rule = "position {position} at index {index} is outside the {limit} positions of the model"
    fix = "number the tokens from 0 up to {limit} less one"


class MaskValueError(Refused):
    """An entry of an attention mask that is neither 0 nor 1."""

    code = "MASK_VALUE"
    rule = "the mask entry {value} at index {index} is neither 0 nor 1"
    fix = "write 1 for a visible key and 0 for a hidden one"


class OperatorInputError(Refused):
    """A missing, unknown or ill-typed operand of a named operator."""

    code = "OPERATOR_INPUT"
    rule = "{detail}"
    fix = "see the operator's list of arrays and parameters: {wanted}"


class OperatorNotServedError(InfrastructureError):
    """An engine that is asked for an operator, format or profile that it does not have."""

    code = "NOT_SUPPORTED"
    rule = "{engine} has no {kind} {name!r}"
    fix = "use one that it has ({known}), or another engine"


class ModelFilesError(Refused):
    """A model that lacks a tensor or field which the forward pass needs, or has it otherwise."""

    code = "MODEL_FILES"
    rule = "{detail}"
    fix = "pack or convert the model again from its pinned source"


class UnsupportedModelError(Refused):
    """A model behaviour that this engine does not implement; nothing is approximated."""

    code = "NOT_SUPPORTED"
    rule = "{detail}"
    fix = "use an engine that lists this feature"


class ContextLengthError(Refused):
    """A case longer than the context that the model declares."""

    code = "CONTEXT_LENGTH"
    rule = "{tokens} tokens exceed the declared context of {limit}"
    fix = "shorten the case"
