"""What a model card shows: ids of its code, and rendered conversations in its fenced blocks.

Only what can be read off without understanding prose: an assignment of a special token, and the
control tokens of an example that shows a whole turn.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from trlm_lab.base.plain_file import open_plain

MAX_BYTES = 4 << 20
NAMES = ("README.md", "README", "README.txt", "readme.md")

_FENCE = re.compile(r"^(```|~~~)")
_ID = re.compile(r"\b(bos|eos|pad|unk)_token_id[\"']?\s*[=:]\s*(\[[0-9,\s]{1,200}\]|[0-9]{1,10})")
_TEXT = re.compile(r"\b(bos|eos|pad|unk)_token[\"']?\s*[=:]\s*[\"']([^\"'\n]{1,80})[\"']")
_CONTROL = re.compile(r"<\|[^|<>\s]{1,60}\|>|</?s>|<(?:start|end)_of_turn>|\[/?INST\]")
_ROLE = re.compile(r"\b(user|assistant|system|model)\b")
_LICENCE = re.compile(r"^license:\s*[\"']?([A-Za-z0-9.+_-]{1,60})", re.M)


@dataclass(frozen=True)
class ModelCard:
    """Statements with their line: (line, role, ids or text), and controls of shown turns."""

    name: str = ""
    ids: tuple[tuple[int, str, tuple[int, ...]], ...] = ()
    texts: tuple[tuple[int, str, str], ...] = ()
    shown: dict[str, int] = field(default_factory=dict)
    licence: str = ""


def read_card(root: Path) -> ModelCard:
    """The card of a model directory; an empty one where there is none."""
    path = next((root / name for name in NAMES if (root / name).exists()), None)
    if path is None:
        return ModelCard()
    with open_plain(path) as stream:
        text = stream.read(MAX_BYTES).decode("utf-8", "replace")
    return parse_card(path.name, text)


def parse_card(name: str, text: str) -> ModelCard:
    """The statements of a card."""
    ids: list[tuple[int, str, tuple[int, ...]]] = []
    texts: list[tuple[int, str, str]] = []
    shown: dict[str, int] = {}
    for first, block in _blocks(text):
        for number, line in enumerate(block, first):
            ids += [(number, m[1], _numbers(m[2])) for m in _ID.finditer(line)]
            texts += [(number, m[1], m[2]) for m in _TEXT.finditer(line)]
        whole = "\n".join(block)
        if _shows_a_turn(whole):
            for number, line in enumerate(block, first):
                for control in _CONTROL.findall(line):
                    shown.setdefault(control, number)
    front = text.split("\n---", 1)[0] if text.startswith("---\n") else ""
    licence = _LICENCE.search(front)
    return ModelCard(name, tuple(ids), tuple(texts), shown, licence[1].lower() if licence else "")


def _shows_a_turn(block: str) -> bool:
    """A control token right before a role word: a rendered turn, not a list of tokens."""
    return any(_ROLE.match(block, match.end()) for match in _CONTROL.finditer(block))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(sorted({int(digits) for digits in re.findall(r"[0-9]+", text)}))


def _blocks(text: str) -> list[tuple[int, list[str]]]:
    """Fenced blocks with the number of their first line; an unclosed one runs to the end."""
    blocks: list[tuple[int, list[str]]] = []
    inside: list[str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if _FENCE.match(line.strip()):
            if inside is None:
                inside = []
                blocks.append((number + 1, inside))
            else:
                inside = None
        elif inside is not None:
            inside.append(line)
    return blocks
