"""Fields of the compiled template: each declared or forbidden, and forbidden means refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chat.conversations import HI, TEMPLATES, TOOLS, call, turn
from trlm_lab.chat import (
    Conversation,
    TemplateContract,
    compile_template,
    declared_fields,
    derive_contract,
    findings,
    render,
    require_permitted,
)
from trlm_lab.chat.forbidden import forbidden_uses, used_fields
from trlm_lab.errors import ForbiddenFieldError

PARTS = [{"type": "text", "text": "a"}]
ALTERNATING = (
    "{% for m in messages %}{% if m.role not in ['user', 'assistant'] %}"
    "{{ raise_exception('role') }}{% endif %}{{ m.content.strip() }}{% endfor %}"
)
BEHIND = (
    "{% set s = messages[0].content if messages[0].role == 'system' %}"
    "{% for m in messages if m.role != 'system' %}{{ s ~ m.content if loop.last else m.content }}"
    "{% endfor %}"
)


def contract(source: str) -> TemplateContract:
    return derive_contract(compile_template(source).ir)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            TEMPLATES["chatml"],
            {
                "memory": "forbidden",
                "tools": "forbidden",
                "tool_calls": "forbidden",
                "unknown_role": "accepted",
                "aliases": "none",
            },
        ),
        (
            ALTERNATING,
            {
                "system": "forbidden",
                "role system": "forbidden",
                "role user": "accepted",
                "role developer": "forbidden",
                "unknown_role": "forbidden",
                "structured_blocks": "forbidden",
                "precedence": "forbidden",
            },
        ),
        (TEMPLATES["headers"], {"structured_blocks": "accepted", "tools": "accepted"}),
        ("{{ documents[0].text if documents }}", {"memory": "accepted"}),
        (TEMPLATES["hermes_tools"], {"tool_calls": "accepted"}),
        (TEMPLATES["start_of_turn"], {"aliases": "assistant = model"}),
    ],
)
def test_each_field_is_declared_or_forbidden(source: str, expected: dict[str, str]) -> None:
    found = declared_fields(contract(source))
    assert {key: found[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (TEMPLATES["chatml"], "first"),
        (BEHIND, "with the last user message"),
        (ALTERNATING, "forbidden"),
        ("{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}", "forbidden"),
    ],
)
def test_where_product_instructions_stand(source: str, expected: str) -> None:
    """Beside a stored conversation, the first system message is the product's of today."""
    assert contract(source).precedence == expected


@pytest.mark.parametrize(
    ("source", "given", "field", "where"),
    [
        (TEMPLATES["chatml"], {"documents": [{"text": "x"}]}, "memory", "documents"),
        (TEMPLATES["chatml"], {"tools": TOOLS}, "tools", "tools"),
        (
            TEMPLATES["chatml"],
            {"messages": [HI, turn("assistant", "", tool_calls=[call({})])]},
            "tool_calls",
            "messages[1]",
        ),
        (ALTERNATING, {"messages": [HI, turn("narrator", "x")]}, "unknown_role", "messages[1]"),
        (ALTERNATING, {"messages": [turn("tool", "x")]}, "role tool", "messages[0]"),
        (ALTERNATING, {"messages": [turn("user", PARTS)]}, "structured_blocks", "messages[0]"),
    ],
)
def test_a_forbidden_field_is_refused(
    source: str, given: dict[str, Any], field: str, where: str
) -> None:
    conversation = Conversation(**{"messages": [HI], **given})
    with pytest.raises(ForbiddenFieldError) as caught:
        require_permitted(conversation, contract(source))
    assert (caught.value.facts["field"], caught.value.where) == (field, where)


@pytest.mark.parametrize(
    ("given", "used"),
    [
        (
            Conversation([turn("system", "s"), HI]),
            {"role system": "messages[0]", "system": "messages[0]", "role user": "messages[1]"},
        ),
        # An empty list uses nothing, so nothing is lost.
        (Conversation([HI], tools=[], documents=[]), {"role user": "messages[0]"}),
    ],
)
def test_what_is_declared_passes(given: Conversation, used: dict[str, str]) -> None:
    chatml = contract(TEMPLATES["chatml"])
    assert used_fields(given, chatml) == used
    assert forbidden_uses(given, chatml) == []
    require_permitted(given, chatml)


def test_a_lost_field_is_a_finding() -> None:
    ir = compile_template(TEMPLATES["chatml"]).ir
    given = Conversation([turn("system", "s"), HI], documents=[{"text": "x"}])
    found = findings(given, render(ir, given), derive_contract(ir))
    assert found == ["FORBIDDEN_FIELD memory at documents"]
