"""The tokenizer's keys of a GGUF file, read strictly: one that is not known may change ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trlm_lab.errors import TokenizerFieldError
from trlm_lab.text.fields import shown

PREFIX = "tokenizer.ggml."
_MISSING: Any = object()
#: Keys that make ids, and those that llama.cpp keeps for generation or for templates.
_MAKING = {
    "model", "pre", "tokens", "scores", "token_type", "merges", "bos_token_id", "eos_token_id",
    "unknown_token_id", "seperator_token_id", "padding_token_id", "mask_token_id", "eot_token_id",
    "eom_token_id", "add_bos_token", "add_eos_token", "add_space_prefix",
    "remove_extra_whitespaces", "precompiled_charsmap", "normalizer.lowercase",
    "normalizer.strip_accents", "fim_pre_token_id", "fim_suf_token_id", "fim_mid_token_id",
    "fim_pad_token_id", "fim_rep_token_id", "fim_sep_token_id", "prefix_token_id",
    "suffix_token_id", "middle_token_id",
}  # fmt: skip
_WITHOUT_EFFECT = {"cls_token_id", "add_sep_token", "token_type_count", "suppress_tokens"}
_TEMPLATES = ("tokenizer.chat_template", "tokenizer.chat_templates")
#: Other forms of the same tokenizer, which llama.cpp passes by.
_PASSED = ("tokenizer.huggingface.json", "tokenizer.rwkv.world")


class Metadata:
    """The keys of one file; values are plain Python ones."""

    def __init__(self, rows: Mapping[str, Any]) -> None:
        self._rows = rows
        for key in rows:
            if key.startswith("tokenizer.") and not _known(key):
                raise TokenizerFieldError(where=key, detail="the key is not known")

    def take(self, key: str, kind: type, default: Any = _MISSING) -> Any:
        """A value of one kind by its short name; missing without default is a refusal."""
        value = self._rows.get(PREFIX + key, default)
        if value is _MISSING:
            raise TokenizerFieldError(where=PREFIX + key, detail="the key is missing")
        # A Boolean is no number here.
        if value is not default and type(value) is not kind:
            raise TokenizerFieldError(
                where=PREFIX + key, detail=f"{shown(value)} is no {kind.__name__}"
            )
        return value

    def rows(self, key: str, kind: type, length: int | None = None) -> list[Any]:
        """A list of values of one kind, at least `length` of them; an absent one is empty."""
        values: list[Any] = self.take(key, list, [])
        if any(type(value) is not kind for value in values):
            raise TokenizerFieldError(where=PREFIX + key, detail=f"a value is no {kind.__name__}")
        if values and length is not None and len(values) < length:
            detail = f"{len(values)} values for {length} tokens"
            raise TokenizerFieldError(where=PREFIX + key, detail=detail)
        return values

    def number(self, key: str, below: int, default: int | None) -> int | None:
        """An id; what is outside the vocabulary counts as absent, as in the source."""
        value: int | None = self.take(key, int, None)
        fallback = default if default is not None and default < below else None
        return fallback if value is None or not 0 <= value < below else value

    def general(self, key: str) -> str:
        """A text about the model; empty if absent."""
        value = self._rows.get(f"general.{key}", "")
        return value if isinstance(value, str) else ""


def _known(key: str) -> bool:
    if key in _PASSED or any(key == one or key.startswith(f"{one}.") for one in _TEMPLATES):
        return True
    return key.startswith(PREFIX) and key.removeprefix(PREFIX) in _MAKING | _WITHOUT_EFFECT
