"""`trlm op`: junk operands, exit statuses, and what an answer says of itself."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.flows.operator_calls import F32, Serve
from trlm_lab.backends.profiles import operator_profile
from trlm_lab.errors import (
    OperatorInputError,
    OutputIsInputError,
    TrlmError,
    UnknownNameError,
)
from trlm_lab.flows.cli.app import run
from trlm_lab.flows.joined_operators import JOINED
from trlm_lab.flows.operand_file import read_operands
from trlm_lab.flows.operators import run_operator_file
from trlm_lab.ops.by_name import OPERATORS

CODES, SCALE = np.ones((2, 3), np.int8), np.ones((2, 1), np.float16)

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
        ("log", ["--engine", "wasm-scalar@wasmtime"], 4, "NOT_SUPPORTED"),
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
