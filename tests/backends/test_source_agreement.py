"""The reference engine against the source on every family's random model, every checkpoint.

In float64 both compute one function, so that nothing but rounding of float64 may part them. With
the source's own steps down to float32 in place they part by those. In float32 an exact profile may
err by no more than the source does, but for the factor that the project's own limits have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.backends.double_source import source_passes
from tests.tiny_models import FAMILIES
from trlm_lab.backends.model_files import OpenModel, open_model_dir
from trlm_lab.backends.reference import Plant, ReferenceRunner
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.model_parts import ladder_of
from trlm_lab.base.names import is_checkpoint
from trlm_lab.base.records import Case
from trlm_lab.calibrate.policy import SAFETY_FACTOR
from trlm_lab.ops.arithmetic import Array
from trlm_lab.ops.masks import MASKED_SCORE
from trlm_lab.oracle import TorchRunner
from trlm_lab.oracle.defaults import effective_config, source_defaults

#: A case longer than every window, and one with a hidden key, whose positions jump.
IDS = tuple((37 * i * i + 11 * i + 5) % 97 for i in range(12))
PLAIN = Case("plain", IDS)
JUMPS = Case("jumps", IDS, position_ids=(*range(5), *range(9, 16)),
             attention_mask=(1, 1, 1, 0, *(1,) * 8))  # fmt: skip
STEPS = 2

#: The standard's bounds, relative to the RMS of the checkpoint.
LIFTED, KEPT = 1e-10, 1e-5


@dataclass(frozen=True)
class Tiny:
    """A family's model directory, and the same model opened for the reference engine."""

    root: Path
    model: OpenModel

    def passes(self, case: Case, profile: str, steps: int = 0) -> list[dict[str, Array]]:
        """Every checkpoint in the profile's own type: the prefill, then a map a greedy step."""
        found: list[dict[str, Array]] = []

        def look(name: str, values: Array) -> Array:
            if name == "embedding":
                found.append({})
            found[-1][name] = values
            return values

        session = ReferenceRunner(profile, plant=Plant(perturb=look)).start(self.model)
        list(session.steps(case, steps) if steps else session.run(case))
        return found


@pytest.fixture(scope="module")
def tiny(tiny_models: Callable[[str], Path]) -> Callable[[str], Tiny]:
    @cache
    def opened(family: str) -> Tiny:
        root = tiny_models(family)
        config = effective_config(source_defaults(root))
        return Tiny(root, open_model_dir(root, config))

    return opened


def apart(a: Any, b: Any) -> float:
    """Largest difference over the RMS of `b`; masked entries must be the same set."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    assert a.shape == b.shape
    seen = b > MASKED_SCORE / 2
    assert np.array_equal(a > MASKED_SCORE / 2, seen)
    a, b = a[seen], b[seen]
    return float(np.abs(a - b).max() / np.sqrt(np.mean(b * b)))


def furthest(ours: list[dict[str, Array]], source: list[dict[str, Any]]) -> tuple[float, str]:
    """The largest distance over all passes and checkpoints, and where it is."""
    assert len(ours) == len(source)
    assert all(set(a) == set(b) for a, b in zip(ours, source, strict=True))
    pairs = zip(ours, source, strict=True)
    return max((apart(a[name], b[name]), name) for a, b in pairs for name in a)


@pytest.mark.parametrize("family", FAMILIES)
def test_in_float64_it_is_the_source(tiny: Callable[[str], Tiny], family: str) -> None:
    own = tiny(family)
    for case, steps in ((PLAIN, STEPS), (JUMPS, 0)):
        ours = own.passes(case, "f64-reference", steps)
        assert list(ours[0]) == ladder_of(own.model.config)
        assert furthest(ours, source_passes(own.root, case, "lifted", steps)) < (LIFTED, "")


@pytest.mark.parametrize("family", FAMILIES)
def test_with_the_casts_of_the_source_in_place(tiny: Callable[[str], Tiny], family: str) -> None:
    own = tiny(family)
    ours = own.passes(PLAIN, "f64-reference")
    distance = furthest(ours, source_passes(own.root, PLAIN, "kept"))
    assert distance < (KEPT, "")
    # The casts are there: without them the two would be nearer.
    assert distance > (LIFTED, "")


@pytest.mark.parametrize("family", FAMILIES)
def test_in_float32_it_errs_as_the_source_does(tiny: Callable[[str], Tiny], family: str) -> None:
    own = tiny(family)
    (truth,) = own.passes(PLAIN, "f64-reference")
    with TorchRunner().open(Subject(model_dir=own.root)) as session:
        source = {o.name: o.values for o in session.run(PLAIN) if is_checkpoint(o.name)}
    for profile in ("scalar-f32-v1", "lanes16-f32-v1"):
        (ours,) = own.passes(PLAIN, profile)
        for name, exact in truth.items():
            # One rounding is the least that either can claim not to have made.
            floor = max(apart(source[name], exact), 2.0**-24)
            assert apart(ours[name], exact) <= SAFETY_FACTOR * floor, (profile, name)
