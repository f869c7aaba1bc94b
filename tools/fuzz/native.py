"""Fuzz the runtime's reader of `.slm` natively: `native.py --seconds N [--valgrind]`.

Compiles the crate and `native/fuzz.rs` with debug assertions and overflow checks, writes the sound
files of `trlm_lab.testing.sound_containers` as seeds, and runs. A stable compiler has no
sanitizers; `--valgrind` runs the same program under memcheck, where any finding is a failure.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from trlm_lab.testing.sound_containers import (
    LARGE,
    RECIPES,
    SLM1_FILES,
    slm1_file,
    slm2_file,
)

ROOT = Path(__file__).resolve().parents[2]
CHECKS = ("--edition", "2021", "-C", "opt-level=2", "-C", "debug-assertions", "-C",
          "overflow-checks", "-g")  # fmt: skip
MEMCHECK = ("valgrind", "--error-exitcode=9", "--leak-check=no", "--quiet")


def built(work: Path) -> Path:
    """The program, compiled into `work`."""
    crate, program = work / "libtrlm_ref.rlib", work / "fuzz"
    source = ROOT / "kernels_ref" / "src" / "lib.rs"
    library = ["rustc", *CHECKS, "--crate-name", "trlm_ref", "--crate-type", "rlib"]
    subprocess.run([*library, "-o", crate, source], check=True)
    harness = Path(__file__).parent / "native" / "fuzz.rs"
    linked = ["rustc", *CHECKS, "--extern", f"trlm_ref={crate}", "-o", program, harness]
    subprocess.run(linked, check=True)
    return program


def main() -> int:
    """Build, write the seeds, run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--valgrind", action="store_true")
    parser.add_argument("--kept", type=Path, default=ROOT / "reports" / "fuzz" / "native")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        seeds = work / "seeds"
        seeds.mkdir()
        for name in set(RECIPES) - set(LARGE):
            (seeds / f"slm2-{name}").write_bytes(slm2_file(name))
        for name in SLM1_FILES:
            (seeds / f"slm1-{name}").write_bytes(slm1_file(name))
        prefix = MEMCHECK if given.valgrind else ()
        arguments = [built(work), seeds, given.kept, str(given.seconds), str(given.seed)]
        done = subprocess.run([*prefix, *arguments], check=False)
    return done.returncode or (1 if given.kept.exists() and any(given.kept.iterdir()) else 0)


if __name__ == "__main__":
    sys.exit(main())
