"""Normalized added tokens: printed and found by their normalized form, as the source does."""

import json

import pytest
import tokenizers

from tests.text.added_forms import (
    CONTENTS,
    FLAGS,
    ambiguous,
    ambiguous_block,
    erased,
    erased_block,
    one_of_each,
)
from tests.text.components import MODELS, NORMALIZERS, kind
from tests.text.constructed import added, document
from tests.text.source_engine import Pair
from trlm_lab.errors import AddedTokenAmbiguousError, AddedTokenErasedError, Tok2AddedError
from trlm_lab.text import read_tokenizer
from trlm_lab.text.tok2 import read_tok2


@pytest.mark.parametrize("flags", FLAGS, ids="-".join)
@pytest.mark.parametrize("name", NORMALIZERS)
def test_every_normalizer(name: str, flags: tuple[str, ...]) -> None:
    """Each token alone, and all together, in both modes that the source has; found in texts."""
    for decoder in ("Fuse", "ByteLevel", "none"):
        pair = Pair(one_of_each(name, flags, decoder))
        ids = [token.id for token in pair.ours.added]
        for chosen in (*([number] for number in ids), ids, [0, *ids, 0]):
            pair.require_decoded(chosen)
        for number in ids:
            assert pair.ours.token_text(number) == pair.source.id_to_token(number)
    for text in (*CONTENTS, "x<S>y<s>z", "hehe \ufb01x A b", "".join(CONTENTS).lower()):
        pair.require_same(text)


@pytest.mark.parametrize("flags", FLAGS, ids="-".join)
def test_streaming(flags: tuple[str, ...]) -> None:
    tokenizer = read_tokenizer(one_of_each("Sequence", flags))
    ids = [token.id for token in tokenizer.added]
    for mode in ("raw", "visible", "diagnostic"):
        stream = tokenizer.stream(mode)
        joined = [stream.push(number).data for number in ids] + [stream.flush().data]
        assert b"".join(joined) == tokenizer.decode(ids, mode).data


def test_a_special_token_of_another_form_is_shown() -> None:
    """Its normalized form is no special token's content, so that nothing leaves it out."""
    row = document(
        MODELS["fused"],
        normalizer=kind("Lowercase"),
        decoder=kind("Fuse"),
        added_tokens=[added("<S>", 900, "special", "normalized"), added("</s>", 901, "special")],
    )
    tokenizer = read_tokenizer(row)
    ids = [token.id for token in tokenizer.added]
    assert tokenizer.decode(ids).text == "<s></s>"
    assert tokenizer.decode(ids, "visible").text == "<s>"


def test_a_token_that_is_erased() -> None:
    """Where the normalizer leaves nothing, the source cuts texts everywhere."""
    with pytest.raises(AddedTokenErasedError) as refused:
        read_tokenizer(erased())
    assert (refused.value.code, refused.value.where) == (
        "ADDED_TOKEN_ERASED", "/added_tokens/2/content",
    )  # fmt: skip
    whole, cut = (
        tokenizers.Tokenizer.from_str(json.dumps(row))
        for row in (document(MODELS["bytes"]), erased())
    )
    assert (len(whole.encode("hell").ids), len(cut.encode("hell").ids)) == (1, 4)


def test_a_token_that_is_not_normalized_may_be_erased() -> None:
    row = erased()
    row["added_tokens"][2]["normalized"] = False
    Pair(row).require_same("a<x>b")


@pytest.mark.parametrize("flags", [(), ("special",), ("lstrip",)])
def test_two_tokens_of_one_form(flags: tuple[str, ...]) -> None:
    """The source takes now the one, now the other; one that is looked for as it is stays apart."""
    with pytest.raises(AddedTokenAmbiguousError) as refused:
        read_tokenizer(ambiguous(*flags))
    assert (refused.value.code, refused.value.where) == (
        "ADDED_TOKEN_AMBIGUOUS", "/added_tokens/3/content",
    )  # fmt: skip
    assert all(text in str(refused.value) for text in ("'zq'", "'zQ'", "'ZQ'"))
    row = ambiguous(*flags)
    del row["added_tokens"][3]
    for text in ("zq", "zQ", "ZQ", "a zQzq ZQ he"):
        Pair(row).require_same(text)


def test_compiled_tokens_of_one_form() -> None:
    data, place = ambiguous_block()
    with pytest.raises(Tok2AddedError) as refused:
        read_tok2(data)
    assert refused.value.where == f"byte {place}"


def test_a_compiled_token_that_is_erased() -> None:
    data, place = erased_block()
    with pytest.raises(Tok2AddedError) as refused:
        read_tok2(data)
    assert refused.value.where == f"byte {place}"
