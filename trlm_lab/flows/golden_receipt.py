"""What `trlm golden judge` found, as a `comparison` node that stands on the containers.

There is no oracle run or policy to rest on, and of the container's own source none: a container
names them by their ids, and those are all that the node says of them. An engine that ran a model
directory rests on what was acquired out of it and described. The arrays of the engine are not kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.records import EngineIdentity
from trlm_lab.base.records.outcome import worst
from trlm_lab.compare import COMPARATOR
from trlm_lab.flows.execution import engine_nodes
from trlm_lab.flows.store_directory import seal_alone
from trlm_lab.golden import SCHEMA, Golden
from trlm_lab.receipts import ReceiptStore

if TYPE_CHECKING:
    from trlm_lab.flows.golden_judge import GoldenVerdict
    from trlm_lab.flows.grounds import Grounds


def record_judgement(
    out: Path,
    engine: EngineIdentity,
    artifact: Path | None,
    containers: Sequence[Golden],
    verdicts: Sequence[GoldenVerdict],
    grounds: Grounds | None = None,
) -> str:
    """Store a judgement of containers, in their order; returns the node.

    `grounds` lead to the configuration of the model that was run, where it was no artifact.

    It becomes the root of a store that has none and is no run's. Beside a sealed root, and in the
    directory of a run that is not sealed, it stands on its own.

    Raises:
        StoreWriteError: the disk is full, or this user may not write here.
    """
    store = ReceiptStore(out)
    cases = [
        _container(store, golden, verdict.case_id)
        for golden, verdict in zip(containers, verdicts, strict=True)
    ]
    node = store.add(
        "comparison",
        {
            "comparator": COMPARATOR,
            "artifact_sha256": None if artifact is None else file_sha256(artifact),
            "outcome": worst([v.mismatch.verdict for v in verdicts]).value,
            "verdicts_blob": store.put_value([v.row() for v in verdicts]),
        },
        [*engine_nodes(store, engine), *([grounds.put(store)] if grounds else []), *cases],
    )
    seal_alone(out, node)
    return node


def _container(store: ReceiptStore, golden: Golden, case_id: str) -> str:
    """A container whose generator is somewhere else."""
    metadata = {
        "case_id": case_id,
        "container": SCHEMA,
        "generator": golden.case.generator_receipt.hex(),
        "golden_blob": store.blobs.put(golden.data),
    }
    return store.add("case", metadata, [])
