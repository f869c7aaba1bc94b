"""What looks like a secret and is none: placeholders, ids with their name, public addresses."""

from __future__ import annotations

import re

#: Words of whoever writes an example. A random text holds one of them once in a million.
_EXAMPLE = re.compile(
    r"example|placeholder|change_?me|redacted|dummy|your[_-]?|insert[_-]|[_-]here\b|x{4}|\*{3}"
    r"|\.{3}|…|(.)\1{5}",
    re.IGNORECASE,
)
_WORDS = re.compile(
    r"none|null|true|false|string|optional|required|hidden|unknown|pass|passw(?:or)?d|secret|token"
    r"|api[_-]?key|access_token|test|value",
    re.IGNORECASE,
)
#: Expressions of programs and shells stand for a value that is elsewhere.
_REFERENCE = re.compile(r"\$|%\w+%\Z|os\.environ|process\.env|getenv|getpass|\w+\(.*\)\Z")
#: What a text is written before; the form of a request's header is one of it.
_BEFORE = re.compile(r"\A(?:[a-z]{2,8}[_-])+(?=[^_-])|\A(?:basic|bearer|token)\s+", re.IGNORECASE)
#: A shorter rest is part of a name (the version in PuTTY's header), no value of its own.
_SHORTEST_BARE = 3

_NAMES = (
    r"commit|revision|rev|sha-?(?:1|224|256|384|512)?(?:sum)?|md5(?:sum)?|checksum|digest|hash"
    r"|fingerprint|etag|oid|tree|blob|resolve|raw|snapshot"
)
#: The word before an id, at the end of what stands before it: `commit 5f…`, `/blob/5f…`,
#: `"sha256": "5f…`, `owner/name@5f…`.
_NAMED = re.compile(
    rf"(?:\A|[^a-z])(?:{_NAMES})(?:[_ -]?ids?)?[\"'`]?(?:\s*[:=(/@]\s*|\s+)?[\"'`]?\Z"
    r"|[\w.-]+/[\w.-]+@\Z",
    re.IGNORECASE,
)
_ID = re.compile(r"[0-9a-f]{32}(?:[0-9a-f]{8}|[0-9a-f]{24}|[0-9a-f]{32}|[0-9a-f]{96})?", re.I)
_INTEGRITY = re.compile(r"sha(?:256|384|512)-")
#: A line as `sha256sum` writes it.
_SUM = re.compile(r"[0-9a-f]{32,128} [ *]\S")
#: Addresses that are public, up to their parameters; their paths are named at random.
_PUBLIC = re.compile(
    r"https?://(?:(?:[a-z0-9-]+\.)*(?:huggingface\.co|hf\.co|githubusercontent\.com|shields\.io"
    r"|imgur\.com)|github\.com|arxiv\.org|doi\.org)/[^\s?#\"'<>()\[\]]*",
    re.IGNORECASE,
)


def is_placeholder(match: str) -> bool:
    """Whether a text stands for a secret, as in `hf_xxxx…`, `<token>` or `YOUR_API_KEY`."""
    from detect_secrets.filters.heuristic import is_sequential_string, is_templated_secret

    text = re.split(r"[= ]", match)[-1] if match.startswith("-") else match
    bare = _BEFORE.sub("", text)
    if len(bare) < _SHORTEST_BARE:
        bare = text
    return (
        _EXAMPLE.search(text) is not None
        or _WORDS.fullmatch(bare) is not None
        or _REFERENCE.match(bare) is not None
        or is_templated_secret(bare)
        or is_sequential_string(bare)
    )


def is_named_id(match: str, line: str, key: str) -> bool:
    """Whether hex or base64 of a line is a commit id or checksum by the word before it.

    `key` names the value where the line is a whole value of a document.
    """
    at = line.find(match)
    if at < 0:
        return False
    if _INTEGRITY.match(match):
        return True
    if _ID.fullmatch(match) is None:
        return False
    before = line[max(0, at - 80) : at] or key
    return _NAMED.search(before) is not None or (at == 0 and _SUM.match(line) is not None)


def is_in_public_address(match: str, line: str) -> bool:
    """Whether every place of a text in a line is the path of a public address."""
    places = [m.start() for m in re.finditer(re.escape(match), line)]
    spans = [m.span() for m in _PUBLIC.finditer(line)] if places else []
    return bool(places) and all(any(a <= at < b for a, b in spans) for at in places)
