"""How many ways a pattern tries: the matches of every engine, and a text that asks for too much."""

import random
import re
from typing import Any

import pytest

from tests.text.components import replaced, split
from tests.text.constructed import document, word_level
from tests.text.python_form import python_form
from trlm_lab.errors import PatternStepsError, UnknownTokenMissingError
from trlm_lab.text import read_tokenizer
from trlm_lab.text.pattern import Pattern, expression
from trlm_lab.text.pattern_matching import STEPS, STEPS_A_BYTE, Matching
from trlm_lab.text.pattern_nodes import (
    Atomic,
    End,
    Literal,
    Look,
    Node,
    Repeat,
    choice,
    concat,
    fault_of,
    one_of,
)
from trlm_lab.text.pattern_program import Program
from trlm_lab.text.scalar_sets import ScalarSet

#: Tries every way to cut letters into runs, and finds none that ends at a sign.
NESTED = r"(?:[a-c]+)+!"


def cutting(pattern: str, **model: Any) -> dict[str, Any]:
    cut = split(pattern, "Isolated")
    return document(word_level(["a"]) | model, pre_tokenizer=cut)


def made(draw: random.Random, depth: int = 3) -> Node:
    kind = draw.randrange(3 if depth == 0 else 10)
    if kind < 3:
        chars = draw.sample("abcé ", draw.randint(1, 3))
        return one_of(ScalarSet.chars("".join(chars))) if kind else Literal(draw.choice("abc") * 2)
    below = [made(draw, depth - 1) for _ in range(draw.randint(2, 3))]
    if kind < 5:
        return concat(below)
    if kind < 7:
        return choice(below)
    if kind < 9:
        least = draw.randint(0, 2)
        most = draw.choice([None, least, least + 1, least + 3])
        return Repeat(below[0], least, most, draw.randrange(3))
    rest = [Look(below[0], draw.random() < 0.4, draw.random() < 0.5), Atomic(below[0]), End()]
    return draw.choice(rest)


def test_matches_are_those_of_another_engine() -> None:
    draw = random.Random(4)
    found = 0
    while found < 1_500:
        root = made(draw)
        if fault_of(root):
            continue
        text = "".join(draw.choices("abcé ", k=draw.randint(0, 14)))
        wanted = [match.span() for match in re.finditer(python_form(root), text)]
        try:
            assert Pattern(root).spans(text) == wanted, (root, text)
        except PatternStepsError:
            continue
        found += 1


def test_a_search_has_steps_by_its_bytes() -> None:
    program = Program.of(expression("a+b").root)
    one = Matching(program, "aab é")
    assert one.left == STEPS + STEPS_A_BYTE * 6
    # A run with its two scalars, a set, the end; nothing else here can begin a match.
    assert one.spans() == [(0, 3)]
    assert STEPS + STEPS_A_BYTE * 6 - one.left == 1 + 2 + 1 + 1


@pytest.mark.parametrize("size", [40, 400, 1_200])
def test_a_pattern_without_end_is_refused(size: int) -> None:
    tokenizer = read_tokenizer(cutting(NESTED))
    assert tokenizer.encode("abc!").ids == [0]
    with pytest.raises(PatternStepsError) as refused:
        tokenizer.encode("a" * size)
    assert refused.value.code == "PATTERN_STEPS"
    assert refused.value.facts == {"steps": STEPS, "steps_a_byte": STEPS_A_BYTE}


@pytest.mark.parametrize("pattern", [r"\s+(?!\S)", r"(?>\s+)(?!\S)", r"\s*[\r\n]+", r"\s++b"])
def test_an_unlucky_text_is_refused_or_ends(pattern: str) -> None:
    text = " " * 1_500 + "x"
    if pattern == r"\s++b":
        # Every match begins with the whole run, so the search goes on behind it.
        assert expression(pattern).spans(text) == []
    elif pattern == r"\s+(?!\S)":
        assert expression(pattern).spans(text) == [(0, 1_499)]
    else:
        with pytest.raises(PatternStepsError):
            expression(pattern).spans(text)


def test_a_pattern_refuses_before_the_model_does() -> None:
    tokenizer = read_tokenizer(cutting(r"z|" + NESTED, unk_token="<none>"))
    with pytest.raises(UnknownTokenMissingError):
        tokenizer.encode("za")
    with pytest.raises(PatternStepsError):
        tokenizer.encode("z" + "a" * 60)


def test_a_normalizer_and_a_decoder_are_held_to_it_too() -> None:
    endless = replaced({"Regex": NESTED}, "x")
    with pytest.raises(PatternStepsError):
        read_tokenizer(document(word_level(["a"]), normalizer=endless)).encode("a" * 60)
    tokenizer = read_tokenizer(document(word_level(["a", "b" * 60]), decoder=endless))
    with pytest.raises(PatternStepsError):
        tokenizer.decode([1, 2])
    stream = tokenizer.stream()
    assert stream.push(1).text == "a"
    with pytest.raises(PatternStepsError):
        stream.push(1, 2)
    assert stream.push(1, 1).text == "aa"
    assert stream.flush().text == ""
