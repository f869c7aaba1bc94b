"""Errors of the quantization ladder."""

from __future__ import annotations

from trlm_lab.errors.root import Refused, UsageError


class LadderTensorError(UsageError):
    """A tensor that the artifact does not hold."""

    code = "LADDER_TENSOR"
    rule = "the artifact has no tensor {name!r}"
    fix = "use one of its names, {near}; `trlm inspect` lists them all"


class LadderResidualError(UsageError):
    """A sparse residual, which has no ladder of its own."""

    code = "LADDER_RESIDUAL"
    rule = "{name!r} is what is added to the product of {base!r}, not a weight"
    fix = "climb {base!r}: the residual is in its operator"


class LadderRowError(UsageError):
    """A row or a column beyond the tensor."""

    code = "LADDER_ROW"
    rule = "the {axis} {got} is not in {tensor!r}, which has {count}"
    fix = "count from 0: the last is {last}"


class LadderArtifactError(Refused):
    """An artifact that was not packed from this snapshot."""

    code = "LADDER_ARTIFACT"
    rule = "the artifact is of another snapshot: {detail}"
    fix = "name the source that it was packed from, or pack this one with `trlm pack`"
