"""tokenizer.json into a tokenizer: every field is known and taken, or the file is refused.

Source of facts: the published format of the `tokenizers` library, version 0.23.
"""

from __future__ import annotations

from typing import Any

from trlm_lab.errors import (
    AddedTokenAmbiguousError,
    AddedTokenErasedError,
    TokenizerFieldError,
)
from trlm_lab.text.added_tokens import AddedToken
from trlm_lab.text.fields import Fields, shown
from trlm_lab.text.models import Model
from trlm_lab.text.reading_models import read_model
from trlm_lab.text.reading_stages import (
    read_decoder,
    read_normalizer,
    read_post_processor,
    read_pre_tokenizer,
)
from trlm_lab.text.tokenizer import Tokenizer

_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


def read_tokenizer(document: Any) -> Tokenizer:
    """The tokenizer of a parsed tokenizer.json.

    Raises:
        TokenizerFieldError: a field is unknown, missing or ill-typed; its JSON pointer is named.
        TokenizerKindError: a component of an unknown kind.
        TokenizerVocabularyError, MergeDuplicateError: tokens or merges contradict each other.
        PatternUnsupportedError: a regular expression outside the subset.
        AddedTokenErasedError: the normalizer leaves nothing of an added token.
        AddedTokenAmbiguousError: it makes one text of two added tokens.
        PostProcessorOrderError: a post-processor inserts tokens behind a TemplateProcessing.
    """
    top = Fields(document, "")
    version = top.take("version", "1.0")
    if version != "1.0":
        raise top.fault("version", f"{shown(version)} is not 1.0")
    notes = [name for name in ("truncation", "padding") if top.take(name, None) is not None]
    model, kind = read_model(top.inner("model"))
    tokenizer = Tokenizer(
        model,
        kind,
        _added(top, model),
        read_normalizer(top.take("normalizer", None)),
        read_pre_tokenizer(top.take("pre_tokenizer", None)),
        read_post_processor(top.take("post_processor", None)),
        read_decoder(top.take("decoder", None)),
        tuple(f"{name} is declared and switched off" for name in notes),
    )
    top.done()
    _require_forms(tokenizer, document)
    return tokenizer


def _require_forms(tokenizer: Tokenizer, document: Any) -> None:
    """What normalized added tokens are looked for with is a text, and that of one token."""

    def place(content: str) -> str:
        rows = enumerate(document["added_tokens"])
        found = next(index for index, row in rows if row["content"] == content)
        return f"/added_tokens/{found}/content"

    if tokenizer.erased is not None:
        content = tokenizer.added[tokenizer.erased].content
        raise AddedTokenErasedError(where=place(content), token=shown(content))
    if found := tokenizer.ambiguous:
        token, other = (tokenizer.added[index].content for index in found)
        form = shown(tokenizer.added_forms[found[0]])
        raise AddedTokenAmbiguousError(
            where=place(token), token=shown(token), other=shown(other), form=form
        )


def _added(top: Fields, model: Model) -> tuple[AddedToken, ...]:
    """Added tokens with the ids that the source's loader gives them, whatever the file says.

    A token of the vocabulary keeps its id; another gets the next one above the vocabulary's
    length and all added tokens before it.
    """
    out: list[AddedToken] = []
    ids: dict[str, int] = {}
    for row in top.each("added_tokens", []):
        row.count("id")
        content = row.text("content")
        flags = {name: row.flag(name) for name in _FLAGS}
        row.done()
        if not content:
            continue
        if content in ids:
            raise TokenizerFieldError(
                where=f"{row.pointer}/content", detail=f"{shown(content)} is added twice"
            )
        above = max(len(model.ids), max(ids.values(), default=-1) + 1)
        ids[content] = model.ids.get(content, above)
        out.append(AddedToken(ids[content], content, **flags))
    return tuple(out)
