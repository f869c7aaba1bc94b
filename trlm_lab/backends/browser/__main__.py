"""Serves the page by hand: `python -m trlm_lab.backends.browser [FILE.slm]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from trlm_lab.backends.browser.hand_server import serve
from trlm_lab.errors import TrlmError


def main() -> int:
    """The command line of this package."""
    parser = argparse.ArgumentParser(prog="python -m trlm_lab.backends.browser")
    parser.add_argument("artifact", nargs="?", type=Path, help="a .slm that the page offers")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--open", action="store_true", help="open the default browser there")
    arguments = parser.parse_args()
    try:
        serve(arguments.artifact, port=arguments.port, open_browser=arguments.open)
    except TrlmError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
