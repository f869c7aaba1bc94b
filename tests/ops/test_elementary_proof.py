"""The proof of the elementary functions in small: its judge, and the worst inputs it found."""

import importlib
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from tests.skips import lacking
from trlm_lab.ops import elementary

ROOT = Path(__file__).resolve().parents[2]
PROOF = ROOT / "tools" / "proof"
#: [input, result, float32 steps from the float32 nearest to the true value], by function.
WORST = json.loads((Path(__file__).parent / "elementary_worst.json").read_bytes())
NUMPY = ("exp", "sin", "cos", "log", "tanh", "erf")
RUNTIME = ("exp", "sin", "cos", "tanh", "erf")


@pytest.fixture(scope="module")
def proof() -> Iterator[Any]:
    """The commands of `tools/proof` as modules."""
    sys.path.insert(0, str(PROOF))
    try:
        yield importlib.import_module("elementary")
    finally:
        sys.path.remove(str(PROOF))
        for name in ("elementary", "tables", "true_values"):
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def values(proof: Any) -> bytes:
    return bytes(proof.tables())


@pytest.fixture(scope="module")
def rustc() -> str:
    found = shutil.which("rustc")
    return found or lacking("native-scalar", "no rustc on the path")


@pytest.fixture(scope="module")
def judge(proof: Any, rustc: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(proof.compiled(tmp_path_factory.mktemp("judge")))


def as_f32(bits: list[int]) -> Any:
    return np.array(bits, np.uint32).view(np.float32)


def test_worst_inputs_of_every_function_are_listed() -> None:
    assert {name: len(rows) >= 16 for name, rows in WORST.items()} == dict.fromkeys(
        (*NUMPY, "rsqrt"), True
    )


@pytest.mark.parametrize("name", sorted(WORST))
def test_the_listed_distances_are_true(proof: Any, name: str) -> None:
    """mpmath at 100 digits, rounded once."""
    off = [proof.units_off(name, bits, got) for bits, got, _ in WORST[name]]
    assert off == [row[2] for row in WORST[name]]
    assert max(off) <= 1


@pytest.mark.parametrize("name", NUMPY)
def test_the_reference_gives_the_listed_results(name: str) -> None:
    inputs, results, _ = zip(*WORST[name], strict=True)
    got = getattr(elementary, name)(as_f32(list(inputs)))
    assert got.view(np.uint32).tolist() == list(results)


@pytest.mark.usefixtures("rustc")
@pytest.mark.parametrize("name", RUNTIME)
def test_the_native_runtime_gives_the_listed_results(name: str) -> None:
    from trlm_lab.backends.abi_operators import native_operators

    inputs, results, _ = zip(*WORST[name], strict=True)
    x = as_f32(list(inputs))
    with native_operators() as runtime:
        assert runtime.one(name, [x], x.shape).view(np.uint32).tolist() == list(results)


@pytest.mark.parametrize("name", sorted(WORST))
def test_a_seeded_sample_is_within_one_unit(
    proof: Any, judge: Path, values: bytes, name: str
) -> None:
    """2^13 patterns out of every eighth exponent, of both signs."""
    rng = np.random.default_rng(14)
    starts = [(top << 23) + int(rng.integers(0, 1 << 22)) for top in range(3, 512, 8)]
    rows = [proof.judged_range(judge, name, start, 1 << 13, values) for start in starts]
    found = proof.summary(name, rows)
    assert found["ulp"][2] == 0
    assert found["nan"] + sum(found["ulp"]) == len(starts) << 13
    if name != "rsqrt":  # a root and a division, each rounded
        assert found["ulp"][1] == 0


@pytest.mark.parametrize("name", sorted(WORST))
def test_the_judges_own_values_keep_their_bound(
    proof: Any, judge: Path, values: bytes, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "CHECKED", 1024)
    assert 0.5 < proof.check(name, judge, values) < 8


@pytest.mark.usefixtures("rustc")
def test_one_unit_too_much_is_found(proof: Any, values: bytes, tmp_path: Path) -> None:
    """The deliberately wrong build of the runtime's source."""
    wrong = proof.compiled(tmp_path, "--cfg", 'feature="exp_ulp_off"')
    row = proof.judged_range(wrong, "exp", 0x3F800000, 1 << 12, values)
    assert row["ulp"] == [0, 1 << 12, 0]


def test_results_of_another_engine_are_judged(
    proof: Any, judge: Path, values: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def planted(x: Any) -> Any:
        return (elementary.log(x).view(np.uint32) + np.uint32(2)).view(np.float32)

    stand_in = type("Planted", (), {"log": staticmethod(planted)})
    monkeypatch.setattr(proof, "elementary", stand_in)
    row = proof.judged_range(judge, "log", 0x40000000, 100, values)
    assert row["ulp"] == [0, 0, 100]
    assert len(row["more"]) == 100


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        (mpmath.mpf(1), 0x3F800000),
        (1 + mpmath.mpf(2) ** -24, 0x3F800000),  # a tie, to even
        (1 + 3 * mpmath.mpf(2) ** -24, 0x3F800002),
        (mpmath.mpf(2) ** -150, 0),  # half the smallest subnormal
        (mpmath.mpf(2) ** -150 * mpmath.mpf("1.0001"), 1),
        (-(mpmath.mpf(2) ** -149), 0x80000001),
        (mpmath.mpf(2) ** 128 - mpmath.mpf(2) ** 103, 0x7F800000),
        (mpmath.mpf(2) ** 128 - mpmath.mpf(2) ** 103 * mpmath.mpf("1.1"), 0x7F7FFFFF),
        (mpmath.exp(4000), 0x7F800000),
    ],
)
def test_a_true_value_is_rounded_once(proof: Any, value: mpmath.mpf, bits: int) -> None:
    rounding = importlib.import_module("true_values").nearest_float32
    assert int(rounding(value).view(np.uint32)) == bits


def test_no_rounding_by_way_of_float64(proof: Any) -> None:
    """1 + 2^-24 + 2^-60 is above a tie; as a float64 it is the tie."""
    with mpmath.workdps(40):
        value = 1 + mpmath.mpf(2) ** -24 + mpmath.mpf(2) ** -60
    assert np.float32(float(value)) == np.float32(1)
    rounding = importlib.import_module("true_values").nearest_float32
    assert int(rounding(value).view(np.uint32)) == 0x3F800001
