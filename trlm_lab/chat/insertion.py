"""Who inserts BOS and EOS: the template as text, the tokenizer's post-processor as ids, or nobody.

One owner a token. Where the template has written BOS, a post-processor that adds one would make
two; content that merely spells the token owns nothing and inserts nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from trlm_lab.chat.render import Rendered
from trlm_lab.errors import DoubleInsertionError


@dataclass(frozen=True)
class InsertionPlan:
    """The one owner of each control token; `add_special_tokens` is the flag for encoding."""

    bos: str
    eos: str
    add_special_tokens: bool


def plan_insertion(rendered: Rendered, *, adds_bos: bool, adds_eos: bool) -> InsertionPlan:
    """Decide who inserts, for a post-processor that adds BOS or EOS by itself.

    Raises:
        DoubleInsertionError: the template wrote what the post-processor would add, or wrote BOS
            twice in a row.
    """
    owners = [owner for _, _, owner in rendered.ownership]
    bos, eos = owners[:1] == ["bos"], owners[-1:] == ["eos"]
    _no_pair(rendered, "bos")
    for owner, adds in (("bos", adds_bos), ("eos", adds_eos)):
        if adds and owner in owners:
            _refuse(rendered, owner)
    return InsertionPlan(
        "template" if bos else "post_processor" if adds_bos else "neither",
        "template" if eos else "post_processor" if adds_eos else "neither",
        adds_bos or adds_eos,
    )


def _refuse(rendered: Rendered, owner: str) -> None:
    at = next(start for start, _, who in rendered.ownership if who == owner)
    detail = "the template wrote it and the post-processor adds it"
    raise DoubleInsertionError(where=f"byte {at}", token=owner.upper(), detail=detail)


def _no_pair(rendered: Rendered, owner: str) -> None:
    """A token of this owner twice in a row; its runs merge, so the run repeats itself."""
    for start, end, who in rendered.ownership:
        text = rendered.rendered_bytes[start:end]
        half = len(text) // 2
        if who == owner and half and text[:half] * 2 == text:
            raise DoubleInsertionError(
                where=f"byte {start}", token=owner.upper(), detail="the template wrote it twice"
            )
