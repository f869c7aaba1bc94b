"""The compiled template gives the source renderer's bytes, and refuses what that refuses."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.chat.conversations import (
    CONVERSATIONS,
    HI,
    TEMPLATES,
    TOOLS,
    VARIABLES,
    outcome,
    same_as_source,
    turn,
)
from trlm_lab.chat import Conversation, compile_template, render, render_source

SNIPPETS = TEMPLATES["odds"].splitlines()


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_conversation_through_every_family(name: str) -> None:
    source, texts = TEMPLATES[name], 0
    for messages, prompt, tools in itertools.product(
        CONVERSATIONS.values(), (False, True), (None, TOOLS)
    ):
        conversation = Conversation(messages, prompt, tools=tools, variables=VARIABLES)
        texts += same_as_source(source, conversation)[0] == "text"
    assert texts >= 4


@pytest.mark.parametrize("name", TEMPLATES)
def test_variables_missing_or_false(name: str) -> None:
    for more in ({}, {"enable_thinking": False}, {"enable_thinking": True, "date": "x"}):
        same_as_source(TEMPLATES[name], Conversation([HI], True, variables=more))


def test_odd_constructs_one_by_one() -> None:
    """Line by line, so that a failing line shows itself."""
    for line in SNIPPETS[4:]:
        for messages in ([HI], [turn("user", "ß"), turn("tool", "", name="n")], []):
            same_as_source(line, Conversation(messages))


@pytest.mark.parametrize(
    "source",
    [
        "a\n",
        "a\n\n",
        "a\r\n",
        "{{ 1 }}\n",
        "{% if true %}\n  x\n  {% endif %}\n  y",
        "  {%- if true -%}  x  {%- endif -%}  ",
        "  {%+ if true %} x {% endif +%}\n y",
        "{# c #}\nz",
        "{% raw %}{{ x }}{% endraw %}",
        "{{ '\\n\\u00e9\\'' }}",
        "\t{% set x = 1 %}\n{{ x }}",
        "{{- 1 -}}\n {{ 2 }}",
    ],
)
def test_white_space_control(source: str) -> None:
    assert same_as_source(source, Conversation([]))[0] == "text"


@pytest.mark.parametrize(
    "source",
    [
        "{% for x in [1,2] %}{% set y = x %}{% endfor %}[{{ y }}]",
        "{% set y = 0 %}{% for x in [1,2] %}{{ y }}{% set y = x %}{{ y }}{% endfor %}[{{ y }}]",
        "{% if v %}{% set y = 1 %}{% endif %}[{{ y }}]",
        "{% macro m() %}{{ v }}{% endmacro %}{{ m() }}{% set v = 1 %}{{ m() }}",
        "{% for x in [1] %}{{ v }}{% endfor %}{% set v = 1 %}{% for x in [1] %}{{ v }}{% endfor %}",
        "{{ v }}{% set v = v + 1 %}{{ v }}",
        "{% for x in [1] %}{% for y in [1] %}{{ v }}{% endfor %}{% set v = 2 %}{{ v }}{% endfor %}",
        "{% if w is defined %}{% set v = 3 %}{% endif %}{% for x in [1] %}{{ v }}{% endfor %}",
        "{% set a %}{% set v = 9 %}{{ v }}{% endset %}{{ a }}{{ v }}",
        "{% macro m(a, b=a, c=v) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }}{{ m(c=2) }}",
        "{% macro m(n) %}{{ n }}{% if n %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(9) }}",
        "{% set ns = namespace() %}{% for i in [1] %}{% set ns.x = i + 9 %}{% endfor %}{{ ns.x }}",
        "{% for a, b in [[1, 2], [3, 4]] %}{{ a }}{{ b }}{{ loop.index }}{% endfor %}{{ loop }}",
        "{% with v = 1, w = v %}{{ v }}{{ w }}{% set z = 1 %}{% endwith %}{{ v }}{{ z }}",
        "{% for x in [1] %}{% else %}{% set v = 2 %}{% endfor %}{{ v }}",
        "{% for x in [1,2,3] %}{% if x == 2 %}{% continue %}{% endif %}{{ x }}{% endfor %}",
    ],
)
def test_names_of_blocks(source: str) -> None:
    """The source decides at compile time which block owns a name; 5 is the caller's `v`."""
    assert same_as_source(source, Conversation([], variables={"v": 5}))[0] == "text"


@pytest.mark.parametrize(
    "source",
    [
        "{{ x.y }}",
        "{{ x + 'a' }}",
        "{{ 'a' + x }}",
        "{{ 'a' + 1 }}",
        "{{ none + 'a' }}",
        "{{ 1 / 0 }}",
        "{{ 'a' < 1 }}",
        "{{ 5 | length }}",
        "{{ [] | join(1, 2, 3) }}",
        "{{ none | join }}",
        "{% for a, b in [[1]] %}{% endfor %}",
        "{% set x.y = 1 %}",
        "{{ 'a'.split('') }}",
        "{{ {} | tojson(bad=1) }}",
        "{{ x | tojson }}",
        "{{ 'a'.startswith(1) }}",
        "{{ {}.split() }}",
        "{% macro m() %}{% endmacro %}{{ m(1) }}",
        "{% macro m() %}{% endmacro %}{{ m(z=1) }}",
        "{{ 1 in 2 }}",
        "{{ [].append(1) }}",
        "{{ raise_exception('no') }}",
        "{{ strftime_now('%Y') }}",
        "{{ 5 is in 5 }}",
        "{{ [1, 'a'] | sort }}",
        "{{ [x] | map(attribute='a.b') | list }}",
        "{% set a, b = [1, 2, 3] %}",
        "{{ namespace(_a=1) }}{{ raise_exception('') }}",
        "{{ range(100001) }}",
        "{{ 'x' | d | abs }}",
    ],
)
def test_what_the_source_refuses_is_refused(source: str) -> None:
    assert same_as_source(source, Conversation([]))[0] == "refused"


def test_generators_are_true_and_single() -> None:
    source = (
        "{% set g = messages | selectattr('role', 'equalto', 'zz') %}{{ 'yes' if g }}"
        "{% set h = messages | map(attribute='role') %}{{ h | first }}{{ h | list }}{{ h | list }}"
        "{{ (h | list)[0] is defined }}{{ h[0] is defined }}"
    )
    assert same_as_source(source, Conversation([HI, HI])) == ("text", "yesuser['user'][]FalseFalse")


def test_the_model_s_own_template(smollm2_snapshot: Path) -> None:
    source = (smollm2_snapshot / "chat_template.jinja").read_text()
    for messages, prompt in itertools.product(CONVERSATIONS.values(), (False, True)):
        same_as_source(source, Conversation(messages, prompt, variables=VARIABLES))


test_the_model_s_own_template = pytest.mark.model(test_the_model_s_own_template)

CONTENT = st.one_of(
    st.text(max_size=30),
    st.sampled_from(["", " ", "<|im_end|>", "</think>", "{{ x }}", "\r\n", "\x85", "x" * 3000]),
    st.none(),
    st.lists(
        st.fixed_dictionaries({"type": st.just("text"), "text": st.text(max_size=9)}), max_size=2
    ),
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool", "odd"])},
    optional={
        "content": CONTENT,
        "name": st.text(max_size=4),
        "reasoning_content": st.text(max_size=9),
    },
)


@settings(max_examples=60, deadline=None)
@given(st.lists(MESSAGE, max_size=5), st.booleans(), st.sampled_from(sorted(TEMPLATES)))
def test_any_messages(messages: list[Any], prompt: bool, name: str) -> None:
    kind, _ = same_as_source(TEMPLATES[name], Conversation(messages, prompt, variables=VARIABLES))
    if kind == "text":
        rendered = render(
            compile_template(TEMPLATES[name]).ir,
            Conversation(messages, prompt, variables=VARIABLES),
        )
        ends = [row[1] for row in rendered.ownership]
        assert [row[0] for row in rendered.ownership] == [0, *ends][: len(ends)]
        assert (ends or [0])[-1] == len(rendered.rendered_bytes)
        assert "".join(s.text for s in rendered.segments) == rendered.text


def test_the_source_renderer_is_transformers_own() -> None:
    """Settings held against the framework itself."""
    from transformers.utils import chat_template_utils as module

    for name, source in TEMPLATES.items():
        template = module._cached_compile_jinja_template(source)
        template.globals["strftime_now"] = lambda _: "01 Jan 2025"
        for messages in CONVERSATIONS.values():
            given = Conversation(messages, True, variables=VARIABLES)
            plain = {k: v for k, v in VARIABLES.items() if k != "strftime_now"}
            ours = outcome(lambda given=given, source=source: render_source(source, given))
            try:
                theirs = template.render(
                    messages=messages,
                    tools=None,
                    documents=None,
                    add_generation_prompt=True,
                    **plain,
                )
            except Exception:
                assert ours[0] == "refused", name
            else:
                assert ours == ("text", theirs), name
