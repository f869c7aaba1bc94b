"""What a conversation may hold, and who inserts the control tokens of a prompt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from trlm_lab import chat
from trlm_lab.base.records.tokenizer_profile import Insertion
from trlm_lab.flows.tokenizer_engines import read_reference
from trlm_lab.flows.tokenizer_requests import TokenizerFile
from trlm_lab.text.profile import insertion_of
from trlm_lab.text.sentencepiece import SentencePieceTokenizer

Row = dict[str, Any]
Answer = Callable[[chat.Conversation], Row]


def permitted(ir: chat.TemplateIR, answer: Answer) -> Answer:
    """The same answers; a conversation that uses a forbidden field is refused by its name.

    Raises (the answer):
        ForbiddenFieldError: the field and its place.
    """
    contract = chat.derive_contract(ir)

    def held(given: chat.Conversation) -> Row:
        chat.require_permitted(given, contract)
        return answer(given)

    return held


def owned(ir: chat.TemplateIR, name: str, tokenizer: Path, answer: Answer) -> Answer:
    """The same answers with `insertion`: the owners of BOS and EOS, and the flag for encoding.

    Raises:
        PathMissingError, and whatever the reference refuses.

    Raises (the answer):
        DoubleInsertionError: template and post-processor would both insert a token.
    """
    insertion, spelled = _insertion(tokenizer)

    def held(given: chat.Conversation) -> Row:
        row, rendered = answer(given), chat.render(ir, given, where=name)
        bos = _id_of("bos_token", given, insertion.before[:1], spelled)
        eos = _id_of("eos_token", given, insertion.after[-1:], spelled)
        plan = chat.agreed_insertion(rendered, insertion, spelled, bos_id=bos, eos_id=eos)
        return {**row, "insertion": asdict(plan)}

    return held


def _insertion(tokenizer: Path) -> tuple[Insertion, dict[int, str]]:
    """What the post-processor of a tokenizer file inserts, and how it is spelled."""
    reference = read_reference(TokenizerFile.at(tokenizer))
    if isinstance(reference, SentencePieceTokenizer):
        return Insertion((), (), "nobody"), {}
    insertion = insertion_of(reference.post_processors)
    numbers = insertion.before + insertion.after
    return insertion, {n: text for n in numbers if (text := reference.token_text(n)) is not None}


def _id_of(
    role: str, given: chat.Conversation, inserted: tuple[int, ...], spelled: dict[int, str]
) -> int | None:
    """The inserted id of a role; the outermost one where the conversation does not spell it."""
    text = (given.variables or {}).get(role)
    if text is None:
        return next(iter(inserted), None)
    return next((number for number, known in spelled.items() if known == text), None)
