"""Names of arrays: where they lie, how they are ordered, which are refused."""

from __future__ import annotations

import random

import pytest

from tests.ladders import llama_ladder
from trlm_lab.errors import ObservationError
from trlm_lab.traces.places import Place, place_of, trace_order


def test_layer_checkpoints_share_one_array() -> None:
    assert place_of("layers.12.q_rope") == Place("layers.q_rope", 12, ("T", "H", "E"))
    assert place_of("layers.12.q_rope").dimensions(3) == ("L", "T", "H", "E")


def test_single_arrays_have_no_layer_axis() -> None:
    assert place_of("logits").dimensions(2) == ("T", "V")
    assert place_of("logits.topk_ids").dimensions(2) == ("T", "TOPK")


def test_free_names_get_dimensions_of_their_own() -> None:
    assert place_of("step3.logits").dimensions(2) == ("step3.logits.0", "step3.logits.1")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "layers.q_proj",
        "layers.01.input",
        "layers.0.nothing",
        "a/b",
        "../a",
        "A",
        "__x",
        "zarr.json/",
    ],
)
def test_bad_names_are_refused(name: str) -> None:
    with pytest.raises(ObservationError):
        place_of(name)


def test_order_is_inputs_ladder_topk_steps_rest() -> None:
    expected = [
        "token_ids",
        "position_ids",
        *llama_ladder(12),
        "logits.topk_ids",
        "generated",
        "step2.token_ids",
        "step2.logits",
        "step10.embedding",
        "zeta",
    ]
    shuffled = list(expected)
    random.Random(0).shuffle(shuffled)
    assert sorted(shuffled, key=trace_order) == expected
