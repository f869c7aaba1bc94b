"""TOK2 blocks that break a rule: the runtime names the code and the byte that the reader names."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.backends.text_engines import answered
from tests.text.tok2.blocks import NAMES, Block, compiled, resealed
from tests.text.tok2.test_gguf import CASES, broken
from tests.text.tok2.test_gguf import NAMES as GGUF_NAMES
from tests.text.tok2.test_gguf import compiled as gguf_block
from tests.text.tok2.test_mutations import CHANGES, NONE, SMALL, TEXTS
from tests.text.tok2.test_refusals import FRAME
from trlm_lab.backends.abi_host import Host
from trlm_lab.backends.abi_tokenizer import MODES, AbiTokenizer
from trlm_lab.errors import RuntimeRefusedError, Tok2Error, TrlmError
from trlm_lab.text.tok2 import Compiled, read_tok2

BLOCKS = (*NAMES, "pattern", "gpt-2", "llama", "bert")
#: Sections of either profile that a changed number is likely to matter in.
LIKELY = (*SMALL, "scores", "merges", "sets", "tables")


def sound(name: str) -> bytes:
    """A block of profile 1 or 2."""
    return gguf_block(name) if name in GGUF_NAMES else compiled(name)


def read(data: bytes) -> Compiled | tuple[str, str]:
    """What the strict reader says."""
    try:
        return read_tok2(data)
    except Tok2Error as error:
        return error.code, error.where


def require_agreed(host: Host, data: bytes) -> None:
    """The same refusal; of a sound block the same tokens and bytes."""
    wanted = read(data)
    if isinstance(wanted, tuple):
        with pytest.raises(RuntimeRefusedError) as refused:
            AbiTokenizer(host, data)
        assert (refused.value.facts["error_name"], refused.value.where) == wanted
        return
    with AbiTokenizer(host, data) as ours:
        for text in TEXTS:
            require_answers(ours, wanted, text)


def require_answers(ours: AbiTokenizer, wanted: Compiled, text: str) -> None:
    """Ids, offsets, and bytes in every mode."""
    got = answered(ours, text.encode(), True)
    try:
        found = wanted.tokenizer.encode(text, add_special_tokens=True)
    except TrlmError as error:
        refusal = error.code
    else:
        refusal = ""
    if refusal:
        assert got == refusal
        return
    assert got == (found.ids, found.offsets())
    for mode in MODES:
        row = wanted.tokenizer.decode(found.ids, mode)
        assert ours.decode(found.ids, mode) == (row.data, row.text)


@pytest.mark.parametrize("rule", [name for name in FRAME if name != "no bytes"])
def test_every_rule_of_the_frame(text_host: Host, rule: str) -> None:
    name, change, code, place = FRAME[rule]
    with pytest.raises(RuntimeRefusedError) as refused:
        AbiTokenizer(text_host, change(compiled(name)))
    assert refused.value.facts["error_name"] == f"TOK2_{code}"
    assert refused.value.where == f"byte {place}"


@pytest.mark.parametrize("profile", [0, 4])
def test_a_profile_that_it_has_not(text_host: Host, profile: int) -> None:
    """The field that names it, before anything that follows from it."""
    block = Block(sound("gpt-2"))
    block.set(profile=profile)
    require_agreed(text_host, block.sealed())
    assert read(block.sealed()) == ("TOK2_VERSION", "byte 52")


@pytest.mark.parametrize("name", NAMES[:1] + GGUF_NAMES)
def test_profiles_do_not_mix(text_host: Host, name: str) -> None:
    block = Block(sound(name))
    block.set(profile=3 - block.header.profile)
    require_agreed(text_host, block.sealed())


@pytest.mark.parametrize("case", CASES)
def test_rules_of_profile_2(text_host: Host, case: str) -> None:
    require_agreed(text_host, broken(case))


numbers = st.tuples(
    st.sampled_from(LIKELY) | st.sampled_from([*Block(compiled(NAMES[0])).sections]),
    st.integers(0, 1 << 16),
    st.sampled_from(CHANGES),
    st.integers(0, NONE),
)


def changed(name: str, changes: list[tuple[str, int, Any, int]]) -> bytes:
    """A block with other numbers in its sections."""
    block = Block(sound(name))
    for section, place, change, new in changes:
        count = len(block.sections[section]) // 4
        if count:
            at = place % count * 4
            block.put(section, at, change(block.number(section, at), new) & NONE)
    return block.sealed()


@pytest.mark.slow
def test_changed_numbers(text_host: Host) -> None:
    @settings(max_examples=250, deadline=None)
    @given(name=st.sampled_from(BLOCKS), changes=st.lists(numbers, min_size=1, max_size=3))
    def agreed(name: str, changes: list[tuple[str, int, Any, int]]) -> None:
        require_agreed(text_host, changed(name, changes))

    agreed()


@pytest.mark.slow
def test_changed_bytes(text_host: Host) -> None:
    @settings(max_examples=250, deadline=None)
    @given(
        name=st.sampled_from(BLOCKS), at=st.integers(0, 1 << 20), byte=st.integers(0, 255),
        sealed=st.booleans(),
    )  # fmt: skip
    def agreed(name: str, at: int, byte: int, sealed: bool) -> None:
        data = bytearray(sound(name))
        data[at % len(data)] = byte
        require_agreed(text_host, resealed(bytes(data)) if sealed else bytes(data))

    agreed()


def cuts(data: bytes) -> Iterator[int]:
    """Lengths at which a block is cut."""
    yield from range(1, 353, 16)
    yield from range(353, len(data), len(data) // 40)


@pytest.mark.parametrize("name", BLOCKS)
def test_cut_short(text_host: Host, name: str) -> None:
    data = sound(name)
    for length in cuts(data):
        require_agreed(text_host, data[:length])
