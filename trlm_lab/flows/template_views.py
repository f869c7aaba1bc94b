"""How a notebook shows a chat template: source, compiled form, and output with its owners."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

from trlm_lab import chat
from trlm_lab.backends.source_template import SourceTemplate
from trlm_lab.chat.ir import OPS
from trlm_lab.chat.third_opinion import render_minijinja
from trlm_lab.errors import TrlmError
from trlm_lab.flows.text_views import visible

#: Grounds that differ in lightness too; the text on them is always dark.
_GROUNDS = {
    "template": "#cfe3f7",
    "content": "#fde2b3",
    "bos": "#e3d9f4",
    "eos": "#e3d9f4",
    "generation_prefix": "#d5efcf",
}
#: The turns of ChatML, the plainest of the common forms.
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_CHIP = "color:#111;padding:1px 2px;border-radius:2px;white-space:pre-wrap"


def node_rows(ir: chat.TemplateIR) -> list[dict[str, Any]]:
    """The compiled form, one row a node; indexes point at earlier rows."""
    rows = []
    for index, (op, line, *fields) in enumerate(ir.nodes):
        kinds = OPS[op]
        shown = ", ".join(f"{kind}:{field!r}" for kind, field in zip(kinds, fields, strict=True))
        rows.append({"node": index, "operation": op, "line": line, "fields": shown})
    return rows


class OwnedOutput:
    """Rendered text in the colours of its owners."""

    def __init__(self, rendered: chat.Rendered) -> None:
        self.rendered = rendered

    def _repr_html_(self) -> str:
        data, chips = self.rendered.rendered_bytes, []
        for start, end, owner in self.rendered.ownership:
            text = html.escape(visible(data[start:end].decode()))
            style = f"background:{_GROUNDS[owner]};{_CHIP}"
            chips.append(f"<span style='{style}' title='{owner} {start}–{end}'>{text}</span>")
        names = " ".join(
            f"<span style='background:{ground};{_CHIP}'>{name}</span>"
            for name, ground in _GROUNDS.items()
        )
        return f"<div style='line-height:1.9'>{''.join(chips)}</div><p>{names}</p>"

    def __repr__(self) -> str:
        return self.rendered.text


def opinions(source: str, given: chat.Conversation) -> list[dict[str, Any]]:
    """What each engine makes of a conversation, and whether it is what the source's makes."""
    engines: dict[str, Callable[[], str]] = {
        "jinja2, the source's": lambda: SourceTemplate(source).render(given),
        "compiled": lambda: chat.render(chat.compile_template(source).ir, given).text,
        "minijinja": lambda: render_minijinja(source, given),
    }
    answers = {name: _answer(make) for name, make in engines.items()}
    first = next(iter(answers.values()))
    return [
        {"engine": name, "same": "yes" if answer == first else "NO", "answer": visible(answer)}
        for name, answer in answers.items()
    ]


def _answer(make: Callable[[], str]) -> str:
    try:
        return make()
    except TrlmError as error:
        return f"{error.code}: {error}"
