"""Whose directory it is: an output directory is empty, or holds the same job, or is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from trlm_lab.base.file_lock import locked_at_once
from trlm_lab.errors import DirectoryDiffersError, DirectoryForeignError
from trlm_lab.flows.leftovers import absent_folders, empty, remove_empty, sweep_run
from trlm_lab.flows.plan import PLAN_FILE, RunPlan, shown_source, shown_suite
from trlm_lab.receipts.history import SUPERSEDED
from trlm_lab.receipts.listed_files import ATTESTATIONS
from trlm_lab.receipts.verify import LOCK_FILE, RECEIPT_FILE

#: What makes two plans two jobs. Engines and the planted fault may come and go.
_JOB = ("source", "judged", "calibration", "artifacts")


@contextmanager
def occupied(out: Path, plan: RunPlan) -> Iterator[Callable[[], None]]:
    """Hold `out` for one run of `plan`, alone; yields what to call once there is something to keep.

    Whatever ends the run before that leaves a directory that was new or empty as it was found.

    Raises:
        DirectoryForeignError, DirectoryDiffersError: the directory belongs to something else.
        LockHeldError: a run is going on there.
    """
    check_directory(out, plan)
    made = absent_folders(out)
    with locked_at_once(out / LOCK_FILE):
        # Another run may have begun between the look and the lock.
        check_directory(out, plan)
        kept = (out / PLAN_FILE).exists()

        def keep() -> None:
            nonlocal kept
            kept = True

        try:
            if not kept:
                plan.save(out)
            sweep_run(out)
            yield keep
        except BaseException:
            if not kept:
                # The lock is still held and goes last: nobody else has begun here meanwhile.
                empty(out, last=LOCK_FILE)
                remove_empty(made)
            raise


def check_directory(out: Path, plan: RunPlan) -> None:
    """Refuse a directory that holds anything but an earlier run of the same job.

    Raises:
        DirectoryForeignError: files, and no plan of ours that could be read.
        DirectoryDiffersError: a run of another source, suite or set of artifacts.
    """
    if not out.is_dir() or not (names := _names(out)):
        return
    if PLAN_FILE not in names:
        raise DirectoryForeignError(where=str(out), kind="run", found=names[0])
    held = _job_of(out)
    for part, wanted in _parts(plan.to_map()).items():
        if held[part] != wanted:
            facts = {"part": part, "held": held[part], "wanted": wanted}
            raise DirectoryDiffersError(where=str(out), **facts)


def _names(out: Path) -> list[str]:
    return sorted(p.name for p in out.iterdir() if p.name != LOCK_FILE)


def _job_of(out: Path) -> dict[str, str]:
    """The job of the plan in a directory, also one of an older version with other fields."""
    try:
        row = json.loads((out / PLAN_FILE).read_text(encoding="utf-8"))
        return _parts(row)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DirectoryForeignError(
            where=str(out), kind="run", found=f"a {PLAN_FILE} that cannot be read"
        ) from error


def _parts(row: dict[str, object]) -> dict[str, str]:
    """The job of a plan's row, as it is shown: some versions told whole paths."""
    return {part: _shown(part, row[part]) for part in _JOB}


def _shown(part: str, value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return shown_source(str(value)) if part == "source" else shown_suite(str(value))


def withdraw_receipt(out: Path) -> int:
    """Move the sealed receipt to `superseded/<root>.json`, because files are about to change.

    A reader never sees a receipt that does not match the directory; the nodes of the old one stay.
    Its attestations speak of it alone, and go before it to `superseded/<root>.attestations`;
    returns their number.
    """
    receipt = out / RECEIPT_FILE
    try:
        root = str(json.loads(receipt.read_bytes())["conformance_receipt_id"])
    except FileNotFoundError:
        root = "unsealed"
    except (ValueError, KeyError, TypeError):
        root = "malformed"
    folder, name = out / SUPERSEDED, Path(root).name
    moved = _withdraw_attestations(out / ATTESTATIONS, folder / f"{name}.attestations")
    if receipt.exists():
        folder.mkdir(exist_ok=True)
        receipt.replace(folder / f"{name}.json")
    return moved


def _withdraw_attestations(source: Path, place: Path) -> int:
    if not source.is_dir() or source.is_symlink():
        return 0
    place.mkdir(parents=True, exist_ok=True)
    found = sorted(source.iterdir())
    for path in found:
        path.replace(place / path.name)
    source.rmdir()
    return len(found)
