"""Which branches run only when the caller asks for a generation prompt, read off their conditions.

What the template writes there is the generation prefix. A template that writes its prefix always
has none: the flag does not decide it.
"""

from __future__ import annotations

from jinja2 import nodes

FLAG = "add_generation_prompt"


def implied_by(test: nodes.Node) -> bool:
    """True if the test can only hold with the flag set."""
    if isinstance(test, nodes.Name):
        return test.name == FLAG
    if isinstance(test, nodes.Not):
        return implied_by_failure(test.node)
    if isinstance(test, nodes.And):
        return implied_by(test.left) or implied_by(test.right)
    if isinstance(test, nodes.Or):
        return implied_by(test.left) and implied_by(test.right)
    if isinstance(test, nodes.Test):
        return test.name == "true" and implied_by(test.node)
    if isinstance(test, nodes.Filter):
        return test.name in ("default", "d") and test.node is not None and implied_by(test.node)
    return _compared(test, True)


def implied_by_failure(test: nodes.Node) -> bool:
    """True if the test can only fail with the flag set."""
    if isinstance(test, nodes.Not):
        return implied_by(test.node)
    if isinstance(test, nodes.And):
        return implied_by_failure(test.left) and implied_by_failure(test.right)
    if isinstance(test, nodes.Or):
        return implied_by_failure(test.left) or implied_by_failure(test.right)
    return _compared(test, False)


def _compared(test: nodes.Node, wanted: bool) -> bool:
    """`flag == true` and the like."""
    if not isinstance(test, nodes.Compare) or len(test.ops) != 1 or test.ops[0].op != "eq":
        return False
    constant = test.ops[0].expr
    return isinstance(constant, nodes.Const) and constant.value is wanted and implied_by(test.expr)
