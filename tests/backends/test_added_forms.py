"""Normalized added tokens in the runtime: printed and found as in the reference."""

from collections.abc import Callable

import pytest

from tests.backends.text_engines import Held
from tests.text.added_forms import CONTENTS, FLAGS, ambiguous_block, erased_block, one_of_each
from tests.text.components import NORMALIZERS
from trlm_lab.backends.abi_host import Host
from trlm_lab.backends.abi_tokenizer import AbiTokenizer
from trlm_lab.errors import RuntimeRefusedError


@pytest.mark.parametrize("flags", FLAGS, ids="-".join)
@pytest.mark.parametrize("name", NORMALIZERS)
def test_every_normalizer(text_host: Host, name: str, flags: tuple[str, ...]) -> None:
    with Held(text_host, one_of_each(name, flags)) as held:
        ids = [token.id for token in held.wanted.reference.added]
        for chosen in (*([number] for number in ids), ids, [0, *ids, 0]):
            held.require_decoded(chosen)
        for text in (*CONTENTS, "x<S>y<s>z", "hehe \ufb01x A b"):
            held.require_same(text)


@pytest.mark.parametrize("block", [erased_block, ambiguous_block])
def test_tokens_without_a_form_of_their_own(
    text_host: Host, block: Callable[[], tuple[bytes, int]]
) -> None:
    data, place = block()
    with pytest.raises(RuntimeRefusedError, match="TOK2_ADDED") as refused:
        AbiTokenizer(text_host, data)
    assert f"byte {place}" in str(refused.value)
