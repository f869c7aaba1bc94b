"""Errors of acquisition from a Hub, and of licence decisions."""

from __future__ import annotations

from trlm_lab.errors.root import InfrastructureError, Refused, UsageError


class HubSpecError(UsageError):
    """A Hub source that is named wrongly."""

    code = "HUB_SPEC"
    rule = "{spec!r} is no Hub repository: {detail}"
    fix = "write {form}"


class HubOptionError(UsageError):
    """A reviewed file that has nothing to say about a source of this kind."""

    code = "HUB_OPTION"
    rule = "{option} {why}"
    fix = "leave the option out; a snapshot keeps the decision that it was acquired with"


class HubTokenError(UsageError):
    """A token that no header can carry; it is not repeated here."""

    code = "HUB_TOKEN"
    rule = "the token holds spaces, line ends or characters beyond ASCII"
    fix = "set HF_TOKEN to the token alone"


class HubUnreachableError(InfrastructureError):
    """The Hub does not answer, or answers with an error of its own."""

    code = "HUB_UNREACHABLE"
    rule = "{detail}"
    fix = "run the same command again: what is verified is kept; HF_ENDPOINT names another server"


class HubNotFoundError(Refused):
    """A repository or revision that is not there, or not open to this user."""

    code = "HUB_NOT_FOUND"
    rule = "{detail}"
    fix = "check owner, name and revision; a gated or private repository needs HF_TOKEN set"


class HubTreeError(Refused):
    """A repository tree that holds what a model directory may not hold."""

    code = "HUB_TREE"
    rule = "{detail}"
    fix = "a reviewed tree profile (--tree-profile FILE) can leave out what is harmless"


class HubLimitError(Refused):
    """A limit on count, size, total, depth, redirects, answers or time."""

    code = "HUB_LIMIT"
    rule = "{detail}"
    fix = "if the repository is meant to be like this, fetch it by hand and acquire dir:PATH"


class HubChangedError(Refused):
    """The repository changed while it was read."""

    code = "HUB_CHANGED"
    rule = "{detail}"
    fix = "acquire again; if it happens twice the server does not serve one immutable commit"


class HubContentError(Refused):
    """Bytes that are not those the tree lists."""

    code = "HUB_CONTENT"
    rule = "{detail}"
    fix = "acquire again; nothing of it was kept. If it happens twice, the server's copy is damaged"


class LfsPointerError(Refused):
    """A Git LFS pointer where the object should be."""

    code = "LFS_POINTER"
    rule = "this is a pointer to an object of {size} bytes with SHA-256 {oid}, not the object"
    fix = "fetch the objects (`git lfs pull`), or acquire from the Hub"


class TreeProfileError(Refused):
    """A tree profile that is no reviewed list of exceptions."""

    code = "TREE_PROFILE"
    rule = "{detail}"
    fix = "docs/acquisition.md has the form: pattern, reason and reviewer for every exception"


class LicenceUndecidedError(Refused):
    """No decision on the licence, so nothing is converted."""

    code = "LICENCE_UNDECIDED"
    rule = "{detail}, and no decision was given"
    fix = (
        "review it and pass --licence-decision FILE (docs/acquisition.md has the form) from the"
        " acquisition on, about {source} and {listed}"
    )


class LicenceDecisionError(Refused):
    """A licence decision that is incomplete, or made about another source or text."""

    code = "LICENCE_DECISION"
    rule = "{detail}"
    fix = "review this source's licence; docs/acquisition.md has the form of a decision"


class NotObservableError(Refused):
    """A source that cannot drift."""

    code = "NOT_OBSERVABLE"
    rule = (
        "the source is generated or pinned by hash; there is no name that could come to mean more"
    )
    fix = "observe a Hub repository, a directory or a GGUF file"


class DriftReviewError(Refused):
    """A review of drift that is incomplete, or about something else."""

    code = "DRIFT_REVIEW"
    rule = "{detail}"
    fix = "docs/acquisition.md has the form: path, content, reason and reviewer for every review"


class NotAcquiredError(Refused):
    """A source of which no snapshot is in the cache."""

    code = "NOT_ACQUIRED"
    rule = "no snapshot of {pin} is in the cache"
    fix = "acquire it first: `trlm acquire SOURCE --out DIR`"
