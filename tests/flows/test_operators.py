"""`trlm op`: known answers through files, every refusal, and what an operand file may not be."""

import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ops.bounds import dot_depth, gamma
from trlm_lab.backends.profiles import evaluation_profile, operator_profile
from trlm_lab.errors import (
    NpzUnreadableError,
    OperatorInputError,
    OutputIsInputError,
    ShapeMismatchError,
    TrlmError,
    UnknownNameError,
)
from trlm_lab.flows import operand_file
from trlm_lab.flows.cli.app import run
from trlm_lab.flows.joined_operators import JOINED
from trlm_lab.flows.operand_file import read_operands, write_operands
from trlm_lab.flows.operators import run_operator_file
from trlm_lab.ops.by_name import OPERATORS

Array = NDArray[Any]
F32, F64 = np.float32, np.float64
LOWEST = np.finfo(F32).min
KNOWN: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "ops" / "known_answers.json").read_text(encoding="utf-8")
)
Serve = Callable[..., dict[str, Array]]
ENGINES = ("reference", "native-scalar", "wasm-scalar@wasmtime")


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Run an operator over files: `serve(name, profile=..., engine=..., **operands)`."""

    def call(
        name: str, profile: str = "f64-reference", engine: str = "reference", **operands: Any
    ) -> dict[str, Array]:
        given, answer = tmp_path / "in.npz", tmp_path / "out.npz"
        np.savez(given, **operands)
        run_operator_file(name, given, answer, profile, engine)
        with np.load(answer, allow_pickle=False) as out:
            return {key: out[key] for key in out.files}

    return call


def near(got: Array, expected: Any, roundings: int, profile: str = "f64-reference") -> bool:
    """Whether each value lies within so many roundings, of the answer's own size."""
    exact = np.asarray(expected, F64)
    bound = gamma(evaluation_profile(profile), roundings) * np.abs(exact)
    return bool((np.abs(got.astype(F64) - exact) <= bound).all())


# Known answers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_the_norm_takes_its_epsilon_from_the_operands(serve: Serve, engine: str) -> None:
    known = KNOWN["rms_norm"]
    operands = {name: known[name] for name in ("x", "weight", "eps")}
    y = serve("rms_norm", "scalar-f32-v1", engine, **operands)["y"]
    depth = dot_depth(evaluation_profile("scalar-f32-v1"), 4)
    assert near(y, known["y"], depth + 10, "scalar-f32-v1")
    assert near(serve("rms_norm", **operands)["y"], known["y"], 16)


@pytest.mark.parametrize(
    ("option", "answer"),
    [
        ("bf16-round-then-weight", "y_cast_then_weight"),
        ("bf16-weight-then-round", "y_weight_then_cast"),
    ],
)
def test_a_norm_in_bf16_rounds_where_the_profile_says(
    serve: Serve, option: str, answer: str
) -> None:
    known = KNOWN["rms_norm_bf16"]
    operands = {name: known[name] for name in ("x", "weight", "eps")}
    y = serve("rms_norm", f"scalar-f32-v1+{option}", **operands)["y"]
    assert y.tolist() == known[answer]


def test_the_two_orders_of_rounding_differ(serve: Serve) -> None:
    """On other numbers than the ones above, where they happen to agree."""
    x = np.linspace(0.5, 1.5, 65).astype(F32)
    x = (x.view(np.uint32) & 0xFFFF0000).view(F32)
    options = ("bf16-round-then-weight", "bf16-weight-then-round")
    a, b = (
        serve("rms_norm", f"scalar-f32-v1+{option}", x=x, weight=x[::-1], eps=1e-6)["y"]
        for option in options
    )
    assert (a != b).any()
    with pytest.raises(OperatorInputError, match="no bfloat16 numbers"):
        serve("rms_norm", f"scalar-f32-v1+{options[0]}", x=[0.1, 1.0], weight=[1.0, 1], eps=1e-6)


def test_the_cap_is_a_tanh_and_comes_before_the_mask(serve: Serve) -> None:
    known = KNOWN["softcap"]
    assert near(serve("softcap", x=known["x"], cap=known["cap"])["y"], known["y"], 8)
    # The second key's score is -80; a mask capped to -50 would let it take part.
    q, k, v = [[1.0]], [[10.0], [-80.0]], [[1.0], [2.0]]
    y = serve("attention", q=q, k=k, v=v, mask=[[True, False]], scale=1.0, cap=50.0)["y"]
    assert y.tolist() == [[1.0]]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_row_without_a_key_is_an_error_or_zeros_as_the_profile_says(
    serve: Serve, engine: str
) -> None:
    rows = np.array([[0.0, 1, 2, 3], [-np.inf] * 4], F32)
    with pytest.raises(TrlmError, match="row 1 has every key masked") as caught:
        serve("softmax", "scalar-f32-v1", engine, x=rows)
    assert (caught.value.code, caught.value.exit_status) == ("ALL_KEYS_MASKED", 3)
    zero = "scalar-f32-v1+masked-rows-zero"
    y = serve("softmax", zero, engine, x=rows)["y"]
    assert y[1].tobytes() == bytes(16)
    assert y[0].tobytes() == serve("softmax", "scalar-f32-v1", engine, x=rows[:1])["y"].tobytes()
    values = np.arange(1.0, 9).reshape(4, 2)
    hidden = {"q": np.ones((1, 2)), "k": values, "v": values, "mask": np.zeros((1, 4), bool)}
    assert serve("attention", zero, engine, **hidden)["y"].tolist() == [[0.0, 0.0]]


def test_two_additive_masks_make_one_sentinel(serve: Serve) -> None:
    causal = np.array([[0, LOWEST], [0, 0]], F32)
    padding = np.array([0, LOWEST], F32)
    y = serve("combine_masks", first_additive=causal, second_additive=padding)["y"]
    assert y.dtype == F32
    assert y.tolist() == [[0, float(LOWEST)]] * 2
    kept = serve("combine_masks", first=causal == 0, second=padding == 0)["y"]
    assert kept.tolist() == [[True, False]] * 2
    with pytest.raises(OperatorInputError, match="both Boolean or both additive"):
        serve("combine_masks", first=causal == 0, second_additive=padding)


def test_a_window_holds_the_query_and_the_keys_before_it(serve: Serve) -> None:
    known = KNOWN["sliding_window"]
    y = serve("sliding_window_mask", length=8, window=known["window"])["y"]
    assert y.astype(int).tolist() == known["y"]


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


def test_tanh_saturates(serve: Serve) -> None:
    known = KNOWN["tanh"]
    y = serve("tanh", "scalar-f32-v1", x=known["x"])["y"]
    assert near(y, known["y"], 2, "scalar-f32-v1")
    assert y[5:].tolist() == [1, 1, 1, 1, -1]
    assert serve("gelu_tanh", "scalar-f32-v1", x=[-13.2, 50.0])["y"].tolist() == [0, 50]


@pytest.mark.parametrize(
    ("order", "answer"),
    [
        ("exact", "exact"),
        ("ascending", "sequential"),
        ("neighbours", "pairwise_neighbours"),
        ("lanes2", "two_lanes"),
    ],
)
def test_a_sum_is_the_sum_of_its_order(serve: Serve, order: str, answer: str) -> None:
    known = KNOWN["reduction_order"]
    y = serve("sum", "scalar-f32-v1", x=known["addends"], order=order)["y"]
    assert float(y) == known[answer]
    assert serve("sum", "scalar-f32-v1", x=[1.0, 2, 4, 8, 16], order=order)["y"] == 31


@pytest.mark.parametrize(
    ("profile", "answer"),
    [("scalar-f32-v1", "sequential"), ("lanes16-f32-v1", "two_lanes"), ("f64-reference", "exact")],
)
def test_a_product_sums_in_the_order_of_its_profile(
    serve: Serve, profile: str, answer: str
) -> None:
    known = KNOWN["reduction_order"]
    operands = {"x": [known["addends"]], "weight": np.ones((1, 4))}
    assert serve("matmul", profile, **operands)["y"].tolist() == [[known[answer]]]
    assert float(serve("sum", profile, x=known["addends"])["y"]) == known[answer]


def test_a_swap_beyond_twice_the_bound_is_a_contradiction(serve: Serve) -> None:
    reference, candidate = [5.0, 4.9, 1.0], [4.9, 5.0, 1.0]
    said = serve("logit_margin", reference=reference, candidate=candidate, error_bound=0.015)
    assert abs(float(said["y"]) - 0.1) < 1e-12
    assert said["verdict"] == "CONTRADICTION"
    assert not said["bound_holds"]
    said = serve("logit_margin", reference=reference, candidate=candidate, error_bound=0.11)
    assert (str(said["verdict"]), bool(said["bound_holds"])) == ("TIE", True)
    said = serve("logit_margin", reference=reference, candidate=reference, error_bound=0.0)
    assert (str(said["verdict"]), float(said["max_error"])) == ("SAME", 0)


# Block format -------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("shape", [(5,), (3, 130), (2, 2, 200)])
def test_quantize_and_back(serve: Serve, engine: str, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).standard_normal(shape).astype(F32)
    packed = serve("quantize", "scalar-f32-v1", engine, x=x)
    assert packed["y"].shape == x.shape
    assert packed["scale"].shape == (*shape[:-1], -(-shape[-1] // 128))
    codes = {"codes": packed["y"], "scale": packed["scale"], "format": "q8_r128"}
    y = serve("dequantize", "scalar-f32-v1", engine, **codes)["y"]
    steps = np.repeat(packed["scale"], 128, axis=-1)[..., : shape[-1]].astype(F32)
    assert y.tobytes() == (packed["y"].astype(F32) * steps).tobytes()
    if engine != "reference":
        own = serve("quantize", "scalar-f32-v1", x=x)
        assert all(own[name].tobytes() == packed[name].tobytes() for name in own)


CODES, SCALE = np.ones((2, 3), np.int8), np.ones((2, 1), np.float16)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("codes", "scale", "why"),
    [
        (CODES.astype(np.int64), SCALE, "codes has the element type int64, needed is int8"),
        (CODES.astype(np.uint8), SCALE, "codes has the element type uint8"),
        (CODES.astype(F32), SCALE, "codes has the element type float32"),
        (CODES > 0, SCALE, "codes has the element type bool"),
        (CODES, SCALE.astype(F32), "scale has the element type float32, needed is float16"),
        (CODES, SCALE.astype(np.int8), "scale has the element type int8"),
        (CODES[0, 0], SCALE, "rank 0"),
    ],
)
def test_stored_planes_are_never_cast(
    serve: Serve, engine: str, codes: Array, scale: Array, why: str
) -> None:
    with pytest.raises(OperatorInputError, match=why):
        serve("dequantize", "scalar-f32-v1", engine, codes=codes, scale=scale)


def test_scales_of_another_shape_are_refused(serve: Serve) -> None:
    """Transposed, they would have the right number of bytes."""
    codes = np.ones((2, 129), np.int8)
    with pytest.raises(ShapeMismatchError, match=r"scale has the shape \(1, 4\)"):
        serve("dequantize", codes=codes, scale=np.ones((1, 4), np.float16))
    with pytest.raises(UnknownNameError, match="q8_r128"):
        serve("dequantize", codes=CODES, scale=SCALE, format="q8_r127")


# Refusals -----------------------------------------------------------------------------------------

#: A sound call of every operator that the command line's page lists, one entry a name.
CALLS: dict[str, dict[str, Any]] = {
    "rms_norm": {"x": np.ones((2, 4), F32), "weight": np.ones(4, F32), "eps": 1e-5},
    "softmax": {"x": np.ones((2, 4), F32)},
    "softcap": {"x": np.ones(4, F32), "cap": 30.0},
    "attention": {name: np.ones((2, 1, 4), F32) for name in "qkv"},
    "sliding_window_mask": {"length": 4, "window": 2},
    "rope": {"x": np.ones((2, 1, 4), F32), "positions": [0, 1], "theta": 1e4},
    "rope_interleaved": {"x": np.ones((2, 1, 4), F32), "positions": [0, 1], "theta": 1e4},
    "silu": {"x": np.ones(4, F32)},
    "gelu_tanh": {"x": np.ones(4, F32)},
    "gelu_erf": {"x": np.ones(4, F32)},
    "matmul": {"x": np.ones((2, 4), F32), "weight": np.ones((3, 4), F32)},
    "quantize": {"x": np.ones((2, 4), F32), "format": "q8_r128"},
    "dequantize": {"codes": CODES, "scale": SCALE, "format": "q8_r128"},
    "cast": {"x": np.ones(4, F32), "dtype": "bf16"},
}

JUNK = {
    "empty": np.array([], F32),
    "scalar": np.array(2.5),
    "text": np.array("x"),
    "texts": np.array(["a", "b"]),
    "complex": np.array([1j]),
    "booleans": np.ones((2, 4), bool),
    "nan": np.full((2, 4), np.nan, F32),
    "rank 5": np.ones((1, 1, 1, 1, 2), F32),
    "wrong length": np.ones((2, 5), F32),
    "dates": np.array(["2020-01-01"], "datetime64[D]"),
    "structured": np.zeros(2, [("a", F32)]),
    "bytes": np.array([b"ab"]),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("junk", JUNK)
def test_junk_is_one_refusal_or_an_answer(serve: Serve, name: str, junk: str) -> None:
    """Operands are checked before any engine's kernel sees them."""
    for operand in CALLS[name]:
        operands = {**CALLS[name], operand: JUNK[junk]}
        try:
            answers = serve(name, "scalar-f32-v1", **operands)
        except TrlmError as error:
            said = error
        else:
            assert all(np.isfinite(y).all() for y in answers.values() if y.dtype.kind == "f")
            continue
        assert said.exit_status in (2, 3)
        assert said.where
        assert said.remedy


@pytest.mark.parametrize("name", CALLS)
def test_every_listed_operator_is_served_and_names_what_is_missing(serve: Serve, name: str) -> None:
    assert "y" in serve(name, "scalar-f32-v1", **CALLS[name])
    first = next(iter(CALLS[name]))
    rest = {key: value for key, value in CALLS[name].items() if key != first}
    with pytest.raises(OperatorInputError, match=f"{first} is missing"):
        serve(name, "scalar-f32-v1", **rest)


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    status = run(["op", *arguments, "--json"])
    return status, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("name", "options", "status", "code"),
    [
        ("norm", [], 2, "UNKNOWN_NAME"),
        ("silu", ["--profile", "scalar-f32-v2"], 2, "UNKNOWN_NAME"),
        ("silu", ["--profile", "scalar-f32-v1+round-up"], 2, "UNKNOWN_NAME"),
        ("silu", ["--engine", "abacus"], 2, "UNKNOWN_NAME"),
        ("silu", ["--engine", "llama.cpp"], 4, "NOT_SUPPORTED"),
        ("silu", ["--engine", "native-scalar", "--profile", "lanes16-f32-v1"], 4, "NOT_SUPPORTED"),
        ("layer_norm", ["--engine", "wasm-scalar@wasmtime"], 4, "NOT_SUPPORTED"),
        ("matmul", [], 3, "OPERATOR_INPUT"),
    ],
)
def test_statuses(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    name: str,
    options: list[str],
    status: int,
    code: str,
) -> None:
    given, answer = tmp_path / "in.npz", tmp_path / "out.npz"
    np.savez(given, x=np.ones((2, 4), F32))
    got, said = document(capsys, name, str(given), str(answer), *options)
    assert (got, said["error"]["code"]) == (status, code)
    assert not answer.exists()


def test_the_answer_is_described(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    given, answer = tmp_path / "in.npz", tmp_path / "named as asked"
    np.savez(given, x=np.ones((2, 4), F32))
    status, said = document(capsys, "silu", str(given), str(answer))
    assert status == 0
    assert (said["engine"], said["profile"], said["exact"]) == ("reference", "scalar-f32-v1", True)
    assert said["y"].startswith("float32 [2, 4] ")
    assert read_operands(answer)["y"].shape == (2, 4)
    _, said = document(capsys, "silu", str(given), str(answer), "--engine", "torch")
    assert said["exact"] is False
    _, said = document(
        capsys, "silu", str(given), str(answer), "--engine", "reference:f64-reference"
    )
    assert said["profile"] == "f64-reference"


def test_the_answer_does_not_overwrite_the_operands(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, x=np.ones(4, F32))
    before = path.read_bytes()
    with pytest.raises(OutputIsInputError):
        run_operator_file("silu", path, path, "scalar-f32-v1", "reference")
    assert path.read_bytes() == before


def test_options_of_a_profile_change_its_identity() -> None:
    plain = operator_profile("scalar-f32-v1")
    zero = operator_profile("scalar-f32-v1+masked-rows-zero")
    both = operator_profile("scalar-f32-v1+masked-rows-zero+bf16-weight-then-round")
    assert len({profile.profile_id for profile in (plain, zero, both)}) == 3
    assert zero.name == "scalar-f32-v1+masked-rows-zero"
    assert both.arithmetic().masked_rows == "zero"
    assert both.arithmetic().norm_rounding == "bf16-weight-then-round"
    with pytest.raises(UnknownNameError):
        operator_profile("scalar-f32-v1+bf16-weight-then-round+bf16-round-then-weight")


def test_no_name_is_served_twice() -> None:
    assert not set(OPERATORS) & set(JOINED)


# Operand files ------------------------------------------------------------------------------------


def header(shape: str, descr: str = "'<f4'", version: bytes = b"\x01\x00") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text


def archive(path: Path, *members: tuple[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in members:
            out.writestr(name, data)
    return path


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (header("(1000000000000,)") + bytes(16), "takes 4000000000000 bytes, there are 16"),
        (header("(4,)") + bytes(15), "takes 16 bytes, there are 15"),
        (header("(4,)") + bytes(17), "takes 16 bytes, there are 17"),
        (header("(-1, -4)") + bytes(16), "takes 16 bytes"),
        (header("(1,)", "'|O'") + bytes(8), "element type object"),
        (header("(1,)", "'<c8'") + bytes(8), "element type complex64"),
        (header("(1,)", "'no'") + bytes(8), "NPZ_UNREADABLE"),
        (header("(4,)", version=b"\x09\x00") + bytes(16), "NPZ_UNREADABLE"),
        (header("4") + bytes(16), "NPZ_UNREADABLE"),
        (b"\x93NUMPY", "NPZ_UNREADABLE"),
        (b"", "NPZ_UNREADABLE"),
    ],
)  # fmt: skip
def test_a_member_that_is_not_what_it_declares_is_refused(
    tmp_path: Path, data: bytes, why: str
) -> None:
    path = archive(tmp_path / "x.npz", ("x.npy", data))
    with pytest.raises(NpzUnreadableError, match=why):
        read_operands(path)


def test_an_archive_larger_than_the_limit_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archive(tmp_path / "x.npz", ("x.npy", header("(1000000,)") + bytes(4_000_000)))
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(operand_file, "LIMIT", 1_000_000)
    with pytest.raises(NpzUnreadableError, match="at most 1000000 are read"):
        read_operands(path)


def test_other_archives_and_files_are_refused(tmp_path: Path) -> None:
    sound = header("(4,)") + bytes(16)
    with pytest.warns(UserWarning, match="Duplicate name"):
        twice = archive(tmp_path / "a.npz", ("x.npy", sound), ("x.npy", sound))
    with pytest.raises(NpzUnreadableError, match="occurs twice"):
        read_operands(twice)
    with pytest.raises(NpzUnreadableError, match=r"no \.npy member"):
        read_operands(archive(tmp_path / "b.npz", ("x.txt", b"1")))
    with pytest.raises(NpzUnreadableError):
        read_operands(tmp_path / "missing.npz")
    np.save(tmp_path / "c.npy", np.ones(3))
    with pytest.raises(NpzUnreadableError):
        read_operands(tmp_path / "c.npy")
    whole = archive(tmp_path / "d.npz", ("x.npy", sound)).read_bytes()
    for length in range(0, len(whole), 7):
        (tmp_path / "e.npz").write_bytes(whole[:length])
        with pytest.raises(NpzUnreadableError):
            read_operands(tmp_path / "e.npz")


def test_what_is_written_is_read(tmp_path: Path) -> None:
    arrays = {"x": np.ones((2, 3), F32), "s": np.array(1.5), "t": np.array("q8_r128")}
    write_operands(tmp_path / "x", arrays)
    again = read_operands(tmp_path / "x")
    assert {name: a.tolist() for name, a in again.items()} == {
        name: a.tolist() for name, a in arrays.items()
    }
