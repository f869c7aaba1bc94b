"""Options of an evaluation profile, named behind it: `scalar-f32-v1+masked-rows-zero`.

An option changes what the profile says in one field, so a profile with options has another name and
another content id than the plain one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trlm_lab.errors import UnknownNameError
from trlm_lab.ops.evaluation_profile import EvaluationProfile

SEPARATOR = "+"


@dataclass(frozen=True)
class ProfileOption:
    """The field that it rewrites, its new text, and what that means for the arithmetic."""

    field: str
    text: str
    changes: dict[str, Any]


OPTIONS: dict[str, ProfileOption] = {
    "masked-rows-zero": ProfileOption(
        "mask",
        "masked keys are left out of maximum, sums and values; a row with every key masked is +0.0",
        {"masked_rows": "zero"},
    ),
    # Hugging Face's llama: the normalised value is cast, then multiplied in bfloat16.
    "bf16-round-then-weight": ProfileOption(
        "norm_scale",
        "1/sqrt, then times x, rounded to bfloat16, then times the weight, rounded to bfloat16",
        {"norm_rounding": "bf16-round-then-weight"},
    ),
    # Hugging Face's gemma: everything in float32, one cast at the end.
    "bf16-weight-then-round": ProfileOption(
        "norm_scale",
        "1/sqrt, then times x, then times the weight; rounded to bfloat16 once, at the end",
        {"norm_rounding": "bf16-weight-then-round"},
    ),
}


def with_options(profile: EvaluationProfile, names: list[str]) -> EvaluationProfile:
    """The profile with the named options, each of which rewrites another field.

    Raises:
        UnknownNameError: an option that does not exist, or two for one field.
    """
    fields, changes, taken = dict(profile.fields), dict(profile.changes), set[str]()
    for name in names:
        option = OPTIONS.get(name)
        if option is None or option.field in taken:
            known = ", ".join(OPTIONS)
            raise UnknownNameError(
                where=profile.name, kind="profile option", name=name, known=known
            )
        taken.add(option.field)
        fields[option.field] = option.text
        changes.update(option.changes)
    fields["name"] = SEPARATOR.join((profile.name, *names))
    return EvaluationProfile(fields, changes)
