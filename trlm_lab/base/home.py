"""Where caches live: `TRLM_HOME`, or a directory of the user's cache."""

from __future__ import annotations

import os
from pathlib import Path


def trlm_home() -> Path:
    """The cache root; created on first use by whoever writes there."""
    return Path(os.environ.get("TRLM_HOME") or Path.home() / ".cache" / "trlm_lab")
