"""The licence decision: what was declared, what was read, who decided.

Without one nothing of a Hub is converted; a user's own copy stays where it is.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from trlm_lab.acquire.licence_card import card_licence
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.document_names import is_card, is_licence, is_notice
from trlm_lab.base.licence_state import UNDECIDED
from trlm_lab.base.reviewed_file import ReviewedFile
from trlm_lab.base.reviewed_rows import ReviewedForm
from trlm_lab.errors import LicenceDecisionError, LicenceUndecidedError

#: Who says that a user's own copy may be used where it is.
LOCAL_RULE = "rule 1 for a user's own files"
#: Part of the cache keys of local sources; raised with the rule by which they are decided.
LOCAL_VERSION = 2
SCHEMA = "trlm.licence_decision.v2"
UNKNOWN = "unknown"
FORM = ReviewedForm(
    SCHEMA,
    texts=frozenset({"source", "spdx", "decision", "redistribution", "attribution", "reviewer"}),
    said=frozenset({"spdx", "redistribution", "attribution", "reviewer"}),
    error=LicenceDecisionError,
)

#: (path, SHA-256) of files, sorted by path.
Hashed = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Declared:
    """What a source says of its licence.

    `spdx` is the one id that its cards declare, or `unknown`; `texts` are its licence texts with
    notices and use policies, `cards` its model cards: all of them, with their hashes.
    """

    spdx: str
    texts: Hashed = ()
    cards: Hashed = ()

    def listed(self) -> dict[str, list[dict[str, str]]]:
        """Both lists as a decision writes them."""
        return {name: _rows(getattr(self, name)) for name in ("texts", "cards")}


def _rows(hashed: Hashed) -> list[dict[str, str]]:
    return [{"path": path, "sha256": sha256} for path, sha256 in hashed]


def declared_licence(root: Path) -> Declared:
    """Read the front matter of the cards at `root`, and hash every card and licence text there."""
    names = sorted(p.name for p in root.iterdir() if p.is_file())
    cards = [name for name in names if is_card(name)]
    ids = {card_licence(root / name) for name in cards} - {None}
    spdx = next(iter(ids)) if len(ids) == 1 else None
    texts = tuple((name, file_sha256(root / name)) for name in names if is_licence(name))
    return Declared(
        spdx or UNKNOWN, texts, tuple((name, file_sha256(root / name)) for name in cards)
    )


@dataclass(frozen=True)
class LicenceDecision:
    """A decision as a person wrote it, and the file that it stands in."""

    row: dict[str, Any]
    file: ReviewedFile


def load_decision(path: Path) -> LicenceDecision:
    """Read a decision. Raises as `parse_decision`."""
    return parse_decision(FORM.read(path))


def parse_decision(file: ReviewedFile) -> LicenceDecision:
    """The decision of a file that was read.

    Raises:
        LicenceDecisionError: not the form; what it is about is not looked at.
    """
    return LicenceDecision(FORM.load(file, others=("texts", "cards")), file)


def decide(
    declared: Declared, repository: str, commit: str, decision: LicenceDecision | None = None
) -> dict[str, Any]:
    """The decision on the licence of `repository` (`hf:owner/name`) at `commit`.

    It is the given file's, or the reviewed table's; the table knows licences by their id, so it
    decides on no source that has further texts beside one licence and its notices.

    Raises:
        LicenceUndecidedError: no file, and the table cannot decide.
        LicenceDecisionError: the file is incomplete, rejects, or was made about another source or
            about other texts.
    """
    if decision is not None:
        return _given(declared, repository, commit, decision)
    table = json.loads(files("trlm_lab.data").joinpath("licences/reviewed.json").read_text())
    rule = table["licences"].get(declared.spdx.lower())
    if rule is None:
        detail = f"{declared.spdx!r} is in no reviewed table"
        raise _undecided(declared, repository, commit, detail)
    terms = [path for path, _ in declared.texts if not is_notice(path)]
    if len(terms) > 1:
        detail = f"the card says {declared.spdx!r}, and there are {', '.join(terms)}"
        raise _undecided(declared, repository, commit, detail)
    source = {"source": f"{repository}@{commit}"}
    return {
        "schema": SCHEMA, **source, **rule, **declared.listed(), "reviewer": table["reviewer"]
    }  # fmt: skip


def decide_locally(
    declared: Declared, source: str, content: str, decision: LicenceDecision | None = None
) -> dict[str, Any]:
    """The decision on a user's own copy, `source` (`dir:NAME`, `gguf:NAME`) with this content id.

    Where `decide` finds nobody who decided, the row says so and names the source as a decision
    must: the copy is used where it is, and nothing of it is passed on.

    Raises:
        LicenceDecisionError: as `decide`.
    """
    try:
        return decide(declared, source, content, decision)
    except LicenceUndecidedError:
        return {
            "schema": SCHEMA,
            "source": _bound(declared, source, content),
            "spdx": declared.spdx,
            **declared.listed(),
            "decision": UNDECIDED,
            "redistribution": "none: used where it is, passed on nowhere",
            "attribution": UNDECIDED,
            "reviewer": LOCAL_RULE,
        }


def _bound(declared: Declared, repository: str, commit: str) -> str:
    """What a decision must name at least: licence texts bind it, else the content does."""
    return repository if declared.texts else f"{repository}@{commit}"


def _undecided(
    declared: Declared, repository: str, commit: str, detail: str
) -> LicenceUndecidedError:
    return LicenceUndecidedError(
        where=repository,
        detail=detail,
        source=_bound(declared, repository, commit),
        listed=json.dumps(declared.listed()),
    )


def _given(
    declared: Declared, repository: str, commit: str, decision: LicenceDecision
) -> dict[str, Any]:
    row, path = decision.row, decision.file.path
    _require_source(row["source"], declared, repository, commit, f"{path}#/source")
    for key, wanted in declared.listed().items():
        if row[key] != wanted:
            detail = f"the source has {json.dumps(wanted)}, the decision is about {row[key]!r:.200}"
            raise LicenceDecisionError(where=f"{path}#/{key}", detail=detail)
    if row["decision"] != "accepted":
        detail = f"the decision is {row['decision']!r}; only `accepted` lets a source in"
        raise LicenceDecisionError(where=f"{path}#/decision", detail=detail)
    return row


def _require_source(
    named: str, declared: Declared, repository: str, commit: str, where: str
) -> None:
    """A decision is about one repository; where no licence text is, about one commit of it."""
    exact = f"{repository}@{commit}"
    if named == exact or (named == repository and declared.texts):
        return
    wanted = f"{repository!r} or {exact!r}" if declared.texts else repr(exact)
    why = "" if declared.texts else ": it has no licence text that could bind the decision"
    detail = f"the decision is about {named!r}, the source is {wanted}{why}"
    raise LicenceDecisionError(where=where, detail=detail)
