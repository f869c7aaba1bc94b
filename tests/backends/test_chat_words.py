"""A refusal has the same code, place and words in every renderer, and its words are the table's."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from tests.backends.chat_failures import OPERANDS, Family, families
from trlm_lab.backends.abi_chat import ChatRuntime
from trlm_lab.backends.abi_host import Host
from trlm_lab.chat import Conversation, TemplateIR, compile_template, render
from trlm_lab.errors import TrlmError

PAGE = Path(__file__).parents[2] / "docs/templates.md"


@lru_cache(maxsize=1)
def compiled() -> tuple[tuple[Family, TemplateIR], ...]:
    rows = []
    for family in families():
        try:
            rows.append((family, compile_template(family.template).ir))
        except TrlmError:
            continue
    return tuple(rows)


def conversations(family: Family, number: int) -> Iterator[Conversation]:
    pairs = list(itertools.product(family.first, family.second))
    # Another one of the pairs begins each family.
    for i, j in pairs[number % min(family.step, len(pairs)) :: family.step]:
        yield Conversation([], variables={"i": i, "j": j, "big": 2**64 - 1})


def refusal(make: Callable[[], Any]) -> tuple[str, str, str] | None:
    try:
        make()
    except TrlmError as error:
        return error.code, error.where, error.facts.get("detail", error.detail)
    return None


@lru_cache(maxsize=1)
def expected() -> tuple[tuple[str, str, str] | None, ...]:
    """What Python answers, in the order of families and operands."""
    return tuple(
        refusal(lambda ir=ir, given=given: render(ir, given))
        for number, (family, ir) in enumerate(compiled())
        for given in conversations(family, number)
    )


@pytest.mark.slow
def test_every_refusal_has_the_same_words(text_host: Host) -> None:
    answers, odd = iter(expected()), []
    for number, (family, ir) in enumerate(compiled()):
        runtime = ChatRuntime(text_host, ir.encoded)
        for given in conversations(family, number):
            ours = next(answers)
            theirs = refusal(lambda runtime=runtime, given=given: runtime.render(given))
            if ours != theirs:
                pair = [OPERANDS[(given.variables or {})[name]] for name in "ij"]
                odd.append((family.source, *pair, ours, theirs))
        runtime.forget()
    assert not odd, "\n".join(map(str, odd[:50]))


def table() -> dict[str, re.Pattern[str]]:
    """The rows of the page as patterns; a word in brackets stands for anything."""
    text = PAGE.read_text().split("## The words of a refusal")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(.+?)` \|", text, re.MULTILINE)
    made = {row: re.sub(r"<\w+>", ".+", re.escape(row), flags=re.DOTALL) for row in rows}
    return {row: re.compile(form, re.DOTALL) for row, form in made.items()}


def test_the_table_has_every_word_and_no_other() -> None:
    details = {row[2] for row in expected() if row is not None and row[0] == "TEMPLATE_EVALUATION"}
    patterns = table()
    unknown = {d for d in details if not any(p.fullmatch(d) for p in patterns.values())}
    assert not unknown
    met = {row for row, p in patterns.items() if any(map(p.fullmatch, details))}
    assert set(patterns) == met
