"""Templates of the grammar: the compiled form gives the source renderer's bytes or its refusal."""

from __future__ import annotations

import warnings
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.chat.conversations import HI, TOOLS, outcome, turn
from tests.chat.generated import VALUES, templates
from trlm_lab.chat import Conversation, compile_template, read_ir, render, render_source
from trlm_lab.errors import TrlmError

TALK = [turn("user", "ß <s>"), turn("tool", "", name="n"), HI]
#: What the subset leaves out, and what a bound ends, may be a text for the source.
NARROWER = ("TEMPLATE_UNSUPPORTED", "TEMPLATE_LIMIT")


def judged(source: str, prompt: bool, tools: bool) -> str:
    """What the compiled template gave ("text" or "refused"), once the source agrees; or "none"."""
    try:
        ir = read_ir(compile_template(source).ir.encoded)
    except TrlmError:
        return "none"
    conversation = Conversation(TALK, prompt, tools=TOOLS if tools else None, variables=VALUES)
    ours = outcome(lambda: render(ir, conversation).text)
    with warnings.catch_warnings():
        # The source compiles templates to Python, whose compiler speaks of odd constants.
        warnings.simplefilter("ignore", SyntaxWarning)
        theirs = outcome(lambda: render_source(source, conversation))
    if ours[0] == "text":
        assert ours == theirs
    elif ours[1] not in NARROWER:
        assert theirs[0] == "refused"
    return str(ours[0])


@pytest.mark.slow
def test_templates_of_the_grammar() -> None:
    kinds: Counter[str] = Counter()

    @settings(max_examples=300)
    @given(templates(), st.booleans(), st.booleans())
    def judge(source: str, prompt: bool, tools: bool) -> None:
        kinds[judged(source, prompt, tools)] += 1

    judge()
    assert kinds["text"] + kinds["refused"] >= 200
    # More than half is refused while it renders; both sides must have been seen often.
    assert min(kinds["text"], kinds["refused"]) >= 20
