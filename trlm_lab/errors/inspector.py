"""Errors of the independent inspector."""

from __future__ import annotations

from trlm_lab.errors.root import Refused, UsageError


class InspectPathError(Refused):
    """A path that is no readable file."""

    code = "INSPECT_PATH"
    rule = "{detail}"
    fix = "name a .slm file"


class InspectCborError(Refused):
    """CBOR that the inspector's own reader refuses."""

    code = "INSPECT_CBOR"
    rule = "{detail}"
    fix = "write the configuration as deterministic CBOR"


class InspectTensorError(UsageError):
    """A tensor that the file does not hold."""

    code = "INSPECT_TENSOR"
    rule = "the file has no tensor {name!r}"
    fix = "use one of its names, {near}; `trlm inspect --json` lists them all"


class InspectRowsError(UsageError):
    """Rows that a tensor does not have."""

    code = "INSPECT_ROWS"
    rule = "no rows {got} in {tensor!r}, which has {count}"
    fix = "write LOW:HIGH, the rows from LOW up to HIGH without it, counted from 0"
