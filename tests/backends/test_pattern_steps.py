"""How large a pattern may be, its counted repetitions written out: alike in every engine."""

import pytest

from tests.backends.test_text_hostile import read, require_agreed
from tests.text.components import split
from tests.text.constructed import document, word_level
from tests.text.tok2.blocks import Block
from tests.text.tok2.test_refusals import node_row
from trlm_lab.backends.abi_host import Host
from trlm_lab.backends.abi_tokenizer import AbiTokenizer
from trlm_lab.errors import PatternUnsupportedError
from trlm_lab.text import Tokenizer, read_tokenizer
from trlm_lab.text.pattern import expression
from trlm_lab.text.pattern_nodes import MOST_STEPS, steps
from trlm_lab.text.tok2 import write_tok2

#: Patterns of as many steps as a program may have, less the one that ends it.
LARGEST = {
    "a literal": "(?:ab){65535}",
    "up to": "(?:ab){0,32767}c",
    "a choice": "(?:ab|c){16383}ddf[gh]j",
    "without end": "(?:ab){65532,}",
    "a condition": "(?:(?=a)ab){16383}ddf[gh]j",
    "kept": "(?:(?>ab)){21844}c[de]f",
}


def tokenizer(pattern: str) -> Tokenizer:
    return read_tokenizer(document(word_level(["ab"]), pre_tokenizer=split(pattern, "Isolated")))


@pytest.mark.parametrize("name", LARGEST)
def test_the_largest_pattern(text_host: Host, name: str) -> None:
    made = steps(expression(LARGEST[name]).root) + 1
    assert MOST_STEPS - 1 <= made <= MOST_STEPS
    ours = tokenizer(LARGEST[name])
    with AbiTokenizer(text_host, write_tok2(ours)) as theirs:
        assert theirs.encode(b"ab")[0].tolist() == ours.encode("ab").ids
    with pytest.raises(PatternUnsupportedError, match="more than 65536 steps"):
        tokenizer(LARGEST[name] + "xy" * (1 + MOST_STEPS - made) + "[xy]q" * 2)


def test_a_compiled_pattern_that_is_larger(text_host: Host) -> None:
    block = Block(write_tok2(tokenizer("(?:ab|c){5}")))
    at = node_row(block, 6)
    for place, value in ((at + 4, 60_000), (at + 8, 60_000)):
        block.put("patterns", place, value)
    data = block.sealed()
    assert read(data) == ("TOK2_PATTERNS", f"byte {block.offset('patterns') + 16}")
    require_agreed(text_host, data)
