"""The ladder."""

import random

import pytest

from tests.ladders import llama_ladder
from trlm_lab.base import names
from trlm_lab.errors import UnknownNameError


def test_the_ladder_is_sorted_and_complete() -> None:
    ladder = llama_ladder(3)
    assert ladder[0] == "embedding"
    assert ladder[-2:] == ["final_norm", "logits"]
    assert len(ladder) == len(set(ladder)) == 3 * 19 + 3
    shuffled = random.Random(1).sample(ladder, len(ladder))
    assert names.in_ladder_order(shuffled) == ladder


def test_layer_numbers_sort_as_numbers() -> None:
    assert names.in_ladder_order(["layers.10.input", "layers.9.output"])[0] == "layers.9.output"


@pytest.mark.parametrize("name", ["layers.01.input", "layers.1.nothing", "layers.-1.input", ""])
def test_names_off_the_ladder_are_refused(name: str) -> None:
    with pytest.raises(UnknownNameError):
        names.parse_checkpoint(name)


def test_every_checkpoint_has_axes() -> None:
    assert set(names.LAYER_CHECKPOINTS) <= set(names.CHECKPOINT_AXES)
