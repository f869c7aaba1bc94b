"""Errors of stored traces."""

from __future__ import annotations

from trlm_lab.errors.root import InfrastructureError, Refused


class ObservationError(InfrastructureError):
    """A stream of observations that breaks the rules of a trace."""

    code = "OBSERVATION"
    rule = "the engine yielded {detail}"
    fix = "yield token_ids first, then each known name once, with the shapes of one case"


class NotATraceError(Refused):
    """A path that holds no trace."""

    code = "NOT_A_TRACE"
    rule = "this is no trace directory: {detail}"
    fix = "name a directory that a capture wrote, or an empty or new one to write to"


class TraceSubjectError(Refused):
    """A trace directory that belongs to another engine, subject or case."""

    code = "TRACE_SUBJECT"
    rule = "the trace there has {part} = {found}, this run has {wanted}"
    fix = "write to another directory; one directory holds one engine on one subject"


class TraceCorruptError(Refused):
    """A file of a trace that does not agree with the declared digests."""

    code = "TRACE_CORRUPT"
    rule = "{detail}"
    fix = "restore the file from another copy, or delete the case directory and capture again"


class TraceMissingError(Refused):
    """A case or array that the trace does not hold."""

    code = "TRACE_MISSING"
    rule = "the trace holds no {kind} {name!r}"
    fix = "list what it holds with case_ids() and names()"


class TraceChangedError(Refused):
    """A case that was taken again and gave other values than are stored."""

    code = "TRACE_CHANGED"
    rule = "taken again it hashes to {found}, the trace holds {held}; nothing was replaced"
    fix = "the engine does not repeat itself: capture into another directory and compare the two"


class TraceSpaceError(InfrastructureError):
    """A disk that does not hold what is to be stored."""

    code = "TRACE_SPACE"
    rule = "up to {needed} bytes are to be stored, {free} are free; no case was begun"
    fix = "name another disk, or store less: --statistics, or picked rows of the squares"
