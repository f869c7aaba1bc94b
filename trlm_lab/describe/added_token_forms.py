"""Added tokens without a normalized form of their own.

Of one that the normalizer erases, the source cuts every text; of two with one form it takes any.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trlm_lab.errors import TrlmError
from trlm_lab.text.aligned import Aligned
from trlm_lab.text.normalizers import Normalizer, Replace
from trlm_lab.text.pattern_nodes import Node, Repeat, children
from trlm_lab.text.reading_stages import read_normalizer


def added_token_forms(row: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Code, place and detail of each; nothing for a normalizer that is not built here."""
    tokens = [
        (index, token["content"])
        for index, token in enumerate(row.get("added_tokens") or [])
        if token.get("normalized") is True and token["content"]
    ]
    stages = _normalizers(row) if tokens else []
    seen: dict[str, str] = {}
    for index, content in tokens if stages else ():
        piece = Aligned.whole(content)
        for stage in stages:
            piece = stage.apply(piece)
        other = seen.setdefault(piece.text, content)
        if not piece.text:
            detail = f"the normalizer leaves nothing of {content!r}, which is to be normalized"
            yield "ADDED_TOKEN_ERASED", f"/added_tokens/{index}/content", detail
        elif other != content:
            detail = f"the normalizer makes one text, {piece.text!r}, of {other!r} and {content!r}"
            yield "ADDED_TOKEN_AMBIGUOUS", f"/added_tokens/{index}/content", detail


def _normalizers(row: dict[str, Any]) -> list[Normalizer]:
    try:
        stages = [one.stage for one in read_normalizer(row.get("normalizer"))]
    except TrlmError:
        return []
    return stages if all(map(_quick, stages)) else []


def _quick(stage: Normalizer) -> bool:
    """Whether no pattern runs long on the contents of a file that nobody knows."""
    return not isinstance(stage, Replace) or _repeats(stage.pattern.root) < 2


def _repeats(node: Node) -> int:
    return isinstance(node, Repeat) + sum(map(_repeats, children(node)))
