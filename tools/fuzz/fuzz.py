"""Fuzz a container parser for a given time: `python tools/fuzz/fuzz.py TARGET --seconds N`.

With atheris installed the run is guided by coverage; `--plain` mutates without it. A failing input
is kept beside the corpus. See README.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SEEDS = ROOT / "tests" / "acquire" / "corpus"
Edit = Callable[[bytes, bytes, random.Random], bytes]
#: Far above what any input of the corpus needs; a parser that allocates by a declared size fails.
MEMORY = 4 << 30
LONGEST = 1 << 14
#: Readers of our own containers.
MODELS = ("slm", "wasm", "slmset")
#: Numbers that parsers trip over, little-endian in 8 bytes.
POWERS = (2**16, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
ODD = [number.to_bytes(8, "little") for number in (0, 1, 2, 7, 8, 255, *POWERS)]


def mutated(data: bytes, other: bytes, draw: random.Random) -> bytes:
    """One to eight random edits: flips, odd numbers, cuts, repeats, parts of another input."""
    raw = bytearray(data)
    for _ in range(draw.randint(1, 8)):
        at = draw.randrange(len(raw) + 1)
        kind = draw.randrange(7)
        if kind == 0 and raw:
            raw[at % len(raw)] ^= 1 << draw.randrange(8)
        elif kind == 1 and raw:
            raw[at % len(raw)] = draw.randrange(256)
        elif kind == 2:
            number = draw.choice(ODD)[: draw.choice((1, 2, 4, 8))]
            raw[at : at + len(number)] = number
        elif kind == 3:
            del raw[at : at + draw.randrange(1, 17)]
        elif kind == 4:
            raw[at:at] = raw[at : at + draw.randrange(1, 33)]
        elif kind == 5:
            begin = draw.randrange(len(other) + 1)
            raw[at:at] = other[begin : begin + draw.randrange(1, 65)]
        else:
            _edit_digits(raw, draw)
    if not raw.startswith(b"GGUF") and draw.random() < 0.7:
        # A safetensors header whose length is right again, so that its content is looked at.
        end = raw.rfind(b"}", 8, 4096) + 1
        raw[:8] = max(end - 8, 0).to_bytes(8, "little")
    return bytes(raw[:LONGEST])


def _edit_digits(raw: bytearray, draw: random.Random) -> None:
    """Another digit, where the input holds text."""
    places = [i for i, byte in enumerate(raw[:4096]) if 0x30 <= byte <= 0x39]
    if places:
        raw[draw.choice(places)] = draw.choice(b"0123456789-.e")


class Run:
    """Counts what a target says, and keeps what breaks it."""

    def __init__(self, target: Callable[[bytes, Path], str], kept: Path) -> None:
        self.target, self.kept = target, kept
        self.inputs = self.accepted = self.failures = 0
        self.slowest = 0.0
        self.said: Counter[str] = Counter()
        memory = Path("/dev/shm")
        self.scratch = Path(
            tempfile.mkdtemp(prefix="fuzz-", dir=memory if memory.exists() else None)
        )

    def once(self, data: bytes) -> None:
        """Give one input to the target."""
        self.inputs += 1
        started = time.perf_counter()
        try:
            said = self.target(data, self.scratch / "input")
            self.accepted += said == "accepted"
            self.said[said] += 1
        except Exception:
            self.failures += 1
            self.kept.mkdir(parents=True, exist_ok=True)
            (self.kept / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
            raise
        finally:
            self.slowest = max(self.slowest, time.perf_counter() - started)

    def summary(self) -> dict[str, object]:
        """Figures of the run; peak memory in MB."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return {
            "inputs": self.inputs,
            "accepted": self.accepted,
            "failures": self.failures,
            "slowest_ms": round(1000 * self.slowest, 1),
            "peak_mb": round(peak),
            "said": dict(sorted(self.said.items())),
        }


def plain(run: Run, seeds: list[bytes], seconds: float, seed: int, edit: Edit = mutated) -> None:
    """Mutate seeds, and every accepted mutant again, until the time is over."""
    draw = random.Random(seed)
    pool, end = list(seeds), time.monotonic() + seconds
    while time.monotonic() < end:
        data = edit(draw.choice(pool), draw.choice(pool), draw)
        before = run.accepted
        try:
            run.once(data)
        except Exception as error:
            print(f"FAILURE {type(error).__name__}: {error}", file=sys.stderr)
        if run.accepted > before:
            pool[len(seeds) :] = [*pool[len(seeds) :], data][-2000:]


def guided(name: str, run: Run, seconds: float, corpus: Path) -> None:
    """Hand over to atheris, which ends the process; figures lie beside the kept inputs."""
    import atheris

    figures = run.kept.with_suffix(".json")
    figures.parent.mkdir(parents=True, exist_ok=True)

    def one(data: bytes) -> None:
        run.once(data)
        if run.inputs % 1000 == 0:
            # The engine ends the process by itself, so the figures are written as they come.
            figures.write_text(json.dumps(run.summary()) + "\n")

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        draw = random.Random(seed)
        if draw.random() < 0.5:
            return atheris.Mutate(data, most)
        return mutated(data, data, draw)[:most]

    limits = (f"-max_total_time={int(seconds)}", f"-max_len={LONGEST}", "-rss_limit_mb=3000")
    arguments = [sys.argv[0], *limits, "-print_final_stats=1", str(corpus), str(SEEDS / name)]
    atheris.Setup(arguments, one, custom_mutator=mutate)
    atheris.Fuzz()


def main() -> int:
    """Run one target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=("safetensors", "gguf", *MODELS))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plain", action="store_true", help="no coverage, no atheris")
    parser.add_argument("--kept", type=Path, default=ROOT / "reports" / "fuzz")
    given = parser.parse_args()
    if given.target in MODELS:
        return models(given.target, given.seconds, given.seed, given.kept)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)) if given.plain else None
    run = Run(_target(given.target, instrumented=not given.plain), given.kept / given.target)
    seeds = [path.read_bytes() for path in sorted((SEEDS / given.target).iterdir())]
    if given.plain:
        plain(run, seeds, given.seconds, given.seed)
        shutil.rmtree(run.scratch, ignore_errors=True)
        print(json.dumps(run.summary()))
        return 1 if run.failures else 0
    corpus = given.kept / f"{given.target}-corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    guided(given.target, run, given.seconds, corpus)
    return 0


def models(name: str, seconds: float, seed: int, kept: Path) -> int:
    """Lies in the fields of `.slm` files and sets, without atheris."""
    from trlm_lab.testing.slm_parsers import MUTATORS, TARGETS, set_seeds, slm_seeds

    if name != "wasm":  # wasmtime reserves more addresses than it uses
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    run = Run(TARGETS[name], kept / name)
    seeds = set_seeds(run.scratch) if name == "slmset" else slm_seeds()
    plain(run, seeds, seconds, seed, MUTATORS[name])
    shutil.rmtree(run.scratch, ignore_errors=True)
    print(json.dumps(run.summary() | {"seconds": round(seconds)}))
    return 1 if run.failures else 0


def _target(name: str, *, instrumented: bool) -> Callable[[bytes, Path], str]:
    if instrumented:
        import atheris

        with atheris.instrument_imports(include=["trlm_lab"]):
            from trlm_lab.testing.container_parsers import TARGETS
    else:
        from trlm_lab.testing.container_parsers import TARGETS
    return TARGETS[name]


if __name__ == "__main__":
    sys.exit(main())
