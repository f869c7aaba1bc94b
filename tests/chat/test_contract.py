"""What a template does with roles, systems, empty and structured content: found, not guessed."""

from __future__ import annotations

import importlib

import pytest

from tests.chat.conversations import TEMPLATES
from trlm_lab.base import canon
from trlm_lab.chat import TemplateContract, compile_template, derive_contract, limits
from trlm_lab.chat.budget import Budget
from trlm_lab.errors import TemplateLimitError


def contract(source: str) -> TemplateContract:
    return derive_contract(compile_template(source).ir)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "chatml",
            {
                "system": "synthesised",
                "unknown_role": "accepted",
                "several_systems": "accepted",
                "empty_message": "accepted",
                "missing_content": "accepted",
                "tools": "forbidden",
                "generation_prefix": "by the flag",
                "bos": "neither",
                "trailing_whitespace": "kept",
                "structured_content": "printed",
                "memory": "forbidden",
                "later_system": "accepted",
            },
        ),
        (
            "inst",
            {
                "system": "optional",
                "several_systems": "refused",
                "repeated_role": "refused",
                "unknown_role": "refused",
                "missing_content": "refused",
                "bos": "template",
                "generation_prefix": "the flag is ignored",
                "trailing_whitespace": "trimmed",
            },
        ),
        ("headers", {"tools": "accepted", "structured_content": "accepted", "bos": "template"}),
        ("bracket_tools", {"unknown_role": "refused", "tools": "accepted", "system": "optional"}),
        ("start_of_turn", {"several_systems": "refused", "structured_content": "accepted"}),
        ("built_roles", {"eos": "template", "structured_content": "refused"}),
        (
            "hermes_tools",
            {"unknown_role": "ignored", "missing_content": "accepted", "tools": "accepted"},
        ),
    ],
)
def test_families(name: str, expected: dict[str, str]) -> None:
    found = contract(TEMPLATES[name])
    assert {key: getattr(found, key) for key in expected} == expected


def test_aliases_are_roles_with_the_same_bytes() -> None:
    assert ("assistant", "model") in contract(TEMPLATES["start_of_turn"]).aliases
    assert ("tool", "ipython") in contract(TEMPLATES["headers"]).aliases
    assert contract(TEMPLATES["chatml"]).aliases == ()


def test_roles_that_are_refused() -> None:
    roles = contract(TEMPLATES["bracket_tools"]).roles
    assert (roles["developer"], roles["user"]) == ("refused", "accepted")


@pytest.mark.parametrize(
    ("source", "field", "value"),
    [
        (
            "{{ messages[0].content if messages[0].role == 'system' else raise_exception('s') }}",
            "system",
            "required",
        ),
        (
            "{% for m in messages %}{{ raise_exception('s') if m.role == 'system' }}{% endfor %}",
            "system",
            "forbidden",
        ),
        (
            "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}",
            "system",
            "ignored",
        ),
        (
            "{% for m in messages %}{{ m.content or raise_exception('empty') }}{% endfor %}",
            "empty_message",
            "refused",
        ),
        (
            "{{ messages | tojson }}{% for d in documents or [] %}{{ d.text }}{% endfor %}",
            "memory",
            "accepted",
        ),
        ("{% if tools %}{{ raise_exception('no tools') }}{% endif %}", "tools", "refused"),
        ("{% if documents %}{{ raise_exception('no memory') }}{% endif %}", "memory", "refused"),
        (
            "{% for m in messages %}{{ m.tool_calls or 0 }}{% endfor %}",
            "tool_calls",
            "accepted",
        ),
        ("{% for m in messages %}{{ m.content }}{% endfor %}", "tool_calls", "forbidden"),
        (
            "{% for m in messages if m.tool_calls %}{{ raise_exception('calls') }}{% endfor %}",
            "tool_calls",
            "refused",
        ),
        ("{{ raise_exception('never') }}", "generation_prefix", "refused"),
        ("{{ raise_exception('never') }}", "trailing_whitespace", "refused"),
        ("x", "structured_content", "ignored"),
    ],
)
def test_each_value_of_a_field(source: str, field: str, value: str) -> None:
    assert getattr(contract(source), field) == value


def test_a_contract_has_a_canonical_form() -> None:
    assert len(canon.content_id(contract(TEMPLATES["chatml"]).to_map())) == 64


AWAY = "{% for a in range(9999) %}{% for b in range(9999) %}{{ b }}{% endfor %}{% endfor %}"


def test_a_template_that_runs_away_is_refused_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its probes have the steps of one rendering together, and none is made behind them."""
    module = importlib.import_module("trlm_lab.chat.contract")
    budgets: list[Budget] = []

    def counted(steps: int) -> Budget:
        budgets.append(Budget(steps))
        return budgets[-1]

    monkeypatch.setattr(module, "Budget", counted)
    with pytest.raises(TemplateLimitError, match="steps"):
        contract("{% if messages | length > 2 %}" + AWAY + "{% endif %}")
    assert len(budgets) > 1
    assert budgets[-2].steps <= limits.MAX_STEPS < budgets[-1].steps
    assert len(budgets) < 8


def test_a_probe_beyond_another_limit_is_a_refusal_of_its_own() -> None:
    deep = "{% macro m(n) %}{{ m(n) }}{% endmacro %}"
    source = (
        deep + "{% for x in messages %}{{ m(1) if x.role == 'tool' else x.content }}{% endfor %}"
    )
    found = contract(source)
    assert (found.roles["tool"], found.roles["user"]) == ("refused", "accepted")
