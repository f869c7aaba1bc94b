"""White space, normalization and offsets on a small tokenizer whose pieces are known.

The recorded pieces, offsets and texts are those that tokenizers 0.23.3 gives.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.text.constructed import added, bpe, document
from trlm_lab.errors import TextTooLongError, Utf8Error
from trlm_lab.text import Bounds, Tokenizer, read_tokenizer, text_of
from trlm_lab.text.byte_chars import CHARS

ROWS: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("whitespace_offsets.json").read_text()
)
#: Words in the byte-level alphabet, enough for white space, marks and letters to merge and part.
WORDS = """
čĊ ĠĠĊ Ġb ĠĠ Ġa Âł âĢĭ âĢ Ġê áł ï»¿# include Ġ< ï»¿ ï»¿// ca fÃ© Ãħ ê°ģ Â½ This Ġis ĠðŁ
cpp ðŁĳ¨ ðŁĳ© ðŁĳ§ ðŁĳį ðŁı½ ï¼ĳ ï¼Ĵ LL Ġwe VE Ġdon 'T Ìģ ä½łå¥½ ï¼Į ä¸ĸçķĮ Î£ ï¿½ Â²
ĠĉĊ
"""
#: Runs of letters with at most one mark before them, single digits, marks, line ends, spaces.
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
SPLIT = {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated", "invert": False}
#: The tokenizer that gave the recorded values.
RECORDED = document(
    bpe(WORDS.split(), alphabet="".join(CHARS)),
    normalizer={"type": "NFC"},
    pre_tokenizer={"type": "Sequence", "pretokenizers": [SPLIT, BYTES]},
    post_processor=BYTES,
    decoder=BYTES,
    added_tokens=[added("<|im_start|>", 1000, "special"), added("<|im_end|>", 1001, "special")],
)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return read_tokenizer(RECORDED)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: ascii(row["text"]))
def test_recorded_values(tokenizer: Tokenizer, row: dict[str, Any]) -> None:
    found = tokenizer.encode_utf8(row["text"].encode())
    assert [tokenizer.token_text(i) for i in found.ids] == row["tokens"]
    assert [list(span) for span in found.offsets("scalar")] == row["scalars"]
    assert [list(span) for span in found.offsets()] == row["bytes"]
    assert tokenizer.decode(found.ids).text == row["decoded"]


def test_four_coordinates(tokenizer: Tokenizer) -> None:
    """U+212B is three bytes and one unit, its normalized form two bytes."""
    found = tokenizer.encode("\u212b\U0001f642\u212b")
    assert found.normalized == "\xc5\U0001f642\xc5"
    assert found.offsets("utf8_byte")[0] == (0, 3)
    assert found.offsets("normalized_utf8_byte")[0] == (0, 2)
    assert found.offsets("scalar")[-1] == (2, 3)
    assert found.offsets("utf16")[-1] == (3, 4)
    assert found.offsets("utf8_byte")[-1] == (7, 10)


def test_every_stage_is_there(tokenizer: Tokenizer) -> None:
    """Each component by its JSON pointer, with its pieces and their bytes."""
    found = tokenizer.encode("caf\u0065\u0301 x<|im_end|>", trace=True)
    rows = found.stage_rows()
    assert [row["stage"] for row in rows] == [
        "/", "/added_tokens", "/normalizer", "/added_tokens", "/pre_tokenizer/pretokenizers/0",
        "/pre_tokenizer/pretokenizers/1", "/model",
    ]  # fmt: skip
    assert rows[1]["pieces"][-1] == {
        "text": "<|im_end|>",
        "offsets": [8, 18],
        "id": tokenizer.encode("<|im_end|>").ids[0],
    }
    # The composed letter stands for the bytes of its first scalar, as in the source.
    assert rows[4]["pieces"][0] == {"text": "caf\xe9", "offsets": [0, 4]}
    assert rows[5]["pieces"][1] == {"text": "\u0120x", "offsets": [6, 8]}


@pytest.mark.parametrize(
    ("data", "index"),
    [
        ("80", 0), ("c0af", 0), ("eda080", 0), ("f4908080", 0), ("e28c", 0), ("61ff62", 1),
        ("6162e2", 2), ("c3a9f09f99", 2), ("f8888080", 0), ("61c3", 1), ("00c1", 1),
    ],
)  # fmt: skip
def test_ill_formed_utf8(tokenizer: Tokenizer, data: str, index: int) -> None:
    with pytest.raises(Utf8Error) as refused:
        tokenizer.encode_utf8(bytes.fromhex(data))
    assert refused.value.facts["index"] == index


def test_lone_surrogate(tokenizer: Tokenizer) -> None:
    with pytest.raises(Utf8Error) as refused:
        tokenizer.encode("\xe9\ud800")
    assert refused.value.facts["index"] == 2


def test_bound_in_bytes_and_scalars(tokenizer: Tokenizer) -> None:
    """Two-byte letters come to the first bound, plain ones to the second."""
    bounds = Bounds(bytes=6, scalars=4)
    assert text_of("\xe9\xe9\xe9".encode(), bounds=bounds) == "\xe9\xe9\xe9"
    assert len(tokenizer.encode("abcd", bounds=bounds).text) == 4
    over = {"\xe9\xe9\xe9a": (7, "bytes", 6), "abcde": (5, "scalars", 4)}
    for text, facts in over.items():
        for call in (tokenizer.encode, lambda text, **given: text_of(text.encode(), **given)):
            with pytest.raises(TextTooLongError) as refused:
                call(text, bounds=bounds)
            found = refused.value.facts
            assert (found["got"], found["unit"], found["limit"]) == facts


def test_bytes_are_counted_before_they_are_read(tokenizer: Tokenizer) -> None:
    with pytest.raises(TextTooLongError):
        tokenizer.encode_utf8(b"\xff" * 7, bounds=Bounds(bytes=6))
    with pytest.raises(Utf8Error):
        tokenizer.encode_utf8(b"\xff" * 6, bounds=Bounds(bytes=6))


def test_nul_is_data(tokenizer: Tokenizer) -> None:
    found = tokenizer.encode("a\x00b")
    assert tokenizer.decode(found.ids).data == b"a\x00b"
