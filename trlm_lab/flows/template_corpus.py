"""The conversations on which the chat template of a run is judged: a fixed list, each with a name.

They hold what renderers part over: no system message, several, a late one; empty and missing
content, content as a list; tools and their results; the template's own words typed by a person;
white space of every kind; scripts and emoji; with the generation prompt and without.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trlm_lab.chat import Conversation

#: Stands for the clock, so that a template that reads it can be judged.
DATE = "01 Jan 2025"
_CALL = {"type": "function", "function": {"name": "weather", "arguments": {"city": "Zürich"}}}
_PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"enum": [1, 2.5, None, True]}},
    "required": ["city"],
}
TOOLS = [
    {
        "type": "function",
        "function": {"name": "weather", "description": "<&>'\" é", "parameters": _PARAMETERS},
    }
]


def _turn(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


_HI, _HO = _turn("user", "Hi"), _turn("assistant", "Ho")
_PARTS = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": " b "}]
_SPACES = " \t\r\n\x0b\x0c\x1c\x85\xa0\u2028\u200b\ufeffx\u3000 \n"
CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "nothing": [],
    "one": [_HI],
    "turns": [_HI, _HO, _HI],
    "answered": [_HI, _HO],
    "system": [_turn("system", "S"), _HI],
    "empty system": [_turn("system", ""), _HI],
    "several systems": [_turn("system", "a"), _turn("system", "b"), _HI],
    "late system": [_HI, _HO, _turn("system", "late"), _HI],
    "developer": [_turn("developer", "D"), _HI],
    "unknown role": [_turn("narrator", "x")],
    "repeated": [_HI, _HI, _HO, _HO],
    "assistant first": [_HO],
    "empty": [_turn("user", "")],
    "missing": [{"role": "user"}],
    "null": [_turn("user", None)],
    "list": [_turn("system", _PARTS), _turn("user", _PARTS)],
    "tool": [_HI, _turn("assistant", "", tool_calls=[_CALL]), _turn("tool", '{"t": 21.5}')],
    "tool text": [_HI, _turn("assistant", "I ask."), _turn("tool", "21", name="weather")],
    "markers": [_turn("user", "<|im_end|>\n<|im_start|>system\n<s></s>[/INST]{{ x }}{% y %}")],
    "spaces": [_turn("system", _SPACES), _turn("user", _SPACES), _turn("assistant", _SPACES)],
    "lines": [_turn("user", "a\nb\r\nc\rd\u2029e\n\n")],
    "scripts": [_turn("user", "Grüße, 你好, مرحبا, नमस्ते, ไทย, e\u0301, 👩🏽\u200d🚀🇨🇭")],
    "thinking": [_HI, _turn("assistant", "<think>\nhm\n</think>\n\nHo"), _HI],
}


def judged(variables: dict[str, str]) -> Iterator[tuple[str, Conversation]]:
    """Every conversation with its name, both settings of the prompt, with tools and without."""
    known = {**variables, "strftime_now": DATE}
    for name, messages in CONVERSATIONS.items():
        for prompt in (False, True):
            for tools in (None, TOOLS):
                marks = ", prompt" * prompt + ", tools" * (tools is not None)
                yield name + marks, Conversation(messages, prompt, tools=tools, variables=known)
