"""The licence id that a model card declares in its front matter."""

from __future__ import annotations

import re
from pathlib import Path

#: What the Hub's own reader takes for front matter: between two lines of three dashes, the first
#: of them after nothing but white space.
FRONT = re.compile(r"\s*---(?:\r\n?|\n)(?P<yaml>.*?)(?:\r\n?|\n)---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
#: PyYAML reads some 50 kB in a second; front matter of any use is a tenth of this.
_MOST_BYTES = 256 << 10
_TEXT = "tag:yaml.org,2002:str"


def card_licence(card: Path) -> str | None:
    """The declared id; None where the card declares none, empty where nobody can tell which.

    The Hub's own reader takes the last of keys that stand twice; here that is no declaration.
    """
    from yaml import SafeLoader, YAMLError, compose
    from yaml.nodes import MappingNode

    try:
        found_front = FRONT.match(card.read_text(encoding="utf-8-sig"))
        front = found_front["yaml"] if found_front else ""
        if not front.strip():
            return None
        node = compose(front, Loader=SafeLoader) if len(front) <= _MOST_BYTES else None
    except (ValueError, YAMLError, RecursionError):
        # UnicodeDecodeError is a ValueError.
        return ""
    if not isinstance(node, MappingNode):
        return ""
    keys = [key.value for key, _ in node.value]
    if any(keys.count(key) > 1 for key in keys):
        return ""
    found = [value for key, value in node.value if key.value == "license"]
    if not found:
        return None
    return str(found[0].value) if found[0].tag == _TEXT else ""
