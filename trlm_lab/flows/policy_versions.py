"""A frozen policy never changes: another measurement becomes its next version, with the reason."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trlm_lab.base.records import TolerancePolicy
from trlm_lab.calibrate import freeze, load_policy

#: What a policy rests on besides its figures, and what another value of it means.
_GROUNDS = {
    "reference_id": "another build of the float64 reference",
    "oracle_id": "another oracle run",
    "calibration_suite": "other calibration cases",
    "factor": "another factor",
    "drift_id": "another measurement of the oracle's own drift",
}


@dataclass(frozen=True)
class Versioned:
    """The policy in force and the one that it supersedes, where there is one."""

    policy: TolerancePolicy
    before: TolerancePolicy | None = None

    def words(self) -> str:
        """One line about the supersession."""
        facts = self.facts()
        counts = ", ".join(f"{facts[k]} {k}" for k in ("looser", "tighter", "added", "removed"))
        return f"version {self.policy.version} of the policy ({facts['reason']}): {counts}"

    def facts(self) -> dict[str, Any]:
        """What the node says of the supersession; empty for a first version."""
        if self.before is None:
            return {}
        return {
            "version": self.policy.version,
            "supersedes": self.before.policy_id,
            "reason": reason(self.before, self.policy),
            **moved(self.before, self.policy),
        }


def freeze_version(measured: TolerancePolicy, folder: Path, label: str) -> Versioned:
    """The latest frozen version where it says the same; else freeze `measured` as the next one.

    Versions lie in `LABEL.cbor`, `LABEL.v2.cbor`, and so on; none is ever rewritten.

    Raises:
        PolicyFileError: a frozen file is damaged.
    """
    frozen: list[TolerancePolicy] = []
    while (path := _place(folder, label, len(frozen) + 1)).exists():
        frozen.append(load_policy(path))
    before = frozen[-1] if frozen else None
    if before is not None and replace(measured, version=before.version) == before:
        return Versioned(before, frozen[-2] if len(frozen) > 1 else None)
    policy = replace(measured, version=len(frozen) + 1)
    freeze(policy, path)
    return Versioned(policy, before)


def _place(folder: Path, label: str, version: int) -> Path:
    return folder / (f"{label}.cbor" if version == 1 else f"{label}.v{version}.cbor")


def reason(before: TolerancePolicy, after: TolerancePolicy) -> str:
    """Which grounds differ between two versions, in words."""
    changed = [
        words for name, words in _GROUNDS.items() if getattr(before, name) != getattr(after, name)
    ]
    return ", ".join(changed) or "the same grounds gave other figures"


def moved(before: TolerancePolicy, after: TolerancePolicy) -> dict[str, int]:
    """How many limits became looser, tighter, appeared and vanished."""
    old = {e.checkpoint: e.limit for e in before.entries}
    new = {e.checkpoint: e.limit for e in after.entries}
    both = old.keys() & new.keys()
    return {
        "looser": sum(new[k] > old[k] for k in both),
        "tighter": sum(new[k] < old[k] for k in both),
        "added": len(new.keys() - old.keys()),
        "removed": len(old.keys() - new.keys()),
    }
