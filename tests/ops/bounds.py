"""Sourced error bounds of a profile: the rule that its field `permitted_error` names."""

from trlm_lab.ops.evaluation_profile import EvaluationProfile


def dot_depth(profile: EvaluationProfile, length: int) -> int:
    """Roundings in a row that a term of a dot product of this length can meet."""
    rule = profile.fields["permitted_error"]
    return -(-length // int(rule["terms_per_lane_step"])) + int(rule["merges"])


def gamma(profile: EvaluationProfile, roundings: int) -> float:
    """Largest relative change by `roundings` roundings in a row: k*u / (1 - k*u)."""
    ku = roundings * 2.0 ** int(profile.fields["permitted_error"]["unit_roundoff_log2"])
    return ku / (1.0 - ku)
