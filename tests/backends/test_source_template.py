"""The source's renderer within limits: what runs away is refused, and the next one is answered."""

from collections.abc import Iterator

import pytest

from trlm_lab.backends.source_template import SourceTemplate
from trlm_lab.chat import Conversation, render_source
from trlm_lab.errors import (
    NondeterministicTemplateError,
    TemplateEvaluationError,
    TemplateLimitError,
    TemplateRaisedError,
    TemplateSourceError,
    TemplateUnsupportedError,
    TrlmError,
)

GIVEN = Conversation([{"role": "user", "content": "é\ud7ff"}], variables={"x": 1})
RUNAWAY = {
    "endless": ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
                "processor seconds"),
    "one operation": ("{{ 9 ** (9 ** (8 + x)) }}", "processor seconds"),
    "memory": ("{% set ns = namespace(x='x' * 999) %}{% for i in range(40) %}"
               "{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x | length }}", "bytes of memory"),
    "output": ("{{ 'x' * 8388609 }}", "bytes of output"),
}  # fmt: skip


@pytest.fixture
def opened() -> Iterator[list[SourceTemplate]]:
    made: list[SourceTemplate] = []
    yield made
    for one in made:
        one.close()


@pytest.mark.parametrize("name", RUNAWAY)
def test_what_runs_away(opened: list[SourceTemplate], name: str) -> None:
    source, what = RUNAWAY[name]
    form = "{% if messages %}" + source + "{% else %}fine{% endif %}"
    template = SourceTemplate(form, seconds=0.5 if "seconds" in what else 20.0)
    opened.append(template)
    with pytest.raises(TemplateLimitError) as caught:
        template.render(GIVEN)
    assert caught.value.facts["what"] == what
    assert template.render(Conversation([])) == "fine"


def test_the_same_text_and_the_same_refusals(opened: list[SourceTemplate]) -> None:
    cases: dict[str, type[TrlmError] | None] = {
        "{{ messages[0].content ~ x }}{{ messages | tojson }}": None,
        "{{ raise_exception('no') }}": TemplateRaisedError,
        "{{ strftime_now('%Y') }}": NondeterministicTemplateError,
        "{{ x.__class__.__mro__ }}": TemplateUnsupportedError,
        "{{ nope.x }}": TemplateEvaluationError,
        "{{ x | nope }}": TemplateSourceError,
    }
    for source, error in cases.items():
        template = SourceTemplate(source, where="t")
        opened.append(template)
        if error is None:
            assert template.render(GIVEN) == render_source(source, GIVEN)
            continue
        with pytest.raises(error) as theirs:
            template.render(GIVEN)
        with pytest.raises(error) as ours:
            render_source(source, GIVEN, where="t")
        assert theirs.value.as_finding() == ours.value.as_finding()
