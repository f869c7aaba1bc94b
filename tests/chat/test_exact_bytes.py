"""Bytes that renderers get wrong: block white space, the last newline, trimming, data as code."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chat.conversations import turn
from trlm_lab.chat import Conversation, compile_template, derive_contract, findings, render

BLOCKS = """{% for m in messages %}
    {% if m['role'] == 'system' %}
<|im_start|>system
{{ m['content'] }}<|im_end|>
    {% else %}
<|im_start|>{{ m['role'] }}
{{ m['content'] }}<|im_end|>
    {% endif %}
{% endfor %}
{% if add_generation_prompt %}
<|im_start|>assistant
{% endif %}
"""
MINUS = """{%- for m in messages -%}
<|im_start|>{{ m['role'] }}
{{ m['content'] }}<|im_end|>
{%- endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{%- endif -%}"""
ALWAYS = (
    "{{ bos_token }}{% for m in messages %}<h>{{ m['role'] }}</h>\n\n"
    "{{ m['content'] | trim }}<eot>{% endfor %}<h>assistant</h>\n\n"
)
DEFAULT = (
    "{% if messages[0]['role'] == 'system' %}{% set sys = messages[0]['content'] %}"
    "{% set messages = messages[1:] %}{% else %}{% set sys = 'You are a default.' %}{% endif %}"
    "<sys>{{ sys }}</sys>{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}"
)
DATED = (
    "{% if not date_string is defined %}{% if strftime_now is defined %}"
    "{% set date_string = strftime_now('%d %b %Y') %}{% endif %}{% endif %}"
    "Today Date: {{ date_string }}\n"
)
THINK = (
    "{% for m in messages %}{{ m['content'].split('</think>')[-1] if m['role'] == 'assistant' "
    "else m['content'] }}|{% endfor %}"
)
RAW = "{{ messages[0]['content'] }}"
PAIR = [turn("system", "S"), turn("user", "Hi")]


def text(source: str, messages: list[Any], prompt: bool = False, **variables: Any) -> str:
    given = Conversation(messages, prompt, variables=variables)
    return render(compile_template(source).ir, given).text


def test_block_white_space() -> None:
    """Both options are on; engines default to off. The last newline of the source is dropped."""
    assert text(BLOCKS, PAIR, True) == (
        "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )


def test_minus_eats_the_newline_after_the_prefix() -> None:
    assert text(MINUS, PAIR, True) == (
        "<|im_start|>system\nS<|im_end|><|im_start|>user\nHi<|im_end|><|im_start|>assistant"
    )


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("  padded \n", "padded"),
        ("\x85x\x85", "x"),
        ("\u200bx\u200b", "\u200bx\u200b"),
        ("\ufeffx", "\ufeffx"),
        ("\x1cx\x1f", "x"),
        ("\xa0x\u2029", "x"),
    ],
)
def test_trim_is_python_s(content: str, kept: str) -> None:
    made = text(ALWAYS, [turn("user", content)], bos_token="<s>")
    assert made == f"<s><h>user</h>\n\n{kept}<eot><h>assistant</h>\n"


def test_one_final_newline_is_dropped() -> None:
    assert text(ALWAYS, [], bos_token="<s>") == "<s><h>assistant</h>\n"


def test_an_empty_system_message_is_not_an_absent_one() -> None:
    assert text(DEFAULT, [turn("system", ""), turn("user", "Hi")]) == "<sys></sys><user>Hi"
    assert text(DEFAULT, [turn("user", "Hi")]) == "<sys>You are a default.</sys><user>Hi"


def test_the_date_comes_from_the_caller() -> None:
    assert text(DATED, [], date_string="01 Jan 2025") == "Today Date: 01 Jan 2025"
    assert text(DATED, [], strftime_now="02 Feb 2025") == "Today Date: 02 Feb 2025"


@pytest.mark.parametrize(
    "content", ["{{ 7*7 }}", "{# c #}", "{% if %}", 'it\'s "q" \\ <&>', "{{ raise_exception('') }}"]
)
def test_content_is_data(content: str) -> None:
    given = Conversation([turn("user", content)])
    rendered = render(compile_template(RAW).ir, given)
    assert rendered.text == content
    assert rendered.ownership == ((0, len(content.encode()), "content"),)


@pytest.mark.parametrize(
    ("content", "left"), [("hello </think> world", " world|"), ("</think>", "|")]
)
def test_lost_content_is_flagged(content: str, left: str) -> None:
    compiled, messages = compile_template(THINK), [turn("assistant", content)]
    rendered = render(compiled.ir, Conversation(messages))
    assert rendered.text == left
    found = findings(Conversation(messages), rendered, derive_contract(compiled.ir))
    assert found == ["LOSSY_CONTENT at messages[0]"]


LOOP = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"


@pytest.mark.parametrize(
    ("source", "messages", "lost"),
    [
        (
            LOOP.replace("messages", "messages if m.role != 'system'"),
            [turn("system", "user"), turn("user", "Hi")],
            ["messages[0]"],
        ),
        (
            "{{ messages[-1].content }}",
            [turn("user", "yes"), turn("assistant", "No"), turn("user", "yes")],
            ["messages[0]", "messages[1]"],
        ),
        (
            "{{ messages[0].content[0].text }}",
            [turn("user", [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}])],
            ["messages[0].content[1]"],
        ),
        (
            LOOP,
            [turn("assistant", "x", reasoning_content="why")],
            ["messages[0].reasoning_content"],
        ),
        (
            "{{ messages[0].content }}",
            [turn("user", "banana"), turn("user", "nan")],
            ["messages[1]"],
        ),
        (
            "{% set t = messages[0].content.split('|') %}{{ t[0] }}|{{ t[1] }}",
            [turn("user", "a|b")],
            [],
        ),
        (LOOP, [turn("user", "a"), turn("user", " a "), turn("user", "")], []),
    ],
)
def test_every_lost_text_is_named(source: str, messages: list[Any], lost: list[str]) -> None:
    compiled, given = compile_template(source), Conversation(messages)
    found = findings(given, render(compiled.ir, given), derive_contract(compiled.ir))
    assert [row.split(" at ")[1] for row in found if row.startswith("LOSSY_CONTENT")] == lost


@pytest.mark.parametrize("text", ["'On ' ~ strftime_now('%d')", "name | default('Zed')"])
def test_a_synthesised_text_may_hang_on_what_is_given(text: str) -> None:
    default = f"{{% if messages[0].role != 'system' %}}<s>{{{{ {text} }}}}</s>{{% endif %}}"
    framed = "{% for m in messages %}<s>{{ m.content }}</s>{% endfor %}"
    compiled = compile_template(default + framed)
    contract = derive_contract(compiled.ir)
    given = Conversation([turn("user", "Hi")], variables={"strftime_now": "05", "name": "Q"})
    assert contract.system == "synthesised"
    assert findings(given, render(compiled.ir, given), contract) == ["SYNTHESISED_SYSTEM"]
    nobody = Conversation([], variables={"strftime_now": "05"})
    assert "SYNTHESISED_SYSTEM" not in findings(
        nobody, render(compile_template("x").ir, nobody), contract
    )


def test_a_synthesised_system_text_is_flagged() -> None:
    compiled, messages = compile_template(DEFAULT), [turn("user", "Hi")]
    contract = derive_contract(compiled.ir)
    assert (contract.system, contract.synthesised_system) == ("synthesised", "You are a default.")
    rendered = render(compiled.ir, Conversation(messages))
    assert findings(Conversation(messages), rendered, contract) == ["SYNTHESISED_SYSTEM"]
    with_it = render(compiled.ir, Conversation(PAIR))
    assert findings(Conversation(PAIR), with_it, contract) == []
