"""What is outside the subset, beyond a bound or no compiled template, by name and place."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.chat.conversations import HI, TEMPLATES, turn
from trlm_lab.base import canon
from trlm_lab.chat import Conversation, compile_template, limits, read_ir, render
from trlm_lab.chat.ir import OPS, TemplateIR
from trlm_lab.errors import (
    ChatInputError,
    NondeterministicTemplateError,
    NotCanonicalError,
    TemplateEvaluationError,
    TemplateIrError,
    TemplateLimitError,
    TemplateRaisedError,
    TemplateSourceError,
    TemplateUnsupportedError,
    TrlmError,
)


def text(source: str, messages: list[Any] | None = None, **variables: Any) -> str:
    given = Conversation(messages or [], variables=variables)
    return render(compile_template(source).ir, given).text


def grown(start: str, step: str) -> str:
    """A value that doubles fifty times."""
    head = f"{{% set ns = namespace(x={start}) %}}{{% for i in range(50) %}}"
    return head + f"{{% set ns.x = {step} %}}{{% endfor %}}"


#: What transformers refuses or reads otherwise there, since it makes a macro of the body.
MARKED = "{{% generation %}}{}{{% endgeneration %}}".format


@pytest.mark.parametrize(
    ("source", "construct"),
    [
        ("{% include 'x' %}", "Include"),
        ("{{ ([1, 1] | unique)[1:] }}", "a slice of a constant"),
        ("{{ (1 + 1)[1:] }}", "a slice of a constant"),
        ("{% import 'x' as y %}", "Import"),
        ("{% from 'x' import y %}", "FromImport"),
        ("{% extends 'x' %}", "Extends"),
        ("{% block b %}{% endblock %}", "Block"),
        ("{% macro m() %}{% endmacro %}{% call m() %}{% endcall %}", "CallBlock"),
        ("{% for x in y recursive %}{% endfor %}", "recursive"),
        ("{{ ''.__class__ }}", "__class__"),
        ("{{ ''['__class__'] }}", "__class__"),
        ("{{ x | attr('y') }}", "'attr'"),
        ("{{ x | random }}", "'random'"),
        ("{{ x | map('attr', 'y') }}", "'attr'"),
        ("{{ x | select(y) }}", "computed"),
        ("{{ x is sameas y }}", "'sameas'"),
        ("{{ x is callable }}", "'callable'"),
        ("{{ open('x') }}", "'open'"),
        ("{{ lipsum() }}", "'lipsum'"),
        ("{{ cycler }}", "'cycler'"),
        ("{{ self }}", "'self'"),
        ("{% macro m() %}{{ varargs }}{% endmacro %}", "'varargs'"),
        ("{{ x.encode() }}", "'encode'"),
        ("{{ x['get']('y') }}", "call of Getitem"),
        ("{{ range(*x) }}", "by *"),
        ("{{ range(**x) }}", "by *"),
        ("{% set ns.__x = 1 %}", "__x"),
        ("{% break %}", "break"),
        ("{% for x in y %}{% macro m() %}{% continue %}{% endmacro %}{% endfor %}", "continue"),
        (
            "{% set ns = namespace(a=1) %}{% set ns.a = 2 %}{% for x in y if ns.a %}{% endfor %}",
            "namespace",
        ),
        ("{{ 1e999 }}", "finite"),
        ("{{ 99999999999999999999 }}", "64 bits"),
        ("{{ '\\ud800' }}", "surrogate"),
        ("{% for loop in x %}{% endfor %}", "'loop'"),
        ("{% for a in x %}{% set loop = 1 %}{% endfor %}", "assignment to 'loop'"),
        ("{% for a in x %}{% set b, loop = a %}{% endfor %}", "assignment to 'loop'"),
        ("{% for a in x %}{% else %}{% set loop %}{% endset %}{% endfor %}", "to 'loop'"),
        ("{% for a in x %}" + MARKED("{% set loop = 1 %}") + "{% endfor %}", "to 'loop'"),
        ("{% for a in x %}" + MARKED("{% break %}") + "{% endfor %}", "break outside"),
        ("{% for a in x %}" + MARKED("{% continue %}") + "{% endfor %}", "continue outside"),
        ("{% set caller = 1 %}" + MARKED("{{ caller }}"), "'caller' within generation"),
        ("{% macro kwargs() %}{% endmacro %}" + MARKED("{{ kwargs() }}"), "'kwargs' within"),
    ],
)
def test_unsupported_constructs_have_a_name_and_a_line(source: str, construct: str) -> None:
    with pytest.raises(TemplateUnsupportedError) as caught:
        compile_template("first line\n\n" + source, where="t.jinja")
    assert construct in caught.value.facts["construct"]
    assert caught.value.where == "t.jinja line 3"


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages.append }}",
        "{{ 'x'.upper }}",
        "{{ messages[0]['items'] }}",
        "{{ namespace(a=1) }}",
        "{{ messages | map('upper') }}",
        "{{ range }}",
        "{{ '%s' % 1 }}",
        "{{ 'x'.splitlines('y') }}",
        "{{ 'x'.splitlines(none) }}",
        "{{ messages.append(1) }}",
        "{{ ('x' | safe) | trim }}",
        "{{ ('x' | safe).strip() }}",
        "{{ ('x' | safe) * 2 }}",
        "{{ '{0.a}'.format(1) }}",
        "{{ '{!r}'.format(1) }}",
        "{{ '{:>9}'.format(1) }}",
        "{{ namespace(_x=1) }}",
        "{% set ns = namespace() %}{{ ns.get(1) }}",
        "{{ loop.cycle }}",
    ],
)
def test_values_outside_the_subset(source: str) -> None:
    whole = "{% for m in messages %}" + source + "{% endfor %}"
    with pytest.raises(TemplateUnsupportedError, match="line 1"):
        text(whole, [HI])


@pytest.mark.parametrize(
    "source",
    ["{% if %}", "{{ x", "{% endfor %}", "{{ x | nosuch( }}", b"a\xff", "{{ " + "9" * 5000 + " }}"],
)
def test_no_template(source: str | bytes) -> None:
    with pytest.raises(TemplateSourceError):
        compile_template(source)


def test_places_of_run_time_errors() -> None:
    with pytest.raises(TemplateEvaluationError, match="line 2: rendering fails: 'x' is undefined"):
        text("a\n{{ x.y }}")
    with pytest.raises(TemplateRaisedError, match=r"line 1: the template refuses .*: no x"):
        text("{{ raise_exception('no ' ~ 'x') }}")
    with pytest.raises(NondeterministicTemplateError, match="'%Y'"):
        text("{{ strftime_now('%Y') }}")


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("{% for a in range(1001) %}{% for b in range(1000) %}{% endfor %}{% endfor %}", "steps"),
        ("{{ 'x' * 9999999 }}", "characters"),
        ("{% for a in range(99) %}{{ 'x' * 100000 }}{% endfor %}", "bytes of output"),
        ("{{ [1] * 9999999999 }}", "characters"),
        ("{{ range(100001) }}", "range"),
        ("{{ 2 ** 999999999 }}", "integer"),
        ("{{ 9223372036854775807 + 1 }}", "integer"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "macro"),
        (grown("[1]", "[ns.x, ns.x]") + "{{ ns.x }}", "steps"),
        (grown("[1]", "[ns.x, ns.x]") + "{{ ns.x | tojson }}", "steps"),
        ("{{ messages | tojson(indent=999999999) }}", "characters"),
        (grown("'ab'", "ns.x | replace('b', ns.x)"), "characters"),
        (grown("'ab'", "ns.x + ns.x"), "characters"),
    ],
)
def test_run_time_bounds(source: str, what: str) -> None:
    with pytest.raises(TemplateLimitError, match=what):
        text(source, [HI])


def test_compile_time_bounds() -> None:
    with pytest.raises(TemplateLimitError, match="source bytes"):
        compile_template("x" * (limits.MAX_SOURCE_BYTES + 1))
    with pytest.raises(TemplateLimitError, match="nesting"):
        compile_template("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}")
    with pytest.raises(TemplateLimitError, match="nesting"):
        compile_template("{% if 1 %}" * 120 + "{% endif %}" * 120)
    with pytest.raises(TemplateLimitError, match="nodes"):
        compile_template("{{ a.b.c }}" * 22_000)
    assert text("{{ " + " + ".join(["'a'"] * 150) + " }}") == "a" * 150


@pytest.mark.parametrize(
    "given",
    [
        Conversation("x"),
        Conversation(["x"]),
        Conversation([{1: 2}]),
        Conversation([{"a": object()}]),
        Conversation([turn("user", "\ud800")]),
        Conversation([{"\udfff": 1}]),
        Conversation([], variables={"messages": []}),
        Conversation([], variables={"range": 1}),
        Conversation([], variables={"strftime_now": 5}),
        Conversation([], tools={1}),
    ],
)
def test_input_that_is_no_plain_data(given: Conversation) -> None:
    with pytest.raises(ChatInputError):
        render(compile_template("").ir, given)


def test_input_nested_too_deep() -> None:
    deep: list[Any] = []
    for _ in range(70):
        deep = [deep]
    with pytest.raises(ChatInputError, match="deeper"):
        render(compile_template("").ir, Conversation([], tools=deep))


def changed(change: Callable[[dict[str, Any]], None]) -> bytes:
    row = canon.decode(compile_template(TEMPLATES["hermes_tools"]).ir.encoded)
    change(row)
    return canon.encode(row)


@pytest.mark.parametrize(
    "change",
    [
        lambda row: row.update(schema="x"),
        lambda row: row.update(version=2),
        lambda row: row.update(more=1),
        lambda row: row.update(version=True),
        lambda row: row.update(nodes=[]),
        lambda row: row.update(hidden=[1]),
        lambda row: row["nodes"].append(["text", 1]),
        lambda row: row["nodes"].append(["const", 1, [1]]),
        lambda row: row["nodes"].append(["name", 1]),
        lambda row: row["nodes"].append(["not", 1, -1]),
        lambda row: row["nodes"].append(["not", 1, 99999]),
        lambda row: row["nodes"].append(["not", 1, len(row["nodes"])]),
        lambda row: row["nodes"].append(["body", 1, [0]]),
        lambda row: row["nodes"].append(["break", 1]),
        lambda row: row["nodes"].append(["filter", 1, 0, "random", [], [], []]),
        lambda row: row["nodes"].append(["method", 1, 0, "mro", [], [], []]),
        lambda row: row["nodes"].append(["test", 1, 0, "sameas", []]),
        lambda row: row["nodes"].append(["arith", 1, "@", 0, 0]),
        lambda row: row["nodes"].append(["attr", 1, 0, "__x"]),
        lambda row: row["nodes"].append(["compare", 1, 0, [], []]),
        lambda row: row["nodes"].append(["const", True, 1]),
        lambda row: row["nodes"].append(5),
        lambda row: row["nodes"].append(["set", 1, 0, 0]),
    ],
)
def test_compiled_templates_that_nobody_compiled(change: Callable[[dict[str, Any]], None]) -> None:
    with pytest.raises(TemplateIrError):
        read_ir(changed(change))


def test_compiled_templates_beyond_the_bounds() -> None:
    nodes = [["const", 1, 1], *[["not", 1, i] for i in range(200)]]
    nodes += [["emit", 1, [200]], ["body", 1, [201]]]
    with pytest.raises(TemplateLimitError, match="nesting"):
        read_ir(TemplateIR(tuple(nodes)).encoded)
    many = [["const", 1, 1]] * (limits.MAX_NODES + 1)
    with pytest.raises(TemplateLimitError, match="nodes"):
        read_ir(TemplateIR(tuple(many)).encoded)


def test_every_flipped_byte_of_a_compiled_template_is_refused_or_renders() -> None:
    data = compile_template(TEMPLATES["chatml"]).ir.encoded
    for at in range(len(data)):
        for bit in (1, 32, 128):
            bad = bytearray(data)
            bad[at] ^= bit
            with suppress(TrlmError):
                render(read_ir(bytes(bad)), Conversation([HI]))
    with pytest.raises(NotCanonicalError):
        read_ir(data[:-1])


def test_identity() -> None:
    """Comments change the source's hash only; a byte of text changes both."""
    one, two, three = (compile_template(s) for s in ("a{# x #}", "a{# y #}", "b{# x #}"))
    assert one.source_sha256 != two.source_sha256
    assert one.ir_sha256 == two.ir_sha256 != three.ir_sha256
    for source in TEMPLATES.values():
        ir = compile_template(source).ir
        assert read_ir(ir.encoded) == ir
        assert {node[0] for node in ir.nodes} <= set(OPS)
