"""One owner for each control token, agreed by template, post-processor and model card.

The template writes tokens as text, the post-processor puts ids around a text, and the card says
what a prompt looks like. Where two of them would insert the same token, or the card promises one
that nobody inserts, encoding is blocked: no default decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from trlm_lab.base.records.tokenizer_profile import Insertion
from trlm_lab.chat.insertion import InsertionPlan, plan_insertion
from trlm_lab.chat.render import Rendered
from trlm_lab.errors import DoubleInsertionError, InsertionConflictError


@dataclass(frozen=True)
class CardClaim:
    """What a model card or configuration says of prompts; None where it says nothing."""

    bos: bool | None = None
    eos: bool | None = None
    where: str = "model card"


def agreed_insertion(
    rendered: Rendered,
    insertion: Insertion,
    texts: Mapping[int, str],
    *,
    bos_id: int | None = None,
    eos_id: int | None = None,
    card: CardClaim | None = None,
) -> InsertionPlan:
    """The plan of a rendered prompt under a post-processor; `texts` spells the inserted ids.

    Raises:
        DoubleInsertionError: a token of the post-processor that the template wrote too, wherever
            (BOS, EOS, a separator), an id behind the prefix of the answer, a prefix written twice.
        InsertionConflictError: the card says otherwise.
    """
    plan = plan_insertion(
        rendered,
        adds_bos=bos_id is not None and bos_id in insertion.before,
        adds_eos=eos_id is not None and eos_id in insertion.after,
    )
    _one_prefix(rendered)
    _no_second(rendered, insertion, texts)
    if insertion.after and _ends_in_prefix(rendered):
        names = ", ".join(texts.get(number, str(number)) for number in insertion.after)
        detail = "the post-processor would put it behind the prefix of the answer"
        raise DoubleInsertionError(token=names, detail=detail)
    if card is not None:
        _as_the_card_says(plan, card)
    added = bool(insertion.before or insertion.after)
    return InsertionPlan(plan.bos, plan.eos, added)


def _template_texts(rendered: Rendered) -> Iterator[tuple[int, bytes]]:
    """What the template wrote without a break by content, and the byte at which it begins."""
    for is_content, rows in groupby(rendered.ownership, lambda row: row[2] == "content"):
        if not is_content:
            spans = list(rows)
            begin, end = spans[0][0], spans[-1][1]
            yield begin, rendered.rendered_bytes[begin:end]


def _no_second(rendered: Rendered, insertion: Insertion, texts: Mapping[int, str]) -> None:
    """No token of the post-processor stands anywhere in what the template wrote."""
    added = [texts[n] for n in (*insertion.before, *insertion.after) if texts.get(n)]
    for begin, written in _template_texts(rendered):
        for text in added:
            at = written.find(text.encode())
            if at >= 0:
                detail = "the template wrote it and the post-processor adds it"
                raise DoubleInsertionError(where=f"byte {begin + at}", token=text, detail=detail)


def _ends_in_prefix(rendered: Rendered) -> bool:
    return rendered.ownership[-1:] != () and rendered.ownership[-1][2] == "generation_prefix"


def _one_prefix(rendered: Rendered) -> None:
    """The prefix of the answer stands once, at the end, and does not repeat itself."""
    rows = [row for row in rendered.ownership if row[2] == "generation_prefix"]
    for start, end, _ in rows:
        text = rendered.rendered_bytes[start:end]
        half = len(text) // 2
        if half and text[:half] * 2 == text:
            raise DoubleInsertionError(
                where=f"byte {start}",
                token="the prefix of the answer",
                detail="the template wrote it twice",
            )


def _as_the_card_says(plan: InsertionPlan, card: CardClaim) -> None:
    for token, owner, claim in (("BOS", plan.bos, card.bos), ("EOS", plan.eos, card.eos)):
        if claim is None or claim == (owner != "neither"):
            continue
        said = "is there" if claim else "is not there"
        raise InsertionConflictError(where=card.where, token=token, said=said, owner=owner)
