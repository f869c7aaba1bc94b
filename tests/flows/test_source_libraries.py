"""Errors that the sources' libraries raise while they work."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.text.constructed import document, word_piece
from trlm_lab.errors import LibraryRefusedError
from trlm_lab.flows.tokenizer_requests import Request, TokenizerFile
from trlm_lab.flows.tokenizer_sources import HuggingFace


def without_unknown(folder: Path) -> HuggingFace:
    """WordPiece whose unknown token has no id: the library raises at the first strange word."""
    row = document(word_piece(["he", "##llo"]))
    row["model"]["unk_token"] = "[NONE]"
    (folder / "tokenizer.json").write_text(json.dumps(row))
    return HuggingFace(TokenizerFile.at(folder / "tokenizer.json"))


def test_an_error_while_encoding_is_a_refusal_of_one_line(tmp_path: Path) -> None:
    with pytest.raises(LibraryRefusedError, match="Missing") as caught:
        without_unknown(tmp_path).tokenize(Request("zzz"))
    assert "\n" not in str(caught.value)


def test_a_panic_is_a_refusal_and_an_interruption_is_none(tmp_path: Path) -> None:
    engine = without_unknown(tmp_path)
    panic = type("PanicException", (BaseException,), {})

    def raising(error: BaseException) -> SimpleNamespace:
        def encode(text: str, add_special_tokens: bool) -> None:
            raise error

        return SimpleNamespace(encode=encode)

    engine._library = raising(panic("called\n`Option::unwrap()`"))
    with pytest.raises(LibraryRefusedError, match="called `Option"):
        engine.tokenize(Request("he"))
    engine._library = raising(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        engine.tokenize(Request("he"))
