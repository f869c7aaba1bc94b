"""One tokenizer engine held against another on generated texts: ids, and offsets if both have any.

Text number i of a shard depends on the seed, the shard and i alone, so that a shard can be run
again anywhere. Of a text on which the engines differ the smallest one is sought that still does,
and the first stage is named in which they part.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from trlm_lab.errors import Utf8Error
from trlm_lab.flows.exactness.stages import Sides, answer
from trlm_lab.flows.exactness.text_generators import Pool, equal_texts, ill_formed, long_text, mixed
from trlm_lab.flows.tokenizer_requests import Request, Row, TokenizerEngine
from trlm_lab.text import Tokenizer, text_of
from trlm_lab.text.sentencepiece import SentencePieceTokenizer

#: Of the texts, one in ten has more than 200 bytes, and one in twenty is no text at all.
_LONG, _ILL_FORMED = 10, 20
_POOL = 4000
_TRIES = 3000
_PLAIN = "a"


@dataclass(frozen=True)
class Mismatch:
    """A text on which the engines differ, and the smallest one found from it."""

    index: int
    generator: str
    text: str
    smallest: str
    stage: str
    candidate: Any
    source: Any

    def to_map(self) -> Row:
        """JSON form."""
        return dict(vars(self))


@dataclass
class Shard:
    """What one run over one shard found; `digest` is of all ids of the source, in order."""

    seed: int
    number: int
    texts: int = 0
    refused: int = 0
    bytes: int = 0
    long: int = 0
    ids: int = 0
    generators: Counter[str] = field(default_factory=Counter)
    mismatches: list[Mismatch] = field(default_factory=list)
    digest: str = ""

    def to_map(self) -> Row:
        """JSON form."""
        rows = [one.to_map() for one in self.mismatches]
        return {**vars(self), "generators": dict(self.generators), "mismatches": rows}


def pool_of(tokenizer: Tokenizer | SentencePieceTokenizer, seed: int) -> Pool:
    """Texts of tokens, as they would stand in a text, and of added tokens."""
    added = tokenizer.added if isinstance(tokenizer, Tokenizer) else ()
    draw = Random(f"{seed}:pool")
    if isinstance(tokenizer, Tokenizer):
        ids = sorted(tokenizer.model.ids.values())
    else:
        ids = list(range(len(tokenizer.file.pieces)))
    chosen = draw.sample(ids, min(_POOL, len(ids)))
    texts = [tokenizer.decode([number]).text for number in chosen]
    texts += [tokenizer.token_text(number) or "" for number in chosen[: _POOL // 8]]
    return Pool([text for text in texts if text], [one.content for one in added], equal_texts())


def run_shard(
    candidate: TokenizerEngine,
    source: TokenizerEngine,
    pool: Pool,
    shard: Shard,
    count: int,
    reference: TokenizerEngine | None = None,
) -> Shard:
    """Run `count` texts and fill in the shard; the reference helps to name stages."""
    sides = Sides(candidate, source, reference)
    digest = hashlib.sha256()
    for index in range(count):
        draw = Random(f"{shard.seed}:{shard.number}:{index}")
        if index % _ILL_FORMED == _ILL_FORMED - 1:
            shard.refused += _refused(ill_formed(draw, pool), index, shard)
            continue
        name, text = (long_text if index % _LONG == 0 else mixed)(draw, pool)
        special = draw.random() < 0.25
        size = len(text.encode())
        shard.texts += 1
        shard.bytes += size
        shard.long += size > 200
        shard.generators.update(name.split("+"))
        ours, theirs = _answers(sides, text, special)
        digest.update(repr(theirs.get("ids")).encode())
        shard.ids += len(theirs.get("ids", ()))
        if differ(ours, theirs):
            shard.mismatches.append(_mismatch(sides, index, name, text, special))
    shard.digest = digest.hexdigest()
    return shard


def differ(ours: Row, theirs: Row) -> bool:
    """Whether ids differ, or offsets that both have, or one refuses what the other takes."""
    keys = [key for key in ("ids", "offsets", "error") if key in ours or key in theirs]
    shared = [key for key in keys if key != "offsets" or (key in ours and key in theirs)]
    return any(ours.get(key) != theirs.get(key) for key in shared)


def _answers(sides: Sides, text: str, special: bool) -> tuple[Row, Row]:
    request = Request(text, add_special_tokens=special)
    return answer(sides.candidate, request), answer(sides.source, request)


def _refused(data: bytes, index: int, shard: Shard) -> int:
    """Ill-formed UTF-8 is refused at the byte at which Python's own decoder stops."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        expected = error.start
    try:
        text_of(data)
    except Utf8Error as refusal:
        if refusal.facts["index"] == expected:
            return 1
    found = Mismatch(index, "ill_formed", data.hex(), data.hex(), "UTF-8", None, expected)
    shard.mismatches.append(found)
    return 0


def _mismatch(sides: Sides, index: int, name: str, text: str, special: bool) -> Mismatch:
    smallest = shrunk(text, lambda shorter: differ(*_answers(sides, shorter, special)))
    ours, theirs = _answers(sides, smallest, special)
    stage = sides.first_stage(smallest, special=special)
    return Mismatch(index, name, text, smallest, stage, ours, theirs)


def shrunk(text: str, fails: Callable[[str], bool]) -> str:
    """The smallest text found that still fails: parts left out, then scalars made plain."""
    left = _TRIES
    size = max(1, len(text) // 2)
    while size:
        at = 0
        while at < len(text) and left:
            shorter = text[:at] + text[at + size :]
            left -= 1
            if shorter != text and fails(shorter):
                text = shorter
            else:
                at += size
        size //= 2
    for at, char in enumerate(text):
        plain = text[:at] + _PLAIN + text[at + 1 :]
        if char != _PLAIN and left and fails(plain):
            text = plain
        left -= left > 0
    return text
