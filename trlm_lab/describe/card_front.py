"""The YAML at the top of a model card: only the keys that declare behaviour are parsed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trlm_lab.describe.card_values import SAMPLING, STOPS, Assignment, Item

#: PyYAML reads some 50 kB in a second; these keys take a few lines in any card.
MAX_SECTION = 16 << 10
FACTS = ("base_model", "pipeline_tag")
_KEY = re.compile(
    r"^[\"']?(inference|base_model|pipeline_tag|widget|license)[\"']?[ \t]{0,8}:", re.M
)
#: What ends a section: a line that is neither indented nor a list's item nor a remark.
_NEXT = re.compile(r"^[^\s#-]", re.M)
_LICENCE = re.compile(r"license[\"']?:[ \t]{0,8}[\"']?([A-Za-z0-9.+_-]{1,60})")
_WHOLE = re.compile(r"[0-9]{1,20}\Z")
_DECIMAL = re.compile(r"[0-9]{1,20}\.[0-9]{0,20}\Z")


@dataclass(frozen=True)
class FrontMatter:
    """What the keys assign, where example inputs stand (start, end), and unreadable keys."""

    assigned: tuple[Assignment, ...] = ()
    widgets: tuple[tuple[int, int], ...] = ()
    licence: str = ""
    problems: tuple[tuple[int, str], ...] = ()


def read_front(text: str, start: int, end: int) -> FrontMatter:
    """The statements of the front matter between two characters of a card."""
    assigned: list[Assignment] = []
    widgets: list[tuple[int, int]] = []
    problems: list[tuple[int, str]] = []
    licence = ""
    if text.startswith("{", start, end):
        problems.append((start, "front matter that is one flow mapping is not compared"))
    for match in _KEY.finditer(text, start, end):
        follows = _NEXT.search(text, match.end(), end)
        close = follows.start() if follows else end
        if match[1] == "widget":
            widgets.append((match.start(), close))
        elif match[1] == "license":
            found = _LICENCE.search(text, match.start(), close)
            licence = licence or (found[1].lower() if found else "")
        elif close - match.start() > MAX_SECTION:
            problems.append((match.start(), f"{match[1]} is longer than {MAX_SECTION} characters"))
        else:
            node = _composed(text[match.start() : close])
            if node is None:
                problems.append((match.start(), f"the YAML of {match[1]} cannot be read"))
            assigned += _assigned(node, match.start())
    return FrontMatter(tuple(assigned), tuple(widgets), licence, tuple(problems))


def _composed(section: str) -> Any:
    """The node tree, nothing constructed; None where it is no YAML."""
    from yaml import SafeLoader, YAMLError, compose

    try:
        return compose(section, Loader=SafeLoader)
    except (YAMLError, ValueError, RecursionError):
        return None


def _assigned(node: Any, start: int) -> Iterator[Assignment]:
    for key, value in _pairs(node):
        if key.value in FACTS:
            yield from _one(key, value, start)
        for name, inner in _pairs(value) if key.value == "inference" else ():
            for parameter, wanted in _pairs(inner) if name.value == "parameters" else ():
                named = str(parameter.value)
                if named in STOPS | SAMPLING or re.fullmatch(r"\w{3}_token(_id)?", named):
                    yield from _one(parameter, wanted, start)


def _pairs(node: Any) -> list[tuple[Any, Any]]:
    if getattr(node, "id", "") != "mapping":
        return []
    return [(key, value) for key, value in node.value if key.id == "scalar"]


def _one(key: Any, value: Any, start: int) -> Iterator[Assignment]:
    nodes = value.value if value.id == "sequence" else [value]
    scalars = [node for node in nodes if node.id == "scalar"]
    items = tuple(_scalar(node) for node in scalars if node.value)
    if items:
        # An alias stands before its key's line; the key's own place is what is shown.
        first, last = key.start_mark.index, max(value.end_mark.index, key.end_mark.index)
        whole = len(scalars) == len(nodes)
        yield Assignment(str(key.value), items, whole, start + first, start + last)


def _scalar(node: Any) -> Item:
    text = str(node.value)
    if node.style is not None:
        return text
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if _WHOLE.match(text):
        return int(text)
    return float(text) if _DECIMAL.match(text) else text
