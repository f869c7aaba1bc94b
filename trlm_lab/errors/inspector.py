"""Errors of the independent inspector."""

from __future__ import annotations

from trlm_lab.errors.root import Refused


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
