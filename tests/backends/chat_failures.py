"""Templates whose rendering fails, one family an operation: every operand of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trlm_lab.chat.allowed import FILTERS, METHODS, TESTS

#: One value of every kind that exists while a template runs.
OPERANDS = (
    "none", "true", "3", "-2", "0", "2.5", "big", "'ab'", "''", "('<' | safe)", "[1, 'a']", "[]",
    "(1, [])", "{'k': 1}", "{2: nope}", "{'k': 1}.items()", "range(3)", "([1] | map('string'))",
    "namespace(a=1)", "loop", "f", "range", "nope",
)  # fmt: skip
SUBJECTS = tuple(map(OPERANDS.index, ("3", "'ab'", "[1, 'a']", "{'k': 1}", "nope")))
TEXT = OPERANDS.index("'ab'")
_ALL = tuple(range(len(OPERANDS)))
_SIGNS = ("+", "-", "*", "/", "//", "%", "**", "~", "<", ">=", "==", "in", "not in")
_HEAD = "{% macro f(a, b=1) %}{{ a }}{% endmacro %}{% for m in [7, 8] %}{% set v = ["
_TAIL = "{% endfor %}"


@dataclass(frozen=True)
class Family:
    """A template over `v[i]` and `v[j]`, and the operands of both."""

    source: str
    first: tuple[int, ...] = _ALL
    second: tuple[int, ...] = (0,)
    #: One pair of operands in so many is taken.
    step: int = 11

    @property
    def template(self) -> str:
        """The whole template."""
        return _HEAD + ", ".join(OPERANDS) + "] %}" + self.source + _TAIL


def families() -> Iterator[Family]:
    """Every operation of the subset that can be refused while it renders."""
    for sign in _SIGNS:
        yield Family("{{ v[i] " + sign + " v[j] }}", _ALL, _ALL)
    for source in _ALONE:
        yield Family(source, step=1 if "v[i]" in source else len(_ALL))
    for pair in _PAIRS:
        yield Family(pair, _ALL, _ALL)
    for name in sorted(FILTERS - {"select", "reject", "selectattr", "rejectattr", "map"}):
        yield from _calls("{{ v[i] | " + name + "@ }}")
        yield from _calls("{{ v[i] | " + name + "@ | list }}", small=True)
    for name in sorted(METHODS):
        yield from _calls("{{ v[i]." + name + "@ }}")
    for name in sorted(name for name in TESTS if name.isidentifier()):
        yield Family("{{ v[i] is " + name + " }}")
        yield Family("{{ v[i] is " + name + "(v[j]) }}", SUBJECTS, _ALL)
        yield Family("{{ v[i] is " + name + "(1, 2) }}", SUBJECTS)


def _calls(form: str, small: bool = False) -> Iterator[Family]:
    yield Family(form.replace("@", "" if "|" in form else "()"))
    if small:
        return
    yield Family(form.replace("@", "(v[j])"), SUBJECTS, _ALL)
    yield Family(form.replace("@", "('a', v[j])"), (TEXT,), _ALL)
    yield Family(form.replace("@", "('a', 'b', v[j])"), (TEXT,), _ALL)
    yield Family(form.replace("@", "(1, 2, 3, 4, 5)"), SUBJECTS)
    yield Family(form.replace("@", "(é=1)"), SUBJECTS)


_ALONE = (
    "{{ -v[i] }}", "{{ +v[i] }}", "{{ v[i] }}", "{{ [v[i]] }}", "{{ v[i].a }}", "{{ v[i].a.b }}",
    "{{ v[i]['it\\'s'].b }}", "{{ v[i].count }}", "{{ v[i].é.b }}", "{% set a, b = v[i] %}",
    "{% set v[i].x = 1 %}", "{% for x in v[i] %}{% endfor %}{{ 1 / 0 }}", "{{ v[i]() }}",
    "{% set g = v[i] %}{{ g() }}", "{% set g = v[i] %}{{ g(1, 2, 3, 4) }}",
    "{% set g = v[i] %}{{ g(a=1, z=2) }}", "{% set g = v[i] %}{% set g.x = 1 %}",
    "{% filter length %}x{% endfilter %}", "{{ dict(v[i]) }}", "{{ dict([v[i]]) }}",
    "{{ dict(1, 2) }}", "{{ namespace(v[i]) }}", "{{ namespace(_a=1) }}", "{{ range(v[i]) }}",
    "{{ range(v[i], 3) }}", "{{ range(0, 3, v[i]) }}", "{{ range(1, 2, 3, 4) }}", "{{ range() }}",
    "{{ range(a=1) }}", "{{ raise_exception(v[i]) }}", "{{ raise_exception() }}",
    "{{ raise_exception(1, 2) }}", "{{ strftime_now(v[i]) }}", "{{ strftime_now() }}",
    "{{ v[i] | map('upper') | list }}", "{{ v[i] | map | list }}",
    "{{ v[i] | map(attribute=v[i]) | list }}", "{{ v[i] | map(attribute='a.b.c') | list }}",
    "{{ v[i] | map(attribute='a', x=1) | list }}", "{{ v[i] | select | list }}",
    "{{ [v[i]] | map('length') | list }}", "{{ [1] | select('in', v[i]) | list }}",
    "{{ [v[i]] | select('odd') | list }}", "{{ v[i] | selectattr | list }}",
    "{{ [1, v[i]] | sort }}", "{{ [v[i], 2] | max }}", "{{ [v[i], 2] | min }}",
    "{{ [v[i]] | unique | list }}", "{{ [1, v[i]] | sum }}", "{{ [1] | sum(start=v[i]) }}",
    "{{ [1] | sum(attribute='²') }}", "{{ [1] | sort(attribute=v[i]) }}",
    "{{ {1: 2, 'a': 3} | dictsort }}", "{{ {'a': 1, 'b': v[i]} | dictsort(by='value') }}",
    "{{ {1: 2} | dictsort(by=v[i]) }}", "{{ v[i] | tojson }}", "{{ [v[i]] | tojson }}",
    "{{ {'a': {(1, 2): 3}, 'b': v[i]} | tojson }}", "{{ {1: 2, 'a': v[i]} | tojson(sort_keys=1) }}",
    "{{ 1 | tojson(indent=v[i]) }}", "{{ 1 | tojson(separators=v[i]) }}",
    "{{ 1 | tojson(separators=('a', v[i])) }}", "{{ 2.5 | round(v[i]) }}",
    "{{ 2.5 | round(method=v[i]) }}", "{{ 1e308 | round(-308) }}", "{{ 1e308 | round(9, 'ceil') }}",
    "{{ 2.5 | round(400) }}", "{{ 2.5 | round(-1, 'floor') }}", "{{ 'a' | indent(v[i]) }}",
    "{{ 'a' | replace('a', 'b', v[i]) }}", "{{ 'a'.replace('a', 'b', v[i]) }}",
    "{{ 'a b'.split(maxsplit=v[i]) }}", "{{ 'a b'.split(none, v[i]) }}", "{{ 'ab'.split(v[i]) }}",
    "{{ 'ab'.startswith(('b', v[i])) }}", "{{ 'ab'.startswith(('a', v[i])) }}",
    "{{ 'ab'.find('b', v[i]) }}", "{{ 'ab'.count('b', 0, v[i]) }}", "{{ [1].index(1, v[i]) }}",
    "{{ [1].index(1, 0, v[i]) }}", "{{ 'ab'.join([v[i]]) }}", "{{ '{}{}'.format(v[i]) }}",
    "{{ '{x}'.format(v[i]) }}", "{{ '{9}'.format(v[i]) }}", "{{ '{é}'.format(1) }}",
    "{{ '{a.b}'.format(1) }}", "{{ '{0!r}'.format(1) }}", "{{ '{'.format(1) }}",
    "{{ '}'.format(1) }}", "{{ '{{a}'.format(1) }}", "{{ '{a{b}}'.format(1) }}",
    "{{ '{!'.format(1) }}", "{{ '{!rx}'.format(1) }}", "{{ '{:{}'.format(1) }}",
    "{{ 'ab'.replace(v[i], 'x') }}", "{{ loop.index() }}", "{{ 'ab'[1:2:v[i]] }}",
    "{{ loop.cycle() }}", "{{ loop.nope.x }}", "{{ loop.previtem.x }}", "{{ f() ~ f(b=2).x }}",
    "{{ f(1, a=2) }}", "{{ f(z=1) }}", "{{ (1 if false).x }}", "{{ 2 ** 65 }}", "{{ 3 ** 64 }}",
    "{{ big * big }}", "{{ big + big }}", "{{ 'x' * big }}", "{{ '' * big }}",
    "{{ [1] * 999999999 }}",
    "{{ range(100001) }}", "{{ range(big * 4) }}", "{{ range(-big, big) }}",
    "{% set x = v[i] %}{% set y %}{{ x.a.b }}{% endset %}",
    "{% set y | length %}x{% endset %}{{ y.z.z }}",
)  # fmt: skip
_PAIRS = (
    "{{ v[i][v[j]].x }}", "{{ v[i][v[j]:] }}", "{{ v[i][1:2:v[j]] }}", "{{ {v[i]: v[j]} }}",
    "{{ [v[i]] < [v[j]] }}", "{{ (1, v[i]) >= (1, v[j]) }}", "{{ [v[i], v[j]] | sort }}",
)  # fmt: skip
