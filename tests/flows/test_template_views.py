"""A template as source, compiled form and output; three engines side by side."""

from __future__ import annotations

import sys

import pytest

from tests.chat.conversations import HI, TEMPLATES, turn
from trlm_lab.chat import Conversation, compile_template, render
from trlm_lab.chat.third_opinion import render_minijinja
from trlm_lab.errors import EngineMissingError, TemplateEvaluationError
from trlm_lab.flows.template_views import OwnedOutput, node_rows, opinions

SOURCE = "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}\n{% endfor %}"


def test_nodes_point_back() -> None:
    rows = node_rows(compile_template(SOURCE).ir)
    assert [row["node"] for row in rows] == list(range(len(rows)))
    assert rows[-1]["operation"] == "body"
    assert any("s:'trim'" in row["fields"] for row in rows)


def test_output_shows_owners_and_escapes() -> None:
    given = Conversation([turn("user", "a <b>")])
    shown = OwnedOutput(render(compile_template(SOURCE).ir, given))._repr_html_()
    assert "title='content 6–11'" in shown
    assert "a·&lt;b&gt;" in shown
    assert "<b>" not in shown


def test_three_opinions_on_families() -> None:
    for name in ("chatml", "inst", "start_of_turn"):
        given = Conversation([HI], variables={"bos_token": "<s>", "eos_token": "</s>"})
        rows = opinions(TEMPLATES[name], given)
        assert [row["same"] for row in rows] == ["yes", "yes", "yes"], (name, rows)


def test_an_engine_that_differs_or_refuses_is_shown() -> None:
    rows = opinions("{{ x.y }}", Conversation([]))
    assert rows[0]["answer"].startswith("TEMPLATE_EVALUATION")
    rows = opinions("{{ 0.00001 }}", Conversation([]))
    assert (rows[0]["answer"], rows[2]["same"]) == ("1e-05", "NO")


def test_minijinja_refuses_and_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TemplateEvaluationError, match="no such role"):
        render_minijinja("{{ raise_exception('no such role') }}", Conversation([]))
    with pytest.raises(TemplateEvaluationError, match="date"):
        render_minijinja("{{ strftime_now('%Y') }}", Conversation([]))
    monkeypatch.setitem(sys.modules, "minijinja", None)
    with pytest.raises(EngineMissingError):
        render_minijinja("x", Conversation([]))
