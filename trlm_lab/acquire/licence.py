"""The licence decision: what was declared, what was read, who decided. None, no conversion."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from trlm_lab.base import strict_json
from trlm_lab.base.blobs import file_sha256
from trlm_lab.errors import LicenceDecisionError, LicenceUndecidedError, TrlmError

LOCAL_RULE = "rule 1 for a user's own files"
SCHEMA = "trlm.licence_decision.v1"
_TEXT = re.compile(r"(LICEN[CS]E|COPYING)(\.(md|txt))?\Z", re.I)
_CARD = "README.md"
_KEYS = {
    "schema", "spdx", "text_sha256", "card_sha256", "decision", "redistribution", "attribution",
    "reviewer",
}  # fmt: skip


@dataclass(frozen=True)
class Declared:
    """What a source says of its licence: the id of its card, and the hashes of its texts."""

    spdx: str
    text_sha256: str | None
    card_sha256: str | None


def declared_licence(root: Path) -> Declared:
    """Read the card's front matter and hash the licence text and the card below `root`."""
    texts = sorted(p for p in root.iterdir() if _TEXT.match(p.name) and p.is_file())
    card = root / _CARD
    return Declared(
        _card_licence(card) if card.is_file() else "unknown",
        file_sha256(texts[0]) if texts else None,
        file_sha256(card) if card.is_file() else None,
    )


def _card_licence(card: Path) -> str:
    from huggingface_hub.repocard import metadata_load
    from yaml import YAMLError

    try:
        # Of keys that stand twice the reader takes the last and says nothing.
        if _repeats(card.read_text(encoding="utf-8")):
            return "unknown"
        row = metadata_load(card) or {}
    except (ValueError, YAMLError, UnicodeDecodeError, RecursionError):
        return "unknown"
    licence = row.get("license", "unknown")
    return licence if isinstance(licence, str) else "unknown"


def _repeats(text: str) -> bool:
    """Whether the card's front matter holds a top-level key twice."""
    from huggingface_hub.repocard import REGEX_YAML_BLOCK
    from yaml import SafeLoader, compose
    from yaml.nodes import MappingNode

    front = REGEX_YAML_BLOCK.search(text)
    node = compose(front[2], Loader=SafeLoader) if front else None
    keys = [key.value for key, _ in node.value] if isinstance(node, MappingNode) else []
    return any(keys.count(key) > 1 for key in keys)


def local_decision(declared: Declared) -> dict[str, Any]:
    """The decision on a user's own file or directory: used where it is, passed on nowhere."""
    return {
        "schema": SCHEMA,
        "spdx": declared.spdx,
        "text_sha256": declared.text_sha256,
        "card_sha256": declared.card_sha256,
        "decision": "local use only",
        "redistribution": "none: nobody has decided on the licence",
        "attribution": "undecided",
        "reviewer": LOCAL_RULE,
    }


def decide(declared: Declared, decision: Path | None = None) -> dict[str, Any]:
    """The decision on a declared licence: the given file's, or the reviewed table's.

    Raises:
        LicenceUndecidedError: no file, and the table does not know the licence.
        LicenceDecisionError: the file is incomplete, rejects, or was made about other texts.
    """
    if decision is not None:
        return _given(declared, decision)
    table = json.loads(files("trlm_lab.data").joinpath("licences/reviewed.json").read_text())
    rule = table["licences"].get(declared.spdx.lower())
    if rule is None:
        raise LicenceUndecidedError(where=_CARD, spdx=declared.spdx)
    texts = {"text_sha256": declared.text_sha256, "card_sha256": declared.card_sha256}
    return {"schema": SCHEMA, **rule, **texts, "reviewer": table["reviewer"]}


def _given(declared: Declared, path: Path) -> dict[str, Any]:
    where = str(path)
    try:
        row = strict_json.load_object(path)
    except TrlmError as error:
        raise LicenceDecisionError(where=where, detail=error.detail) from error
    if set(row) != _KEYS or row["schema"] != SCHEMA:
        raise LicenceDecisionError(where=where, detail=f"the keys are {sorted(_KEYS)}")
    for key in ("spdx", "decision", "redistribution", "attribution", "reviewer"):
        if not isinstance(row[key], str) or not row[key].strip():
            raise LicenceDecisionError(where=f"{where}#/{key}", detail="a text is needed")
    for key in ("text_sha256", "card_sha256"):
        if row[key] != getattr(declared, key):
            detail = f"the source has {getattr(declared, key)}, the decision is about {row[key]}"
            raise LicenceDecisionError(where=f"{where}#/{key}", detail=detail)
    if row["decision"] != "accepted":
        detail = f"the decision is {row['decision']!r}; only `accepted` lets a source in"
        raise LicenceDecisionError(where=f"{where}#/decision", detail=detail)
    return row
