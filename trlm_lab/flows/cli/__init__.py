"""The `trlm` command: thin functions over the same calls that the notebooks make."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; exit status as docs/cli says."""
    from trlm_lab.flows.cli.app import run

    sys.exit(run(sys.argv[1:]))
