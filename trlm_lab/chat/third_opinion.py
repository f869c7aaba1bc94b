"""minijinja, a template engine of other authors, as a third opinion beside jinja2 and our own.

It agrees with neither by construction: where it differs, one of the engines is wrong or the source
relies on something that is jinja2's alone. It is shown, and decides nothing.
"""

from __future__ import annotations

import json
from typing import Any

from trlm_lab.chat.render import Conversation
from trlm_lab.errors import EngineMissingError, TemplateEvaluationError


def render_minijinja(source: str, given: Conversation, *, where: str = "template") -> str:
    """Render with minijinja under the source's settings.

    Raises:
        EngineMissingError: minijinja is not installed.
        TemplateEvaluationError: it refuses the template or the conversation.
    """
    try:
        from minijinja import Environment
    except ImportError as error:
        raise EngineMissingError(
            where="minijinja", reason="it is not installed", remedy="pip install minijinja"
        ) from error
    variables = dict(given.variables or {})
    clock = variables.pop("strftime_now", None)
    # The package's stubs lack what it has.
    environment: Any = Environment(
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=False
    )
    environment.auto_escape_callback = lambda name: False
    environment.add_filter("tojson", _tojson)
    environment.add_function("raise_exception", _refuse)
    environment.add_function("strftime_now", lambda format: _date(clock))
    values = {
        "messages": given.messages,
        "tools": given.tools,
        "documents": given.documents,
        "add_generation_prompt": given.add_generation_prompt,
        **variables,
    }
    try:
        text: str = environment.render_str(source, **values)
    except Exception as error:  # of the engine's own kinds, or what a function raises through it
        detail = " ".join(str(error).split())[:300]
        raise TemplateEvaluationError(where=where, detail=detail) from error
    return text


def _tojson(value: Any, indent: Any = None, **more: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent, **more)


def _refuse(message: Any) -> None:
    raise ValueError(str(message))


def _date(clock: Any) -> str:
    if not isinstance(clock, str):
        raise ValueError("no date is given")
    return clock
