"""Planted faults on every family: each changes its own boundary first, and the judge names it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.backends.reference_model import family_model, observed
from tests.backends.tiny_families import FAMILIES
from tests.backends.tiny_slm import tiny_config, tiny_weights, write_slm
from trlm_lab.backends.faults import (
    CATALOGUE,
    Planting,
    expected_boundaries,
    planting,
    plantings,
    refusal,
)
from trlm_lab.backends.faults.weights import GROUPS
from trlm_lab.backends.faulty import FaultyRunner
from trlm_lab.backends.reference import ReferenceRunner
from trlm_lab.base.bits import same_bits
from trlm_lab.base.interfaces import Runner, Subject
from trlm_lab.base.model_parts import ladder_of
from trlm_lab.base.records import FAULTS as WRONG
from trlm_lab.base.records import Case, EffectiveConfig, TolerancePolicy
from trlm_lab.bisection.find import find_first_mismatch
from trlm_lab.calibrate import FloorMeter, make_policy
from trlm_lab.errors import FaultNotApplicableError
from trlm_lab.oracle import TorchRunner
from trlm_lab.oracle.defaults import effective_config, source_defaults
from trlm_lab.traces import MemoryTrace

#: One token more than the widest window of the models made by hand.
LONG = Case("long", (3, 66, 0, 41, 41, 17, 5))


@pytest.mark.parametrize("family", FAMILIES)
def test_each_fault_changes_its_expected_boundary_first(family: str) -> None:
    model = family_model(family)
    sound = observed(ReferenceRunner().start(model).run(LONG))
    for planned in plantings(model.config, "f32"):
        plant = planned.fault.plant(model.config, planned.layer)
        wrong = observed(ReferenceRunner(plant=plant).start(model).run(LONG))
        assert list(wrong) == list(sound), planned.spec
        differing = [name for name in sound if not same_bits(sound[name], wrong[name])]
        assert differing[:1] == [planned.boundary], planned.spec


@pytest.mark.parametrize("family", FAMILIES)
def test_faults_are_quiet_in_cases_too_short_for_them(family: str) -> None:
    # An attention factor tells an unrotated key from a rotated one even at position 0.
    model = family_model(family, rope_attention_factor=1.0)
    for planned in plantings(model.config, "f32", [0]):
        if planned.tokens > 1:
            case = Case("short", LONG.token_ids[: planned.tokens - 1])
            plant = planned.fault.plant(model.config, planned.layer)
            sound = observed(ReferenceRunner().start(model).run(case))
            wrong = observed(ReferenceRunner(plant=plant).start(model).run(case))
            assert all(same_bits(sound[name], wrong[name]) for name in sound), planned.spec


def test_every_fault_can_be_planted_in_some_family() -> None:
    configs = [tiny_config(family) for family in FAMILIES]
    square = tiny_config(hidden_size=60)
    found = {p.fault.name for c in (*configs, square) for p in plantings(c, "q8_r128")}
    found |= {p.fault.name for form in GROUPS for p in plantings(square, form, [0])}
    assert found == set(CATALOGUE)


@pytest.mark.parametrize("family", FAMILIES)
def test_boundaries_are_on_the_ladder_of_the_model(family: str) -> None:
    config = tiny_config(family)
    ladder = set(ladder_of(config))
    for name in CATALOGUE:
        boundary = expected_boundaries()[name].boundary.format(layer=0)
        if boundary not in ladder:
            assert refusal(CATALOGUE[name], config, "f32"), name
    assert {p.boundary for p in plantings(config, "f32")} <= ladder


@pytest.mark.parametrize(
    ("family", "spec", "why"),
    [
        ("olmo2", "norm_eps@0", "no attn_norm"),
        ("llama", "window_off_by_one@0", "slides"),
        ("gemma2", "window_off_by_one@1", "layer 1 does not slide"),
        ("gpt2", "gate_up_swapped@0", "no gate"),
        ("gpt2", "rope_pairing@0", "no q_rope"),
        ("llama", "embedding_scale_missing", "does not scale"),
        ("gemma3", "norm_weight_plus_one@0", r"apply 1 \+ weight"),
    ],
)
def test_a_fault_that_the_model_cannot_have(
    family: str, spec: str, why: str, tmp_path: Path
) -> None:
    path, config = tmp_path / "model.slm", tiny_config(family)
    path.write_bytes(write_slm(config, tiny_weights(config)))
    with pytest.raises(FaultNotApplicableError, match=why):
        FaultyRunner(spec).open(Subject(artifact=path))


def test_a_fault_of_sliding_layers_stands_in_these_alone() -> None:
    config = tiny_config("gemma2")
    layers = [p.layer for p in plantings(config, "f32") if p.fault.name == "window_off_by_one"]
    assert layers == [0, 2]
    assert planting(CATALOGUE["window_off_by_one"], 0, config).tokens == 4


#: Judged, and disjoint from it what the limits are made of.
JUDGED = Case("judged", tuple((29 * i * i + 7 * i + 3) % 97 for i in range(9)))
CALIBRATION = tuple(
    Case(f"calibration-{n}", tuple((41 * n + 13 * i * i + i) % 97 for i in range(n)))
    for n in (1, 5, 12)
)


@dataclass(frozen=True)
class Bench:
    """The torch oracle's trace of the judged case on a family's model, and a frozen policy."""

    subject: Subject
    config: EffectiveConfig
    oracle: MemoryTrace
    policy: TolerancePolicy

    def runner(self, spec: str = "") -> Runner:
        if spec:
            return FaultyRunner(spec, config=self.config)
        return ReferenceRunner(config=self.config)

    def verdict(self, spec: str = "") -> tuple[str | None, bool]:
        """The boundary named, and whether a fault was."""
        with self.runner(spec).open(self.subject) as session:
            trace = MemoryTrace(session.identity)
            trace.write_case(JUDGED, session.run(JUDGED))
        found = find_first_mismatch(self.oracle, trace, self.policy)
        return found.boundary, found.verdict in WRONG


def bench_of(root: Path) -> Bench:
    subject, config = Subject(model_dir=root), effective_config(source_defaults(root))
    meter = FloorMeter()
    with (
        TorchRunner().open(subject) as oracle,
        ReferenceRunner("f64-reference", config=config).open(subject) as reference,
    ):
        for case in CALIBRATION:
            meter.add(case, oracle.run(case), reference.run(case))
        trace = MemoryTrace(oracle.identity)
        trace.write_case(JUDGED, oracle.run(JUDGED))
    policy = make_policy(
        meter.result(),
        name="faults",
        oracle_id=trace.trace_id,
        reference_id=trace.trace_id,
        judged=(JUDGED,),
    )
    return Bench(subject, config, trace, policy)


def all_faults(config: EffectiveConfig) -> list[Planting]:
    """Every fault that the model can have, in the last layer that can have it."""
    return list({p.fault.name: p for p in plantings(config, "f32")}.values())


@pytest.mark.parametrize("family", FAMILIES)
def test_the_judge_names_every_fault_that_the_family_can_have(
    family: str, tiny_models: Callable[[str], Path]
) -> None:
    bench = bench_of(tiny_models(family))
    assert not bench.verdict()[1]
    faults = all_faults(bench.config)
    assert len(faults) > 30
    named = {p.spec: bench.verdict(p.spec) for p in faults}
    assert named == {p.spec: (p.boundary, True) for p in faults}
