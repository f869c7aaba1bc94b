#!/usr/bin/env python3
"""Every chat template inside archives or folders, compiled and held against the source's renderer.

python tools/template_census.py [--engines native,wasm] ARCHIVE_OR_FOLDER …

Exit status 1 where any byte differs. The engines of the option render the compiled bytes too, and
must give the same text with the same owners, or the same refusal at the same line.

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


def judged(source: str, engines: dict[str, Any]) -> Counter[str]:
    """same, refused by both, or different; over all conversations."""
    ir, counts = compile_template(source).ir, Counter[str]()
    runtimes = [start(ir.encoded) for start in engines.values()]
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
        whole = answer(lambda given=given: render(ir, given))
        for name, runtime in zip(engines, runtimes, strict=True):
            same = answer(lambda given=given, runtime=runtime: runtime.render(given)) == whole
            counts[f"{name} same" if same else "different"] += 1
    for runtime in runtimes:
        runtime.forget()
    return counts


def answer(make: Any) -> tuple[Any, ...]:
    """Text and owners, or code and place."""
    try:
        made = make()
    except TrlmError as error:
        return ("refused", error.code, error.where)
    return ("text", made.text, made.ownership)


def starter(engine: str) -> Any:
    """From compiled bytes to a renderer, all in one host."""
    from trlm_lab.backends import abi_chat, abi_operators

    host = {
        "native": abi_operators.native_operators,
        "wasm": abi_operators.wasmtime_operators,
    }[engine]().host
    return lambda compiled: abi_chat.ChatRuntime(host, compiled)


def main(arguments: list[str]) -> int:
    """A line a template, and the sums."""
    sums: Counter[str] = Counter()
    names = arguments[1].split(",") if arguments[:1] == ["--engines"] else []
    engines = {name: starter(name) for name in names}
    arguments = arguments[2:] if names else arguments
    for name, source in itertools.chain.from_iterable(found(Path(a)) for a in arguments):
        try:
            counts = judged(source, engines)
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
