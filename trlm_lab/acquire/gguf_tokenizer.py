"""The byte-level BPE of a GGUF file as `tokenizer.json` and `tokenizer_config.json`.

The file names its pre-tokenizer by one word, `tokenizer.ggml.pre`; what that word means is the
table PRE_TOKENIZERS. An unknown word is refused: a guess would give other ids on some texts only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trlm_lab.acquire.gguf_file import GgufFile
from trlm_lab.errors import GgufFieldError, GgufPreTokenizerError, GgufTokenizerError

_BYTE_LEVEL: dict[str, Any] = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": True,
}

#: Word in the file -> pre-tokenizer. `smollm`: every digit apart, then the GPT-2 split on bytes.
PRE_TOKENIZERS: dict[str, dict[str, Any]] = {
    "smollm": {
        "type": "Sequence",
        "pretokenizers": [{"type": "Digits", "individual_digits": True}, _BYTE_LEVEL],
    },
}

_PREFIX = "tokenizer.ggml."
_SPECIAL_IDS = {
    "bos_token": "bos_token_id",
    "eos_token": "eos_token_id",
    "pad_token": "padding_token_id",
    "unk_token": "unknown_token_id",
}
_KNOWN = {
    "model", "pre", "tokens", "token_type", "merges", "add_bos_token", "add_eos_token",
    "add_space_prefix", *_SPECIAL_IDS.values(),
}  # fmt: skip

_NORMAL, _CONTROL, _USER_DEFINED = 1, 3, 4


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
        GgufPreTokenizerError: the pre-tokenizer word is not in the table.
        GgufTokenizerError: another tokenizer model, or tokens and merges that contradict.
        GgufFieldError: a key is unknown or ill-typed.
    """
    if not any(key.startswith("tokenizer.") for key in file.fields):
        return None
    _require_known(file)
    tokens, types = _texts(file, "tokens"), _token_types(file)
    vocab = _vocab(file, tokens)
    merges = _merges(file, vocab)
    specials = _special_ids(file, len(tokens))
    added = [
        _added_token(number, tokens[number], kind == _CONTROL)
        for number, kind in enumerate(types)
        if kind in (_CONTROL, _USER_DEFINED)
    ]
    template = file.fields.get("tokenizer.chat_template")
    if template is not None and template.kind != "string":
        detail = f"a chat template of the kind {template.kind}"
        raise GgufFieldError(where=file.path.name, key="tokenizer.chat_template", detail=detail)
    return ConvertedTokenizer(
        _tokenizer_json(vocab, merges, added, _pre_tokenizer(file)),
        _tokenizer_config(tokens, specials, added, context_length),
        specials,
        None if template is None else str(template.value),
    )


def _fail(file: GgufFile, detail: str) -> GgufTokenizerError:
    return GgufTokenizerError(where=file.path.name, detail=detail)


def _require_known(file: GgufFile) -> None:
    for key in file.fields:
        known = key == "tokenizer.chat_template" or key.removeprefix(_PREFIX) in _KNOWN
        if key.startswith("tokenizer.") and not known:
            detail = "the key may change token ids and is not known here"
            raise GgufFieldError(where=file.path.name, key=key, detail=detail)
    model = _optional(file, "model")
    if model != "gpt2":
        raise _fail(file, f"tokenizer model {model!r}; only byte-level BPE (gpt2) is converted")
    for key in ("add_bos_token", "add_eos_token", "add_space_prefix"):
        if _optional(file, key):
            raise _fail(file, f"{key} is true; only tokenizers that add nothing are converted")


def _optional(file: GgufFile, key: str) -> Any:
    field = file.fields.get(_PREFIX + key)
    return None if field is None else field.value


def _pre_tokenizer(file: GgufFile) -> dict[str, Any]:
    word = _optional(file, "pre")
    if word not in PRE_TOKENIZERS:
        known = ", ".join(PRE_TOKENIZERS)
        raise GgufPreTokenizerError(where=file.path.name, word=word, known=known)
    return PRE_TOKENIZERS[word]


def _texts(file: GgufFile, key: str) -> list[str]:
    field = file.fields.get(_PREFIX + key)
    if field is None or field.kind != "array of string":
        raise _fail(file, f"{_PREFIX}{key} is no list of texts")
    texts: list[str] = field.value
    return texts


def _token_types(file: GgufFile) -> list[int]:
    types: Any = _optional(file, "token_type")
    count = len(_texts(file, "tokens"))
    if not isinstance(types, list) or len(types) != count:
        raise _fail(file, f"token_type does not give one type to each of {count} tokens")
    strange = set(types) - {_NORMAL, _CONTROL, _USER_DEFINED}
    if strange:
        raise _fail(file, f"token types {sorted(strange)} have no place in a byte-level BPE")
    return types


def _vocab(file: GgufFile, tokens: list[str]) -> dict[str, int]:
    vocab = {token: number for number, token in enumerate(tokens)}
    if len(vocab) != len(tokens):
        twice = next(t for n, t in enumerate(tokens) if vocab[t] != n)
        raise _fail(file, f"the token {twice!r} occurs twice")
    return vocab


def _merges(file: GgufFile, vocab: dict[str, int]) -> list[tuple[str, str]]:
    """The pairs; their parts are the texts of the vocabulary, which are kept once."""
    merges, tokens, number = _texts(file, "merges"), list(vocab), vocab.get
    pairs: list[tuple[str, str]] = []
    for merge in merges:
        left, _, right = merge.partition(" ")
        first, second = number(left), number(right)
        if first is None or second is None or left + right not in vocab or " " in right:
            raise _fail(file, _wrong_merge(len(pairs), merge, vocab))
        pairs.append((tokens[first], tokens[second]))
    if len(set(merges)) != len(merges):
        last = {merge: rank for rank, merge in enumerate(merges)}
        rank, twice = next((n, m) for n, m in enumerate(merges) if last[m] != n)
        raise _fail(file, f"merge {rank}, {twice!r}, occurs twice")
    return pairs


def _wrong_merge(rank: int, merge: str, vocab: dict[str, int]) -> str:
    pair = merge.split(" ")
    if len(pair) != 2:
        return f"merge {rank}, {merge!r}, is no pair"
    part = next(p for p in (*pair, "".join(pair)) if p not in vocab)
    return f"merge {rank}, {merge!r}: {part!r} is no token"


def _special_ids(file: GgufFile, count: int) -> dict[str, int]:
    ids: dict[str, int] = {}
    for role, key in _SPECIAL_IDS.items():
        value = _optional(file, key)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
            detail = f"{value!r} is no id below {count}"
            raise GgufFieldError(where=file.path.name, key=_PREFIX + key, detail=detail)
        ids[role] = value
    return ids


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
    vocab: dict[str, int],
    merges: list[tuple[str, str]],
    added: list[dict[str, Any]],
    pre_tokenizer: dict[str, Any],
) -> dict[str, Any]:
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
        "vocab": vocab,
        "merges": merges,
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": None,
        "decoder": {**_BYTE_LEVEL, "add_prefix_space": True},
        "model": model,
    }


def _tokenizer_config(
    tokens: list[str], specials: dict[str, int], added: list[dict[str, Any]], context_length: int
) -> dict[str, Any]:
    decoder = {
        str(row["id"]): {key: value for key, value in row.items() if key != "id"} for row in added
    }
    return {
        "add_bos_token": False,
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
