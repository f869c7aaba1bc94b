"""`trlm op`: rotary positions, their frequencies and the row orders of projections."""

from typing import Any

import numpy as np
import pytest

from tests.flows.operator_calls import ENGINES, F32, KNOWN, Serve, near
from tests.ops.bounds import gamma
from trlm_lab.backends.profiles import evaluation_profile
from trlm_lab.errors import (
    OperatorInputError,
)


@pytest.mark.parametrize("engine", ENGINES)
def test_rotations_pair_as_their_name_says(serve: Serve, engine: str) -> None:
    known = KNOWN["rope"]
    operands = {"x": known["x"], "positions": known["position"], "theta": known["theta"]}
    single = evaluation_profile("scalar-f32-v1")
    for name, answer in (("rope", "y_half_split"), ("rope_interleaved", "y_interleaved")):
        y = serve(name, "scalar-f32-v1", engine, **operands)["y"]
        # Angle, sine and products err by a few roundings of |x1| + |x2|, at most 7.
        assert (np.abs(y - known[answer]) <= gamma(single, 6) * 7).all()


def test_rows_of_a_projection_are_permuted_within_their_own_heads(serve: Serve) -> None:
    known = KNOWN["rope_permutation"]
    heads, head_dim = known["kv_heads"], known["head_dim"]
    rows = np.arange(8)
    y = serve("half_split_to_interleaved", x=rows, heads=heads, head_dim=head_dim)["y"]
    assert y.tolist() == known["k_row_order"]
    assert serve("interleaved_to_half_split", x=y, heads=heads)["y"].tolist() == rows.tolist()
    # The count of groups instead of the count of heads fits the shape and is wrong.
    with pytest.raises(OperatorInputError, match="8 rows are not 4 heads of 4"):
        serve("half_split_to_interleaved", x=rows, heads=4, head_dim=head_dim)
    matrix = np.arange(16.0).reshape(8, 2)
    permuted = serve("half_split_to_interleaved", x=matrix, heads=heads)["y"]
    assert permuted[:, 0].tolist() == [2.0 * row for row in known["k_row_order"]]


YARN = {
    "theta": KNOWN["yarn"]["theta"],
    "factor": KNOWN["yarn"]["factor"],
    "original_max_position_embeddings": KNOWN["yarn"]["original_context"],
    "beta_fast": 32,
    "beta_slow": 1,
}


def test_yarn_frequencies_and_their_use(serve: Serve) -> None:
    known = KNOWN["yarn"]
    answers = serve("inverse_frequencies", head_dim=known["head_dim"], **YARN)
    assert near(answers["y"], known["inv_freq"], 64)
    assert float(answers["attention_factor"]) == known["attention_factor"]
    x, factor = np.linspace(-1, 1, 128, dtype=F32).reshape(2, 64), known["attention_factor"]
    given = {"inv_freq": np.array(known["inv_freq"], F32), "attention_factor": factor}
    by_hand = serve("rope", "scalar-f32-v1", x=x, positions=[3, 9000], **given)["y"]
    by_yarn = serve("rope", "scalar-f32-v1", x=x, positions=[3, 9000], **YARN)["y"]
    assert by_hand.tobytes() == by_yarn.tobytes()
    plain = serve("rope", "scalar-f32-v1", x=x, positions=[3, 9000], theta=YARN["theta"])["y"]
    assert (plain != by_yarn).any()


@pytest.mark.parametrize("engine", ENGINES[1:])
def test_yarn_has_the_same_bits_everywhere(serve: Serve, engine: str) -> None:
    x = np.linspace(-1, 1, 128, dtype=F32).reshape(2, 64)
    expected = serve("rope", "scalar-f32-v1", x=x, positions=[3, 9000], **YARN)["y"]
    got = serve("rope", "scalar-f32-v1", engine, x=x, positions=[3, 9000], **YARN)["y"]
    assert got.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"factor": 0.5}, "must be 1 or more"),
        ({"theta": 1.0}, "above 1"),
        ({"original_max_position_embeddings": 0}, "above 0"),
        ({"beta_slow": 32}, "between 0 and beta_fast"),
        ({"low_freq_factor": 1}, "beta_fast is no parameter of the kind llama3"),
        ({"rope_type": "linear"}, "is no parameter of the kind linear"),
        ({"rope_type": "longrope"}, "known are default, linear, yarn, llama3"),
        ({"inv_freq": [1.0, 0.5]}, "exclude each other"),
    ],
)
def test_yarn_parameters_out_of_range_are_refused(
    serve: Serve, changes: dict[str, Any], why: str
) -> None:
    with pytest.raises(OperatorInputError, match=why):
        serve("rope", x=np.ones((1, 4)), positions=[1], **{**YARN, **changes})


def test_yarn_parameters_without_their_base_are_refused(serve: Serve) -> None:
    x = np.ones((1, 4))
    with pytest.raises(OperatorInputError, match="stands without factor"):
        serve("rope", x=x, positions=[1], theta=1e4, beta_fast=32)
    with pytest.raises(OperatorInputError, match="belongs to theta"):
        serve("rope", x=x, positions=[1], inv_freq=[1.0, 0.5], factor=4.0)


LLAMA3 = {
    "theta": 1e4, "factor": 2.0, "original_max_position_embeddings": 1000,
    "low_freq_factor": 0.5, "high_freq_factor": 8.0,
}  # fmt: skip


def test_llama3_frequencies(serve: Serve) -> None:
    # float32 values of Hugging Face's transformers 5.24 for the same parameters.
    known = [1.0, 0.3162277639, 0.1000000015, 0.02536762506, 0.005727699958, 0.001581832883]
    answers = serve("inverse_frequencies", head_dim=16, **LLAMA3)
    assert float(answers["attention_factor"]) == 1.0
    assert near(answers["y"][:6], known, 4, "scalar-f32-v1")
    plain = serve("inverse_frequencies", head_dim=16, theta=1e4)["y"]
    assert near(answers["y"][6:], plain[6:] / 2, 2, "scalar-f32-v1")
    x = np.linspace(-1, 1, 32, dtype=F32).reshape(2, 16)
    by_hand = serve("rope", "scalar-f32-v1", x=x, positions=[3, 90], inv_freq=F32(answers["y"]))
    named = serve("rope", "scalar-f32-v1", x=x, positions=[3, 90], rope_type="llama3", **LLAMA3)
    assert by_hand["y"].tobytes() == named["y"].tobytes()


def test_linear_frequencies(serve: Serve) -> None:
    given = {"head_dim": 16, "theta": 1e4}
    plain = serve("inverse_frequencies", "scalar-f32-v1", **given)["y"]
    scaled = serve("inverse_frequencies", "scalar-f32-v1", rope_type="linear", factor=4, **given)
    assert scaled["y"].tolist() == (plain / 4).tolist()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"low_freq_factor": 8}, "between 0 and high_freq_factor"),
        ({"factor": 0}, "must be 1 or more"),
        ({"beta_fast": 32}, "is no parameter of the kind llama3"),
        ({"rope_type": "default"}, "is no parameter of the kind default"),
    ],
)
def test_llama3_parameters_out_of_range_are_refused(
    serve: Serve, changes: dict[str, Any], why: str
) -> None:
    with pytest.raises(OperatorInputError, match=why):
        serve("inverse_frequencies", head_dim=16, **{**LLAMA3, **changes})
