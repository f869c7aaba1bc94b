"""Reviews of documentary changes: a person looked at a file's new content and says why it is none
of behaviour."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from trlm_lab.acquire.drift import UNREVIEWED, Drift, FileChange
from trlm_lab.base.reviewed_rows import ReviewedForm
from trlm_lab.errors import DriftReviewError

FORM = ReviewedForm(
    "trlm.drift_review.v1",
    texts=frozenset({"path", "content", "reason", "reviewer"}),
    said=frozenset({"content", "reason", "reviewer"}),
    error=DriftReviewError,
    about=("path", "content"),
)
#: In the place of a content id: a file that was removed.
GONE = "gone"


@dataclass(frozen=True)
class DriftReview:
    """The file, the id of the content that was read (as the observation names it), why, and who.

    A file of reviews may hold earlier ones of the same file; the content decides which counts.
    """

    path: str
    content: str
    reason: str
    reviewer: str


def load_drift_reviews(path: Path) -> tuple[DriftReview, ...]:
    """Read a file of reviews.

    Raises:
        DriftReviewError: not the form, or two reviews of one content of a file.
    """
    rows = FORM.load_rows(FORM.read(path), "reviews")
    return tuple(DriftReview(**row) for _, row in rows)


def reviewed(drift: Drift, reviews: tuple[DriftReview, ...]) -> Drift:
    """The observation with what was reviewed called documentary; nothing else can be.

    Raises:
        DriftReviewError: a review of a change of behaviour or licence, or of other content.
    """
    changes = tuple(_judged(c, [r for r in reviews if r.path == c.path]) for c in drift.changes)
    return replace(drift, changes=changes)


def _judged(change: FileChange, reviews: list[DriftReview]) -> FileChange:
    if not reviews:
        return change
    if change.kind != UNREVIEWED:
        detail = f"the change is one of {change.kind}; no review makes it documentary"
        raise DriftReviewError(where=change.path, detail=detail)
    content = change.content or GONE
    for review in reviews:
        if review.content == content:
            said = f"{review.reason} ({review.reviewer})"
            return replace(change, kind="documentary", review=said)
    detail = f"the content is {content}, the review is about {reviews[-1].content}"
    raise DriftReviewError(where=change.path, detail=detail)
