"""What a person reviewed about a source, read and ready for whoever acquires and describes it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from trlm_lab.acquire import HubRules, TreeProfile, parse_decision, parse_tree_profile
from trlm_lab.base.reviewed_file import ReviewedFile
from trlm_lab.describe import Resolution, parse_resolution
from trlm_lab.errors import (
    LicenceDecisionError,
    ResolutionFileError,
    ReviewedUnusedError,
    SecretExceptionsError,
    TreeProfileError,
    TrlmError,
)
from trlm_lab.flows.plan import RunPlan
from trlm_lab.flows.progress import Board
from trlm_lab.flows.reviewed_files import Reviewed, ReviewedFiles, kept_file
from trlm_lab.flows.secret_exceptions import SecretExceptions, parse_secret_exceptions
from trlm_lab.flows.workspace import Workspace


@dataclass(frozen=True)
class Settled:
    """What the reviewed files say, and the files as they were read for it."""

    files: ReviewedFiles = field(default_factory=ReviewedFiles)
    resolutions: tuple[Resolution, ...] = ()
    rules: HubRules = field(default_factory=HubRules)
    exceptions: SecretExceptions = field(default_factory=SecretExceptions)

    def named_in(self, plan: RunPlan) -> RunPlan:
        """The plan with the SHA-256 of every file."""
        return replace(plan, **self.files.ids())

    def require_none(self, engine: str) -> None:
        """Nothing was reviewed, since the engine runs no source. Raises ReviewedUnusedError."""
        for file in self.files:
            raise ReviewedUnusedError(where=str(file.path), engine=engine)

    def workspace(self, out: Path, board: Board) -> Workspace:
        """A workspace in which a source is acquired and described as a person reviewed it."""
        return Workspace(out, board, resolutions=self.resolutions, rules=self.rules)


def settled(files: ReviewedFiles) -> Settled:
    """Parse every file by its form: nobody is asked, and nothing begun, for one that is none.

    Raises:
        ResolutionFileError, TreeProfileError, LicenceDecisionError, SecretExceptionsError: a file
            is not of its form.
    """
    decision, profile, exceptions = (
        files.licence_decision,
        files.tree_profile,
        files.secret_exceptions,
    )
    return Settled(
        files,
        tuple(map(parse_resolution, files.resolutions)),
        HubRules(
            profile=parse_tree_profile(profile) if profile else TreeProfile(),
            decision=parse_decision(decision) if decision else None,
        ),
        parse_secret_exceptions(exceptions) if exceptions else SecretExceptions(),
    )


def read_reviewed(reviewed: Reviewed) -> Settled:
    """Read the files that a user names, each once. Raises as `settled`, also where one is missing.

    A run needs some of them at its very end, and nobody should wait for their refusal.
    """
    return settled(
        ReviewedFiles(
            tuple(ReviewedFile.read(path, ResolutionFileError) for path in reviewed.resolutions),
            _read(reviewed.licence_decision, LicenceDecisionError),
            _read(reviewed.tree_profile, TreeProfileError),
            _read(reviewed.secret_exceptions, SecretExceptionsError),
        )
    )


def _read(path: Path | None, error: type[TrlmError]) -> ReviewedFile | None:
    return None if path is None else ReviewedFile.read(path, error)


def reviewed_workspace(out: Path, board: Board, reviewed: Reviewed) -> Workspace:
    """A workspace by the files that a user names. Raises as `read_reviewed`."""
    return read_reviewed(reviewed).workspace(out, board)


def kept_reviewed(plan: RunPlan, out: Path) -> Settled:
    """What the reviewed files of a run say, from the copies in its directory.

    Raises:
        NoRunError: one is not there any more, or has changed.
    """
    kept = (kept_file(name, out) for name in plan.resolutions)
    return settled(
        ReviewedFiles(
            tuple(file for file in kept if file is not None),
            kept_file(plan.licence_decision, out),
            kept_file(plan.tree_profile, out),
            kept_file(plan.secret_exceptions, out),
        )
    )
