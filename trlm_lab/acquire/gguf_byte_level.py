"""The byte-level BPE of a GGUF file: the tokenizer model that the format calls `gpt2`.

The file names its pre-tokenizer by one word, `tokenizer.ggml.pre`; what that word means is the
table PRE_TOKENIZERS. An unknown word is refused: a guess would give other ids on some texts only.
"""

from __future__ import annotations

from typing import Any

from trlm_lab.acquire.gguf_file import GgufFile
from trlm_lab.acquire.gguf_vocabulary import (
    CONTROL,
    NORMAL,
    SPECIAL_IDS,
    USER_DEFINED,
    ModelPart,
    fail,
    require_known,
    texts,
    token_types,
    vocabulary,
    word,
)
from trlm_lab.errors import GgufPreTokenizerError

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

_KNOWN = frozenset({
    "model", "pre", "tokens", "token_type", "merges", "add_bos_token", "add_eos_token",
    "add_space_prefix", *SPECIAL_IDS.values(),
})  # fmt: skip


def byte_level_part(file: GgufFile) -> tuple[ModelPart, list[int]]:
    """The model and the kinds of its tokens.

    Raises:
        GgufPreTokenizerError: the pre-tokenizer word is not in the table.
        GgufTokenizerError: tokens and merges that contradict, or a flag that is not converted.
        GgufFieldError: a key is unknown.
    """
    require_known(file, _KNOWN, ("add_bos_token", "add_eos_token", "add_space_prefix"))
    kinds = token_types(file, frozenset({NORMAL, CONTROL, USER_DEFINED}), "byte-level BPE")
    tokens = texts(file, "tokens")
    vocab = vocabulary(file, tokens)
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
        "merges": _merges(file, vocab),
    }
    decoder = {**_BYTE_LEVEL, "add_prefix_space": True}
    return ModelPart(tokens, model, None, _pre_tokenizer(file), decoder), kinds


def _pre_tokenizer(file: GgufFile) -> dict[str, Any]:
    pre = word(file, "pre")
    if pre not in PRE_TOKENIZERS:
        known = ", ".join(PRE_TOKENIZERS)
        raise GgufPreTokenizerError(where=file.path.name, word=pre, known=known)
    return PRE_TOKENIZERS[pre]


def _merges(file: GgufFile, vocab: dict[str, int]) -> list[tuple[str, str]]:
    """The pairs; their parts are the texts of the vocabulary, which are kept once."""
    merges, tokens, number = texts(file, "merges"), list(vocab), vocab.get
    pairs: list[tuple[str, str]] = []
    for merge in merges:
        left, _, right = merge.partition(" ")
        first, second = number(left), number(right)
        if first is None or second is None or left + right not in vocab or " " in right:
            raise fail(file, _wrong_merge(len(pairs), merge, vocab))
        pairs.append((tokens[first], tokens[second]))
    if len(set(merges)) != len(merges):
        last = {merge: rank for rank, merge in enumerate(merges)}
        rank, twice = next((n, m) for n, m in enumerate(merges) if last[m] != n)
        raise fail(file, f"merge {rank}, {twice!r}, occurs twice")
    return pairs


def _wrong_merge(rank: int, merge: str, vocab: dict[str, int]) -> str:
    pair = merge.split(" ")
    if len(pair) != 2:
        return f"merge {rank}, {merge!r}, is no pair"
    part = next(p for p in (*pair, "".join(pair)) if p not in vocab)
    return f"merge {rank}, {merge!r}: {part!r} is no token"
