"""The runtime's template renderer gives what the Python renderer gives: bytes, owners, refusals."""

from __future__ import annotations

import ast
import itertools
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.chat.conversations import CONVERSATIONS, HI, TEMPLATES, TOOLS, VARIABLES, turn
from tests.chat.generated import VALUES, templates
from trlm_lab.backends.abi_chat import ChatRuntime
from trlm_lab.backends.abi_host import Host, Scratch
from trlm_lab.chat import Conversation, TemplateIR, compile_template, limits, read_ir, render
from trlm_lab.errors import (
    ChatInputError,
    TemplateIrError,
    TemplateLimitError,
    TrlmError,
)

Answer = tuple[Any, ...]
CHAT_TESTS = Path(__file__).parents[1] / "chat"
#: A value or a call deeper than the limits allow.
TOO_DEEP: Answer = ("refused", "TEMPLATE_LIMIT", "template line 1")
TALKS = ([], [HI], [turn("user", "ß <s>"), turn("tool", "", name="n")])


def answer(make: Callable[[], Any]) -> Answer:
    """Text and owners, or code and place."""
    try:
        made = make()
    except TrlmError as error:
        return ("refused", error.code, error.where)
    return ("text", made.text, made.ownership)


def same(host: Host, ir: TemplateIR, conversations: list[Conversation]) -> list[Answer]:
    """The answers of the runtime, once Python agrees on each."""
    runtime = ChatRuntime(host, ir.encoded)
    answers = []
    for conversation in conversations:
        ours = answer(lambda conversation=conversation: runtime.render(conversation))
        assert ours == answer(lambda conversation=conversation: render(ir, conversation))
        answers.append(ours)
    runtime.forget()
    return answers


def sources() -> list[str]:
    """Every template that a test of `tests/chat` spells, and the lines of the odd ones."""
    found = set(TEMPLATES["odds"].splitlines())
    for path in CHAT_TESTS.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {node.value} if "{{" in node.value or "{%" in node.value else set()
    return sorted(found)


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_conversation_through_every_family(text_host: Host, name: str) -> None:
    choices = itertools.product(CONVERSATIONS.values(), (False, True), (None, TOOLS))
    conversations = [Conversation(m, p, tools=t, variables=VARIABLES) for m, p, t in choices]
    answers = same(text_host, compile_template(TEMPLATES[name]).ir, conversations)
    assert sum(row[0] == "text" for row in answers) >= 80


@pytest.mark.slow
def test_every_template_of_the_other_tests(text_host: Host) -> None:
    texts = refusals = 0
    for source in sources():
        for whole in (source, "{% for m in messages %}" + source + "{% endfor %}"):
            try:
                ir = compile_template(whole).ir
            except TrlmError:
                continue
            rows = [Conversation(m, variables={"bos_token": "<s>", "v": 5}) for m in TALKS]
            answers = same(text_host, ir, rows)
            texts += sum(row[0] == "text" for row in answers)
            refusals += sum(row[0] == "refused" for row in answers)
    assert texts > 200
    assert refusals > 100


@pytest.mark.slow
def test_templates_of_the_grammar(text_host: Host) -> None:
    kinds: Counter[str] = Counter()

    @settings(max_examples=150)
    @given(templates(), st.booleans())
    def judge(source: str, prompt: bool) -> None:
        try:
            ir = compile_template(source).ir
        except TrlmError:
            return
        kinds[same(text_host, ir, [Conversation(TALKS[2], prompt, variables=VALUES)])[0][0]] += 1

    judge()
    assert kinds.total() >= 100
    assert min(kinds["text"], kinds["refused"]) >= 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "largest"),
    [
        (
            "{{% for a in range(99) %}}{{% for b in range({n}) %}}{{{{ b }}}}"
            "{{% endfor %}}{{% endfor %}}",
            2515,
        ),
        ("{{{{ 'x' * {n} }}}}{{{{ 'x' * {n} }}}}", limits.MAX_OUTPUT_BYTES // 2),
        ("{{% for a in range({n}) | list | sort %}}{{% endfor %}}", 49_999),
        ("{{% set x = [1] * {n} %}}{{{{ x == x }}}}{{{{ x | tojson | length }}}}", 247_338),
    ],
    ids=["loops", "output", "sorting", "comparing"],
)
def test_steps_are_counted_alike(text_host: Host, source: str, largest: int) -> None:
    """Python and the runtime both render the largest size and both refuse the next one."""
    for size, kind in ((largest, "text"), (largest + 1, "refused")):
        ir = compile_template(source.format(n=size)).ir
        assert same(text_host, ir, [Conversation([])])[0][0] == kind


@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        (
            "{% set ns = namespace(x=[]) %}{% for i in range(999) %}"
            "{% set ns.x = [ns.x] %}{% endfor %}",
            TOO_DEEP,
        ),
        (
            "{% set ns = namespace(x=[]) %}{% for i in range(999) %}"
            "{% set ns.x = ns.x | map('upper') %}{% endfor %}{{ ns.x | list }}",
            TOO_DEEP,
        ),
        (
            "{% set ns = namespace() %}{% for i in range(9999) %}{% set ns.x = namespace(y=ns.x) %}"
            "{% endfor %}",
            ("text", "", ()),
        ),
        (
            "{% set ns = namespace() %}{% for i in range(9999) %}{% for q in [ns.x] %}"
            "{% set ns.x = loop %}{% endfor %}{% endfor %}",
            ("text", "", ()),
        ),
        (
            "{% set ns = namespace() %}{% set ns.x = ns %}{% macro m(a) %}{{ m }}{% endmacro %}",
            ("text", "", ()),
        ),
        (
            "{% macro m(n) %}{{ [[[m(n)]]] | join | upper | trim | title }}{% endmacro %}"
            "{{ m(1) }}",
            TOO_DEEP,
        ),
        (
            "{{ '" + "ab" * 400 + "' | replace('a', 'x' * 9999) }}",
            ("text", ("x" * 9999 + "b") * 400, ((0, 4_000_000, "template"),)),
        ),
    ],
    ids=["lists", "maps", "namespaces", "loops", "circle", "macros", "replacing"],
)
def test_deep_and_circular_values_end(text_host: Host, source: str, outcome: Answer) -> None:
    assert same(text_host, compile_template(source).ir, [Conversation([])]) == [outcome]


@pytest.mark.slow
def test_hostile_compiled_templates(text_host: Host) -> None:
    """Every flipped byte: both refuse, or both render the same."""
    data = compile_template(TEMPLATES["chatml"]).ir.encoded
    accepted = 0
    for at in range(len(data)):
        for bit in (1, 32, 128):
            bad = bytearray(data)
            bad[at] ^= bit
            try:
                ir = read_ir(bytes(bad))
            except TrlmError:
                with pytest.raises((TemplateIrError, TemplateLimitError)):
                    ChatRuntime(text_host, bytes(bad))
                continue
            accepted += 1
            assert ir.encoded == bytes(bad)
            same(text_host, ir, [Conversation([HI])])
    assert accepted > 50
    for cut in range(0, len(data), 7):
        with pytest.raises(TemplateIrError):
            ChatRuntime(text_host, data[:cut])


@pytest.mark.parametrize(
    "nodes",
    [
        [["break", 1], ["body", 1, [0]]],
        [["break", 1], ["body", 1, [0]], ["macro", 1, "m", [], [], [], 1], ["body", 1, [2]]],
        [["const", 1, 1]],
        [["const", 1, 1], ["emit", 1, [1]], ["body", 1, [1]]],
        [["const", 1, b"x"], ["emit", 1, [0]], ["body", 1, [1]]],
        [["body", 1, []], ["emit", 1, [0]], ["body", 1, [1]]],
        [["body", -1, []]],
        [["body", 1, [], []]],
        [["body", 1]],
    ],
)
def test_tables_that_no_compiler_writes(text_host: Host, nodes: list[Any]) -> None:
    data = TemplateIR(tuple(nodes)).encoded
    with pytest.raises(TemplateIrError):
        read_ir(data)
    with pytest.raises(TemplateIrError):
        ChatRuntime(text_host, data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{",
        b'{"messages": 1}',
        b'{"messages": [1]}',
        b'{"more": 1}',
        b'{"messages": [], "messages": []}',
        b'{"messages": [{"a": 1, "a": 2}]}',
        b'{"tools": "\\ud800"}',
        b'{"tools": "\\ud800\\u0041"}',
        b'{"tools": "\\x"}',
        b'{"tools": "\n"}',
        b'{"tools": "\xff"}',
        b'{"tools": 01}',
        b'{"tools": 1.}',
        b'{"tools": .5}',
        b'{"tools": +1}',
        b'{"tools": 1e999}',
        b'{"tools": NaN}',
        b'{"tools": 18446744073709551616}',
        b'{"tools": ' + b"[" * 70 + b"]" * 70 + b"}",
        b'{"variables": {"range": 1}}',
        b'{"variables": {"messages": 1}}',
        b'{"variables": {"strftime_now": 1}}',
        b'{"add_generation_prompt": 1}',
        b"{} {}",
    ],
)
def test_conversations_that_are_none(text_host: Host, data: bytes) -> None:
    runtime = ChatRuntime(text_host, compile_template("x").ir.encoded)
    with Scratch(text_host, np.frombuffer(data or b" ", dtype=np.uint8)) as placed:
        status = text_host.call("trlm_chat_render", runtime.handle, placed.address, len(data))
    assert status != 0
    assert text_host.call("trlm_last_error_code") == 801
    assert text_host.call("trlm_chat_text_len", runtime.handle) == 0
    runtime.forget()


def test_input_that_is_no_plain_data(text_host: Host) -> None:
    runtime = ChatRuntime(text_host, compile_template("x").ir.encoded)
    for tools in (object(), {1: 2}, float("nan"), 2**64, "\ud800"):
        with pytest.raises(ChatInputError):
            runtime.render(Conversation([], tools=tools))
    runtime.forget()


def test_numbers_print_as_in_python(text_host: Host) -> None:
    values = [0, -(2**64), 2**64 - 1, -0.0, 0.1, 1e16, 1e22, 5e-324, 1.7976931348623157e308, 1e-5]
    values += [2.5**n for n in range(-40, 40)] + [1 / n for n in range(1, 40)]
    source = "{{ tools }}{{ tools | tojson }}{% for t in tools %}{{ t | round(2) }} {% endfor %}"
    made = same(text_host, compile_template(source).ir, [Conversation([], tools=values)])
    assert made[0][0] == "text"


@pytest.mark.slow
def test_every_character_has_python_s_case_and_class(text_host: Host) -> None:
    source = (
        "{{ v.lower() }}{{ v.upper() }}{{ v.title() }}{{ v | title }}{{ v.split() | length }}"
        "{{ v.splitlines() | length }}{{ [v] }}{{ v | wordcount }}{{ (v ~ 'Σ').lower() }}"
        "{% for c in v %}{{ c.isalpha() }}{{ c.isdigit() }}{{ c.isnumeric() }}{{ c.islower() }}"
        "{{ c.isupper() }}{{ c.isspace() }}{{ c | int(-1) }}{% endfor %}"
    )
    # The tables are those of Unicode 14; a later Python knows more characters.
    limit = 0x30000 if unicodedata.unidata_version == "14.0.0" else 0x250
    assigned = [chr(c) for c in range(limit) if not 0xD800 <= c < 0xE000]
    ir = compile_template(source).ir
    rows = [
        Conversation([], variables={"v": "".join(assigned[at : at + 4096])})
        for at in range(0, len(assigned), 4096)
    ]
    assert {row[0] for row in same(text_host, ir, rows)} == {"text"}
