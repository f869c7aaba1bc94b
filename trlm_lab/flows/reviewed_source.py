"""What a person reviewed about a source, read and ready for whoever acquires and describes it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trlm_lab.acquire import HubRules, TreeProfile, load_tree_profile
from trlm_lab.describe import Resolution, load_resolution
from trlm_lab.flows.plan import RunPlan
from trlm_lab.flows.progress import Board
from trlm_lab.flows.reviewed_files import Reviewed, kept_file
from trlm_lab.flows.workspace import Workspace


def load_resolutions(paths: Sequence[Path]) -> tuple[Resolution, ...]:
    """The resolution files that a user names. Raises as `load_resolution`."""
    return tuple(map(load_resolution, paths))


def hub_rules(reviewed: Reviewed) -> HubRules:
    """What was reviewed about the repository that the source is. Raises as `load_tree_profile`."""
    profile = reviewed.tree_profile
    return HubRules(
        profile=load_tree_profile(profile) if profile else TreeProfile(),
        decision=reviewed.licence_decision,
    )


def reviewed_workspace(out: Path, board: Board, reviewed: Reviewed) -> Workspace:
    """A workspace in which a source is acquired and described as a person reviewed it.

    Raises:
        ResolutionFileError, TreeProfileError: a file is not of its form.
    """
    settled, rules = load_resolutions(reviewed.resolutions), hub_rules(reviewed)
    return Workspace(out, board, resolutions=settled, rules=rules)


def kept_reviewed(plan: RunPlan, out: Path) -> Reviewed:
    """The reviewed files of a run, from the copies in its directory.

    Raises:
        NoRunError: one is not there any more, or has changed.
    """
    paths = [kept_file(name, out) for name in plan.resolutions]
    return Reviewed(
        tuple(path for path in paths if path is not None),
        kept_file(plan.licence_decision, out),
        kept_file(plan.tree_profile, out),
        kept_file(plan.secret_exceptions, out),
    )
