"""Allow-lists as data, one a model family: which declarations it has, and their usual size at most.

A list refuses what is unexpectedly large. It discards nothing: a declaration that any list knows is
taken from every source, since it may contradict the others; where the family's own list does not
know it, the provenance says so. A family without a list has the general one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from trlm_lab.base import canon, strict_json
from trlm_lab.errors import TrlmError

CONFIG = "config.json"
GENERAL = "general"
_SCHEMA = "trlm.allow_list.v1"


@dataclass(frozen=True)
class AllowList:
    """Sizes in bytes: of each declaration by name, and of any other document that is taken."""

    family: str
    declarations: Mapping[str, int]
    most_bytes: int

    def problem(self, name: str, size: int) -> str:
        """Why a document of this size may not be in the tree, or empty."""
        most = self.declarations.get(name, self.most_bytes)
        if size <= most:
            return ""
        return f"{name!r} has {size} bytes, and the allow-list of {self.family} has {most} at most"

    def to_map(self, names: Iterable[str]) -> dict[str, Any]:
        """For the provenance: the list, and which declarations among `names` it does not know."""
        others = general_list().declarations.keys() - self.declarations.keys()
        return {
            "family": self.family,
            "list_id": canon.content_id([self.most_bytes, dict(self.declarations)]),
            "beyond": sorted(others & set(names)),
        }


def general_list() -> AllowList:
    """The list of every declaration of every family."""
    return _lists()[GENERAL]


def family_list(config: Path) -> AllowList:
    """The list of the family that a `config.json` names; the general one where that is none."""
    try:
        row = strict_json.load_object(config, limit=general_list().declarations[CONFIG])
    except TrlmError:
        # Whoever converts the directory says what is wrong with it.
        return general_list()
    family = row.get("model_type")
    return _lists().get(family, general_list()) if isinstance(family, str) else general_list()


@cache
def _lists() -> Mapping[str, AllowList]:
    folder = files("trlm_lab.data").joinpath("allow_lists")
    rows = [json.loads(f.read_text()) for f in folder.iterdir() if f.name.endswith(".json")]
    assert all(row["schema"] == _SCHEMA for row in rows)
    return {
        row["family"]: AllowList(row["family"], row["declarations"], row["most_bytes"])
        for row in rows
    }
