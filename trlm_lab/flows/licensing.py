"""What a licence decision allows: all work on this machine; nothing is passed on without one."""

from __future__ import annotations

import json
from typing import Any

from trlm_lab.base.licence_state import is_undecided
from trlm_lab.errors import LicenceUndecidedError

LOCAL_ONLY = "undecided: local use only, not publishable"


def licence_state(licence: Any) -> str:
    """One line about the licence row of a snapshot's provenance."""
    return LOCAL_ONLY if is_undecided(licence) else f"{licence.get('spdx')}: {licence['decision']}"


def require_decided(licence: Any, where: str) -> None:
    """Refuse to pass on what was made of a source on whose licence nobody decided.

    Raises:
        LicenceUndecidedError: nobody did.
    """
    if not is_undecided(licence):
        return
    row = licence if isinstance(licence, dict) else {}
    raise LicenceUndecidedError(
        where=where,
        detail="this would be passed on, the source was acquired for local use alone",
        source=str(row.get("source")),
        listed=json.dumps({key: row.get(key, []) for key in ("texts", "cards")}),
    )
