"""Errors of the block formats."""

from __future__ import annotations

from trlm_lab.errors.root import Refused


class QuantNonFiniteError(Refused):
    """A NaN or infinity among weights to be quantized."""

    code = "QUANT_NONFINITE"
    rule = "tensor {tensor!r} holds {value} at row {row}, column {column}"
    fix = "repair the source; weights are never clipped silently"


class QuantOverflowError(Refused):
    """A group whose scale does not fit the scale's type."""

    code = "QUANT_OVERFLOW"
    rule = "tensor {tensor!r}, row {row}, group {group}: the scale {value} is above {limit}"
    fix = "store the tensor as f32, or choose a scale encoding with a larger range (bf16)"


class QuantRangeError(Refused):
    """A weight that rounds to an infinity of the narrower float."""

    code = "QUANT_RANGE"
    rule = "tensor {tensor!r}, row {row}, column {column}: {value} is above {limit}"
    fix = "store the tensor as bf16 or f32"


class QuantPlaneError(Refused):
    """A plane whose size contradicts rows and columns."""

    code = "QUANT_PLANE"
    rule = "the plane of {plane} has {got} bytes, {rows} x {cols} needs {expected}"
    fix = "pass the planes and dimensions of one tensor"


class QuantScaleError(Refused):
    """A stored scale that no writer produces."""

    code = "QUANT_SCALE"
    rule = "row {row}, group {group}: the scale {value} (bits {bits}) is {why}"
    fix = "pack the tensor again; scales are +0 or positive normal numbers"


class QuantIndexError(Refused):
    """A sparse residual whose rows or columns no writer produces."""

    code = "QUANT_INDEX"
    rule = "{part} {at} is {got}, expected {expected}"
    fix = "pack the tensor again; row pointers and columns ascend"


class QuantCodeError(Refused):
    """A stored code that no writer produces."""

    code = "QUANT_CODE"
    rule = "row {row}, column {column}: the code {value} is {why}"
    fix = "pack the tensor again"


class QuantPaddingError(Refused):
    """A nonzero code beyond the last column."""

    code = "QUANT_PADDING"
    rule = "row {row}, column {column} of {cols}: the padding holds {value}"
    fix = "pack the tensor again; padding codes are zero"


class QuantGramError(Refused):
    """A matrix that is no Gram matrix of the tensor's input channels."""

    code = "QUANT_GRAM"
    rule = "the Gram matrix is {why}"
    fix = "capture the calibration activations of this tensor again; more tokens, or more damping"
