"""What a person reviewed about a source, read and ready for whoever acquires and describes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trlm_lab.acquire import HubRules, TreeProfile, load_decision, load_tree_profile
from trlm_lab.describe import Resolution, load_resolution
from trlm_lab.flows.plan import RunPlan
from trlm_lab.flows.progress import Board
from trlm_lab.flows.reviewed_files import Reviewed, file_id, kept_file
from trlm_lab.flows.workspace import Workspace


def load_resolutions(paths: Sequence[Path]) -> tuple[Resolution, ...]:
    """The resolution files that a user names. Raises as `load_resolution`."""
    return tuple(map(load_resolution, paths))


def hub_rules(reviewed: Reviewed) -> HubRules:
    """What was reviewed about the repository that the source is.

    Raises:
        TreeProfileError, LicenceDecisionError: a file is not of its form; no server is asked first.
    """
    profile, decision = reviewed.tree_profile, reviewed.licence_decision
    if decision is not None:
        load_decision(decision)
    return HubRules(
        profile=load_tree_profile(profile) if profile else TreeProfile(), decision=decision
    )


def require_reviewed(reviewed: Reviewed) -> None:
    """Read every file by its form: a run needs some at its very end, and nobody should wait.

    Raises:
        ResolutionFileError, TreeProfileError, LicenceDecisionError, SecretExceptionsError: a file
            is not of its form.
    """
    from trlm_lab.flows.secret_exceptions import load_secret_exceptions

    load_resolutions(reviewed.resolutions)
    hub_rules(reviewed)
    if reviewed.secret_exceptions is not None:
        load_secret_exceptions(reviewed.secret_exceptions)


def naming_reviewed(plan: RunPlan, reviewed: Reviewed) -> RunPlan:
    """The plan with the SHA-256 of every reviewed file. Raises as `require_reviewed`."""
    require_reviewed(reviewed)
    return replace(
        plan,
        resolutions=tuple(map(file_id, reviewed.resolutions)),
        licence_decision=file_id(reviewed.licence_decision),
        tree_profile=file_id(reviewed.tree_profile),
        secret_exceptions=file_id(reviewed.secret_exceptions),
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
