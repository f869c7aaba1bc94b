"""What a model card states: assignments in its code and front matter, control tokens, turns.

The card is plain text here: nothing of it is run, and its prose is not understood.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from trlm_lab.describe.card_front import read_front
from trlm_lab.describe.card_text import (
    CODE,
    PROSE,
    CardText,
    Region,
    card_paths,
    front_matter,
    inline_code,
    read_card_text,
    regions,
)
from trlm_lab.describe.card_values import CONTROL, Assignment, Item, assignments
from trlm_lab.describe.receipt import Declaration

#: No card in use comes near; beyond it a card is no evidence, and a note says so.
MAX_STATEMENTS = 200
ROLE_WORDS = "user|assistant|system|model|tool|developer|human"

_MAX_QUOTE, _AROUND = 160, 40
_ROLE = re.compile(rf"(?:{ROLE_WORDS})\b")
_OWN_TURN = re.compile(rf"<\|(?:{ROLE_WORDS})\|>")
#: In prose these are strikethrough of HTML.
_STRIKE = frozenset({"<s>", "</s>"})


@dataclass(frozen=True)
class Statement:
    """An assignment, where it stands and in what words; `sha256` is that of all of them."""

    file: str
    line: int
    quote: str
    name: str
    items: tuple[Item, ...]
    whole: bool
    sha256: str

    @property
    def declaration(self) -> Declaration:
        """The form that the receipt holds."""
        return Declaration(self.file, f"line {self.line}", self.quote)


@dataclass(frozen=True)
class Marker:
    """A control token by its first place; `turn`: in an example that shows a whole turn."""

    file: str
    line: int
    quote: str
    text: str
    turn: bool

    @property
    def declaration(self) -> Declaration:
        """The form that the receipt holds."""
        return Declaration(self.file, f"line {self.line}", self.quote)


@dataclass(frozen=True)
class ModelCard:
    """Statements and markers of every card file.

    `problems` are (place, detail), `digests` (file, SHA-256 of what was read of it).
    """

    name: str = ""
    licence: str = ""
    statements: tuple[Statement, ...] = ()
    markers: tuple[Marker, ...] = ()
    problems: tuple[tuple[str, str], ...] = ()
    digests: tuple[tuple[str, str], ...] = ()


def read_card(root: Path) -> ModelCard:
    """The cards of a model directory as one; an empty one where there is none.

    Raises:
        NotPlainFileError: a card is a pipe, device or directory.
    """
    cards = [parse_card(read_card_text(path)) for path in card_paths(root)]
    named = next((card for card in cards if card.licence), cards[0] if cards else ModelCard())
    return ModelCard(
        named.name,
        named.licence,
        tuple(s for card in cards for s in card.statements),
        tuple(m for card in cards for m in card.markers),
        tuple(p for card in cards for p in card.problems),
        tuple(d for card in cards for d in card.digests),
    )


def parse_card(card: CardText) -> ModelCard:
    """The statements of one card."""
    text, name = card.text, card.name
    start, end = front_matter(text)
    front = read_front(text, start, end)
    parts = regions(text, end)
    spans = [s for part in parts if part.kind == PROSE for s in inline_code(text, part)]
    code = [part for part in parts if part.kind == CODE]
    assigned = [*front.assigned, *_distinct(text, [*code, *spans])]
    shown = [Region(*widget, CODE) for widget in front.widgets]
    markers = _markers(text, [*shown, *parts], spans)
    problems = [(name, card.problem)] if card.problem else []
    problems += [(f"{name}, line {_line(text, at)}", detail) for at, detail in front.problems]
    if max(len(assigned), len(markers)) > MAX_STATEMENTS:
        detail = f"more than {MAX_STATEMENTS} statements; the rest is not compared"
        problems.append((name, detail))
    return ModelCard(
        name,
        front.licence,
        tuple(_statement(name, text, a) for a in assigned[:MAX_STATEMENTS]),
        tuple(_marker(name, text, *m) for m in list(markers.items())[:MAX_STATEMENTS]),
        tuple(problems),
        ((name, card.sha256),),
    )


def _distinct(text: str, parts: list[Region]) -> list[Assignment]:
    """Each assignment once, in the order of the card; one more than are kept at most."""
    seen: dict[tuple[str, tuple[Item, ...]], Assignment] = {}
    for part in sorted(parts, key=lambda p: p.start):
        for one in assignments(text, part.start, part.end):
            seen.setdefault((one.name, one.items), one)
            if len(seen) > MAX_STATEMENTS:
                return list(seen.values())
    return list(seen.values())


def _markers(text: str, parts: list[Region], spans: list[Region]) -> dict[str, tuple[int, bool]]:
    """Each control token with its first place, in a turn if it ever stands in one."""
    found: dict[str, tuple[int, bool]] = {}
    # Inline code is part of a sentence: it names tokens, and shows no conversation.
    blocks = [(part, part.kind == CODE and _shows_a_turn(text, part)) for part in parts]
    for part, turn in [*blocks, *((span, False) for span in spans)]:
        for match in CONTROL.finditer(text, part.start, part.end):
            if part.kind == PROSE and match[0] in _STRIKE:
                continue
            if match[0] not in found or (turn and not found[match[0]][1]):
                found[match[0]] = (match.start(), turn)
        if len(found) > MAX_STATEMENTS:
            break
    return found


def _shows_a_turn(text: str, part: Region) -> bool:
    """A control token right before a role word, or one that is a role, or both of `[INST]`."""
    seen = set()
    for match in CONTROL.finditer(text, part.start, part.end):
        seen.add(match[0] if match[0] in ("[INST]", "[/INST]") else "")
        if _ROLE.match(text, match.end(), part.end) or _OWN_TURN.match(match[0]):
            return True
    return {"[INST]", "[/INST]"} <= seen


def _statement(name: str, text: str, one: Assignment) -> Statement:
    words = text[one.start : one.end]
    digest = hashlib.sha256(words.encode("utf-8")).hexdigest()
    quote = _short(" ".join(words.split()))
    return Statement(name, _line(text, one.start), quote, one.name, one.items, one.whole, digest)


def _marker(name: str, text: str, token: str, place: tuple[int, bool]) -> Marker:
    at, turn = place
    before = text[max(0, at - _AROUND) : at].rpartition("\n")[2]
    after = text[at : at + len(token) + _AROUND].partition("\n")[0]
    return Marker(name, _line(text, at), (before + after).strip(), token, turn)


def _short(quote: str) -> str:
    """A quotation in full or by its hash: a changed one is another declaration."""
    if len(quote) <= _MAX_QUOTE:
        return quote
    digest = hashlib.sha256(quote.encode("utf-8")).hexdigest()
    return f"{quote[:_MAX_QUOTE]}… ({len(quote)} characters, SHA-256 {digest})"


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
