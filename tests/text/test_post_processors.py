"""Sequences of post-processors against the source engine."""

import itertools
from typing import Any

import pytest

from tests.text.components import TEMPLATE, byte_level, kind, metaspace
from tests.text.constructed import byte_bpe, document
from tests.text.source_engine import Pair
from trlm_lab.errors import PostProcessorOrderError
from trlm_lab.text import read_tokenizer

BERT = kind("BertProcessing", sep=["[SEP]", 1], cls=["[CLS]", 2])
ROBERTA = kind(
    "RobertaProcessing", sep=["</s>", 1], cls=["<s>", 2], trim_offsets=True, add_prefix_space=True
)
KNOWN: dict[str, Any] = {
    "Template": TEMPLATE,
    "Bert": BERT,
    "Roberta": ROBERTA,
    "Trim": byte_level(True),
    "TrimAll": byte_level(),
}
INSERTING = ("Template", "Bert", "Roberta")
CUTS: dict[str, Any] = {
    "ByteLevel": byte_level(True),
    "Words": kind("Sequence", pretokenizers=[kind("WhitespaceSplit"), byte_level(True)]),
    "Metaspace": metaspace(),
}
TEXTS = ("", "x", " a", "  a b", " hello  world ")


def sequence(*names: str) -> dict[str, Any]:
    return kind("Sequence", processors=[KNOWN[name] for name in names])


def row(processor: dict[str, Any], cut: str = "ByteLevel") -> dict[str, Any]:
    return document(byte_bpe(), pre_tokenizer=CUTS[cut], post_processor=processor)


def is_settled(names: tuple[str, ...]) -> bool:
    """Whether the parts of a template have nothing put around them."""
    at = names.index("Template") if "Template" in names else len(names)
    return not any(name in INSERTING for name in names[at + 1 :])


SEQUENCES = [names for size in (1, 2) for names in itertools.product(KNOWN, repeat=size)]
SEQUENCES += [("Bert", "Template", "Trim"), ("Bert", "Trim", "Template"), ("Trim", "Bert", "Bert")]
SETTLED = [names for names in SEQUENCES if is_settled(names)]
UNSETTLED = [names for names in SEQUENCES if not is_settled(names)]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("names", SETTLED, ids="-".join)
def test_sequence(names: tuple[str, ...], cut: str) -> None:
    """Ids and offsets, with and without what is inserted."""
    pair = Pair(row(sequence(*names), cut))
    for text, special in itertools.product(TEXTS, (False, True)):
        pair.require_same(text, special=special)


@pytest.mark.parametrize("names", UNSETTLED, ids="-".join)
def test_what_inserts_behind_a_template(names: tuple[str, ...]) -> None:
    """The source gives each part of the template tokens of its own, or panics."""
    with pytest.raises(PostProcessorOrderError) as refused:
        read_tokenizer(row(sequence(*names)))
    assert refused.value.code == "POST_PROCESSOR_ORDER"
    assert refused.value.where == "/post_processor/processors/1"
    assert "/post_processor/processors/0" in str(refused.value)


def test_within_another_sequence() -> None:
    nested = kind("Sequence", processors=[sequence("Trim", "Template"), sequence("Bert")])
    with pytest.raises(PostProcessorOrderError) as refused:
        read_tokenizer(row(nested))
    assert refused.value.where == "/post_processor/processors/1/processors/0"
