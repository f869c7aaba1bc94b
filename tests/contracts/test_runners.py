"""Every engine keeps the contract, and engines of one exact profile keep each other's bits."""

from collections.abc import Callable

import pytest

from trlm_lab.base.interfaces import Runner, Subject
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.flows.acquisition import Described, Source
from trlm_lab.flows.engines import EXACT_PROFILES, by_profile, needs_model_dir
from trlm_lab.flows.engines import runner as engine
from trlm_lab.flows.packing import Packed
from trlm_lab.testing import RunnerContract
from trlm_lab.testing.runner_contract import CASES, assert_same, observe

#: The reference of each profile beside the other engines of it.
PAIRS = [(first, name) for first, *others in by_profile(EXACT_PROFILES).values() for name in others]
ENGINES = (*EXACT_PROFILES, "torch", "torch:1-thread")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("contracts")]


def subject_of(name: str, quant: str, source: Source, artifacts: dict[str, Packed]) -> Subject:
    if needs_model_dir(name):
        return Subject(model_dir=source.root, ids={})
    return Subject(artifact=artifacts[quant].artifact.path, ids={})


@pytest.mark.parametrize("name", ENGINES)
class TestEngines(RunnerContract):
    """The shipped contract over every engine."""

    @pytest.fixture
    def runner(self, name: str, require: Callable[[Runner], None]) -> Runner:
        found = engine(name)
        require(found)
        return found

    @pytest.fixture
    def subject(
        self, name: str, small_source: Source, small_artifacts: dict[str, Packed]
    ) -> Subject:
        return subject_of(name, "f32", small_source, small_artifacts)

    @pytest.fixture
    def config(self, small_described: Described) -> EffectiveConfig:
        return small_described.config


@pytest.mark.parametrize("quant", ["f32", "q8_r128"])
@pytest.mark.parametrize(("first", "name"), PAIRS)
def test_exact_engines_have_the_bits_of_their_profiles_reference(
    first: str,
    name: str,
    quant: str,
    small_source: Source,
    small_artifacts: dict[str, Packed],
    require: Callable[[Runner], None],
) -> None:
    require(engine(name))
    subject = subject_of(name, quant, small_source, small_artifacts)
    with engine(first).open(subject) as ours, engine(name).open(subject) as theirs:
        for case in CASES:
            assert_same(observe(ours, case), observe(theirs, case))


def test_profiles_are_told_apart(small_source: Source, small_artifacts: dict[str, Packed]) -> None:
    """The equality above can fail: another accumulation order gives other bits."""
    subject = subject_of("reference", "f32", small_source, small_artifacts)
    with (
        engine("reference").open(subject) as scalar,
        engine("reference:lanes16-f32-v1").open(subject) as lanes,
        pytest.raises(AssertionError),
    ):
        assert_same(observe(scalar, CASES[1]), observe(lanes, CASES[1]))
