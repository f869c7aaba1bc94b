"""What a compiled template does with roles, system messages, empty and structured content.

Each field is found by rendering small conversations and looking at whose bytes come out; none is
guessed from the template's name. `refused` is the template's own refusal (or the source's error),
`ignored` means that the content does not appear in the output.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from trlm_lab.chat import limits
from trlm_lab.chat.budget import Budget
from trlm_lab.chat.ir import TemplateIR
from trlm_lab.chat.render import Conversation, Rendered, render
from trlm_lab.errors import Refused

#: Roles that are tried, besides one that no template knows.
ROLES = ("system", "developer", "user", "assistant", "model", "tool", "function", "ipython")
UNKNOWN_ROLE = "qz-unknown"
_SPECIAL = {"bos_token": "<qz-bos>", "eos_token": "<qz-eos>", "strftime_now": "01 Jan 2000"}
_PROBE, _USER = "qzprobe", "qzuser"
_TOOL = {
    "type": "function",
    "function": {
        "name": "qztool",
        "description": "d",
        "parameters": {"type": "object", "properties": {}, "required": []},
    },
}


@dataclass(frozen=True)
class TemplateContract:
    """Declared behaviour of a template. `forbidden` and `refused` are errors when rendering."""

    roles: dict[str, str]
    aliases: tuple[tuple[str, ...], ...]
    unknown_role: str
    system: str
    synthesised_system: str
    several_systems: str
    later_system: str
    empty_message: str
    missing_content: str
    repeated_role: str
    structured_content: str
    tools: str
    tool_calls: str
    memory: str
    generation_prefix: str
    bos: str
    eos: str
    trailing_whitespace: str
    precedence: str
    escaping: str = "none: content is data, printed byte for byte or refused"

    def to_map(self) -> dict[str, Any]:
        """For canonical encoding."""
        row = asdict(self)
        row["aliases"] = [list(group) for group in self.aliases]
        return row


class _Probes:
    """Small conversations; all of them together have the steps of one rendering."""

    def __init__(self, ir: TemplateIR) -> None:
        self.ir = ir
        self._steps = 0

    def rendered(self, messages: list[Any], **more: Any) -> Rendered | None:
        """A rendering, or None where it is refused.

        Raises:
            TemplateLimitError: the steps are used up.
        """
        budget = Budget(self._steps)
        given = Conversation(messages, variables=_SPECIAL, **more)
        try:
            return render(self.ir, given, budget=budget)
        except Refused:
            if budget.steps > limits.MAX_STEPS:
                # A template that runs away runs away in most of the probes.
                raise
            return None
        finally:
            self._steps = budget.steps

    def verdict(self, messages: list[Any], probe: str = _PROBE) -> str:
        """accepted, ignored or refused."""
        found = self.rendered(messages)
        if found is None:
            return "refused"
        return "accepted" if probe in found.text else "ignored"


def derive_contract(ir: TemplateIR) -> TemplateContract:
    """Probe a compiled template.

    Raises:
        TemplateLimitError: it runs away: the probes take more steps than one rendering may.
    """
    probes = _Probes(ir)
    user, said = _message("user", _USER), _message("assistant", "qzsaid")
    roles, turns = {}, {}
    for role in ROLES:
        roles[role], turns[role] = _role(probes, role, user, said)
    system, synthesised = _system(probes, user)
    first = probes.rendered([user]) or Rendered("", ())
    return TemplateContract(
        roles=roles,
        aliases=_aliases(turns),
        unknown_role=_role(probes, UNKNOWN_ROLE, user, said)[0],
        system=system,
        synthesised_system=synthesised,
        several_systems=_verdict_of_last(probes, [_message("system", "qzone")], user),
        later_system=probes.verdict([user, said, _message("system", _PROBE), user]),
        empty_message="refused" if probes.rendered([_message("user", "")]) is None else "accepted",
        missing_content="refused" if probes.rendered([{"role": "user"}]) is None else "accepted",
        repeated_role=probes.verdict([user, _message("user", _PROBE)]),
        structured_content=_structured(probes),
        tools=_tools(probes, user),
        tool_calls=_tool_calls(probes, user),
        memory=_memory(probes, user),
        generation_prefix=_generation(probes, user),
        bos="template" if first.ownership[:1] and first.ownership[0][2] == "bos" else "neither",
        eos="template" if any(row[2] == "eos" for row in first.ownership) else "neither",
        trailing_whitespace=_whitespace(probes),
        precedence=_precedence(probes),
    )


def _message(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


def _role(probes: _Probes, role: str, user: Any, said: Any) -> tuple[str, str | None]:
    """The verdict on a role where it may stand, and its turn as rendered."""
    leading = role in ("system", "developer")
    answer = role in ("assistant", "model")
    probe = _message(role, _PROBE)
    messages = [probe, user] if leading else [user, probe] if answer else [user, said, probe]
    verdict = probes.verdict(messages)
    alone = probes.rendered(messages) if verdict == "accepted" else None
    return verdict, None if alone is None else f"{messages.index(probe)}|{alone.text}"


def _aliases(turns: dict[str, str | None]) -> tuple[tuple[str, ...], ...]:
    """Roles whose turns are the same bytes."""
    groups: dict[str, list[str]] = {}
    for role, text in turns.items():
        if text is not None:
            groups.setdefault(text, []).append(role)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def _system(probes: _Probes, user: Any) -> tuple[str, str]:
    """required, optional, synthesised, ignored or forbidden; and the synthesised text."""
    with_it = probes.rendered([_message("system", _PROBE), user])
    without = probes.rendered([user])
    if with_it is None:
        return "forbidden", ""
    if without is None:
        return "required", ""
    before, found, after = with_it.text.partition(_PROBE)
    if not found:
        return "ignored", ""
    same = without.text.startswith(before) and without.text.endswith(after)
    middle = without.text[len(before) : len(without.text) - len(after)]
    longer = len(without.text) > len(before) + len(after)
    # What a person said is moved there by the template, not made up by it.
    if same and longer and user["content"] not in middle:
        return "synthesised", middle
    return "optional", ""


def _verdict_of_last(probes: _Probes, systems: list[Any], user: Any) -> str:
    return probes.verdict([*systems, _message("system", _PROBE), user])


def _structured(probes: _Probes) -> str:
    found = probes.rendered([_message("user", [{"type": "text", "text": _PROBE}])])
    if found is None:
        return "refused"
    if _PROBE not in found.text:
        return "ignored"
    return "printed" if "'type'" in found.text or '"type"' in found.text else "accepted"


def _tools(probes: _Probes, user: Any) -> str:
    found = probes.rendered([user], tools=[_TOOL])
    if found is None:
        return "refused"
    return "accepted" if "qztool" in found.text else "forbidden"


def _tool_calls(probes: _Probes, user: Any) -> str:
    call = {"type": "function", "function": {"name": "qzcall", "arguments": {"k": 1}}}
    said = {**_message("assistant", ""), "tool_calls": [{"id": "abcdefghi", **call}]}
    found = probes.rendered([user, said])
    if found is None:
        return "refused"
    return "accepted" if "qzcall" in found.text else "forbidden"


def _memory(probes: _Probes, user: Any) -> str:
    found = probes.rendered([user], documents=[{"title": "t", "text": _PROBE, "content": _PROBE}])
    if found is None:
        return "refused"
    return "accepted" if _PROBE in found.text else "forbidden"


def _generation(probes: _Probes, user: Any) -> str:
    """flag, always (the flag changes nothing) or refused."""
    off = probes.rendered([user])
    on = probes.rendered([user], add_generation_prompt=True)
    if on is None or off is None:
        return "refused"
    return "by the flag" if on.text != off.text else "the flag is ignored"


def _precedence(probes: _Probes) -> str:
    """Where the product's instructions of today stand beside a stored conversation.

    They are the first system message. `first`: before everything stored; `with the last user
    message`: the template moves them behind it; `forbidden`: refused or not printed.
    """
    stored = [_message("user", "qzold"), _message("assistant", "qzanswer")]
    found = probes.rendered([_message("system", _PROBE), *stored, _message("user", _USER)])
    at = -1 if found is None else found.text.find(_PROBE)
    if found is None or at < 0:
        return "forbidden"
    return "with the last user message" if 0 <= found.text.find("qzold") < at else "first"


def _whitespace(probes: _Probes) -> str:
    found = probes.rendered([_message("user", f"\t{_PROBE}\t")])
    if found is None:
        return "refused"
    return "kept" if f"\t{_PROBE}\t" in found.text else "trimmed"
