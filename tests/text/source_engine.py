"""The source engine beside ours, on one document."""

import json
from typing import Any

import tokenizers

from trlm_lab.text import Tokenizer, read_tokenizer


class Pair:
    """One tokenizer.json in both engines."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.source = tokenizers.Tokenizer.from_str(json.dumps(document))
        self.source.no_truncation()
        self.source.no_padding()
        self.ours: Tokenizer = read_tokenizer(document)

    def require_same(self, text: str, *, special: bool = False) -> None:
        """Ids, token texts and offsets in scalars."""
        wanted = self.source.encode(text, add_special_tokens=special)
        got = self.ours.encode(text, add_special_tokens=special)
        rows = [(t.id, t.text, t.span) for t in got.tokens]
        assert rows == list(zip(wanted.ids, wanted.tokens, wanted.offsets, strict=True)), ascii(
            text
        )

    def require_decoded(self, ids: list[int]) -> None:
        """The text of both decode modes that the source has."""
        visible = self.source.decode(ids, skip_special_tokens=True)
        assert self.ours.decode(ids, "visible").text == visible, ids
