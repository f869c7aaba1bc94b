"""The same steps counted at the same places: every engine refuses where the reference does."""

import random
from typing import Any

import pytest

from tests.backends.text_engines import Held, answered, thinned
from tests.text.components import replaced, split
from tests.text.constructed import document, word_level
from tests.text.test_pattern_steps import NESTED, cutting
from trlm_lab.backends.abi_host import Host
from trlm_lab.backends.abi_tokenizer import AbiTokenizer
from trlm_lab.errors import PatternStepsError, TrlmError
from trlm_lab.text import read_tokenizer
from trlm_lab.text.pattern import expression
from trlm_lab.text.pattern_matching import STEPS_A_BYTE, Matching
from trlm_lab.text.pattern_program import Program
from trlm_lab.text.tok2 import write_tok2

PATTERNS = [
    "ab|abc",
    "[ab]+c",
    "[a-c]+?c",
    "[ab]??(?:bc|c|é)",
    "(?>[ab]+|c)b",
    "a(?=[bc]+b)|b(?!c|é)",
    "(?<=a|b)c|(?<!é)b",
    "(?:ab|a)+(?:c|é)",
    "(?:a|bc){2,4}(?:ab)??c",
    "[a-c]++c|[ab]*+a",
    "(?:[ab]+c?)+é",
    "(?:a?b){1,3}[ab]{2}",
    "[abc]{2,}b",
    "(?i:aB)c?",
]
#: Runs of x take steps by the square of their length, w takes two, and v one where it is alone.
FILLERS = "|x+y|w|vv"


def left(pattern: str, text: str) -> int:
    """Steps that are left when a text has been searched, less than none if they do not suffice."""
    program = Program.of(expression(pattern).root)
    matching = Matching(program, text)
    matching.left += 1 << 40
    matching.spans()
    return matching.left - (1 << 40)


def text_with(pattern: str, begin: str, steps: int) -> str:
    """A text that leaves just so many steps."""
    plain, word, pair = (left(pattern, begin + more) for more in ("w", "ww", "wvw"))
    word, pair = word - plain, pair - plain
    assert 0 < word < STEPS_A_BYTE < pair
    start = begin + "x" * 1_000
    rest = steps - left(pattern, start)
    pairs = next(n for n in range(word) if (rest - n * pair) % word == 0)
    return start + "vw" * pairs + "w" * ((rest - pairs * pair) // word)


@pytest.mark.parametrize("number", range(len(PATTERNS)))
def test_the_last_step_is_the_same(text_host: Host, number: int) -> None:
    pattern = PATTERNS[number] + FILLERS
    begin = "".join(random.Random(number).choices("abcé", k=60))
    with Held(text_host, cutting(pattern)) as held:
        enough, lacking = (text_with(pattern, begin, steps) for steps in (0, -1))
        assert [left(pattern, text) for text in (enough, lacking)] == [0, -1]
        held.require_same(enough)
        assert held.answer(lacking) == "PATTERN_STEPS"
        with pytest.raises(PatternStepsError):
            held.wanted.reference.encode(lacking)


def test_what_is_refused_is_told_alike(text_host: Host) -> None:
    with Held(text_host, cutting(NESTED)) as held:
        with pytest.raises(PatternStepsError) as wanted:
            held.wanted.reference.encode("a" * 60)
        with pytest.raises(PatternStepsError) as found:
            held.ours.encode(b"a" * 60)
        assert str(found.value) == str(wanted.value)
        held.require_same("abc!a")


@pytest.mark.parametrize("behaviour", ["Removed", "MergedWithNext", "Contiguous"])
def test_texts_at_random(text_host: Host, behaviour: str) -> None:
    """Exponential or not by a letter: some are refused and some are not."""
    draw = random.Random(5)
    row = document(word_level(["a"]), pre_tokenizer=split("(?:a+b?)+c|(?:ab|a|b)+!", behaviour))
    texts = ["".join(draw.choices("aaabc!", k=draw.randint(1, 24))) * 2 for _ in range(120)]
    refused = 0
    with Held(text_host, row) as held:
        for text in thinned(text_host, [*texts, "ab" * 40, "a" * 40 + "c"], 3):
            try:
                wanted: Any = held.wanted.reference.encode(text)
                wanted = (wanted.ids, [(a, b) for a, b in wanted.offsets()])
            except TrlmError as error:
                wanted, refused = error.code, refused + 1
            assert held.answer(text) == wanted, text
    assert refused


def test_normalizers_decoders_and_streams(text_host: Host) -> None:
    endless = replaced({"Regex": NESTED}, "x")
    row = document(word_level(["a", "b" * 60]), normalizer=endless, decoder=endless)
    with Held(text_host, row) as held:
        assert held.answer("a" * 60) == "PATTERN_STEPS"
        assert held.answer("a") == ([1], [(0, 1)])
        for mode in ("raw", "visible", "diagnostic"):
            with pytest.raises(PatternStepsError):
                held.ours.decode([1, 2], mode)
        stream = held.ours.stream("raw")
        assert stream.push(1).text == "a"
        with pytest.raises(PatternStepsError):
            stream.push(1, 2)
        assert stream.push(1, 1).text == "aa"
        assert stream.flush().text == ""


def test_what_is_held_back_is_searched_at_the_end(text_host: Host) -> None:
    steps = {"type": "Sequence", "decoders": [{"type": "Fuse"}, replaced({"Regex": NESTED}, "x")]}
    with Held(text_host, document(word_level(["a", "b" * 60]), decoder=steps)) as held:
        for stream in (held.ours.stream("raw"), held.wanted.reference.stream()):
            stream.push(1, 2)
            with pytest.raises(PatternStepsError):
                _ = stream.held
            with pytest.raises(PatternStepsError):
                stream.flush()
            stream.push(1)
            assert stream.flush().text == "a"


def test_a_pattern_refuses_before_the_model_does(text_host: Host) -> None:
    """The runtime makes tokens of a piece before it cuts the next one; that must not show."""
    row = cutting(r"z|" + NESTED, unk_token="<none>")
    ours = AbiTokenizer(text_host, write_tok2(read_tokenizer(row)))
    assert answered(ours, b"za") == "UNKNOWN_TOKEN_MISSING"
    assert answered(ours, b"z" + b"a" * 60) == "PATTERN_STEPS"
    assert answered(ours, b"a") == ([1], [(0, 1)])
    ours.close()


def test_an_added_token_that_takes_too_many_steps_is_refused(text_host: Host) -> None:
    """Its normalized form is needed when the tokenizer is opened."""
    token = {"id": 9, "content": "a" * 60, "single_word": False, "lstrip": False,
             "rstrip": False, "normalized": True, "special": False}  # fmt: skip
    row = document(word_level(["a"]), normalizer=replaced({"Regex": NESTED}, "x"))
    block = write_tok2(read_tokenizer(row))
    with pytest.raises(PatternStepsError):
        read_tokenizer(row | {"added_tokens": [token]})
    plain = row | {"normalizer": replaced({"Regex": "[a-c]+!" + " " * 6}, "x")}
    assert write_tok2(read_tokenizer(plain | {"added_tokens": [token]})) != block
