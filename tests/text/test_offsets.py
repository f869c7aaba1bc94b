"""White space, normalization and offsets on a part of Qwen3's tokenizer with its own ids.

The vocabulary is a part of Qwen3's (Apache-2.0); the values are those of tokenizers 0.23.3.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from trlm_lab.errors import TextTooLongError, Utf8Error
from trlm_lab.text import Tokenizer, read_tokenizer, text_of

HERE = Path(__file__).parent
ROWS: list[dict[str, Any]] = json.loads((HERE / "whitespace_offsets.json").read_text())


@pytest.fixture(scope="module")
def qwen() -> Tokenizer:
    return read_tokenizer(json.loads((HERE / "qwen3_reduced.json").read_text()))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: ascii(row["text"]))
def test_recorded_values(qwen: Tokenizer, row: dict[str, Any]) -> None:
    found = qwen.encode_utf8(row["text"].encode())
    assert found.ids == row["ids"]
    assert [list(span) for span in found.offsets("scalar")] == row["scalars"]
    assert [list(span) for span in found.offsets()] == row["bytes"]
    assert qwen.decode(found.ids).text == row["decoded"]


def test_four_coordinates(qwen: Tokenizer) -> None:
    """U+212B is three bytes and one unit, its normalized form two bytes."""
    found = qwen.encode("\u212b\U0001f642\u212b")
    assert found.normalized == "\xc5\U0001f642\xc5"
    assert found.offsets("utf8_byte")[0] == (0, 3)
    assert found.offsets("normalized_utf8_byte")[0] == (0, 2)
    assert found.offsets("scalar")[-1] == (2, 3)
    assert found.offsets("utf16")[-1] == (3, 4)
    assert found.offsets("utf8_byte")[-1] == (7, 10)


def test_every_stage_is_there(qwen: Tokenizer) -> None:
    """Each component by its JSON pointer, with its pieces and their bytes."""
    found = qwen.encode("caf\u0065\u0301 x<|im_end|>", trace=True)
    rows = found.stage_rows()
    assert [row["stage"] for row in rows] == [
        "/", "/added_tokens", "/normalizer", "/added_tokens", "/pre_tokenizer/pretokenizers/0",
        "/pre_tokenizer/pretokenizers/1", "/model",
    ]  # fmt: skip
    assert rows[1]["pieces"][-1] == {"text": "<|im_end|>", "offsets": [8, 18], "id": 151645}
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
def test_ill_formed_utf8(qwen: Tokenizer, data: str, index: int) -> None:
    with pytest.raises(Utf8Error) as refused:
        qwen.encode_utf8(bytes.fromhex(data))
    assert refused.value.facts["index"] == index


def test_lone_surrogate(qwen: Tokenizer) -> None:
    with pytest.raises(Utf8Error) as refused:
        qwen.encode("\xe9\ud800")
    assert refused.value.facts["index"] == 2


def test_bound_in_bytes() -> None:
    assert text_of(b"abc", limit=3) == "abc"
    with pytest.raises(TextTooLongError):
        text_of(b"abcd", limit=3)


def test_nul_is_data(qwen: Tokenizer) -> None:
    found = qwen.encode("a\x00b")
    assert qwen.decode(found.ids).data == b"a\x00b"
