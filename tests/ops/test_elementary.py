"""The pinned elementary functions against true values, at their edges, and bit for bit."""

import hashlib
from collections.abc import Callable

import mpmath
import numpy as np
import pytest

from trlm_lab.base.bits import ulp_distance
from trlm_lab.ops import elementary
from trlm_lab.ops.arithmetic import Array

F32 = np.float32
TINY = np.uint32(1).view(F32)
MAX = np.finfo(F32).max


def stratified(low_exponent: int, high_exponent: int, each: int = 24) -> Array:
    """Both signs of `each` seeded significands for every binary exponent, and the edges of each."""
    rng = np.random.default_rng(14)
    exponents = np.arange(low_exponent + 127, high_exponent + 128, dtype=np.uint32)
    significands = rng.integers(0, 1 << 23, (len(exponents), each), dtype=np.uint32)
    significands[:, 0], significands[:, 1] = 0, (1 << 23) - 1
    positive = ((exponents[:, None] << np.uint32(23)) | significands).reshape(-1).view(F32)
    return np.concatenate([positive, -positive])


def truth(function: Callable[[mpmath.mpf], mpmath.mpf], x: Array) -> Array:
    """True values rounded to float32, from 80 digits; overflow becomes an infinity."""
    with mpmath.workdps(80), np.errstate(over="ignore", under="ignore"):
        return np.array([float(function(mpmath.mpf(float(v)))) for v in x]).astype(F32)


CASES = {
    "exp": (elementary.exp, mpmath.exp, stratified(-127, 6)),
    "sin": (elementary.sin, mpmath.sin, stratified(-127, 19)),
    "cos": (elementary.cos, mpmath.cos, stratified(-127, 19)),
    "tanh": (elementary.tanh, mpmath.tanh, stratified(-127, 6)),
    "erf": (elementary.erf, mpmath.erf, stratified(-127, 3)),
    "log": (elementary.log, mpmath.log, np.abs(stratified(-127, 127))),
}


@pytest.mark.parametrize("name", CASES)
def test_within_one_ulp_of_the_true_value(name: str) -> None:
    function, true_function, x = CASES[name]
    x = x[x != 0] if name == "log" else x
    got, exact = function(x), truth(true_function, x)
    finite = np.isfinite(exact)
    assert np.array_equal(got[~finite], exact[~finite])
    worst = ulp_distance(got[finite], exact[finite])
    assert worst.max() <= 1, f"{x[finite][worst.argmax()]!r} is off by {worst.max()} ULP"
    # Rounding a float64 result once leaves nearly all of them correctly rounded.
    assert np.mean(worst == 0) > 0.999


def test_near_multiples_of_half_pi() -> None:
    k = np.arange(1, 20_000, 7)
    x = np.concatenate(
        [(k * (np.pi / 2)).astype(F32), np.nextafter((k * np.pi / 2).astype(F32), 0)]
    )
    for function, true_function in ((elementary.sin, mpmath.sin), (elementary.cos, mpmath.cos)):
        assert ulp_distance(function(x), truth(true_function, x)).max() <= 1


def test_around_each_seam() -> None:
    """Where one branch or reduction step ends and the next begins."""

    def around(value: float) -> Array:
        at = F32(value).view(np.int32)
        return (at + np.arange(-50, 51, dtype=np.int32)).view(F32)

    seams = [
        (elementary.tanh, mpmath.tanh, elementary.TANH_SMALL),
        (elementary.erf, mpmath.erf, elementary.ERF_LIMIT),
        (elementary.exp, mpmath.exp, 88.72284),
        (elementary.exp, mpmath.exp, -103.97208),
        (elementary.exp, mpmath.exp, 0.34657359),
        (elementary.log, mpmath.log, 1.0),
        (elementary.log, mpmath.log, elementary.SQRT_2),
    ]
    for function, true_function, value in seams:
        x = around(value)
        got, exact = function(x), truth(true_function, x)
        finite = np.isfinite(exact)
        assert np.array_equal(got[~finite], exact[~finite])
        assert ulp_distance(got[finite], exact[finite]).max() <= 1


@pytest.mark.parametrize(
    ("name", "x", "y"),
    [
        ("exp", 0.0, 1.0),
        ("exp", -0.0, 1.0),
        ("exp", TINY, 1.0),
        ("exp", np.inf, np.inf),
        ("exp", -np.inf, 0.0),
        ("exp", MAX, np.inf),
        ("exp", -MAX, 0.0),
        ("exp", 89.0, np.inf),
        ("exp", -103.0, TINY),
        ("sin", 0.0, 0.0),
        ("sin", TINY, TINY),
        ("cos", 0.0, 1.0),
        ("cos", TINY, 1.0),
        ("tanh", -0.0, -0.0),
        ("tanh", TINY, TINY),
        ("tanh", -TINY, -TINY),
        ("tanh", np.inf, 1.0),
        ("tanh", -np.inf, -1.0),
        ("tanh", MAX, 1.0),
        ("erf", -0.0, -0.0),
        ("erf", -TINY, -TINY),
        ("erf", np.inf, 1.0),
        ("erf", -np.inf, -1.0),
        ("erf", MAX, 1.0),
        ("log", 1.0, 0.0),
        ("log", 0.0, -np.inf),
        ("log", -0.0, -np.inf),
        ("log", np.inf, np.inf),
    ],
)
def test_edges(name: str, x: float, y: float) -> None:
    got = CASES[name][0](np.array([x], dtype=F32))
    assert got.dtype == F32
    assert got.tobytes() == np.array([y], dtype=F32).tobytes()


@pytest.mark.parametrize(
    ("name", "x"),
    [(name, np.nan) for name in CASES]
    + [("log", -1.0), ("log", -np.inf)]
    + [(name, x) for name in ("sin", "cos") for x in (np.inf, -np.inf, 2.0**20, -(2.0**20))],
)
def test_nan_where_nothing_is_defined(name: str, x: float) -> None:
    assert np.isnan(CASES[name][0](np.array([x], dtype=F32))).all()


@pytest.mark.parametrize("name", ["exp", "tanh", "erf", "log"])
def test_monotone(name: str) -> None:
    x = np.sort(CASES[name][2])
    y = CASES[name][0](x)
    assert (np.diff(y[np.isfinite(y)]) >= 0).all()


def test_parity() -> None:
    x = stratified(-30, 15)
    for odd in (elementary.sin, elementary.tanh, elementary.erf):
        assert np.array_equal(odd(-x).view(np.uint32), (-odd(x)).view(np.uint32))
    assert np.array_equal(elementary.cos(-x).view(np.uint32), elementary.cos(x).view(np.uint32))


#: SHA-256 over the results on every 1021st bit pattern: another engine that computes these
#: functions must get the same. NaN results are set to one quiet NaN, whose payload is free.
DIGESTS = {
    "exp": "2a0c57c3fc7bb441cd4819df1e1029245dc069cd00b5d8a923aff9d51f7f9445",
    "sin": "91f59cea99ea96ba55c0d665856c8638fe30fd53b84cf52ee56e7dd6ea700106",
    "cos": "68bd4a996e74c245120f2a03cd4124845b3c3ed25ddac46a1a9134f0cde08d8b",
    "tanh": "0e3730c51414834611d465453012aa8bd77d91371eddbc086cd07d22e294842f",
    "erf": "3f9d1a6922385a6b9e0f6e99d0b82d573787ef2591180c220b54909992b03dc1",
    "log": "436d81b696dad75da583ff0a8a1b0da1e5fb10672fb5a75c0ccd53f3faae30fc",
}


@pytest.mark.parametrize("name", DIGESTS)
def test_bits_are_pinned(name: str) -> None:
    patterns = np.arange(0, 1 << 32, 1021, dtype=np.uint64).astype(np.uint32)
    digest = hashlib.sha256()
    for part in np.array_split(patterns, 64):
        y = CASES[name][0](part.view(F32))
        y[np.isnan(y)] = np.uint32(0x7FC00000).view(F32)
        digest.update(y.astype("<f4").tobytes())
    assert digest.hexdigest() == DIGESTS[name]
