"""The `trlm` command: thin functions over the same calls that the notebooks make."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line; exit status as docs/cli says."""
    # NumPy's BLAS serves the float64 reference with small products, often beside another engine;
    # there its threads wait for each other and a second one made it six times slower.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from trlm_lab.flows.cli.app import run
    except KeyboardInterrupt:
        # Half a second of imports, before anything is begun that could be gone on with.
        print("trlm: interrupted", file=sys.stderr)
        sys.exit(130)
    sys.exit(run(sys.argv[1:]))
