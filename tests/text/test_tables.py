"""The character tables: whole, small, and what they are said to be."""

import unicodedata

import pytest

from trlm_lab.text import tables
from trlm_lab.text.scalar_sets import ScalarSet


def test_hash() -> None:
    assert tables.content_hash() == tables.SHA256


def test_categories_cover_all_scalars_once() -> None:
    count = 0
    for name in tables.CATEGORIES:
        count += sum(high - low + 1 for low, high in tables.category(name).ranges)
    assert count == 0x110000


def test_white_space_differs_between_engines() -> None:
    """U+0085 is space to all; U+001C to none but Python; zero-width ones to none."""
    for name in ("onig_space", "rust_space", "added_space", "strip_space"):
        found = tables.scalar_set(name)
        assert [c in found for c in "\x85\xa0\u2028\u3000"] == [True] * 4, name
        assert [c in found for c in "\x1c\u200b\ufeff\u180e"] == [False] * 4, name
    assert "\x1c".isspace()


@pytest.mark.parametrize("name", ["Lu", "Nd", "Zs", "Cc"])
def test_categories_of_old_scalars(name: str) -> None:
    """Below U+0250 nothing has changed for decades."""
    found = tables.category(name)
    for code in range(0x250):
        assert (chr(code) in found) == (unicodedata.category(chr(code)) == name), hex(code)


def test_set_algebra() -> None:
    letters, vowels = ScalarSet.of([(97, 122)]), ScalarSet.chars("aeiou")
    assert (letters & vowels) == vowels
    assert (letters | vowels) == letters
    assert letters.inverse().inverse() == letters
    assert ScalarSet(()).inverse().ranges == ((0, 0x10FFFF),)
    assert ScalarSet(()).expression() == "(?!)"
