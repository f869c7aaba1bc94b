"""Another measurement supersedes a frozen policy in the open; it never overwrites it."""

from dataclasses import replace
from pathlib import Path

import pytest

from trlm_lab.base.records import PolicyEntry, TolerancePolicy
from trlm_lab.errors import PolicyFileError
from trlm_lab.flows import calibration
from trlm_lab.flows.plan import RunPlan
from trlm_lab.flows.policy_versions import freeze_version, moved, reason
from trlm_lab.flows.run import Run
from trlm_lab.flows.workspace import Workspace

pytestmark = pytest.mark.xdist_group("flows")


def entry(name: str, limit: float) -> PolicyEntry:
    return PolicyEntry(name, limit / 4, limit, "measured")


FIRST = TolerancePolicy("p", 1, 4.0, "a" * 64, "b" * 64, "c" * 64, ("k@" + "d" * 64,),
                        (entry("embedding", 4.0), entry("logits", 8.0)))  # fmt: skip


def test_versions_are_counted_and_never_rewritten(tmp_path: Path) -> None:
    assert freeze_version(FIRST, tmp_path, "f32").facts() == {}
    written = (tmp_path / "f32.cbor").read_bytes()
    other = replace(
        FIRST, reference_id="e" * 64, entries=(entry("embedding", 2.0), entry("logits", 9.0))
    )
    second = freeze_version(other, tmp_path, "f32")
    assert second.policy == replace(other, version=2)
    assert second.facts() == {
        "version": 2,
        "supersedes": FIRST.policy_id,
        "reason": "another build of the float64 reference",
        "looser": 1,
        "tighter": 1,
        "added": 0,
        "removed": 0,
    }
    assert "1 looser, 1 tighter" in second.words()
    assert (tmp_path / "f32.cbor").read_bytes() == written
    # The same measurement again is the same version with the same facts.
    assert freeze_version(other, tmp_path, "f32") == second
    # And the first one again is a third version: history goes on, it does not go back.
    assert freeze_version(FIRST, tmp_path, "f32").policy.version == 3
    assert freeze_version(FIRST, tmp_path, "q8_r128").policy.version == 1


def test_reasons_in_words() -> None:
    other = replace(FIRST, oracle_id="f" * 64, calibration_suite="0" * 64, factor=8.0)
    assert reason(FIRST, other) == "another oracle run, other calibration cases, another factor"
    assert reason(FIRST, FIRST) == "the same grounds gave other figures"
    assert moved(FIRST, replace(FIRST, entries=(entry("final_norm", 1.0),))) == {
        "looser": 0, "tighter": 0, "added": 1, "removed": 2}  # fmt: skip


def test_a_damaged_frozen_policy_is_no_first_version(tmp_path: Path) -> None:
    freeze_version(FIRST, tmp_path, "f32")
    (tmp_path / "f32.cbor").write_bytes(b"\xa0")
    with pytest.raises(PolicyFileError):
        freeze_version(FIRST, tmp_path, "f32")


@pytest.mark.slow
def test_a_directory_of_older_code_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = RunPlan(source="synthetic:llama-small", judged="smoke", calibration="small-calibration",
                   artifacts=("f32",), exact=("reference",))  # fmt: skip
    first = Run(plan, Workspace(tmp_path)).limits["f32"]
    measure = calibration.measure_floors

    def by_newer_code(*args: object, **options: object) -> tuple[object, str]:
        return measure(*args, **options)[0], "f" * 64  # type: ignore[arg-type]

    monkeypatch.setattr(calibration, "package_sha256", lambda: "0" * 64)
    monkeypatch.setattr(calibration, "measure_floors", by_newer_code)
    run = Run(plan, Workspace(tmp_path))
    second = run.limits["f32"]
    assert second.policy.reference_id == "f" * 64
    node = run.ws.store.get(second.node)
    assert node.metadata["supersedes"] == first.policy.policy_id
    assert node.metadata["reason"] == "another build of the float64 reference"
    assert node.metadata["looser"] == 0
    assert first.node in node.children
