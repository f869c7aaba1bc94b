"""Errors of comparing, calibrating and bisecting."""

from __future__ import annotations

from trlm_lab.errors.root import Refused, UsageError


class NothingToCompareError(UsageError):
    """A comparison of no case at all, which nothing could fail."""

    code = "NOTHING_TO_COMPARE"
    rule = "the reference trace holds no case to compare"
    fix = "capture at least one case, or name cases that the reference trace holds"


class CalibrationEmptyError(UsageError):
    """A policy asked from no measurement."""

    code = "CALIBRATION_EMPTY"
    rule = "no calibration case was measured"
    fix = "measure the noise floor over at least one case before a policy is made"


class CalibrationPairError(Refused):
    """An oracle and a reference that do not show the same arrays."""

    code = "CALIBRATION_PAIR"
    rule = "{detail}"
    fix = "capture both over the same case with the same checkpoints"


class CalibrationOverlapError(Refused):
    """Judged cases among the calibration cases."""

    code = "CALIBRATION_OVERLAP"
    rule = "judged and calibration cases share {shared}"
    fix = "calibrate and judge on disjoint cases; neither id nor content may occur in both"


class PolicyFactorError(UsageError):
    """A safety factor that sets the limit below the floor, or no number."""

    code = "POLICY_FACTOR"
    rule = "the safety factor {factor} is no finite number of 1 or more"
    fix = "declare the factor before the measurement; 4 is the default"


class PolicyFrozenError(Refused):
    """An attempt to write another policy over a frozen one."""

    code = "POLICY_FROZEN"
    rule = "{path} holds the frozen policy {held}; the new one is {new}"
    fix = "raise the version and write it to a file of its own; a frozen policy never changes"


class PolicyFileError(Refused):
    """A policy file that is malformed or is not the policy it is said to be."""

    code = "POLICY_FILE"
    rule = "{detail}"
    fix = "restore the frozen file, or calibrate and freeze again under a new version"


class ExpectationError(Refused):
    """A table of expected boundaries that cannot be read."""

    code = "EXPECTATION"
    rule = "{detail}"
    fix = "give each fault a name, a boundary of the ladder and, where it has one, a layer"


class CalibrationTextOverlapError(Refused):
    """Calibration text that holds judged or held-out text."""

    code = "CALIBRATION_TEXT_OVERLAP"
    rule = "{record} shares {ngram} ids or a whole case with {judged}, from id {at} of its document"
    fix = "make the corpus again against these cases; such records are then left out"


class CalibrationRecordError(Refused):
    """A file that is no calibration corpus."""

    code = "CALIBRATION_RECORD"
    rule = "not a calibration corpus: {detail}"
    fix = "make it with `trlm corpus`"
