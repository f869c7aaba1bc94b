"""What a test may be skipped for: the rows of `skips.md`, and who says that they must be here."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NoReturn

import pytest

PAGE = Path(__file__).with_name("skips.md")
VARIABLE = "TRLM_REQUIRE_ENGINES"


def listed() -> tuple[str, ...]:
    """Names of the engines and tools that a test may lack."""
    rows = re.findall(r"^\| `([^`]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return tuple(rows)


def is_demanded(name: str) -> bool:
    """Whether lacking it is a failure here.

    The variable holds names with commas between, `all`, or `none`; without it continuous
    integration, which sets `CI`, demands all.
    """
    wanted = os.environ.get(VARIABLE, "all" if os.environ.get("CI") else "none")
    return wanted == "all" or name in wanted.split(",")


def lacking(name: str, reason: str) -> NoReturn:
    """End a test that needs what is not here: skipped, or failed where it is demanded."""
    text = f"{name} is not here: {reason}"
    if is_demanded(name):
        pytest.fail(text, pytrace=False)
    pytest.skip(text)


def is_explained(text: str) -> bool:
    """Whether the text of a skip belongs to a row of the page."""
    return any(text.removeprefix("Skipped: ").startswith(f"{n} is not here: ") for n in listed())
