"""Reviews of documentary changes: a person looked at a file's new content and says why it is none
of behaviour."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trlm_lab.acquire.drift import UNREVIEWED, Drift, FileChange
from trlm_lab.base import strict_json
from trlm_lab.errors import DriftReviewError, TrlmError

SCHEMA = "trlm.drift_review.v1"
_KEYS = {"path", "content", "reason", "reviewer"}


@dataclass(frozen=True)
class DriftReview:
    """The file, the id of the content that was read (as the observation names it), why, and who."""

    path: str
    content: str
    reason: str
    reviewer: str


def load_drift_reviews(path: Path) -> tuple[DriftReview, ...]:
    """Read a file of reviews.

    Raises:
        DriftReviewError: not the form.
    """
    where = str(path)
    try:
        row = strict_json.load_object(path)
    except TrlmError as error:
        raise DriftReviewError(where=where, detail=error.detail) from error
    if set(row) != {"schema", "reviews"} or row["schema"] != SCHEMA:
        raise DriftReviewError(
            where=where, detail=f"the keys are `schema` ({SCHEMA}) and `reviews`"
        )
    if not isinstance(row["reviews"], list):
        raise DriftReviewError(where=where, detail="`reviews` is a list")
    return tuple(_review(r, f"{where}#/reviews/{i}") for i, r in enumerate(row["reviews"]))


def _review(row: Any, where: str) -> DriftReview:
    if not isinstance(row, dict) or set(row) != _KEYS:
        raise DriftReviewError(where=where, detail=f"a review has {sorted(_KEYS)}")
    if not all(isinstance(v, str) and v.strip() for v in row.values()):
        raise DriftReviewError(where=where, detail="all four are texts")
    return DriftReview(**row)


def reviewed(drift: Drift, reviews: tuple[DriftReview, ...]) -> Drift:
    """The observation with what was reviewed called documentary; nothing else can be.

    Raises:
        DriftReviewError: a review of a change of behaviour or licence, or of other content.
    """
    by_path = {r.path: r for r in reviews}
    changes = tuple(_judged(c, by_path.get(c.path)) for c in drift.changes)
    return replace(drift, changes=changes)


def _judged(change: FileChange, review: DriftReview | None) -> FileChange:
    if review is None:
        return change
    if change.kind != UNREVIEWED:
        detail = f"the change is one of {change.kind}; no review makes it documentary"
        raise DriftReviewError(where=change.path, detail=detail)
    if review.content != change.content:
        detail = f"the content is {change.content or 'gone'}, the review is about {review.content}"
        raise DriftReviewError(where=change.path, detail=detail)
    return replace(change, kind="documentary", review=f"{review.reason} ({review.reviewer})")
