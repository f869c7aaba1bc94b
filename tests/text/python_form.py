"""A pattern's tree in the syntax of Python's `re`, for a second opinion on where it matches."""

import re

from trlm_lab.text.pattern_nodes import (
    LAZY,
    POSSESSIVE,
    Atomic,
    Choice,
    Concat,
    End,
    Literal,
    Look,
    Node,
    OneOf,
    Repeat,
)


def python_form(node: Node) -> str:
    """The same expression in the syntax of `re`, every class written out."""
    match node:
        case Literal(text):
            return re.escape(text)
        case OneOf(found):
            return found.expression()
        case Concat(parts):
            return "".join(
                _group(one) if isinstance(one, Choice) else python_form(one) for one in parts
            )
        case Choice(branches):
            return "|".join(map(python_form, branches))
        case Repeat(body, least, most, manner):
            text = _group(body) + f"{{{least},{'' if most is None else most}}}"
            # Python's own possessive repetition never gives back within what it has to repeat.
            return f"(?>{text})" if manner == POSSESSIVE else text + "?" * (manner == LAZY)
        case Look(body, behind, negative):
            return f"(?{'<' if behind else ''}{'!' if negative else '='}{python_form(body)})"
        case Atomic(body):
            return f"(?>{python_form(body)})"
        case End():
            return r"\Z"


def _group(node: Node) -> str:
    text = python_form(node)
    return text if isinstance(node, OneOf) and node.found.ranges else f"(?:{text})"
