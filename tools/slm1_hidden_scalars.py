"""What decoding shows as an escape, for the tokenizers of SLM1 in the Rust runtime.

python -m tools.slm1_hidden_scalars [--check]

BTOK and BPE1 hold no Unicode data; the runtime writes this set into the TOK2 that it makes of them.
It is the source engine's own, as in every TOK2 of profile 1. With `--check` the committed file is
compared, and exit status 1 says that it differs.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.chat_unicode_tables import table
from trlm_lab.text.text_sets import text_sets

FILE = Path(__file__).parents[1] / "kernels_ref" / "src" / "text" / "slm1" / "hidden.rs"
_HEAD = """\
//! What decoding in the mode diagnostic shows as an escape.
//!
//! Made by `tools/slm1_hidden_scalars.py`; do not edit.

"""
_WHAT = "Controls, formats, unassigned scalars, spaces but the plain one. Ranges, both ends inside."


def source() -> str:
    """`hidden.rs`."""
    ranges = text_sets().hidden.ranges
    rows = (f"(0x{low:x}, 0x{high:x})" for low, high in ranges)
    return _HEAD + table("HIDDEN", _WHAT, "(u32, u32)", rows)


def main(arguments: list[str]) -> int:
    """Write or compare."""
    if arguments == ["--check"]:
        return int(FILE.read_text() != source())
    FILE.write_text(source())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
