"""Made models of every kind against the source's library: ids, pieces, offsets, decoding."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor

from tests.text.sentencepiece.made_models import DEFINED, LETTERS, RULES, WORDS, model
from trlm_lab.text.sentencepiece import SentencePieceTokenizer, read_sentencepiece

KINDS = ("UNIGRAM", "BPE", "WORD", "CHAR")
SWITCHES: dict[str, dict[str, Any]] = {
    "plain": {},
    "no prefix": {"add_dummy_prefix": False},
    "spaces kept": {"remove_extra_whitespaces": False},
    "spaces kept, no prefix": {"remove_extra_whitespaces": False, "add_dummy_prefix": False},
    "plain spaces": {"escape_whitespaces": False},
    "suffix": {"treat_whitespace_as_suffix": True},
    "suffix, spaces kept": {"treat_whitespace_as_suffix": True, "remove_extra_whitespaces": False},
    "defined": {"defined": True},
    "defined, spaces kept": {"defined": True, "remove_extra_whitespaces": False},
    "unused": {"unused": True, "seed": 5},
    "charsmap": {"charsmap": True},
    "charsmap, defined": {"charsmap": True, "defined": True, "remove_extra_whitespaces": False},
    "bytes": {"byte_fallback": True},
    "bytes, charsmap": {"byte_fallback": True, "charsmap": True, "defined": True, "unused": True},
    "surface": {"unk_surface": "?", "denormalize": True},
}
PARTS = (
    *LETTERS, *WORDS, *DEFINED, *RULES, " ", "  ", "\0", "z", "\U0001f642", "<unk>", "<s>", "</s>",
    "<0x41>", "\ufeff", "\u2581",
)  # fmt: skip


class Pair:
    """One model in both engines."""

    def __init__(self, data: bytes) -> None:
        self.source = SentencePieceProcessor(model_proto=data)
        self.ours: SentencePieceTokenizer = read_sentencepiece(data)

    def require_same(self, text: str) -> None:
        found = self.ours.encode(text)
        for unit, as_bytes in (("scalar", False), ("utf8_byte", True)):
            wanted = self.source.encode(text, return_type="offset_mapping", return_bytes=as_bytes)
            assert (found.ids, found.offsets(unit)) == (wanted["ids"], wanted["offsets"]), repr(
                text
            )
        assert found.ids == self.source.encode(text)
        pieces = self.source.encode(text, return_type="offset_mapping", return_bytes=False)[
            "pieces"
        ]
        assert [token.text for token in found.tokens] == pieces

    def require_decoded(self, ids: list[int]) -> None:
        assert self.ours.decode(ids, "visible").text == self.source.decode(ids), ids


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("switches", SWITCHES)
def test_texts_and_ids(kind: str, switches: str) -> None:
    """Three hundred mixtures of all that the model knows and of what it does not."""
    pair = Pair(model(kind, **SWITCHES[switches]))
    draw = random.Random(kind + switches)
    size = pair.source.get_piece_size()
    for count in range(300):
        pair.require_same("".join(draw.choices(PARTS, k=1 + count % 20)))
        pair.require_decoded(draw.choices(range(size), k=count % 12))


@pytest.mark.parametrize("seed", range(6))
def test_unused_pieces_come_apart(seed: int) -> None:
    """Other scores: other unused pieces are made on the way."""
    pair = Pair(model("BPE", unused=True, seed=seed, defined=seed % 2 == 0))
    draw = random.Random(seed)
    for count in range(300):
        pair.require_same("".join(draw.choices("abcde\u00e9 ", k=1 + count % 24)))


@settings(max_examples=200)
@given(text=st.text(max_size=40))
@pytest.mark.parametrize("kind", ["UNIGRAM", "BPE"])
def test_any_text(kind: str, text: str) -> None:
    Pair(model(kind, byte_fallback=True, charsmap=True)).require_same(text)


def test_sums_are_moved_before_they_grow() -> None:
    """A text so long that the score leaves what float32 tells apart."""
    pair = Pair(model("UNIGRAM"))
    pair.require_same("abc bcd de" * 9000)


def test_bytes_are_exact() -> None:
    """What is no UTF-8 stays in the bytes; a control symbol is shown in raw mode only."""
    tokenizer = Pair(model("BPE", byte_fallback=True)).ours
    ids = [1, *tokenizer.encode("\u00ff a").ids, 3 + 0xC3]
    assert tokenizer.decode(ids).data == b"<s>" + "\u00ff a".encode() + b"\xc3"
    assert tokenizer.decode(ids, "visible").text == "\u00ff a\ufffd"
    assert tokenizer.decode(ids, "diagnostic").text.endswith("\\xc3")
    stream = tokenizer.stream()
    parts = [stream.push(number).data for number in ids]
    assert b"".join([*parts, stream.flush().data]) == tokenizer.decode(ids).data


def test_stages_are_shown() -> None:
    tokenizer = read_sentencepiece(model("UNIGRAM", byte_fallback=True, charsmap=True))
    rows = tokenizer.encode("A\u3000z", trace=True).stage_rows()
    assert [row["kind"] for row in rows] == ["input", "SentencePiece", "UNIGRAM", "unknown pieces"]
    assert rows[1]["pieces"][0]["text"] == "\u2581a\u2581z"
    assert [piece["offsets"] for piece in rows[2]["pieces"]] == [[0, 1], [1, 4], [4, 5]]
    assert rows[3]["pieces"][-1]["text"] == "<0x7A>"
    assert tokenizer.encode("<s>").ids.count(1) == 0
