"""Character classes of patterns against the source engine, alone and in square brackets."""

import pytest
from tokenizers import Regex, pre_tokenizers

from tests.text.components import split
from tests.text.constructed import bpe, document
from tests.text.source_engine import Pair
from trlm_lab.text.pattern import expression
from trlm_lab.text.profile import profile_of
from trlm_lab.text.tables import scalar_set

#: Every scalar of the first planes' busy parts, some of the others.
TEXT = "".join(
    map(chr, [*range(0x3400), *range(0xA000, 0xB000), *range(0xF900, 0x10000),
              *range(0x10000, 0x11000), *range(0x1D000, 0x1FC00), *range(0x2FFF0, 0x30010)])
)  # fmt: skip
CLASSES = [
    form.replace("X", letter)
    for letter in "wWdDsS"
    for form in (
        r"\X", "[\\X]", "[^\\X]", "[[\\X]x]", "[x[^\\X]]", r"[\X&&[^a]]", r"[^\X_]", r"[\X-]",
    )
] + [r"[^\s\w]", r"[\s\w]", r"[\w\d]", r"[\d\W]"]  # fmt: skip
PROPERTIES = [
    form.format(name)
    for name in ("L", "N", "Nd", "No", "M", "P", "S", "Alphabetic", "Han", "Latin", "Greek")
    for form in (r"\p{{{}}}", r"[\p{{{}}}]", r"[^\p{{{}}}]", r"[\P{{{}}}]", r"[[\p{{{}}}]x]")
]


@pytest.mark.parametrize("pattern", [*CLASSES, *PROPERTIES])
def test_class(pattern: str) -> None:
    """Which scalars match alone."""
    rest = pre_tokenizers.Split(Regex(pattern), "removed").pre_tokenize_str(TEXT)
    left = "".join(piece for piece, _ in rest)
    members = {TEXT[start:end] for start, end in expression(pattern).spans(TEXT)}
    assert "".join(char for char in TEXT if char not in members) == left


def test_numbers_that_are_word_characters_alone() -> None:
    """The six that Oniguruma's two sets of word characters differ in."""
    alone, in_class = scalar_set("onig_word"), scalar_set("onig_word_in_class")
    assert (alone & in_class.inverse()).members == set("\xb2\xb3\xb9\xbc\xbd\xbe")
    assert (in_class & alone.inverse()).ranges == ()


def squares(pattern: str) -> Pair:
    """Merges across a superscript, cut by a pattern."""
    model = bpe(["\xb21", "x\xb2"], first=["[U]"], unk_token="[U]")
    return Pair(document(model, pre_tokenizer=split(pattern, "Isolated")))


def test_a_superscript_is_no_word_character_in_a_class() -> None:
    cut, whole = squares(r"[^\s\w]+"), squares(r"\W+")
    for pair in (cut, whole):
        for text in ("x\xb21", "\xbd\xbc \xbe", "a\xb9\xb3_"):
            pair.require_same(text)
    assert (len(cut.ours.encode("x\xb21").ids), len(whole.ours.encode("x\xb21").ids)) == (3, 2)


def test_the_profile_shows_it() -> None:
    """Two patterns that would be one if there were one set of word characters."""
    assert (
        profile_of(squares(r"\w").ours).profile_id != profile_of(squares(r"[\w]").ours).profile_id
    )
