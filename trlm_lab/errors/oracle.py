"""Errors of the torch oracle."""

from __future__ import annotations

from trlm_lab.errors.root import ClaimFailed, InfrastructureError, Refused


class OracleMissingError(InfrastructureError):
    """The source framework is not installed, or not in the version that the oracle reads."""

    code = "ORACLE_MISSING"
    rule = "{detail}"
    fix = "pip install 'trlm-lab[oracle]' with the versions of constraints.txt"


class OracleModelError(Refused):
    """A model directory that the source framework does not run as published."""

    code = "ORACLE_MODEL"
    rule = "the source framework cannot run this model directory: {detail}"
    fix = "name a directory with config.json and all weights, of a family that the oracle runs"


class CaptureError(InfrastructureError):
    """The source's forward pass failed or is not the one that the capture knows."""

    code = "CAPTURE"
    rule = "the capture of the source framework stopped: {detail}"
    fix = "use the versions of constraints.txt, which the capture was written for"


class CaptureUnfaithfulError(ClaimFailed):
    """Logits that differ between a plain forward pass and one that is watched."""

    code = "CAPTURE_UNFAITHFUL"
    rule = "logits hash to {watched} under capture and to {plain} without"
    fix = "do not use this trace; report the framework versions"


class OpinionScaleError(Refused):
    """Logits that are too small for a third opinion to mean anything."""

    code = "OPINION_SCALE"
    rule = "the logits have an RMS of {rms:.3g}; a third opinion is judged from {least:g} on"
    fix = "leave the case out, or scale the last norm of the model"


class OracleUnsteadyError(ClaimFailed):
    """The same run of the source, with the same settings, gave other bits."""

    code = "ORACLE_UNSTEADY"
    rule = "{differing} elements differ between two runs of the same case with the same settings"
    fix = "judge nothing by this machine's oracle; look for broken memory, or report the versions"
