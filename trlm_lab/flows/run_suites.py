"""The suites of a run: built-in ones by name, a user's case file by what it held."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trlm_lab.base.records import CaseSuite
from trlm_lab.cases import is_case_file, load_suite, parse_cases, suite_row
from trlm_lab.errors import NoRunError, TrlmError
from trlm_lab.flows.workspace import Workspace


def run_suite(ws: Workspace, name: str, digest: str) -> CaseSuite:
    """The suite that a plan names, of the content that it binds.

    A reopened run takes a user's cases as it remembers them: its plan says no paths.

    Raises:
        NoRunError: they have changed, or nothing remembers them any more.
        TrlmError: no such suite or file, or one that breaks the form.
    """
    kept = _remembered(ws, digest) if ws.trusted and is_case_file(name) else None
    if kept is None and ws.trusted and is_case_file(name) and not Path(name).is_absolute():
        raise NoRunError(where=name, detail="the cases of this run are not remembered any more")
    suite = kept or load_suite(name)
    if digest and suite.digest != digest:
        raise NoRunError(where=name, detail="the cases have changed since this run was made")
    return suite


def remember_suite(ws: Workspace, suite: CaseSuite) -> None:
    """Keep what a suite holds in the run's own directory."""
    ws.remember(*_place(suite.digest), suite_row(suite))


def _remembered(ws: Workspace, digest: str) -> CaseSuite | None:
    stage, inputs = _place(digest)
    row = ws.recall(stage, inputs)
    try:
        return None if row is None else parse_cases(row, name=digest, where=stage)
    except TrlmError:
        # A damaged memory is none.
        return None


def _place(digest: str) -> tuple[str, dict[str, Any]]:
    return f"suite-{digest[:16]}", {"digest": digest}
