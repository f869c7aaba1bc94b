"""Templates drawn from the grammar of the subset, and the variables that they read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from trlm_lab.chat.allowed import FILTERS, METHODS, TESTS

VALUES: dict[str, Any] = {
    "bos_token": "<s>",
    "eos_token": "</s>",
    "strftime_now": "01 Jan",
    "v": "V",
    "data": {
        "list": [1, 2.5, "x", None],
        "obj": {"b": 1, "a": "é"},
        "num": 5,
        "big": 2**64 - 1,
        "f": -0.0,
    },
}
TEXTS = [
    "''",
    "'Hello World'",
    "' x  y '",
    "'ß'",
    "'İΣ. ΑΣ'",
    "'ǅab'",
    "'a,b,,c'",
    "'12'",
    "'-3.5'",
    "'0x1f'",
    "'1_000'",
    "'٣'",
    "'²'",
    "'\\n\\r\\n\\x85z'",
    "'<&>\\'\"'",
    "'{}{x}'",
    "'{0}-{a}{{}}'",
    "'{!r}'",
    "'\\u2028\\x1c\\x00é\\U0001F600'",
    "'abab'",
    "'the-quick (brown'",
]
NUMBERS = [
    "0",
    "1",
    "2",
    "-1",
    "7",
    "3.5",
    "-2.5",
    "0.1",
    "1e16",
    "123456789.125",
    "1e-7",
    "2.675",
    "100",
    "0.5",
    "true",
    "false",
]
OTHERS = [
    "none",
    "missing",
    "[]",
    "[1, 2, 3]",
    "['b', 'A', 'a']",
    "[3, 1.0, true]",
    "(1,)",
    "('x', 2)",
    "{'a': 1, 'b': [2]}",
    "{1: 'x', 'y': none}",
    "[{'k': 2, 'n': 'z'}, {'k': 1, 'n': 'a'}]",
    "range(4)",
    "range(5, 0, -2)",
    "messages",
    "messages[0]",
    "data",
    "data.list",
    "data.obj",
    "data.big",
    "data.f",
    "v",
    "ns",
    "data.obj.items()",
    "data.obj | items",
    "[1, 2, 2, 'x'] | unique",
    "messages | map(attribute='role')",
    "('<b>' | safe)",
    "dict(z=1)",
]
ENDINGS = [
    "list",
    "sort",
    "sort(attribute='k')",
    "sort(attribute='k,n', reverse=true)",
    "map(attribute='k') | list",
    "map('upper') | join('|')",
    "selectattr('k', 'gt', 1) | list",
    "reject('none') | list",
    "join(',')",
    "tojson",
    "tojson(indent=2)",
    "tojson(separators=(',', ':'), sort_keys=true, ensure_ascii=true)",
    "dictsort(by='value')",
    "round(1)",
    "round(0, 'floor')",
    "int(0, 16)",
    "indent(2, true)",
    "indent('>', first=true, blank=true)",
    "replace('a', 'éé')",
    "replace('', '-', 2)",
    "default('d', true)",
    "sum(start=1)",
    "trim('aH')",
    "unique | list",
]
ATTRIBUTES = [
    "content",
    "role",
    "k",
    "a",
    "items",
    "index",
    "first",
    "length",
    "q",
    "x",
    "list",
    "num",
]


def _one(draw: Any, *choices: Any) -> Any:
    return draw(st.sampled_from(choices))


def _atom(draw: Any) -> str:
    return str(draw(st.sampled_from(draw(st.sampled_from([TEXTS, NUMBERS, OTHERS])))))


def _arguments(draw: Any, depth: int) -> str:
    return ", ".join(_expression(draw, depth) for _ in range(draw(st.integers(0, 2))))


def _filtered(draw: Any, depth: int) -> str:
    held = _expression(draw, depth)
    if draw(st.booleans()):
        return f"({held} | {draw(st.sampled_from(ENDINGS))})"
    name = draw(st.sampled_from(sorted(FILTERS - {"map", "select", "reject"})))
    if name in ("selectattr", "rejectattr"):
        return f"({held} | {name}('role'))"
    return f"({held} | {name}({_arguments(draw, depth - 1)}))"


def _tested(draw: Any, depth: int) -> str:
    # The source asks for the case of a list's text; the subset knows that of texts and numbers.
    names = {t for t in TESTS if t.isalpha()} - {"lower", "upper"}
    name = draw(st.sampled_from(sorted(names)))
    argument = _one(draw, "", f"({_expression(draw, depth - 1)})")
    return f"({_expression(draw, depth)} is {name}{argument})"


def _called(draw: Any, depth: int) -> str:
    name = draw(st.sampled_from(sorted(METHODS)))
    return f"({_atom(draw)}).{name}({_arguments(draw, depth - 1)})"


def _joined(draw: Any, depth: int) -> str:
    signs = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", "in", "and", "or"]
    sign = draw(st.sampled_from([*signs, "not in"]))
    return f"({_expression(draw, depth)} {sign} {_expression(draw, depth)})"


def _part(draw: Any, depth: int) -> str:
    cut = _one(draw, "[1:]", "[::-1]", "[-2:9:2]", "[0]", "[-1]", "['a']")
    part = _one(draw, cut, "." + draw(st.sampled_from(ATTRIBUTES)))
    return f"({_one(draw, *OTHERS[2:], *TEXTS)}){part}"


def _built(draw: Any, depth: int) -> str:
    one, other = _expression(draw, depth), _expression(draw, depth)
    forms = (
        "[{}, {}]",
        "({}, {})",
        "{{'a': {}, 'b': {}}}",
        "({0} if {1} else 3)",
        "dict(a={0}, b={1})",
    )
    return str(draw(st.sampled_from(forms))).format(one, other)


def _expression(draw: Any, depth: int) -> str:
    if depth <= 0:
        return _atom(draw)
    kinds: list[Callable[[Any, int], str]] = [_filtered, _tested, _called, _joined, _part, _built]
    return draw(st.sampled_from(kinds))(draw, depth - 1)


def _statement(draw: Any, depth: int) -> str:
    value = _expression(draw, draw(st.integers(1, 2)))
    if depth <= 0:
        return f"{{{{ {value} }}}}"
    inner = _statement(draw, depth - 1)
    forms = (
        "{{{{ {v} }}}}",
        "{{% set v = {v} %}}{i}{{{{ v }}}}",
        "{{% if add_generation_prompt %}}{i}{{% else %}}{{{{ {v} }}}}{{% endif %}}",
        "{{% for x in {v} %}}{i}{{{{ x }}}}{{{{ loop.index }}}}{{% else %}}E{{% endfor %}}",
        "{{% for x in {v} if x %}}{{% if loop.first %}}{{% continue %}}{{% endif %}}"
        "{i}{{% endfor %}}",
        "{{% set ns.x = {v} %}}{{{{ ns.x }}}}",
        "{{% set b | trim %}}{i}{{% endset %}}{{{{ b }}}}",
        "{{% filter upper %}}{i}{{% endfilter %}}",
        "{{% macro m(p, q={v}) %}}{i}{{{{ p }}}}{{{{ q }}}}{{% endmacro %}}{{{{ m(v) }}}}",
        "{{% with w = {v} %}}{i}{{{{ w }}}}{{% endwith %}}",
    )
    return str(draw(st.sampled_from(forms))).format(v=value, i=inner)


@st.composite
def templates(draw: Any) -> str:
    """One or two statements behind a namespace."""
    body = [_statement(draw, draw(st.integers(0, 2))) for _ in range(draw(st.integers(1, 2)))]
    return "{% set ns = namespace(x=1) %}\n" + "\n".join(body)
