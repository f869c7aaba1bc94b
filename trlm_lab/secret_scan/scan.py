"""Search the texts inside evidence: plain text, JSON, notebooks and canonical CBOR."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from trlm_lab.secret_scan.contents import Together, contents, record, strings, together
from trlm_lab.secret_scan.disguise import readings, without_pictures
from trlm_lab.secret_scan.innocent import is_in_public_address, is_named_id, is_placeholder
from trlm_lab.secret_scan.rules import PERSONAL, rules

_ID = re.compile(r"(?<![0-9a-zA-Z])[0-9a-f]{64}(?![0-9a-zA-Z])")
#: A whole text that is a Git id, or an `hf:` source pinned to one.
_GIT = re.compile(r"(?:hf:[^@\s]+@)?([0-9a-f]{40})\Z")
_FREE = frozenset({"text", "prompt", "content"})
#: An engine that is a command line, which a person wrote.
_COMMAND = "process:"
#: No rule matches anything shorter.
_SHORTEST = 6


@dataclass(frozen=True)
class SecretFinding:
    """A rule, the place, and the text itself only as its beginning and length."""

    rule: str
    where: str
    line: int
    hint: str


def scan_text(
    text: str, *, where: str, known: frozenset[str] = frozenset()
) -> Iterator[SecretFinding]:
    """Every match of every rule in a text.

    Args:
        text: what to search.
        where: names the text in the findings.
        known: texts that are no secrets: the content ids of the evidence itself.
    """
    if text in known:
        return
    place, key = _shown(where), where.rpartition("/")[2]
    for number, line in enumerate(without_pictures(text).splitlines(), 1):
        if len(line) < _SHORTEST:
            continue
        for name, match in _matches(line):
            if match.lower() not in known and not _is_innocent(name, match, line, key):
                yield SecretFinding(name, place, number, _hint(match))


def _is_innocent(name: str, match: str, line: str, key: str) -> bool:
    """Whether what a rule found is none after all; of personal data nothing is."""
    if name in PERSONAL:
        return False
    by_chance = name.endswith("Entropy")
    if by_chance and (is_named_id(match, line, key) or is_in_public_address(match, line)):
        return True
    return is_placeholder(match)


@lru_cache(maxsize=1 << 16)
def _matches(line: str) -> tuple[tuple[str, str], ...]:
    """(rule, match) of one line; records repeat their keys and names many times."""
    found = (
        (name, match)
        for reading in readings(line)
        for name, rule in rules().items()
        for match in rule(reading)
        if match
    )
    return tuple(dict.fromkeys(found))


def _shown(where: str) -> str:
    """A place without what is secret in the keys that lead to it."""
    for name, match in _matches(where):
        if not name.endswith("Entropy"):
            where = where.replace(match, _hint(match))
    return where


def _hint(match: str) -> str:
    return f"{match[:4]}… ({len(match)} characters)"


def content_ids(data: bytes) -> frozenset[str]:
    """The SHA-256 ids in the texts of a canonical record, and the Git ids of a Hub's tree.

    Texts under the keys of `_FREE` are what people wrote, and never count as ids.
    """
    document = record(data)
    if document is None:
        return frozenset()
    found = list(strings(document))
    texts = [
        t
        for place, t in found
        if place.rpartition("/")[2] not in _FREE and not t.startswith(_COMMAND)
    ]
    named = [t for place, t in found if place.startswith("/hub/") or place.endswith("/pin")]
    return frozenset(
        [match for text in texts for match in _ID.findall(text)]
        + [match[1] for match in map(_GIT.match, named) if match]
    )


def scan_bytes(
    data: bytes, *, where: str, known: frozenset[str] = frozenset()
) -> Iterator[SecretFinding]:
    """As `scan_text`, over every text in canonical CBOR, a notebook, JSON, or UTF-8.

    A text that a document repeats is reported at its first place. Arrays and other binary content
    have no texts and give nothing.
    """
    seen: set[str] = set()
    for content in contents(data):
        for place, text in strings(content):
            if text not in seen:
                seen.add(text)
                yield from scan_text(text, where=f"{where}{place}", known=known)
        for apart in together(content):
            if apart.line not in seen:
                seen.add(apart.line)
                yield from _scan_together(apart, where, known)


def _scan_together(apart: Together, where: str, known: frozenset[str]) -> Iterator[SecretFinding]:
    """What texts say together and none of them says alone."""
    alone = {match for part in apart.parts for _, match in _matches(part)}
    for name, match in _matches(apart.line):
        if match in alone or name in PERSONAL or name.endswith("Entropy") or match.lower() in known:
            continue
        if not is_placeholder(match):
            yield SecretFinding(name, _shown(f"{where}{apart.place}"), 1, _hint(match))
