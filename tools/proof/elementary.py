#!/usr/bin/env python3
"""Judge the pinned elementary functions on every float32 there is.

python tools/proof/elementary.py [exp sin cos log tanh erf rsqrt] [--stratified|--check]

All 2^32 bit patterns of a function, in shards of 2^26 that lie as JSON under
reports/proof/elementary; a finished shard of the same sources is not run again. What float64 cannot
decide, mpmath does. The native runtime's source is run; `log`, which it lacks, comes from NumPy.
The table goes to standard output. Exit status 1 where any result is off by more than one unit.
`--stratified` takes a seeded run of 2^18 patterns out of every sign and exponent instead, 2^27 in
all. `--check` measures the judge's own true values against mpmath on seeded inputs. `--record FILE`
writes the worst inputs for the tests.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import mpmath
import numpy as np
from numpy.typing import NDArray
from tables import tables
from true_values import DIGITS, TRUE, true_value, units_off

from trlm_lab.ops import elementary

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[1]
RUNTIME: Final = ROOT / "kernels_ref/src/ops/elementary.rs"
NUMPY: Final = ROOT / "trlm_lab/ops/elementary.py"
KEPT: Final = ROOT / "reports/proof/elementary"
PATTERNS: Final = 1 << 32
SHARD: Final = 1 << 26
#: Results that NumPy computes at a time.
PART: Final = 1 << 18
#: Patterns that `--stratified` takes of each sign and exponent.
STRATUM: Final = 1 << 18
#: Inputs that a function records for the tests.
RECORDED: Final = 48
#: Of `--check`: inputs of each function.
CHECKED: Final = 20_000
SEED: Final = 5


def compiled(room: Path, *options: str) -> Path:
    """The judge, compiled once for each state of its sources.

    The options change no bit: Rust neither fuses nor reorders floating-point operations.
    """
    out = room / f"judge-{sources('exp')[:16]}"
    if not out.is_file():
        room.mkdir(parents=True, exist_ok=True)
        flags = ("-C", "opt-level=3", "-C", "codegen-units=1", "-C", "target-cpu=native", *options)
        made = out.with_suffix(f".{os.getpid()}")
        root = str(HERE / "judge/main.rs")
        subprocess.run(["rustc", "--edition", "2021", *flags, root, "-o", str(made)], check=True)
        made.rename(out)
    return out


def sources(function: str) -> str:
    """SHA-256 of all that decides a shard: judge, tables, and the function on trial."""
    trial = NUMPY if function == "log" else RUNTIME
    digest = hashlib.sha256()
    for path in (*sorted((HERE / "judge").glob("*.rs")), HERE / "tables.py", trial):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def judged_range(
    judge: Path, function: str, start: int, count: int, values: bytes
) -> dict[str, Any]:
    """The judge's row over `count` patterns from `start`, its doubtful inputs decided."""
    command = [str(judge), function, str(start), str(count)]
    if function == "log":
        command.append("--results")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(values)
        if function == "log":
            for first in range(start, start + count, PART):
                last = min(first + PART, start + count)
                patterns = np.arange(first, last, dtype=np.uint64).astype(np.uint32)
                process.stdin.write(elementary.log(patterns.view(np.float32)).tobytes())
        process.stdin.close()
        answer = process.stdout.read()
    if process.returncode:
        raise SystemExit(process.returncode)
    return decided(json.loads(answer))


def decided(row: dict[str, Any]) -> dict[str, Any]:
    """The row with its doubtful inputs judged from 100 digits: [input, result, units off]."""
    if row["undecided"] != len(row["doubtful"]):
        raise SystemExit(f"{row['function']}: more doubtful inputs than a shard keeps")
    pairs = [(bits, got) for bits, got in row["doubtful"]]
    row["doubtful"] = [[*pair, units_off(row["function"], *pair)] for pair in pairs]
    for _, _, off in row["doubtful"]:
        row["ulp"][min(off, 2)] += 1
    return row


def every_shard(function: str, room: Path, values: bytes) -> list[dict[str, Any]]:
    """Every shard of a function, from its file or freshly run."""
    judge, made_of, rows = compiled(room), sources(function), []
    for number in range(PATTERNS // SHARD):
        file = room / f"{function}-{number:02}.json"
        row = json.loads(file.read_bytes()) if file.is_file() else {}
        if row.get("sources") != made_of:
            row = judged_range(judge, function, number * SHARD, SHARD, values)
            row["sources"] = made_of
            scratch = file.with_suffix(".part")
            scratch.write_text(json.dumps(row))
            scratch.rename(file)
            print(f"{function}: shard {number + 1} of {PATTERNS // SHARD}", file=sys.stderr)
        rows.append(row)
    return rows


def strata(function: str, room: Path, values: bytes) -> list[dict[str, Any]]:
    """A seeded run of patterns out of every sign and exponent."""
    rng, judge = np.random.default_rng(SEED), compiled(room)
    offsets = rng.integers(0, (1 << 23) - STRATUM, 1 << 9).tolist()
    starts = [(top << 23) + offset for top, offset in enumerate(offsets)]
    return [judged_range(judge, function, start, STRATUM, values) for start in starts]


def summary(function: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts of all shards together, and the worst inputs."""
    worst = sorted((tuple(one) for row in rows for one in row["worst"]), reverse=True)
    more = [one for row in rows for one in row["more"]]
    # The judge's sum of two zeros loses the sign of sin(-0), which is its argument's.
    right = [[bits, got] for bits, got in more if function == "sin" and bits == got == 1 << 31]
    zero, one, two = (sum(row["ulp"][i] for row in rows) for i in range(3))
    return {
        "function": function,
        "nan": sum(row["nan"] for row in rows),
        "ulp": [zero + len(right), one, two - len(right)],
        "doubtful": [one for row in rows for one in row["doubtful"]],
        "more": [one for one in more if one not in right],
        "worst": worst[:RECORDED],
    }


def largest_error(found: dict[str, Any]) -> tuple[float, int]:
    """In units in the last place, over ranked and doubtful inputs; and its input."""
    errors = [(error, bits) for error, bits, _ in found["worst"][:1]]
    for bits, got, _ in found["doubtful"]:
        exact = true_value(found["function"], bits)
        result = float(np.uint32(got).view(np.float32))
        with mpmath.workdps(DIGITS):
            errors.append((float(abs(result - exact) / _unit(exact)), bits))
    return max(errors)


def _unit(value: mpmath.mpf) -> mpmath.mpf:
    exponent = int(mpmath.floor(mpmath.log(abs(value), 2)))
    return mpmath.ldexp(mpmath.mpf(1), max(exponent, -126) - 23)


def table_row(found: dict[str, Any]) -> str:
    """One row of the table in docs/elementary-proof.md."""
    zero, one, more = found["ulp"]
    error, bits = largest_error(found)
    x = np.uint32(bits).view(np.float32)
    doubtful = len(found["doubtful"])
    return (
        f"| `{found['function']}` | {found['nan']:,} | {zero:,} | {one:,} | {more:,} "
        f"| {doubtful:,} | {error:.9f} | `{bits:08x}` ({x:.9g}) |"
    )


def recorded(found: dict[str, Any]) -> list[list[int]]:
    """Inputs for the tests, [input, result, units off]: those off by one first, then the worst."""
    function = found["function"]
    listed = sorted(found["doubtful"], key=lambda one: -one[2])
    known = {bits for bits, _, _ in listed}
    ranked = [(bits, got) for _, bits, got in found["worst"] if bits not in known]
    room = max(RECORDED - len(listed), RECORDED // 2)
    return listed[: RECORDED - room] + [
        [bits, got, units_off(function, bits, got)] for bits, got in ranked[:room]
    ]


def stratified() -> NDArray[np.uint32]:
    """Seeded patterns: as many of each sign and exponent."""
    rng = np.random.default_rng(SEED)
    top = np.arange(1 << 9, dtype=np.uint32) << np.uint32(23)
    each = CHECKED // len(top)
    low = rng.integers(0, 1 << 23, (len(top), each), dtype=np.uint32)
    patterns: NDArray[np.uint32] = (top[:, None] | low).reshape(-1)
    return patterns[np.isfinite(patterns.view(np.float32))]


def check(function: str, judge: Path, values: bytes) -> float:
    """Largest relative error of the judge's true values, in units of 2^-53; 8 is the bound."""
    patterns = stratified()
    command = [str(judge), function, "--truth"]
    given = values + patterns.astype("<u4").tobytes()
    done = subprocess.run(command, input=given, capture_output=True, check=True)
    worst = mpmath.mpf(0)
    for bits, value in zip(patterns.tolist(), np.frombuffer(done.stdout, "<f8"), strict=True):
        if np.isfinite(value) and value != 0 and not saturated(function, bits):
            exact = true_value(function, bits)
            with mpmath.workdps(DIGITS):
                worst = max(worst, abs(mpmath.mpf(float(value)) / exact - 1))
    return float(worst * 2**53)


def saturated(function: str, bits: int) -> bool:
    """Where the judge's value only rounds to the same float32, beyond its clamps."""
    size = abs(float(np.uint32(bits).view(np.float32)))
    return size >= {"exp": 127.0, "tanh": 20.0, "erf": 4.0}.get(function, np.inf)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("functions", nargs="*", metavar="FUNCTION", help=", ".join(TRUE))
    parser.add_argument("--stratified", action="store_true", help="a sample of 2^27 inputs")
    parser.add_argument("--check", action="store_true", help="measure the judge instead")
    parser.add_argument("--record", type=Path, help="write the worst inputs as JSON")
    parser.add_argument("--room", type=Path, default=KEPT, help="where shards lie")
    given = parser.parse_args()
    for name in given.functions:
        if name not in TRUE:
            parser.error(f"no function {name}; known: {', '.join(TRUE)}")
    return given


def main() -> int:
    """Run, print the table, and say whether every result is within one unit."""
    given, values = arguments(), tables()
    functions = given.functions or list(TRUE)
    if given.check:
        judge = compiled(given.room)
        errors = {function: check(function, judge, values) for function in functions}
        print("\n".join(f"{name}: {error:.3f} of 8" for name, error in errors.items()))
        return int(max(errors.values()) >= 8)
    found = []
    for function in functions:
        judged = strata if given.stratified else every_shard
        found.append(summary(function, judged(function, given.room, values)))
        print(table_row(found[-1]), flush=True)
    if given.record:
        rows = {one["function"]: recorded(one) for one in found}
        lines = [f'"{name}": [\n' + ",\n".join(map(str, row)) + "\n]" for name, row in rows.items()]
        given.record.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    return int(any(one["ulp"][2] for one in found))


if __name__ == "__main__":
    sys.exit(main())
