#!/usr/bin/env python3
"""Read llama.cpp's character tables out of its own source and write them as one module.

python tools/llama_cpp_tables.py           write trlm_lab/text/ggml/table_data.py
python tools/llama_cpp_tables.py --check   compare; exit status 1 where they differ

The source is src/unicode-data.cpp, which tools/fetch_tokenizers.py brings (llama.cpp).
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
import zlib
from pathlib import Path
from typing import Any

from trlm_lab.acquire.tokenizer_data import tokenizer_packages

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "trlm_lab" / "text" / "ggml" / "table_data.py"
MODULE = '''"""Character tables of llama.cpp; written by tools/llama_cpp_tables.py.

Source of facts: src/unicode-data.cpp (MIT licence) in llama-cpp-python 0.3.36.
"""

#: Of the JSON form, keys sorted, no spaces.
SHA256 = "{digest}"
PACKED = (
{packed}
)
'''


def list_of(text: str, name: str) -> list[tuple[int, ...]]:
    """The rows of one initializer list, as numbers."""
    start = text.index(f" {name} = {{")
    body = text[text.index("\n", start) : text.index("\n};", start)]
    rows = re.findall(r"\{?(0x[0-9A-Fa-f]+(?:, 0x[0-9A-Fa-f]+)*)\}?,", body)
    return [tuple(int(number, 16) for number in row.split(", ")) for row in rows]


def tables(text: str) -> dict[str, Any]:
    """Flags in runs, white space, lower case, and first letters of decompositions."""
    return {
        "flags": list_of(text, "unicode_ranges_flags"),
        "space": sorted(code for (code,) in list_of(text, "unicode_set_whitespace")),
        "lower": list_of(text, "unicode_map_lowercase"),
        "nfd": list_of(text, "unicode_ranges_nfd"),
    }


def main(arguments: list[str]) -> int:
    """Write or compare."""
    source = tokenizer_packages()["llama.cpp"].path("src/unicode-data.cpp")
    found = tables(source.read_text(encoding="utf-8"))
    form = json.dumps(found, sort_keys=True, separators=(",", ":")).encode()
    packed = base64.b85encode(zlib.compress(form, 9)).decode()
    lines = [f'    "{packed[at : at + 92]}"' for at in range(0, len(packed), 92)]
    digest = hashlib.sha256(form).hexdigest()
    module = MODULE.format(digest=digest, packed="\n".join(lines))
    if "--check" in arguments:
        same = OUT.read_text(encoding="utf-8") == module
        print("the tables are those of the source" if same else "the tables differ")
        return int(not same)
    OUT.write_text(module, encoding="utf-8")
    print(f"{OUT.relative_to(ROOT)}: {len(module)} bytes, {[len(found[k]) for k in found]} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
