"""A template's syntax tree by jinja2's own parser; nothing is compiled, loaded or run.

The settings are those with which transformers renders chat templates (5.x, chat_template_utils):
`trim_blocks` and `lstrip_blocks` on, the final newline dropped, `break` and `continue`, and the
tag `generation`, which only marks a region.
"""

from __future__ import annotations

from jinja2 import Environment, TemplateSyntaxError, nodes
from jinja2.ext import Extension, LoopControlExtension
from jinja2.parser import Parser

from trlm_lab.chat import limits
from trlm_lab.errors import TemplateLimitError, TemplateSourceError


class GenerationTag(Extension):
    """`{% generation %}…{% endgeneration %}`: a block with names of its own, printed as it is."""

    tags = {"generation"}  # noqa: RUF012  (the base class asks for a set)

    def parse(self, parser: Parser) -> nodes.Node:
        """The body as a scope."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


def parse_template(source: bytes | str, *, where: str = "template") -> nodes.Template:
    """Parse a template.

    Raises:
        TemplateLimitError: longer or nested deeper than the limits.
        TemplateSourceError: no UTF-8, or no template; the place is the line.
    """
    text = _decoded(source, where)
    environment = Environment(
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
        extensions=[LoopControlExtension, GenerationTag],
    )
    try:
        return environment.parse(text)
    except TemplateSyntaxError as error:
        place = f"{where} line {error.lineno}"
        raise TemplateSourceError(where=place, detail=str(error.message)) from error
    except ValueError as error:
        # Python reads no whole number of more than some thousand digits.
        raise TemplateSourceError(where=where, detail=str(error)) from error
    except RecursionError as error:
        raise TemplateLimitError(
            where=where, what="nesting", got="the parser's stack", limit=limits.MAX_NODE_DEPTH
        ) from error


def _decoded(source: bytes | str, where: str) -> str:
    try:
        data = source if isinstance(source, bytes) else source.encode()
        text = data.decode()
    except UnicodeError as error:
        at = getattr(error, "start", 0)
        detail = f"ill-formed UTF-8 at byte {at}"
        raise TemplateSourceError(where=where, detail=detail) from error
    if len(data) > limits.MAX_SOURCE_BYTES:
        raise TemplateLimitError(
            where=where, what="source bytes", got=len(data), limit=limits.MAX_SOURCE_BYTES
        )
    return text
