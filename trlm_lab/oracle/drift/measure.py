"""Measure the oracle's drift on a model: baseline once, then every condition against it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from trlm_lab.base import canon
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.records import Case
from trlm_lab.errors import OracleModelError
from trlm_lab.oracle.defaults import effective_config, source_defaults
from trlm_lab.oracle.drift.conditions import BASELINE, CONDITIONS, Condition
from trlm_lab.oracle.drift.record import OracleDrift, Spread, Standing, spread_of
from trlm_lab.oracle.drift.running import Arrays, run_apart, run_here
from trlm_lab.oracle.environment import environment_record

#: Vector instructions in the order in which a CPU that has one has all before it.
CAPABILITIES = ("default", "avx2", "avx512")


def measure_drift(
    model_dir: Path,
    cases: Sequence[Case],
    conditions: Iterable[Condition] = CONDITIONS,
    say: Callable[[str], None] = lambda text: None,
) -> OracleDrift:
    """Run the cases under every condition; a condition that cannot run is listed with its reason.

    The arrays of the baseline are held: keep to a few short cases.

    Raises:
        OracleMissingError: torch or transformers is not installed.
        OracleModelError: the directory holds no model that the source runs.
        Refused: a case that the model cannot be asked.
        CaptureError: the source's forward pass failed.
    """
    given = list(cases)
    say("drift: baseline")
    baseline = list(run_here(model_dir, given, BASELINE))
    standings = []
    for condition in conditions:
        say(f"drift: {condition.name}")
        standings.append(_standing(model_dir, given, condition, baseline))
    return OracleDrift(
        environment=environment_record(BASELINE.threads),
        config_id=effective_config(source_defaults(model_dir)).config_id,
        weights=weights_id(model_dir),
        cases=tuple(case.digest for case in given),
        standings=tuple(standings),
    )


def _standing(
    model_dir: Path, cases: list[Case], condition: Condition, baseline: list[Arrays]
) -> Standing:
    reason = _unavailable(condition)
    if reason:
        return Standing(condition.name, condition.what, reason, ())
    try:
        spread = _spread(model_dir, cases, condition, baseline)
    except OracleModelError:
        # The baseline ran, so it is this condition that the source refuses: Gemma 2 has no sdpa.
        if condition.attention == "eager":
            raise
        reason = f"the source runs no {condition.attention} attention for this family"
        return Standing(condition.name, condition.what, reason, ())
    return Standing(condition.name, condition.what, "", spread)


def _spread(
    model_dir: Path, cases: list[Case], condition: Condition, baseline: list[Arrays]
) -> tuple[Spread, ...]:
    rows: dict[str, Spread] = {}
    with tempfile.TemporaryDirectory() as scratch:
        if condition.needs_process:
            runs = run_apart(model_dir, cases, condition, Path(scratch))
        else:
            runs = run_here(model_dir, cases, condition)
        for before, after in zip(baseline, runs, strict=True):
            for name in (name for name in before if name in after):
                row = spread_of(name, before[name], after[name])
                rows[name] = rows[name].joined(row) if name in rows else row
    return tuple(rows.values())


def _unavailable(condition: Condition) -> str:
    if condition.capability is None:
        return ""
    import torch

    here = str(torch.backends.cpu.get_cpu_capability()).lower()
    if here not in CAPABILITIES:
        return f"this machine's kernels are {here}"
    # Instructions that the CPU lacks would end the process.
    beyond = CAPABILITIES.index(condition.capability) > CAPABILITIES.index(here)
    return f"this machine's kernels end at {here}" if beyond else ""


def weights_id(model_dir: Path) -> str:
    """Content id of the weight files of a directory."""
    files = sorted(model_dir.glob("*.safetensors"))
    return canon.content_id([[file.name, file_sha256(file)] for file in files])
