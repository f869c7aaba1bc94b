"""No control token twice: template, post-processor and model card have one owner for each."""

from __future__ import annotations

import pytest

from tests.chat.conversations import turn
from trlm_lab.base.records.tokenizer_profile import Insertion
from trlm_lab.chat import (
    CardClaim,
    Conversation,
    Rendered,
    agreed_insertion,
    compile_template,
    render,
)
from trlm_lab.errors import DoubleInsertionError, InsertionConflictError

TEXTS = {1: "<s>", 2: "</s>", 3: "[SEP]", 4: "<cls>"}
PLAIN = "{% for m in messages %}{{ m.content }}{% endfor %}"
PROMPT = PLAIN + "{% if add_generation_prompt %}<a>{% endif %}"
NOTHING = Insertion((), (), "nobody")
BOTH = Insertion((1,), (2,), "post_processor, on request")


def rendered(source: str, content: str = "x", prompt: bool = False) -> Rendered:
    given = Conversation(
        [turn("user", content)], prompt, variables={"bos_token": "<s>", "eos_token": "</s>"}
    )
    return render(compile_template(source).ir, given)


@pytest.mark.parametrize(
    ("source", "insertion", "token"),
    [
        ("{{ bos_token }}" + PLAIN, Insertion((1,), (), "p"), "BOS"),
        ("<s>" + PLAIN, Insertion((1,), (), "p"), "BOS"),
        (PLAIN + "{{ eos_token }}", Insertion((), (2,), "p"), "EOS"),
        (PLAIN + "[SEP]", Insertion((), (3,), "p"), "[SEP]"),
        ("<cls>" + PLAIN, Insertion((4,), (), "p"), "<cls>"),
        ("{{ bos_token }}{{ bos_token }}" + PLAIN, NOTHING, "BOS"),
        ("\n\n{{ bos_token }}" + PLAIN, Insertion((1,), (), "p"), "BOS"),
        (PLAIN + "{{ bos_token }}", Insertion((1,), (), "p"), "BOS"),
        (PLAIN + "{{ eos_token }}\n", Insertion((), (2,), "p"), "EOS"),
        ("a[SEP]b" + PLAIN, Insertion((), (3,), "p"), "[SEP]"),
    ],
)
def test_a_second_token_is_refused(source: str, insertion: Insertion, token: str) -> None:
    with pytest.raises(DoubleInsertionError) as caught:
        agreed_insertion(rendered(source), insertion, TEXTS, bos_id=1, eos_id=2)
    assert caught.value.facts["token"] == token


def test_nothing_comes_behind_the_prefix_of_the_answer() -> None:
    open_prompt = rendered(PROMPT, prompt=True)
    for after in ((2,), (3,)):
        with pytest.raises(DoubleInsertionError, match="behind the prefix"):
            agreed_insertion(open_prompt, Insertion((), after, "p"), TEXTS, bos_id=1, eos_id=2)
    assert agreed_insertion(open_prompt, Insertion((1,), (), "p"), TEXTS, bos_id=1).bos == (
        "post_processor"
    )


def test_a_prefix_written_twice_is_refused() -> None:
    twice = PLAIN + "{% if add_generation_prompt %}<a><a>{% endif %}"
    with pytest.raises(DoubleInsertionError, match="prefix of the answer"):
        agreed_insertion(rendered(twice, prompt=True), NOTHING, TEXTS)


def test_content_that_spells_a_token_owns_nothing() -> None:
    plan = agreed_insertion(rendered(PLAIN, "<s>x</s>"), BOTH, TEXTS, bos_id=1, eos_id=2)
    assert (plan.bos, plan.eos, plan.add_special_tokens) == (
        "post_processor",
        "post_processor",
        True,
    )


@pytest.mark.parametrize(
    ("source", "insertion", "card", "said"),
    [
        (PLAIN, NOTHING, CardClaim(bos=True), "is there"),
        (PLAIN, Insertion((1,), (), "p"), CardClaim(bos=False), "is not there"),
        ("{{ bos_token }}" + PLAIN, NOTHING, CardClaim(bos=False), "is not there"),
        (PLAIN, NOTHING, CardClaim(eos=True, where="README.md line 9"), "is there"),
        (PLAIN + "{{ eos_token }}", NOTHING, CardClaim(eos=False), "is not there"),
    ],
)
def test_a_card_that_says_otherwise_blocks(
    source: str, insertion: Insertion, card: CardClaim, said: str
) -> None:
    with pytest.raises(InsertionConflictError) as caught:
        agreed_insertion(rendered(source), insertion, TEXTS, bos_id=1, eos_id=2, card=card)
    assert caught.value.facts["said"] == said
    assert caught.value.where == card.where


def test_all_three_agree() -> None:
    card = CardClaim(bos=True, eos=False)
    by_template = agreed_insertion(
        rendered("{{ bos_token }}" + PLAIN), NOTHING, TEXTS, bos_id=1, card=card
    )
    assert (by_template.bos, by_template.add_special_tokens) == ("template", False)
    by_processor = agreed_insertion(
        rendered(PLAIN), Insertion((1,), (), "p"), TEXTS, bos_id=1, card=card
    )
    assert (by_processor.bos, by_processor.add_special_tokens) == ("post_processor", True)
