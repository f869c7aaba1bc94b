"""What a chat template may be made of, to parse it: Jinja, loop controls and `generation`.

Source: the chat template documentation of the transformers library.
"""

from __future__ import annotations

from jinja2 import Environment
from jinja2.ext import Extension
from jinja2.nodes import Node
from jinja2.parser import Parser


class _Generation(Extension):
    """`{% generation %}...{% endgeneration %}` marks what the assistant says; it adds no text."""

    tags = {"generation"}  # noqa: RUF012 - as the base class declares it

    def parse(self, parser: Parser) -> list[Node]:
        """The statements between the two tags."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def parsing_environment() -> Environment:
    """An environment that reads templates; none is ever run in it."""
    return Environment(extensions=["jinja2.ext.loopcontrols", _Generation])
