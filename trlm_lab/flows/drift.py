"""`trlm drift PIN`: look at a source again and write down what is seen; nothing else changes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from trlm_lab.acquire import Drift, HubLimits, newest_snapshot, observe, recorded_pin
from trlm_lab.acquire.drift_review import load_drift_reviews, reviewed
from trlm_lab.base.home import trlm_home
from trlm_lab.flows.store_directory import require_store
from trlm_lab.receipts import ReceiptStore

OBSERVATIONS = "observations"


def observe_source(
    spec: str,
    directory: Path | None = None,
    limits: HubLimits | None = None,
    reviews: Path | None = None,
) -> tuple[Drift, str]:
    """Observe a source, and store the observation; returns it with its node id.

    `reviews` names the changes that a person found to be documentary. The node goes into the store
    at `directory`, or into the cache's own store of observations. An existing promotion keeps its
    root: a new node has no parents there.

    Raises:
        SourceSpecError: no such form.
        NotAcquiredError: the source was never acquired here.
        NotObservableError: the source cannot drift.
        DriftReviewError: a review is no form, or about something else.
        HubUnreachableError, HubNotFoundError: the Hub does not answer.
        DirectoryForeignError, StoreWriteError: the directory is no store, or cannot be written.
    """
    place = directory or trlm_home() / OBSERVATIONS
    require_store(place)
    snapshot = newest_snapshot(recorded_pin(spec))
    looked = load_drift_reviews(reviews) if reviews else ()
    drift = reviewed(observe(snapshot, spec, limits), looked)
    store = ReceiptStore(place)
    observation = store.add(
        "observation", {"time_blob": store.put_value({"utc": datetime.now(UTC).isoformat()})}, []
    )
    node = store.add(
        "drift",
        {
            "pin": drift.pin,
            "snapshot_id": snapshot.snapshot_id,
            "pinned": drift.pinned,
            "observed": drift.observed,
            "behaviour": drift.behaviour,
            "changes_blob": store.put_value(drift.to_map()),
        },
        [observation],
    )
    return drift, node
