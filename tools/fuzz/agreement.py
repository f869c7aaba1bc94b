"""Three readers over damaged `.slm` files: `agreement.py --files 10000 [--seed 1] [--memory]`.

Prints how often each rule was broken, and every file of which the readers speak differently. Two
processes share the work where `--processes 2` is given.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from trlm_lab.backends.build_native import built, wanted_build
from trlm_lab.backends.native import NativeHost
from trlm_lab.testing.container_agreement import Tally, judge

SHARE = 500


def part(low: int, high: int, seed: int, memory: bool) -> Tally:
    """A share of the files."""
    return judge(NativeHost(built(wanted_build(()))), range(low, high), seed=seed, memory=memory)


def main() -> int:
    """Judge, add up, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--memory", action="store_true", help="trace what the Python readers hold")
    given = parser.parse_args()
    shares = [
        (low, min(low + SHARE, given.files), given.seed, given.memory)
        for low in range(0, given.files, SHARE)
    ]
    with ProcessPoolExecutor(given.processes) as pool:
        tallies = list(pool.map(part, *zip(*shares, strict=True)))
    rules: Counter[str] = sum((tally.rules for tally in tallies), Counter())
    for code, count in sorted(rules.items()):
        print(f"{count:6d}  {code or 'accepted by all'}")
    sealed, apart = sum(t.sealed for t in tallies), [line for t in tallies for line in t.apart]
    print(f"{given.files} files, {sealed} sealed again, {len(apart)} judged apart")
    print(f"slowest file {max(t.slowest_s for t in tallies):.2f} s of processor time")
    if given.memory:
        most = max(t.most_memory for t in tallies)
        print(f"most memory: {most:.3f} of four times the file and 16 MiB")
    print("\n".join(apart[:200]))
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
