"""The reference engine in chunks and decode steps; positions, padding and limits."""

from dataclasses import replace

import numpy as np
import pytest

from tests.backends.reference_model import (
    CASE,
    EXACT,
    assert_same,
    observed,
    session,
)
from trlm_lab.backends.reference import ReferenceSession
from trlm_lab.base.bits import same_bits
from trlm_lab.base.records import Case
from trlm_lab.errors import (
    AllKeysMaskedError,
    ContextLengthError,
    TokenRangeError,
)
from trlm_lab.ops.arithmetic import Array


def chunked(opened: ReferenceSession, sizes: list[int]) -> list[dict[str, Array]]:
    cache, start, parts = opened.new_cache(), 0, []
    for size in sizes:
        ids = np.array(CASE.token_ids[start : start + size], np.int64)
        parts.append(observed(opened.advance(cache, ids)))
        start += size
    assert cache.length == start
    return parts


@pytest.mark.parametrize("profile", EXACT)
@pytest.mark.parametrize("sizes", [[1, 1, 1, 1, 1], [3, 2], [2, 1, 2], [4, 1]])
def test_chunks_and_decode_steps_have_the_bits_of_one_prefill(
    profile: str, sizes: list[int]
) -> None:
    whole = observed(session(profile).run(CASE))
    parts = chunked(session(profile), sizes)
    start = 0
    for size, part in zip(sizes, parts, strict=True):
        end = start + size
        for name, values in part.items():
            if name.split(".")[-1] in ("attn_scores", "attn_masked", "attn_probs"):
                expected = whole[name][:, start:end, :end]
            else:
                expected = whole[name][start:end]
            assert same_bits(values, np.ascontiguousarray(expected)), name
        start = end


def test_greedy_steps_follow_the_prefill() -> None:
    seen = observed(session().steps(CASE, 3))
    generated = seen["generated"].tolist()
    assert len(generated) == 3
    assert generated[0] == seen["logits"][-1].argmax()
    assert seen["step0.logits"].shape == (1, 67)
    assert seen["step2.layers.1.attn_scores"].shape == (6, 1, 8)
    whole = observed(session().run(Case("whole", (*CASE.token_ids, *generated))))
    assert same_bits(seen["step2.logits"], whole["logits"][-1:])
    assert whole["logits"][5:7].argmax(axis=1).tolist() == generated[1:]


def test_conversations_do_not_share_a_cache() -> None:
    opened = session()
    first, again = observed(opened.run(CASE)), observed(opened.run(CASE))
    assert_same(first, again)


def test_positions_given_by_the_case_are_used_and_traced() -> None:
    moved = replace(CASE, position_ids=(0, 1, 2, 3, 9))
    seen, plain = observed(session().run(moved)), observed(session().run(CASE))
    assert list(seen)[:3] == ["token_ids", "position_ids", "embedding"]
    assert seen["position_ids"].dtype == np.int64
    assert same_bits(seen["layers.0.k_rope"][:4], plain["layers.0.k_rope"][:4])
    assert not same_bits(seen["layers.0.k_rope"][4], plain["layers.0.k_rope"][4])
    explicit = replace(CASE, position_ids=(0, 1, 2, 3, 4))
    assert same_bits(observed(session().run(explicit))["logits"], plain["logits"])


def test_padding_keys_are_left_out() -> None:
    padded = replace(CASE, attention_mask=(1, 1, 0, 1, 1))
    seen = observed(session().run(padded))
    assert (seen["layers.0.attn_probs"][:, 3:, 2] == 0).all()
    shorter = Case("short", (3, 66, 41, 41), position_ids=(0, 1, 3, 4))
    short = observed(session().run(shorter))
    assert same_bits(seen["logits"][[0, 1, 3, 4]], short["logits"])


def test_a_query_without_a_key_is_an_error_with_its_row() -> None:
    with pytest.raises(AllKeysMaskedError) as caught:
        observed(session().run(replace(CASE, attention_mask=(0, 1, 1, 1, 1))))
    assert caught.value.facts["row"] == 0


def test_a_token_outside_the_vocabulary_is_refused() -> None:
    with pytest.raises(TokenRangeError, match="token 67 at index 1"):
        observed(session().run(Case("wide", (1, 67))))


def test_the_declared_context_is_a_limit() -> None:
    opened = session()
    with pytest.raises(ContextLengthError, match="65 tokens"):
        observed(opened.run(Case("long", (1,) * 65)))
    cache = opened.new_cache()
    observed(opened.advance(cache, np.ones(60, np.int64)))
    with pytest.raises(ContextLengthError, match="65 tokens"):
        opened.advance(cache, np.ones(5, np.int64))
