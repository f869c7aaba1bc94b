"""One owner for each control token, agreed by template, post-processor and model card.

The template writes tokens as text, the post-processor puts ids around a text, and the card says
what a prompt looks like. Where two of them would insert the same token, or the card promises one
that nobody inserts, encoding is blocked: no default decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
        DoubleInsertionError: a token of the post-processor beside the same token of the template
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


def _template_text(rendered: Rendered, *, first: bool) -> str:
    """What the template wrote at one end, without a break by content."""
    data, rows = rendered.rendered_bytes, rendered.ownership
    pieces: list[str] = []
    for start, end, owner in rows if first else reversed(rows):
        if owner == "content":
            break
        pieces.append(data[start:end].decode())
    return "".join(pieces if first else reversed(pieces))


def _no_second(rendered: Rendered, insertion: Insertion, texts: Mapping[int, str]) -> None:
    head, tail = (_template_text(rendered, first=first) for first in (True, False))
    found = [(t, "start") for n in insertion.before if (t := texts.get(n)) and head.startswith(t)]
    found += [(t, "end") for n in insertion.after if (t := texts.get(n)) and tail.endswith(t)]
    for text, place in found:
        detail = f"the template wrote it at the {place} and the post-processor adds it"
        raise DoubleInsertionError(token=text, detail=detail)


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
