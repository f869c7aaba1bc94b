"""Who puts BOS before a prompt and EOS behind a turn: template, post-processor, and what is said.

The post-processor of `tokenizer.json` is read, the template is compiled and renders one small
conversation, a configuration says `add_bos_token`, and an example of the model card shows a turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from trlm_lab.base.records.tokenizer_profile import Insertion
from trlm_lab.chat import CardClaim, InsertionPlan, Rendered, agreed_insertion
from trlm_lab.describe.compared import Compared
from trlm_lab.describe.inserted_tokens import inserted_tokens
from trlm_lab.describe.receipt import ERROR, NOTE, Declaration, Evidence
from trlm_lab.describe.template_turns import rendered_turns
from trlm_lab.errors import DoubleInsertionError, InsertionConflictError, Refused

#: Who may own a control token; a resolution names one of them.
OWNERS = ("template", "post_processor", "neither")
FIELDS = {"bos": "bos_insertion", "eos": "eos_insertion"}

#: A text without a template around it.
_BARE = Rendered("qz", ((0, 2, "content"),))
_TEXT_CONFIG = "tokenizer_config.json"


@dataclass(frozen=True)
class _Parties:
    """Everything that inserts a token, or says that somebody does."""

    insertion: Insertion
    spelled: Mapping[int, str]
    ids: Mapping[str, int | None]
    texts: Mapping[str, str]
    turns: tuple[Rendered, ...]
    compared: Compared

    def plan(self, rendered: Rendered, card: CardClaim | None = None) -> InsertionPlan:
        """As `agreed_insertion`, which says what it raises."""
        bos, eos = self.ids["bos"], self.ids["eos"]
        return agreed_insertion(
            rendered, self.insertion, self.spelled, bos_id=bos, eos_id=eos, card=card
        )


def insertion_evidence(compared: Compared, chosen: Mapping[str, tuple[int, ...]]) -> list[Evidence]:
    """A row for BOS and EOS, each where anybody inserts it or speaks of it; findings beside them.

    `chosen` are the ids of the roles. Two that insert one token are a note: the rendered text is
    encoded without the post-processor's tokens. A claim that nobody fulfils, or that somebody
    breaks, stops.
    """
    parties = _parties(compared, chosen)
    if parties is None:
        return []
    claims = {role: list(_claims(role, compared, parties.texts)) for role in FIELDS}
    for role, rows in claims.items():
        for row, claim, bare in rows:
            for rendered in (_BARE,) if bare else parties.turns[:1]:
                _held_against(parties, role, rendered, claim, row)
    twice = _double(parties)
    found = (_row(role, parties, [d for d, _, _ in claims[role]], twice) for role in FIELDS)
    return [evidence for evidence in found if evidence is not None]


def _parties(compared: Compared, chosen: Mapping[str, tuple[int, ...]]) -> _Parties | None:
    insertion = inserted_tokens(compared.documents)
    if insertion is None:
        return None  # The rules of the tokenizer say what is wrong with it.
    known = {number: text for text, number in compared.vocab.ids.items()}
    known |= {number: text for text, number in compared.vocab.added.items()}
    eos = chosen.get("eos", ())
    ids = {
        "bos": next(iter(chosen.get("bos", ())), None),
        "eos": next((n for n in insertion.after if n in eos), next(iter(eos), None)),
    }
    texts = {role: known[n] for role, n in ids.items() if n is not None and n in known}
    turns = rendered_turns(compared.templates, texts)
    return _Parties(insertion, known, ids, texts, turns, compared)


def _claims(
    role: str, compared: Compared, texts: Mapping[str, str]
) -> Iterator[tuple[Declaration, CardClaim, bool]]:
    """What is said of a token, and whether of a text alone (true) or of a prompt."""
    flag: Any = compared.documents.tokenizer_config.get(f"add_{role}_token")
    if isinstance(flag, bool) and compared.documents.tokenizer:
        row = Declaration(_TEXT_CONFIG, f"/add_{role}_token", flag)
        yield row, _claim(role, flag, row.place), True
    if role != "bos":
        return  # An example ends where its writer stopped: it promises no EOS.
    for one in compared.documents.card.markers:
        if one.turn and one.text == texts.get("bos"):
            where = f"{one.file}, line {one.line}"
            yield one.declaration, _claim(role, True, where), False


def _claim(role: str, said: bool, where: str) -> CardClaim:
    return CardClaim(where=where, bos=said) if role == "bos" else CardClaim(where=where, eos=said)


def _held_against(
    parties: _Parties, role: str, rendered: Rendered, claim: CardClaim, row: Declaration
) -> None:
    try:
        parties.plan(rendered, claim)
    except InsertionConflictError as error:
        _add(parties, error, role, claim.where, ERROR)
    except DoubleInsertionError:
        return  # It is there, twice even: a finding of its own.


def _double(parties: _Parties) -> set[str]:
    """The roles of which a second token would be inserted."""
    found: set[str] = set()
    template = parties.compared.templates.run
    if template is None:
        return found
    for rendered in parties.turns:
        try:
            parties.plan(rendered)
        except DoubleInsertionError as error:
            named = str(error.facts["token"])
            role = "bos" if named in ("BOS", parties.texts.get("bos")) else "eos"
            if role not in found:
                found.add(role)
                _add(parties, error, role, template.place, NOTE)
    return found


def _add(parties: _Parties, error: Refused, role: str, place: str, level: str) -> None:
    detail = error.as_finding()["detail"]
    parties.compared.findings.add(error.code, place, detail, FIELDS[role], level)


def _row(role: str, parties: _Parties, said: list[Declaration], twice: set[str]) -> Evidence | None:
    added = parties.insertion.before if role == "bos" else parties.insertion.after
    processor, template = parties.ids[role] in added, _writes(role, parties.turns)
    if not (processor or template or said):
        return None
    publisher = []
    run = parties.compared.templates.run
    if run is not None and parties.turns:
        publisher.append(Declaration(run.file, run.pointer, _word("writes", template)))
    inserts = _word("inserts", processor)
    publisher += [Declaration("tokenizer.json", "/post_processor", inserts), *said]
    owner = "template" if template else "post_processor" if processor else "neither"
    if parties.compared.findings.about(FIELDS[role]):
        return Evidence(FIELDS[role], tuple(publisher))
    # Source: the chat template documentation of the transformers library: a rendered conversation
    # is encoded without the special tokens of the tokenizer.
    source = "template" if role in twice else None
    return Evidence(FIELDS[role], tuple(publisher), source=source, chosen=owner)


def _writes(role: str, turns: tuple[Rendered, ...]) -> bool:
    """BOS at the start of a prompt, EOS at the end of a finished turn."""
    if role == "bos":
        return any(t.ownership[:1] and t.ownership[0][2] == "bos" for t in turns)
    return any(t.ownership[-1:] and t.ownership[-1][2] == "eos" for t in turns[1:])


def _word(verb: str, does: bool) -> str:
    return f"{verb} it" if does else f"{verb} none"
