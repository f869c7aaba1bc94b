"""The source engine beside ours, on one document; ours as read, and as compiled to TOK2."""

import json
from functools import cache
from typing import Any

import tokenizers

from tests.text.components import assembled
from tests.text.constructed import CORPUS
from trlm_lab.text import MODES, Tokenizer, read_tokenizer
from trlm_lab.text.tok2 import read_tok2, write_tok2


class Pair:
    """One tokenizer.json in both engines."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.source = tokenizers.Tokenizer.from_str(json.dumps(document))
        self.source.no_truncation()
        self.source.no_padding()
        self.ours: Tokenizer = read_tokenizer(document)
        self.compiled: Tokenizer = read_tok2(write_tok2(self.ours)).tokenizer

    def require_same(self, text: str, *, special: bool = False) -> None:
        """Ids, token texts and offsets in scalars."""
        wanted = self.source.encode(text, add_special_tokens=special)
        expected = list(zip(wanted.ids, wanted.tokens, wanted.offsets, strict=True))
        got = self.ours.encode(text, add_special_tokens=special)
        assert [(t.id, t.text, t.span) for t in got.tokens] == expected, ascii(text)
        assert self.compiled.encode(text, add_special_tokens=special) == got, ascii(text)

    def require_corpus(self, *, special: bool = False, every: int = 1) -> None:
        """The same on every text of the corpus, or on every so many of them."""
        for text in CORPUS[::every]:
            self.require_same(text, special=special)

    def require_decoded(self, ids: list[int]) -> None:
        """The text of both decode modes that the source has."""
        visible = self.source.decode(ids, skip_special_tokens=True)
        assert self.ours.decode(ids, "visible").text == visible, ids
        for mode in MODES:
            assert self.compiled.decode(ids, mode) == self.ours.decode(ids, mode), ids


@cache
def pair_of(model: str = "scalars", **components: Any) -> Pair:
    """Components by name in both engines (`components.assembled`)."""
    return Pair(assembled(model, **components))
