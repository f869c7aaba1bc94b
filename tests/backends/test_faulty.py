"""The catalogue of planted faults: each changes its own boundary first, and each is named there."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.backends.tiny_slm import tiny_config
from tests.flows.ladder_models import ladder_config, source
from tests.flows.ladder_models import packed as artifact
from trlm_lab.backends.faults import (
    CATALOGUE,
    Planting,
    default_layers,
    expected_boundaries,
    planting,
    plantings,
)
from trlm_lab.backends.faults.weights import widest_neighbours
from trlm_lab.backends.faulty import FaultyRunner
from trlm_lab.backends.reference import ReferenceRunner
from trlm_lab.base.bits import same_bits
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.interfaces import Runner, Subject, TraceView
from trlm_lab.base.names import LAYER_CHECKPOINTS, in_ladder_order, is_checkpoint
from trlm_lab.base.records import Case, EffectiveConfig, Outcome, TolerancePolicy
from trlm_lab.bisection.find import find_first_mismatch
from trlm_lab.bisection.scoreboard import Expectation, Scoreboard, Standing, Trial
from trlm_lab.calibrate import FloorMeter, make_policy
from trlm_lab.errors import FaultNameError, FaultNotApplicableError
from trlm_lab.flows.packing import Packed
from trlm_lab.oracle import TorchRunner
from trlm_lab.pack import derive_model_dir
from trlm_lab.traces import MemoryTrace

QUANTS = ("f32", "q8_r128")
CASE = Case("judged", (12, 500, 77, 3, 3, 250, 401, 9, 64))
ANOTHER = Case("judged-short", (17, 18))
CALIBRATION = tuple(
    Case(f"calibration-{n}", tuple((97 * n + 31 * i * i + i) % 512 for i in range(n)))
    for n in (1, 5, 12, 24)
)

#: The faults that the plan of the catalogue names; more may stand beside them.
REQUIRED = {
    "rope_pairing",
    "rope_position_off_by_one",
    "norm_eps",
    "gqa_tiling",
    "mask_off_by_one",
    "attention_scale_missing",
    "gelu_for_silu",
    "gate_up_swapped",
    "residual_lost_attention",
    "residual_lost_mlp",
    "tied_head_wrong",
    "q8_codes_swapped",
    "row_shifted",
    "bf16_rounding",
    "nan_at_one_element",
    "kv_slot_overwritten",
    "final_norm_skipped",
}


def subject_of(packed: Packed) -> Subject:
    return Subject(artifact=packed.artifact.path)


def observed(runner: Runner, subject: Subject, case: Case = CASE) -> dict[str, np.ndarray]:
    with runner.open(subject) as session:
        return {o.name: o.values for o in session.run(case)}


def traced(runner: Runner, subject: Subject, *cases: Case) -> MemoryTrace:
    with runner.open(subject) as session:
        trace = MemoryTrace(session.identity)
        for case in cases:
            trace.write_case(case, session.run(case))
    return trace


def test_the_catalogue_and_the_table_of_expectations_name_the_same_faults() -> None:
    assert set(CATALOGUE) == set(expected_boundaries())
    assert set(CATALOGUE) >= REQUIRED


def test_every_operator_of_the_ladder_has_a_fault() -> None:
    found = {row.boundary.rpartition(".")[2] for row in expected_boundaries().values()}
    assert found == {"embedding", *LAYER_CHECKPOINTS, "final_norm", "logits"}


def test_boundaries_are_on_the_ladder(small_artifacts: dict[str, Packed]) -> None:
    config = small_artifacts["f32"].artifact.config
    for planned in plantings(config, "q8_r128"):
        assert in_ladder_order([planned.boundary]) == [planned.boundary]
        assert (planned.layer is None) == ("layers." not in planned.boundary)


def test_layers_are_first_middle_and_last() -> None:
    assert default_layers(30) == (0, 15, 29)
    assert default_layers(2) == (0, 1)
    assert default_layers(1) == (0,)


def all_plantings(packed: Packed) -> Iterator[Planting]:
    return plantings(packed.artifact.config, packed.artifact.quant_profile)


@pytest.mark.parametrize("quant", QUANTS)
def test_each_fault_changes_its_expected_boundary_first(
    small_artifacts: dict[str, Packed], quant: str
) -> None:
    packed = small_artifacts[quant]
    subject = subject_of(packed)
    sound = observed(ReferenceRunner(), subject)
    for planned in all_plantings(packed):
        wrong = observed(FaultyRunner(planned.spec), subject)
        assert list(wrong) == list(sound), planned.spec
        differing = [name for name in sound if not same_bits(sound[name], wrong[name])]
        assert differing[0] == planned.boundary, planned.spec


def test_faults_are_quiet_where_they_cannot_show(small_artifacts: dict[str, Packed]) -> None:
    subject = subject_of(small_artifacts["f32"])
    single = Case("single", (5,))
    sound = observed(ReferenceRunner(), subject, single)
    for planned in all_plantings(small_artifacts["f32"]):
        if planned.tokens > 1:
            wrong = observed(FaultyRunner(planned.spec), subject, single)
            assert all(same_bits(sound[name], wrong[name]) for name in sound), planned.spec


def test_the_file_is_not_touched_and_the_identity_tells(small_artifacts: dict[str, Packed]) -> None:
    packed = small_artifacts["q8_r128"]
    with FaultyRunner("faulty:q8_codes_swapped@middle").open(subject_of(packed)) as session:
        assert session.identity.name == "faulty:q8_codes_swapped@2"
    assert file_sha256(packed.artifact.path) == packed.artifact.file_sha256
    again = observed(ReferenceRunner(), subject_of(packed))
    assert same_bits(again["logits"], observed(ReferenceRunner(), subject_of(packed))["logits"])


def test_swapped_codes_change_two_products_of_one_output(
    small_artifacts: dict[str, Packed],
) -> None:
    subject = subject_of(small_artifacts["q8_r128"])
    sound = observed(ReferenceRunner(), subject)["layers.0.q_proj"]
    wrong = observed(FaultyRunner("q8_codes_swapped@0"), subject)["layers.0.q_proj"]
    columns = np.flatnonzero((sound != wrong).any(axis=0))
    assert columns.tolist() == [sound.shape[1] // 2]


def test_the_widest_pair_lies_inside_one_group() -> None:
    row = np.zeros(300, dtype=np.float32)
    row[128], row[200] = 9.0, 1.0
    assert widest_neighbours(row, 128) == 128
    row[129] = 9.0
    assert widest_neighbours(row, 128) == 129
    row[64] = 12.0
    assert widest_neighbours(row, 64) == 64


@pytest.mark.parametrize("form", ["q6_g64", "q5_g64", "q4_g64"])
def test_codes_of_every_width_are_swapped_and_seen(form: str, tmp_path: Path) -> None:
    config = ladder_config()
    root = source(tmp_path / "source", config)
    subject = Subject(artifact=artifact(root, config, form, tmp_path / "m.slm"))
    case = Case("a", (5, 9, 13))
    name = f"{form[:2]}_codes_swapped@0"
    sound, wrong = (
        observed(runner, subject, case) for runner in (ReferenceRunner(), FaultyRunner(name))
    )
    differing = [one for one in sound if not same_bits(sound[one], wrong[one])]
    assert differing[0] == FaultyRunner(name).planting(config).boundary
    columns = np.flatnonzero((sound[differing[0]] != wrong[differing[0]]).any(axis=0))
    assert columns.tolist() == [16]
    with pytest.raises(FaultNotApplicableError, match="no q8_r128 codes"):
        FaultyRunner("q8_codes_swapped@0").open(subject)


def test_a_position_fault_shows_at_position_zero(small_artifacts: dict[str, Packed]) -> None:
    subject = subject_of(small_artifacts["f32"])
    sound = observed(ReferenceRunner(), subject)
    wrong = observed(FaultyRunner("rope_position_off_by_one@0"), subject)
    assert not same_bits(sound["layers.0.q_rope"][0], wrong["layers.0.q_rope"][0])


@pytest.mark.parametrize("spec", ["no_such_fault@0", "rope_pairing", "rope_pairing@"])
def test_a_wrong_specification(spec: str) -> None:
    with pytest.raises(FaultNameError):
        FaultyRunner(f"faulty:{spec}")


@pytest.mark.parametrize("layer", ["4", "-1", "x", "٢"])
def test_a_layer_that_the_model_has_not(small_artifacts: dict[str, Packed], layer: str) -> None:
    with pytest.raises(FaultNameError):
        FaultyRunner(f"rope_pairing@{layer}").open(subject_of(small_artifacts["f32"]))


def test_a_fault_that_the_artifact_cannot_have(small_artifacts: dict[str, Packed]) -> None:
    subject = subject_of(small_artifacts["f32"])
    with pytest.raises(FaultNotApplicableError):
        FaultyRunner("q8_codes_swapped@0").open(subject)
    specs = {planned.fault.name for planned in all_plantings(small_artifacts["f32"])}
    assert "q8_codes_swapped" not in specs


def test_tiling_needs_groups(small_artifacts: dict[str, Packed]) -> None:
    config = small_artifacts["f32"].artifact.config
    ungrouped = EffectiveConfig.from_map(
        {**config.to_map(), "num_key_value_heads": config.num_attention_heads}
    )
    assert CATALOGUE["gqa_tiling"].refusal(ungrouped, "f32")
    assert not CATALOGUE["gqa_tiling"].refusal(config, "f32")


def test_a_fault_outside_the_layers_needs_none() -> None:
    assert FaultyRunner("tied_head_wrong").name == "faulty:tied_head_wrong"
    planned = planting(CATALOGUE["tied_head_wrong"], None, tiny_config())
    assert planned.spec == "tied_head_wrong"


class Bench:
    """The torch oracle's trace of the judged cases, and a policy from disjoint ones."""

    def __init__(self, packed: Packed, model_dir: Path) -> None:
        self.subject = subject_of(packed)
        judged = (CASE, ANOTHER)
        meter = FloorMeter()
        with (
            TorchRunner().open(Subject(model_dir=model_dir)) as oracle,
            ReferenceRunner("f64-reference").open(self.subject) as reference,
        ):
            for case in CALIBRATION:
                meter.add(case, oracle.run(case), reference.run(case))
            trace = MemoryTrace(oracle.identity)
            for case in judged:
                trace.write_case(case, oracle.run(case))
        self.oracle: TraceView = trace
        self.policy: TolerancePolicy = make_policy(
            meter.result(),
            name="faults",
            oracle_id=trace.trace_id,
            reference_id=trace.trace_id,
            judged=judged,
        )

    def trial(self, planned: Planting, hidden: Callable[[str], bool] | None = None) -> Trial:
        """A fault's verdict beside what is expected."""
        candidate = traced(FaultyRunner(planned.spec), self.subject, CASE, ANOTHER)
        found = find_first_mismatch(self.oracle, candidate, self.policy, hidden=hidden)
        return Trial(Expectation(planned.spec, planned.boundary, planned.layer), found)

    def every_third(self) -> frozenset[str]:
        """Every third checkpoint of the ladder."""
        names = filter(is_checkpoint, self.oracle.names(CASE.case_id))
        return frozenset(list(names)[2::3])


@pytest.fixture(scope="module", params=QUANTS)
def bench(
    request: pytest.FixtureRequest,
    small_artifacts: dict[str, Packed],
    small_source: object,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Packed, Bench]:
    packed = small_artifacts[request.param]
    room = tmp_path_factory.mktemp("derived") / "model"
    model_dir = derive_model_dir(small_source.root, packed.artifact.path, room)  # type: ignore[attr-defined]
    return packed, Bench(packed, model_dir)


@pytest.mark.slow
def test_every_fault_is_named_against_the_torch_oracle(bench: tuple[Packed, Bench]) -> None:
    packed, judge = bench
    trials = [(planned, judge.trial(planned)) for planned in all_plantings(packed)]
    board = Scoreboard(tuple(trial for _, trial in trials))
    missed = [row for row in board.rows() if row["standing"] != Standing.NAMED.value]
    assert missed == []
    assert all(trial.mismatch.verdict is planned.verdict for planned, trial in trials)


@pytest.mark.slow
def test_with_every_third_checkpoint_hidden_the_interval_holds_the_fault(
    bench: tuple[Packed, Bench],
) -> None:
    packed, judge = bench
    hidden = judge.every_third()
    board = Scoreboard(
        tuple(judge.trial(planned, hidden.__contains__) for planned in all_plantings(packed))
    )
    wanted = (Standing.NAMED, Standing.INTERVAL)
    assert [t.row() for t in board.trials if t.standing not in wanted] == []
    assert board.having(Standing.INTERVAL)


def test_the_sound_engine_is_not_flagged(bench: tuple[Packed, Bench]) -> None:
    _, judge = bench
    candidate = traced(ReferenceRunner(), judge.subject, CASE, ANOTHER)
    found = find_first_mismatch(judge.oracle, candidate, judge.policy)
    assert found.verdict in (Outcome.MATCH, Outcome.DRIFT)


def test_a_fault_below_the_limit_is_reported_as_such(bench: tuple[Packed, Bench]) -> None:
    _, judge = bench
    loose = TolerancePolicy.from_map(
        {
            **judge.policy.to_map(),
            "entries": [[e.checkpoint, e.floor, 1e9, e.reason] for e in judge.policy.entries],
        }
    )
    judge_loose = Bench.__new__(Bench)
    judge_loose.subject, judge_loose.oracle, judge_loose.policy = (
        judge.subject,
        judge.oracle,
        loose,
    )
    trial = judge_loose.trial(planting(CATALOGUE["bf16_rounding"], 1, tiny_config()))
    assert trial.standing is Standing.BELOW_LIMIT
    assert "no boundary exceeds its limit" in trial.mismatch.note


def test_the_page_on_faults_lists_the_catalogue() -> None:
    page = (Path(__file__).parents[2] / "docs" / "faults.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    listed = {cells[1].strip(" `"): cells[3].strip(" `") for cells in rows}
    short = {
        n: e.boundary.removeprefix("layers.{layer}.") for n, e in expected_boundaries().items()
    }
    assert listed == short
