"""Run a case under a condition, in this process or in one of its own."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Case
from trlm_lab.errors import CaptureError
from trlm_lab.oracle.drift.conditions import Condition
from trlm_lab.oracle.runner import TorchRunner
from trlm_lab.oracle.waiting import wait_passively

Arrays = dict[str, NDArray[np.float32]]


def run_here(model_dir: Path, cases: list[Case], condition: Condition) -> Iterator[Arrays]:
    """Every checkpoint of each case (only `logits` with another attention than the eager one)."""
    if condition.attention != "eager":
        yield from _logits(model_dir, cases, condition)
        return
    with TorchRunner(condition.threads).open(Subject(model_dir=model_dir)) as session:
        for case in cases:
            stream = session.run_beside(case) if condition.batched else session.run(case)
            yield {o.name: o.values for o in stream if o.values.dtype == np.float32}


def run_apart(
    model_dir: Path, cases: list[Case], condition: Condition, scratch: Path
) -> Iterator[Arrays]:
    """The same in a fresh process, whose environment names the condition's capability.

    Raises:
        CaptureError: the process found other instructions than it was told to use.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context, _enter, (condition.capability,)) as pool:
        found = pool.submit(_child, model_dir, cases, condition, scratch).result()
    wanted = condition.capability
    if wanted is not None and found.lower() != wanted:
        detail = f"torch reports {found} where {wanted} was asked for"
        raise CaptureError(where=condition.name, detail=detail)
    for index in range(len(cases)):
        path = scratch / f"{index}.npz"
        with np.load(path) as stored:
            yield {name: stored[name] for name in stored.files}
        path.unlink()


def _enter(capability: str | None) -> None:
    # Before torch is loaded here, and for its descendants.
    if capability is not None:
        os.environ["ATEN_CPU_CAPABILITY"] = capability


def _child(model_dir: Path, cases: list[Case], condition: Condition, scratch: Path) -> str:
    """Write one file of arrays a case, or none where torch found another capability; names it."""
    wait_passively()
    import torch

    found = str(torch.backends.cpu.get_cpu_capability())
    if condition.capability not in (None, found.lower()):
        return found
    torch.backends.mkldnn.enabled = condition.onednn
    for index, arrays in enumerate(run_here(model_dir, cases, condition)):
        # The stubs know no file argument beside arrays of any name.
        np.savez(scratch / f"{index}.npz", **arrays)  # type: ignore[arg-type]
    return found


def _logits(model_dir: Path, cases: list[Case], condition: Condition) -> Iterator[Arrays]:
    from trlm_lab.oracle.case_inputs import input_tensors
    from trlm_lab.oracle.loading import load_model
    from trlm_lab.oracle.settings import pinned_thread

    model = load_model(model_dir, attention=condition.attention)
    for case in cases:
        with pinned_thread(condition.threads):
            logits = model(**input_tensors(case), use_cache=False).logits
        yield {"logits": logits[0].numpy().copy()}
