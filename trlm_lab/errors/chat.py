"""Errors of chat templates: compiling, rendering, and what may be inserted twice."""

from __future__ import annotations

from trlm_lab.errors.root import Refused


class TemplateSourceError(Refused):
    """A template source that is no template."""

    code = "TEMPLATE_SYNTAX"
    rule = "the template cannot be parsed: {detail}"
    fix = "repair the template at that line; the source framework refuses it as well"


class TemplateUnsupportedError(Refused):
    """A construct outside the subset."""

    code = "TEMPLATE_UNSUPPORTED"
    rule = "{construct} is outside the template subset"
    fix = "docs/templates.md lists the subset; re-express the template, or render with the source"


class TemplateLimitError(Refused):
    """A template or rendering beyond a declared bound."""

    code = "TEMPLATE_LIMIT"
    rule = "{what}: {got} is above the limit {limit}"
    fix = "shorten the template or the conversation; the limits stand in trlm_lab/chat/limits.py"


class TemplateIrError(Refused):
    """A compiled template that no compiler of ours wrote."""

    code = "TEMPLATE_IR"
    rule = "the compiled template is malformed: {detail}"
    fix = "compile the template source again"


class TemplateEvaluationError(Refused):
    """An operation that the source's own renderer refuses too."""

    code = "TEMPLATE_EVALUATION"
    rule = "rendering fails: {detail}"
    fix = "give the template the fields that it reads (messages, tools, variables)"


class TemplateRaisedError(Refused):
    """The template itself refuses the conversation (`raise_exception`)."""

    code = "TEMPLATE_RAISED"
    rule = "the template refuses the conversation: {message}"
    fix = "change the conversation to what the template's author allows"


class NondeterministicTemplateError(Refused):
    """The template reads the clock and nobody gave it a date."""

    code = "NONDETERMINISTIC_TEMPLATE"
    rule = "the template reads the clock, format {format!r}"
    fix = "pass the date as text in variables.strftime_now"


class ChatInputError(Refused):
    """Messages, tools or variables that are no plain data."""

    code = "CHAT_INPUT"
    rule = "{detail}"
    fix = (
        "messages are a list of objects; values are texts, numbers, Booleans, null, lists, objects"
    )


class DoubleInsertionError(Refused):
    """A control token that would stand twice."""

    code = "DOUBLE_INSERTION"
    rule = "{token} would be inserted twice: {detail}"
    fix = "let one owner insert it: encode the rendered text without the post-processor's tokens"


class InsertionConflictError(Refused):
    """A model card that says otherwise than template and post-processor do."""

    code = "INSERTION_CONFLICT"
    rule = "the card says that {token} {said}; its owner is {owner}"
    fix = "settle by the source's own encoding which of them is right, and correct the other"


class ForbiddenFieldError(Refused):
    """A field that the template refuses or never looks at."""

    code = "FORBIDDEN_FIELD"
    rule = "the template's contract forbids {field}"
    fix = "leave it out, or put its text into a message that the template prints"
