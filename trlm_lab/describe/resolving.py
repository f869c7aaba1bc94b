"""Resolutions applied to a receipt: each settles exactly the one conflict that it names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from trlm_lab.describe.declarations import FURTHER, ROLES, Documents
from trlm_lab.describe.insertion_conflicts import FIELDS, OWNERS
from trlm_lab.describe.receipt import ERROR, RESOLVED, ConflictFinding, ConflictReceipt
from trlm_lab.describe.resolution import Resolution
from trlm_lab.describe.vocabulary import Vocabulary, is_id
from trlm_lab.errors import ResolutionUnmatchedError, ResolutionValueError

#: What a choice can mend. All else needs other files: no word makes a shape fit.
_IDS = {f"{role}_token_id" for role in (*ROLES, *FURTHER)}
_ENDINGS = ("_CONFLICT", "_MISSING")


def resolved(
    receipt: ConflictReceipt,
    resolutions: Sequence[Resolution],
    documents: Documents,
    vocab: Vocabulary,
    *,
    framework_seen: bool = True,
) -> ConflictReceipt:
    """The receipt with the named conflicts settled, and the resolutions in it.

    Files may agree and the framework contradict all of them. Where it was not asked, as before a
    conversion, the resolution of such a conflict settles nothing yet and is no error.

    Raises:
        ResolutionUnmatchedError: no open conflict has this name, or two files settle one.
        ResolutionValueError: the value cannot settle it.
    """
    for resolution in resolutions:
        if framework_seen or not _left_to_framework(receipt, resolution):
            receipt = _settled(receipt, resolution, documents, vocab)
    return receipt


def _left_to_framework(receipt: ConflictReceipt, resolution: Resolution) -> bool:
    """Whether it names these very declarations, and the files alone find nothing against them."""
    named = (resolution.code, resolution.field)
    if any((finding.code, finding.field) == named for finding in receipt.findings):
        return False
    conflict = ConflictFinding(resolution.code, "", "", ERROR, resolution.field)
    return receipt.conflict_id(conflict) == resolution.conflict_id


def _settled(
    receipt: ConflictReceipt, resolution: Resolution, documents: Documents, vocab: Vocabulary
) -> ConflictReceipt:
    at = _matching(receipt, resolution)
    finding = receipt.findings[at]
    value = _value(receipt, finding, resolution, documents, vocab)
    _require_same_choice(receipt, resolution)
    findings = list(receipt.findings)
    findings[at] = replace(finding, level=RESOLVED)
    rest = [f for f in findings if f.field == finding.field and f.level == ERROR]
    chosen = dict(receipt.chosen_ids)
    if finding.field in _IDS and not rest:
        chosen[finding.field.split("_", 1)[0]] = tuple(value)
    evidence = tuple(
        replace(e, chosen=value) if e.field == finding.field and not rest else e
        for e in receipt.evidence
    )
    done = (*receipt.resolutions, resolution)
    return ConflictReceipt(evidence, tuple(findings), chosen, done)


def _require_same_choice(receipt: ConflictReceipt, resolution: Resolution) -> None:
    """Several conflicts of one field are settled one by one, and all by one value."""
    for earlier in receipt.resolutions:
        if earlier.field == resolution.field and _set(earlier.value) != _set(resolution.value):
            detail = f"{resolution.value!r}: another file says {earlier.value!r} of the same field"
            raise ResolutionValueError(
                where="resolution#/value", field=resolution.field, detail=detail
            )


def _set(value: Any) -> Any:
    return sorted(set(value)) if isinstance(value, list) else value


def _matching(receipt: ConflictReceipt, resolution: Resolution) -> int:
    where = f"resolution of {resolution.field}"
    wanted = resolution.conflict_id
    settled = {r.conflict_id for r in receipt.resolutions}
    if wanted in settled:
        detail = f"two files settle the conflict {wanted[:16]}…"
        raise ResolutionUnmatchedError(where=where, detail=detail)
    for at, finding in enumerate(receipt.findings):
        named = (finding.code, finding.field) == (resolution.code, resolution.field)
        if named and finding.level == ERROR and receipt.conflict_id(finding) == wanted:
            return at
    open_ones = "; ".join(f"{f.code} {receipt.conflict_id(f)[:16]}…" for f in receipt.stops)
    detail = (
        f"no open conflict is {resolution.code} of {resolution.field} with the id "
        f"{wanted[:16]}…; open: {open_ones or 'none'}"
    )
    raise ResolutionUnmatchedError(where=where, detail=detail)


def _value(
    receipt: ConflictReceipt,
    finding: ConflictFinding,
    resolution: Resolution,
    documents: Documents,
    vocab: Vocabulary,
) -> Any:
    value = resolution.value

    def refuse(detail: str) -> ResolutionValueError:
        return ResolutionValueError(
            where="resolution#/value", field=resolution.field, detail=detail
        )

    if finding.field in _IDS and finding.code.endswith(_ENDINGS):
        size = documents.config.get("vocab_size")
        ids = sorted(set(value)) if isinstance(value, list) and all(map(is_id, value)) else []
        if not ids or not is_id(size) or ids[-1] >= size:
            raise refuse(f"{value!r} is no list of ids below {size}")
        if finding.field != "eos_token_id" and len(ids) > 1:
            raise refuse(f"{value!r}: only the stop set may have several ids")
        return ids
    if finding.field == "chat_template" and finding.code.endswith((*_ENDINGS, "_AMBIGUOUS")):
        declared = next(e for e in receipt.evidence if e.field == "chat_template")
        places: list[str | None] = [
            d.place for d in declared.publisher if not d.pointer.startswith("line")
        ]
        # Where no file declares a template, the choice can only be that there is none.
        if value not in (places or [None]):
            raise refuse(f"{value!r} is none of {places or [None]}")
        return value
    if finding.field in FIELDS.values():
        if value not in OWNERS:
            raise refuse(f"{value!r} is none of {OWNERS}")
        return value
    raise refuse(f"{finding.code} cannot be settled by a choice")
