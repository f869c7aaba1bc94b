"""What every `Runner` promises, as tests to subclass.

    class TestMine(RunnerContract):
        @pytest.fixture
        def runner(self): return MyRunner()
        @pytest.fixture
        def subject(self): return Subject(artifact=..., ids={})
        @pytest.fixture
        def config(self): return effective_config

Plain functions and asserts: any test runner that finds methods named `test_*` will do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trlm_lab.base.bits import same_bits
from trlm_lab.base.interfaces import Runner, Session, Subject
from trlm_lab.base.names import in_ladder_order, is_checkpoint, parse_checkpoint
from trlm_lab.base.records import Case, EffectiveConfig, Observation

CASES = (Case("contract-one", (3,)), Case("contract-seven", (5, 1, 7, 7, 2, 9, 4)))


def extents(config: EffectiveConfig, tokens: int) -> dict[str, int]:
    """Length of every axis letter for a prefill of `tokens` tokens."""
    heads, groups, width = (
        config.num_attention_heads,
        config.num_key_value_heads,
        config.head_dim,
    )
    return {
        "T": tokens,
        "S": tokens,
        "D": config.hidden_size,
        "H": heads,
        "K": groups,
        "E": width,
        "F": config.intermediate_size,
        "V": config.vocab_size,
        "HE": heads * width,
        "KE": groups * width,
    }


def observe(session: Session, case: Case) -> list[Observation]:
    """Everything a session shows of a case, copied."""
    return [Observation(o.name, o.values.copy()) for o in session.run(case)]


class RunnerContract:
    """The promises of `base.interfaces.Runner` and `Session`."""

    def test_availability_names_what_is_missing(self, runner: Runner) -> None:
        """A missing engine says why and how to get it; asking has no side effect."""
        here = runner.availability()
        assert here.available or (here.reason and here.fix)
        assert runner.availability() == here

    def test_observations_are_in_ladder_order(self, runner: Runner, subject: Subject) -> None:
        """`token_ids` first, then checkpoints in order, each once."""
        with runner.open(subject) as session:
            for case in CASES:
                names = [o.name for o in session.run(case)]
                points = [n for n in names if is_checkpoint(n)]
                assert points == in_ladder_order(set(points))
                assert points
                if "token_ids" in names:
                    assert names[0] == "token_ids"

    def test_shapes_are_those_of_the_configuration(
        self, runner: Runner, subject: Subject, config: EffectiveConfig
    ) -> None:
        """Every exposed checkpoint is float32 in the shape of its axes."""
        with runner.open(subject) as session:
            for case in CASES:
                size = extents(config, len(case.token_ids))
                for seen in session.run(case):
                    if is_checkpoint(seen.name):
                        axes = parse_checkpoint(seen.name).axes
                        assert seen.values.dtype == np.float32, seen.name
                        assert seen.values.shape == tuple(size[a] for a in axes), seen.name

    def test_a_second_run_has_the_same_bits(self, runner: Runner, subject: Subject) -> None:
        """Neither an earlier case nor an earlier session leaves a trace."""
        with runner.open(subject) as session:
            first = [observe(session, case) for case in CASES]
            again = [observe(session, case) for case in reversed(CASES)][::-1]
        with runner.open(subject) as session:
            anew = [observe(session, case) for case in CASES]
        for other in (again, anew):
            for mine, theirs in zip(first, other, strict=True):
                assert_same(mine, theirs)

    def test_identity_is_stable_and_names_the_code(self, runner: Runner, subject: Subject) -> None:
        """The identity binds the code that ran, without paths, hosts or times."""
        with runner.open(subject) as session:
            mine = session.identity
        with runner.open(subject) as session:
            assert session.identity == mine
        assert len(mine.build_sha256) == 64
        assert "/" not in str(mine.to_map().get("details", {}).get("path", ""))


def assert_same(mine: Sequence[Observation], theirs: Sequence[Observation]) -> None:
    """Same names and bits."""
    assert [o.name for o in mine] == [o.name for o in theirs]
    for a, b in zip(mine, theirs, strict=True):
        assert same_bits(a.values, b.values), a.name
