"""Added tokens that an earlier token's white space took, and a sequence of no decoders."""

from __future__ import annotations

import pytest

from tests.text.components import SCALARS, kind
from tests.text.constructed import added, document, word_level
from tests.text.source_engine import Pair


@pytest.mark.parametrize("flags", [("lstrip", "rstrip"), ("lstrip",), ("rstrip",)])
@pytest.mark.parametrize("text", ["\n\n \n<", "x\n\n\ny", "\n", " \n \n "])
def test_repeated_token_that_takes_white_space(flags: tuple[str, ...], text: str) -> None:
    Pair(document(SCALARS, added_tokens=[added("\n", 5, *flags)])).require_same(text)


def test_match_inside_what_is_taken_gives_no_stretch() -> None:
    tokens = [added("a", 5, "rstrip"), added(" ", 6, "lstrip")]
    ours = Pair(document(SCALARS, added_tokens=tokens)).ours
    spans = [token.span for token in ours.encode("xa   b", trace=True).tokens]
    assert spans == [(0, 1), (1, 5), (5, 6)]


def test_sequence_of_no_decoders_joins_without_spaces() -> None:
    stages = {"decoder": kind("Sequence", decoders=[]), "pre_tokenizer": kind("Whitespace")}
    Pair(document(word_level(["a"]), **stages)).require_decoded([1, 0, 1])
