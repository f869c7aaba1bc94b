"""Changed blocks, sealed again: each is refused, or is a sound block in its one form."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.text.tok2.blocks import NAMES, Block, compiled
from trlm_lab.errors import Tok2Error, TrlmError
from trlm_lab.text.tok2 import read_tok2, write_tok2
from trlm_lab.text.tok2.numbers import NONE

TEXTS = ("<s>hello Word aa \xe9x b1<mask> ", "\ufb01x\u0301\t\u4e2d ab</s>", "")
SMALL = ("strings", "patterns", "stages", "added", "model", "roles", "tokens", "order", "index")
#: What a number becomes, by itself and a random one.
CHANGES = (
    lambda old, new: new, lambda old, new: old + 1, lambda old, new: old - 1,
    lambda old, new: NONE, lambda old, new: 0, lambda old, new: new % 64,
    lambda old, new: old ^ 1 << new % 32,
)  # fmt: skip

numbers = st.tuples(
    st.sampled_from(SMALL) | st.sampled_from([*Block(compiled(NAMES[0])).sections]),
    st.integers(0, 1 << 16),
    st.sampled_from(CHANGES),
    st.integers(0, NONE),
)


def require_sound(data: bytes) -> None:
    """What is accepted has its one form, and gives ids or an error with a code for any text."""
    try:
        found = read_tok2(data)
    except Tok2Error:
        return
    again = write_tok2(found.tokenizer, roles=found.roles, template=found.template)
    assert again == data
    for text in TEXTS:
        with suppress(TrlmError):
            ids = found.tokenizer.encode(text, add_special_tokens=True).ids
            for mode in ("raw", "visible", "diagnostic"):
                found.tokenizer.decode(ids, mode)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(name=st.sampled_from([*NAMES, "pattern"]), changes=st.lists(numbers, min_size=1, max_size=3))
def test_changed_numbers(name: str, changes: list[tuple[str, int, object, int]]) -> None:
    block = Block(compiled(name))
    for section, place, change, new in changes:
        count = len(block.sections[section]) // 4
        if count:
            at = place % count * 4
            old = block.number(section, at)
            block.put(section, at, change(old, new) & NONE)  # type: ignore[operator]
    require_sound(block.sealed())


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    name=st.sampled_from([*NAMES, "pattern"]), section=st.sampled_from(SMALL),
    place=st.integers(0, 1 << 16), value=st.integers(0, 255),
)  # fmt: skip
def test_changed_bytes(name: str, section: str, place: int, value: int) -> None:
    block = Block(compiled(name))
    if block.sections[section]:
        block.sections[section][place % len(block.sections[section])] = value
    require_sound(block.sealed())


@settings(max_examples=300, deadline=None)
@given(
    name=st.sampled_from(NAMES), place=st.integers(0, 351), new=st.binary(min_size=1, max_size=8)
)
def test_changed_frames(name: str, place: int, new: bytes) -> None:
    data = bytearray(compiled(name))
    data[place : place + len(new)] = new
    require_sound(bytes(data))
