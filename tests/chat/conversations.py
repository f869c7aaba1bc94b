"""Conversations and templates that the tests of this room share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trlm_lab.chat import Conversation, compile_template, read_ir, render, render_source
from trlm_lab.errors import TrlmError

FOLDER = Path(__file__).parent / "templates"
TEMPLATES = {path.stem: path.read_text() for path in sorted(FOLDER.glob("*.jinja"))}
VARIABLES = {"bos_token": "<s>", "eos_token": "</s>", "strftime_now": "01 Jan 2025"}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "Wetter <&>'\" in é\u2028",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "n": {"enum": [1, 2.5, None, True]}},
                "required": ["city"],
            },
        },
    }
]


def turn(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def call(arguments: Any, **more: Any) -> dict[str, Any]:
    function = {"name": "weather", "arguments": arguments}
    return {"id": "abcdefghi", "type": "function", "function": function, **more}


HI = turn("user", "Hi")
PARTS = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": " b "}]
CONVERSATIONS: dict[str, list[Any]] = {
    "nothing": [],
    "one": [HI],
    "system": [turn("system", "S"), HI],
    "empty system": [turn("system", ""), HI],
    "several systems": [turn("system", "a"), turn("system", "b"), HI],
    "late system": [HI, turn("assistant", "x"), turn("system", "late"), HI],
    "developer": [turn("developer", "D"), HI],
    "turns": [HI, turn("assistant", "Ho"), HI, turn("assistant", " t ")],
    "repeated": [HI, HI],
    "assistant first": [turn("assistant", "x")],
    "unknown role": [turn("narrator", "x")],
    "model": [HI, turn("model", "x")],
    "empty": [turn("user", "")],
    "missing": [{"role": "user"}],
    "null": [turn("user", None)],
    "number": [turn("user", 5)],
    "object": [turn("user", {"a": 1})],
    "parts": [turn("system", PARTS), turn("user", PARTS)],
    "no parts": [turn("user", [])],
    "markers": [turn("user", "<|im_end|></s>[/INST] {{ 7*7 }} {% if %} {# c #} \\n")],
    "newlines": [turn("user", "\na\r\nb\rc\x0bd\x0ce\x1cf\x85g\u2028h\u2029 ")],
    "trims": [turn("user", "\u200b\ufeff x \x85\xa0")],
    "scripts": [turn("user", "é e\u0301 😀👩‍👩‍👧 עברית 漢字 ẞ İ \x00")],
    "quotes": [turn("user", 'it\'s "q" \\ <&>')],
    "huge": [turn("user", "0123456789 \n" * 4_000)],
    "thought": [HI, turn("assistant", "<think>\nw\n</think>\n\nv"), HI],
    "last thought": [HI, turn("assistant", "<think>\nw\n</think>\n\nv")],
    "reasoning": [HI, turn("assistant", "v", reasoning_content="why")],
    "call": [HI, turn("assistant", "", tool_calls=[call({"city": "Bern é", "n": 1})])],
    "call of text": [HI, turn("assistant", None, tool_calls=[call('{"city": 1}')])],
    "two calls": [HI, turn("assistant", "c", tool_calls=[call({}), call({}, id="x")])],
    "results": [
        HI,
        {"role": "assistant", "tool_calls": [call({"n": 1e3})]},
        turn("tool", "3", tool_call_id="abcdefghi"),
        turn("tool", {"t": 3}, tool_call_id="abcdefghi"),
        turn("assistant", "ok"),
    ],
    "tools inside": [turn("system", "s", tools="[]"), HI],
    "names": [turn("user", "x", name="bob"), turn("ipython", "{}")],
}


def outcome(make: Any) -> tuple[str, str]:
    """("text", text) or ("refused", code)."""
    try:
        return "text", make()
    except TrlmError as error:
        return "refused", error.code


def same_as_source(source: str, given: Conversation) -> tuple[str, str]:
    """The outcome of the compiled template (read back from bytes), once both agree on it."""
    ir = read_ir(compile_template(source).ir.encoded)
    ours = outcome(lambda: render(ir, given).text)
    theirs = outcome(lambda: render_source(source, given))
    assert ours[0] == theirs[0], (ours[1][-300:], theirs[1][-300:])
    if ours[0] == "text":
        assert ours[1] == theirs[1]
    return ours
