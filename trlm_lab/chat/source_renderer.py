"""The source's own renderer: jinja2's sandbox with the settings of transformers 5.x.

It runs the template source, not the compiled form, and has none of its bounds: a judge for the
other renderers, not a runtime. `tests/chat` holds it against transformers itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from jinja2 import Template, TemplateError, nodes
from jinja2.exceptions import SecurityError, TemplateSyntaxError, UndefinedError
from jinja2.ext import Extension, LoopControlExtension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from trlm_lab.chat.render import Conversation
from trlm_lab.errors import (
    NondeterministicTemplateError,
    TemplateEvaluationError,
    TemplateRaisedError,
    TemplateSourceError,
    TemplateUnsupportedError,
    TrlmError,
)


class _Generation(Extension):
    """`{% generation %}` as transformers has it: its body is a macro's, which is called there."""

    tags = {"generation"}  # noqa: RUF012  (the base class asks for a set)

    def parse(self, parser: Parser) -> nodes.Node:
        """A call of what prints the body."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_printed"), [], [], body).set_lineno(line)

    def _printed(self, caller: Callable[[], str]) -> str:
        return caller()


class _Raised(TemplateError):
    """`raise_exception` was called."""


def render_source(source: str, given: Conversation, *, where: str = "template") -> str:
    """Render with the source's own engine.

    Raises:
        TemplateSourceError: no template.
        TemplateRaisedError: the template called `raise_exception`.
        NondeterministicTemplateError: the clock is read and no date is given.
        TemplateUnsupportedError: the sandbox refuses an access.
        TemplateEvaluationError: any other error of the template at run time.
        MemoryError: it builds more than this process can hold.
    """
    variables = dict(given.variables or {})
    clock = variables.pop("strftime_now", None)
    try:
        template = _template(source, clock)
        text: str = template.render(
            **{
                "messages": given.messages,
                "tools": given.tools,
                "documents": given.documents,
                "add_generation_prompt": given.add_generation_prompt,
                **variables,
            }
        )
    except (TrlmError, MemoryError):
        raise
    except Exception as error:  # whatever the template's own code does
        raise _translated(error, where) from error
    return text


@lru_cache(maxsize=8)
def _template(source: str, clock: str | None) -> Template:
    return _environment(clock).from_string(source)


def _environment(clock: str | None) -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[LoopControlExtension, _Generation]
    )

    def strftime_now(format: str) -> str:
        if clock is None:
            raise NondeterministicTemplateError(format=format)
        return clock

    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = strftime_now
    return environment


def _raise_exception(message: Any) -> None:
    raise _Raised(str(message))


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: Any = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def _translated(error: Exception, where: str) -> TrlmError:
    if isinstance(error, _Raised):
        return TemplateRaisedError(where=where, message=str(error))
    if isinstance(error, TemplateSyntaxError):
        return TemplateSourceError(where=f"{where} line {error.lineno}", detail=str(error.message))
    if isinstance(error, SecurityError):
        return TemplateUnsupportedError(where=where, construct=str(error))
    detail = str(error) if isinstance(error, UndefinedError) else f"{type(error).__name__}: {error}"
    return TemplateEvaluationError(where=where, detail=detail)
