"""The rules: detect-secrets' detectors, a few token forms it lacks, personal data, entropy.

Each rule gives the matching texts of one line. detect-secrets' keyword rule (`password = …`) is
left out: it judges by the variable's name, and prompts and model cards speak of passwords. Its
public-address rule is left out, since an address is no secret.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import version

Rule = Callable[[str], Iterator[str]]

_LEFT_OUT = frozenset({"IPPublicDetector", "KeywordDetector"})

#: Forms that the providers document and detect-secrets 1.5 lacks.
_TOKENS = {
    "Hugging Face Token": r"\bhf_[A-Za-z0-9]{34,}\b",
    "Google API Key": r"\bAIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])",
    "Anthropic Key": r"\bsk-ant-[A-Za-z0-9_-]{24,}",
    "age Key": r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b",
    "Command Line Secret": (
        r"--(?:(?:access|api|auth|bearer|hf)-)?(?:token|password|passwd|secret|api-?key)[= ]"
        r"[A-Za-z0-9+/_.~!@#%^*-]{8,}"
    ),
    "GitHub Fine-grained Token": r"\bgithub_pat_[A-Za-z0-9_]{36,}",
}
#: Reserved names (RFC 2606) belong to nobody.
_EMAIL = (
    r"\b[A-Za-z0-9._%+-]{1,64}@(?!(?:[a-z0-9-]+\.)*example\.)"
    r"(?:[A-Za-z0-9-]{1,63}\.){1,8}(?!test\b|invalid\b|localhost\b)[A-Za-z]{2,24}\b"
)
_HOME = r"(?:/(?:home|Users)/[A-Za-z0-9._-]+|/root(?=/)|[A-Za-z]:\\+Users\\+[A-Za-z0-9._-]+)"
_PERSONAL = {"E-mail Address": _EMAIL, "Home Directory": _HOME}

#: Bits a character above which a run of characters is no word: detect-secrets' own defaults.
_HEX_BITS = 3.0
_BASE64_BITS = 4.5
#: Paths and names are short words between separators; random text rarely breaks so often.
_RUN = 16
_HEX = re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{32,}(?![0-9A-Za-z])")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{24,512}={0,2}(?![A-Za-z0-9+/_=-])")

RULES_VERSION = 2


@cache
def rules() -> dict[str, Rule]:
    """Every rule by name, in a fixed order."""
    own = {name: _matches(form) for name, form in (_TOKENS | _PERSONAL).items()}
    return {**_detectors(), **own, "Hex Entropy": _hex_entropy, "Base64 Entropy": _base64_entropy}


def rule_names() -> list[str]:
    """Names of the rules and the version of the library that most of them come from."""
    return [f"detect-secrets {version('detect-secrets')}", *rules()]


def _detectors() -> dict[str, Rule]:
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    from detect_secrets.plugins.base import RegexBasedDetector

    found = get_mapping_from_secret_type_to_class()
    return {
        name: kind().analyze_string
        for name, kind in sorted(found.items())
        if issubclass(kind, RegexBasedDetector) and kind.__name__ not in _LEFT_OUT
    }


def _matches(form: str) -> Rule:
    compiled = re.compile(form)
    return lambda line: (m.group(0) for m in compiled.finditer(line))


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
