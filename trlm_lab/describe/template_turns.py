"""A prompt and a finished turn as the template renders them, in its compiled form and limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trlm_lab.chat import Conversation, Rendered, compile_template, render
from trlm_lab.describe.compared import Templates
from trlm_lab.errors import Refused

_SAID = {"role": "user", "content": "qz"}, {"role": "assistant", "content": "qz"}


def rendered_turns(templates: Templates, texts: Mapping[str, str]) -> tuple[Rendered, ...]:
    """A prompt that waits for the answer, and a finished turn, as far as the template renders.

    `texts` are the special tokens by role. Empty for several templates of which none is chosen, for
    one outside the subset and for one that refuses these turns.
    """
    if templates.run is None or templates.problem:
        return ()
    return tuple(_rendered(templates.run.text, texts))


def _rendered(template: str, texts: Mapping[str, str]) -> Iterator[Rendered]:
    variables = {f"{role}_token": text for role, text in texts.items()}
    variables["strftime_now"] = "01 Jan 2000"
    try:
        ir = compile_template(template).ir
        for messages, prompt in (([_SAID[0]], True), (list(_SAID), False)):
            yield render(ir, Conversation(messages, prompt, variables=variables))
    except Refused:
        return


def behind_answer(turns: tuple[Rendered, ...]) -> str | None:
    """What a finished turn holds behind the assistant's content; None where it shows none."""
    if len(turns) < 2:
        return None
    ends = [end for _, end, owner in turns[1].ownership if owner == "content"]
    return turns[1].rendered_bytes[ends[-1] :].decode() if len(ends) > 1 else None
