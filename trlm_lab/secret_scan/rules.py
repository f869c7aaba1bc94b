"""The rules: detect-secrets' detectors, a few token forms it lacks, personal data, entropy.

Each rule gives the matching texts of one line. detect-secrets' keyword rule judges by the name
before a value; its forms that want quotes are taken, since prompts and model cards speak of
passwords. Its public-address rule is left out, since an address is no secret.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import version
from typing import Any

Rule = Callable[[str], Iterator[str]]

_LEFT_OUT = frozenset({"IPPublicDetector", "KeywordDetector"})

#: Forms that the providers document and detect-secrets 1.5 lacks.
_TOKENS = {
    "Hugging Face Token": r"\bhf_[A-Za-z0-9]{34,}\b",
    "Google API Key": r"\bAIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])",
    "Anthropic Key": r"\bsk-ant-[A-Za-z0-9_-]{24,}",
    "age Key": r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b",
    "Command Line Secret": (
        r"--(?:(?:access|api|auth|bearer|ftp|hf|http|proxy)-)?"
        r"(?:token|password|passwd|secret|api-?key)[= ][A-Za-z0-9+/_.~!@#%^*-]{8,}"
        r"|\bcurl\b[^|;]{0,400}?\s(?:-[a-zA-Z]{0,8}[uU]|--(?:proxy-)?user)[= ]?\s*[\"']?"
        r"[^\s:\"'$-][^\s:\"']*:(?P<curl>[^\s\"']{4,})"
    ),
    "GitHub Fine-grained Token": r"\bgithub_pat_[A-Za-z0-9_]{36,}",
    "Databricks Token": r"\bdapi[0-9a-f]{32}(?![0-9a-f])",
    "New Relic Key": r"\bNRAK-[A-Z0-9]{27}\b",
    "Encrypted Private Key": r"BEGIN ENCRYPTED (?:PRIVATE )KEY",
}
#: What only its place tells: after a user in an address, as a parameter of one, after a header's
#: name, after a variable's. Sources: RFC 3986 section 3.2.1, RFC 7235, RFC 6750.
_PLACES = {
    "Address Credentials": r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@'\"<>]*:(?P<secret>[^\s/@'\"]{3,})@[\w\[]",
    "Address Parameter": (
        r"(?i)[?&;](?:(?:access|api|auth|id|private|refresh)_?token|token|api_?key|client_?secret"
        r"|password|passwd|pwd|secret|sig|signature|x-amz-signature|x-goog-signature)="
        r"(?P<secret>[^\s&#'\"<>`]{8,})"
    ),
    "Authorization Header": (
        r"(?i)\bauthorization[\"'`]?\s*[:=]\s*[\"'`]?(?:basic|bearer|token)\s+"
        r"(?P<secret>[A-Za-z0-9+/._~-]{8,}=*)"
        r"|(?i:\bx-(?:api|auth|access)-(?:key|token))[\"'`]?\s*:\s*[\"'`]?"
        r"(?P<key>[A-Za-z0-9+/._~-]{16,}=*)"
    ),
    "Netrc Password": r"\blogin\s+\S+\s+password\s+(?P<secret>\S{4,})",
    "Environment Secret": (
        r"\b(?:[A-Z][A-Z0-9]*_)*(?:PASSWORD|PASSWD|SECRET|API_?KEY|ACCESS_KEY|PRIVATE_KEY"
        r"|SECRET_KEY|(?:ACCESS|API|AUTH|BOT|GH|GITHUB|GITLAB|HF|HUB|NPM|PYPI)_TOKEN)=[\"']?"
        r"(?P<secret>[^\s\"'`]{8,})"
    ),
}
#: Names that detect-secrets' list of names lacks.
_NAMES = (
    r"(?i)(?:(?:access|api|auth|bearer|bot|gh|github|gitlab|hf|hub|personal|private|refresh"
    r"|session)[_-]?token|(?:access|shared|signing|encryption)[_-]?key|pass(?:phrase|code)"
    r"|credentials?)[\"'`]?\s*(?::|=>?)\s*([\"'`])(?P<secret>[^\s\"'`]{8,})\1"
)
#: Shorter values and longer hex are nothing, or another rule's affair.
_SHORTEST_VALUE = 6
_SHORTEST_PART = 4
_ALL_HEX = re.compile(r"[0-9a-fA-F]{32,}")
#: Latin, Greek and Cyrillic; scripts without spaces would join the words before an at sign to it.
_LETTERS = "A-Za-zÀ-ÖØ-öø-ɏͰ-ӿ"
#: Reserved names (RFC 2606) belong to nobody.
_EMAIL = (
    rf"\b[{_LETTERS}0-9._%+-]{{1,64}}@(?!(?:[a-z0-9-]+\.)*example\.)"
    rf"(?:[{_LETTERS}0-9-]{{1,63}}\.){{1,8}}(?!test\b|invalid\b|localhost\b)[{_LETTERS}]{{2,24}}\b"
)
_HOME = (
    r"(?:/(?:home|Users)/[A-Za-z0-9._-]+|/root(?=/)|[A-Za-z]:\\+Users\\+[A-Za-z0-9._-]+"
    r"|(?<![\w/~])~[a-z_][a-z0-9_-]{1,31}(?=/))"
)
PERSONAL = {"E-mail Address": _EMAIL, "Home Directory": _HOME}

#: Bits a character above which a run of characters is no word: detect-secrets' own defaults.
_HEX_BITS = 3.0
_BASE64_BITS = 4.5
#: Paths and names are short words between separators; random text rarely breaks so often.
_RUN = 16
_HEX = re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{32,}(?![0-9A-Za-z])")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,512}={0,2}(?![A-Za-z0-9+/_=-])")

RULES_VERSION = 4


@cache
def rules() -> dict[str, Rule]:
    """Every rule by name, in a fixed order."""
    own = {name: _matches(form) for name, form in (_TOKENS | _PLACES | PERSONAL).items()}
    named = {"Named Secret": _named()}
    entropy = {"Hex Entropy": _hex_entropy, "Base64 Entropy": _base64_entropy}
    return {**_detectors(), **own, **named, **entropy}


def rule_names() -> list[str]:
    """Names of the rules and the version of the library that most of them come from."""
    return [f"detect-secrets {version('detect-secrets')}", *rules()]


def _detectors() -> dict[str, Rule]:
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    from detect_secrets.plugins.base import RegexBasedDetector

    found = get_mapping_from_secret_type_to_class()
    return {
        name: _found(kind())
        for name, kind in sorted(found.items())
        if issubclass(kind, RegexBasedDetector) and kind.__name__ not in _LEFT_OUT
    }


def _found(detector: Any) -> Rule:
    """A detector's matches; where it gives only a prefix, the whole of what it matches."""

    def rule(line: str) -> Iterator[str]:
        found = list(detector.analyze_string(line))
        if any(len(text) < _SHORTEST_PART for text in found):
            found = [m[0] for form in detector.denylist for m in form.finditer(line)]
        yield from found

    return rule


def _matches(form: str) -> Rule:
    compiled = re.compile(form)
    return lambda line: (m[m.lastgroup or 0] for m in compiled.finditer(line))


def _named() -> Rule:
    from detect_secrets.plugins import keyword

    forms = {**keyword.QUOTES_REQUIRED_DENYLIST_REGEX_TO_GROUP, re.compile(_NAMES): "secret"}

    def rule(line: str) -> Iterator[str]:
        for form, group in forms.items():
            for match in form.finditer(line):
                value = match[group]
                long_enough = len(value) >= _SHORTEST_VALUE and " " not in value
                if long_enough and not _ALL_HEX.fullmatch(value):
                    yield value

    return rule


def entropy(text: str) -> float:
    """Shannon entropy of the characters of a text, in bits a character."""
    counts = Counter(text).values()
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts)


def _hex_entropy(line: str) -> Iterator[str]:
    return (m.group(0) for m in _HEX.finditer(line) if entropy(m.group(0)) > _HEX_BITS)


def _base64_entropy(line: str) -> Iterator[str]:
    for match in _BASE64.finditer(line):
        text = match.group(0)
        mixed = re.search("[a-z]", text) and re.search("[A-Z]", text) and re.search("[0-9]", text)
        longest = max(map(len, re.split("[/_-]", text)))
        if mixed and longest >= _RUN and entropy(text) > _BASE64_BITS:
            yield text
