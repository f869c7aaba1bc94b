"""Holding decoded weights changes no bit and shares a tied head."""

import numpy as np
import pytest

from trlm_lab.backends.held_weights import HeldRows, held_tensors
from trlm_lab.backends.model_files import open_subject
from trlm_lab.backends.reference import ReferenceRunner
from trlm_lab.base.bits import same_bits
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.model_parts import EMBEDDING, HEAD
from trlm_lab.base.records import Case
from trlm_lab.flows.packing import Packed


@pytest.mark.parametrize("quant", ["f32", "q8_r128"])
@pytest.mark.parametrize("profile", ["scalar-f32-v1", "f64-reference"])
def test_bits_are_those_of_the_engine_that_holds_nothing(
    small_artifacts: dict[str, Packed], quant: str, profile: str
) -> None:
    subject = Subject(artifact=small_artifacts[quant].artifact.path)
    case = Case("a", (1, 5, 9))
    with (
        ReferenceRunner(profile).open(subject) as plain,
        ReferenceRunner(profile, hold=True).open(subject) as held,
    ):
        for _ in range(2):
            for a, b in zip(plain.run(case), held.run(case), strict=True):
                assert a.name == b.name
                assert same_bits(a.values, b.values), a.name


def test_two_names_of_one_matrix_are_held_once() -> None:
    table, norm = np.ones((3, 2), np.float32), np.ones(2, np.float32)
    held = held_tensors({"a": table, "b": table, "n": norm}, np.dtype(np.float64))
    assert held["a"] is held["b"]
    assert held["n"] is norm
    assert held["a"][0:2].dtype == np.float64


def test_rows_are_decoded_once() -> None:
    class Counting:
        shape = (5000, 2)
        asked = 0

        def __getitem__(self, rows: slice) -> np.ndarray:
            self.asked += 1
            return np.ones((len(range(*rows.indices(5000))), 2), np.float32)

    source = Counting()
    held = HeldRows(source, np.dtype(np.float32))
    assert held[4999:].shape == (1, 2)
    asked = source.asked
    assert held[:3].shape == (3, 2)
    assert source.asked == asked


@pytest.mark.parametrize("quant", ["f32", "q8_r128"])
def test_a_tied_head_is_the_embedding_itself(
    small_artifacts: dict[str, Packed], quant: str
) -> None:
    """Of a large vocabulary it is most of the model, and would be held twice."""
    subject = Subject(artifact=small_artifacts[quant].artifact.path)
    tensors = open_subject(subject, None).tensors
    assert tensors[HEAD] is tensors[EMBEDDING]
