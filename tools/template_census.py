#!/usr/bin/env python3
"""Every chat template inside archives or folders, compiled and held against the source's renderer.

python tools/template_census.py ARCHIVE_OR_FOLDER …   exit status 1 where any byte differs

Templates are files `*.jinja`, or the field `chat_template` of a `tokenizer_config.json`. Nothing
of an archive is imported or run; the data stay where they are (docs/templates.md names them).
"""

from __future__ import annotations

import itertools
import json
import re
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.chat.conversations import CONVERSATIONS, TOOLS, outcome
from trlm_lab.chat import Conversation, compile_template, render, render_source
from trlm_lab.errors import TrlmError

VARIABLES: tuple[dict[str, Any], ...] = (
    {"bos_token": "<s>", "eos_token": "</s>"},
    {
        "bos_token": "",
        "eos_token": "<e>",
        "strftime_now": "01 Jan 2025",
        "enable_thinking": False,
        "functions": "[]",
        "datetime": "today",
    },
)
PLAIN_TOOLS = [
    {
        "name": "weather",
        "description": "d",
        "parameters": {"properties": {"city": {"type": "string", "description": "c"}}},
    }
]
MORE: dict[str, list[Any]] = {
    "spaces at the end": [{"role": "user", "content": "a  \n\n"}],
    "sharp s": [{"role": "user", "content": "ß ŉ ǅ"}, {"role": "assistant", "content": ""}],
    "long talk": [{"role": r, "content": r[0]} for r in ("user", "assistant") * 8],
    "images": [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "?"}]}],
    "thinking": [{"role": "user", "content": "q"}, {"role": "assistant", "thinking": "t"}],
    "role only": [{"role": "system"}, {"role": "user", "content": "x"}],
}


def found(path: Path) -> Iterator[tuple[str, str]]:
    """Names and sources in a folder or a tar archive."""
    if path.is_dir():
        files = [(str(p), p.read_bytes()) for p in sorted(path.rglob("*")) if wanted(p.name)]
    else:
        with tarfile.open(path) as archive:
            members = [m for m in archive.getmembers() if m.isfile() and wanted(m.name)]
            files = [(m.name, archive.extractfile(m).read()) for m in members]  # type: ignore[union-attr]
    for name, data in files:
        yield from sources(f"{path.name}:{Path(name).name}", data.decode())


def wanted(name: str) -> bool:
    """Templates and the documents that hold one."""
    return name.endswith(".jinja") or re.search(r"tokenizer_?config\.json$", name, re.I) is not None


def sources(name: str, text: str) -> Iterator[tuple[str, str]]:
    """One or several templates of a file."""
    if name.endswith(".jinja"):
        yield name, text
        return
    held = json.loads(text).get("chat_template")
    rows = held if isinstance(held, list) else [{"name": "", "template": held}] if held else []
    for row in rows:
        yield f"{name}#{row['name']}", row["template"]


def judged(source: str) -> Counter[str]:
    """same, refused by both, or different; over all conversations."""
    ir, counts = compile_template(source).ir, Counter[str]()
    talks = {**CONVERSATIONS, **MORE}
    choices = itertools.product(
        talks.values(), (False, True), (None, TOOLS, PLAIN_TOOLS), VARIABLES
    )
    for messages, prompt, tools, variables in choices:
        given = Conversation(messages, prompt, tools=tools, variables=variables)
        ours = outcome(lambda given=given: render(ir, given).text)
        theirs = outcome(lambda given=given: render_source(source, given))
        if ours[0] != theirs[0] or (ours[0] == "text" and ours[1] != theirs[1]):
            counts["different"] += 1
        else:
            counts["same" if ours[0] == "text" else "refused by both"] += 1
    return counts


def main(arguments: list[str]) -> int:
    """A line a template, and the sums."""
    sums: Counter[str] = Counter()
    for name, source in itertools.chain.from_iterable(found(Path(a)) for a in arguments):
        try:
            counts = judged(source)
        except TrlmError as error:
            sums["refused"] += 1
            print(f"{name}: {error}")
            continue
        sums["different" if counts["different"] else "equal"] += 1
        print(f"{name}: {dict(counts)}")
    print(dict(sums))
    return int(bool(sums["different"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
