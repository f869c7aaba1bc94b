"""The tokenizer of a GGUF file as `tokenizer.json` and `tokenizer_config.json`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from trlm_lab.acquire.gguf_byte_level import byte_level_part
from trlm_lab.acquire.gguf_file import GgufFile
from trlm_lab.acquire.gguf_pieces import pieces_part
from trlm_lab.acquire.gguf_vocabulary import (
    CONTROL,
    USER_DEFINED,
    ModelPart,
    fail,
    flag,
    special_ids,
    word,
)
from trlm_lab.errors import GgufFieldError

#: Word in the file (`tokenizer.ggml.model`) -> what converts it.
_MODELS: dict[str, Callable[[GgufFile], tuple[ModelPart, list[int]]]] = {
    "gpt2": byte_level_part,
    "llama": pieces_part,
}


@dataclass(frozen=True)
class ConvertedTokenizer:
    """The documents of the tokenizer, and the special ids by role (`bos_token`, ...)."""

    tokenizer: dict[str, Any]
    tokenizer_config: dict[str, Any]
    special_ids: dict[str, int]
    chat_template: str | None


def converted_tokenizer(file: GgufFile, context_length: int) -> ConvertedTokenizer | None:
    """The tokenizer of a file; None where the file has none at all.

    Raises:
        GgufPreTokenizerError: the pre-tokenizer word is not known.
        GgufTokenizerError: another tokenizer model, or parts that contradict.
        GgufFieldError: a key is unknown or ill-typed.
    """
    if not any(key.startswith("tokenizer.") for key in file.fields):
        return None
    model = word(file, "model")
    if model not in _MODELS:
        known = "byte-level BPE (gpt2) and SentencePiece BPE (llama) are converted"
        raise fail(file, f"tokenizer model {model!r}; only {known}")
    part, kinds = _MODELS[model](file)
    specials = special_ids(file, len(part.tokens))
    added = [
        _added_token(number, part.tokens[number], kind == CONTROL)
        for number, kind in enumerate(kinds)
        if kind in (CONTROL, USER_DEFINED)
    ]
    begins = bool(flag(file, "add_bos_token"))
    if begins and "bos_token" not in specials:
        raise fail(file, "add_bos_token is true and bos_token_id is missing")
    return ConvertedTokenizer(
        _tokenizer_json(part, added, specials.get("bos_token") if begins else None),
        _tokenizer_config(part.tokens, specials, added, context_length, begins),
        specials,
        _chat_template(file),
    )


def _chat_template(file: GgufFile) -> str | None:
    template = file.fields.get("tokenizer.chat_template")
    if template is not None and template.kind != "string":
        detail = f"a chat template of the kind {template.kind}"
        raise GgufFieldError(where=file.path.name, key="tokenizer.chat_template", detail=detail)
    return None if template is None else str(template.value)


def _added_token(number: int, content: str, special: bool) -> dict[str, Any]:
    return {
        "id": number,
        "content": content,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": special,
    }


def _tokenizer_json(
    part: ModelPart, added: list[dict[str, Any]], first: int | None
) -> dict[str, Any]:
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": part.normalizer,
        "pre_tokenizer": part.pre_tokenizer,
        "post_processor": None if first is None else _beginning(part.tokens[first], first),
        "decoder": part.decoder,
        "model": part.model,
    }


def _beginning(token: str, number: int) -> dict[str, Any]:
    """One token before each text."""

    def place(kind: str, name: str, type_id: int) -> dict[str, Any]:
        return {kind: {"id": name, "type_id": type_id}}

    pair = [("A", 0), ("B", 1)]
    around = [
        [place("SpecialToken", token, type_id), place("Sequence", name, type_id)]
        for name, type_id in pair
    ]
    return {
        "type": "TemplateProcessing",
        "single": around[0],
        "pair": [*around[0], *around[1]],
        "special_tokens": {token: {"id": token, "ids": [number], "tokens": [token]}},
    }


def _tokenizer_config(
    tokens: list[str],
    specials: dict[str, int],
    added: list[dict[str, Any]],
    context_length: int,
    begins: bool,
) -> dict[str, Any]:
    decoder = {
        str(row["id"]): {key: value for key, value in row.items() if key != "id"} for row in added
    }
    return {
        "add_bos_token": begins,
        "add_eos_token": False,
        "add_prefix_space": False,
        "added_tokens_decoder": decoder,
        **{
            role: tokens[number]
            for role, number in specials.items()
            # The text of an ordinary word would only repeat the number, and the framework would
            # cut every text at it.
            if str(number) in decoder
        },
        "clean_up_tokenization_spaces": False,
        "model_max_length": context_length,
        # The class that takes tokenizer.json as it is; others rebuild the pre-tokenizer.
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
