"""The evaluation profiles shipped with the package, read from its data."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files

from trlm_lab.errors import UnknownNameError
from trlm_lab.ops.evaluation_profile import EvaluationProfile
from trlm_lab.ops.profile_options import SEPARATOR, with_options

#: Profiles that the reference engine computes, the default first.
REFERENCE_PROFILES = ("scalar-f32-v1", "lanes16-f32-v1", "f64-reference")


@lru_cache
def evaluation_profile(name: str) -> EvaluationProfile:
    """A shipped profile.

    Raises:
        UnknownNameError: no profile of this name is shipped.
    """
    if name not in REFERENCE_PROFILES:
        known = ", ".join(REFERENCE_PROFILES)
        raise UnknownNameError(kind="evaluation profile", name=name, known=known)
    resource = files("trlm_lab") / "data" / "profiles" / "evaluation" / f"{name}.json"
    return EvaluationProfile(json.loads(resource.read_text(encoding="utf-8")))


def operator_profile(name: str) -> EvaluationProfile:
    """A shipped profile with the options behind its name, as single operators take it.

    Raises:
        UnknownNameError: no profile, or no option, of this name.
    """
    plain, *options = name.split(SEPARATOR)
    profile = evaluation_profile(plain)
    return with_options(profile, options) if options else profile
