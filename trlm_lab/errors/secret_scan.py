"""Errors of the secret scan."""

from __future__ import annotations

from trlm_lab.errors.root import ClaimFailed, Refused


class SecretFoundError(ClaimFailed):
    """A page holds what must not be published; the run is not sealed."""

    code = "SECRET_FOUND"
    rule = "{kind}: {hint}; {more} more findings"
    fix = "remove it at its source and run again, or review it: --secret-exceptions FILE"


class SecretExceptionsError(Refused):
    """A list of exceptions that is no reviewed list."""

    code = "SECRET_EXCEPTIONS"
    rule = "{detail}"
    fix = "docs/secrets.md has the form: rule, where, reason and reviewer for every exception"
